//! The pages that are written from the code are those that the code writes.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

use std::{env, fs, path::Path};

/// Compares a page, or writes it anew under `UPDATE_DOCS=1`.
fn check(page: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{page} is stale: run `UPDATE_DOCS=1 cargo test --test docs` and commit it"
    );
}

#[test]
fn the_commands_page_is_current() {
    check(
        "docs/commands.md",
        &tollgate::command::reference::markdown(),
    );
}
