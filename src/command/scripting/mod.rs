//! Scripts by name: EVAL, EVALSHA, SCRIPT. What they do is in [`crate::script`].

pub mod eval;
pub mod script;
