//! The scripts that are known, a row each.

use super::Script;

/// Every script that is known.
pub static SCRIPTS: &[Script] = &[];
