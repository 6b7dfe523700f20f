//! How many histories are played.

use proptest::prelude::*;
use std::env;

/// `cases`, or what `PROPTEST_CASES` says.
pub fn config(cases: u32) -> ProptestConfig {
    let default = match env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(cases),
    };
    ProptestConfig {
        failure_persistence: None,
        ..default
    }
}
