//! The pages that are written from the code are those that the code writes, and those written by hand show what it does.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

use bytes::BytesMut;
use std::sync::Arc;
use std::{env, fs, path::Path};
use tollgate::clock::Clock;
use tollgate::core::units::{MILLISECOND, Timestamp};
use tollgate::engine::Engine;
use tollgate::session::Session;
use tollgate::settings::{Initial, Settings};

#[path = "transcripts/rendering.rs"]
mod rendering;

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

/// The rows of a page's tables, a list a table: `| ms | `command` | `reply` | ...`.
fn sessions(page: &str) -> Vec<Vec<(u64, String, String)>> {
    let mut sessions = vec![Vec::new()];
    for line in page.lines() {
        let cells: Vec<&str> = line.split(" | ").collect();
        let time = cells[0].trim_start_matches("| ").parse();
        match (time, cells.get(1..3)) {
            (Ok(at), Some([command, reply])) => {
                let bare = |cell: &str| cell.trim_matches('`').to_owned();
                sessions
                    .last_mut()
                    .unwrap()
                    .push((at, bare(command), bare(reply)));
            }
            _ => sessions.push(Vec::new()),
        }
    }
    sessions.retain(|session| !session.is_empty());
    sessions
}

#[test]
fn the_sessions_of_the_algorithms_page_are_real() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/algorithms.md");
    let sessions = sessions(&fs::read_to_string(path).unwrap());
    assert!(sessions.len() > 5, "the tables have another shape");
    for session in sessions {
        let engine = Arc::new(Engine::new(
            Clock::manual(Timestamp::ZERO),
            Settings::new(Initial::default()),
        ));
        let shared = &engine.shared;
        let client = shared.clients.register(
            String::new(),
            String::new(),
            shared.clock.now(),
            Box::new(|| {}),
        );
        let start = shared.clock.now();
        let mut peer = Session::new(engine.clone(), client);
        for (at, command, reply) in session {
            let now = start.after_ns(at * MILLISECOND);
            engine.shared.clock.set(now).unwrap();
            let mut output = Vec::new();
            peer.receive(
                &mut BytesMut::from(format!("{command}\r\n").as_bytes()),
                &mut output,
            );
            let found = rendering::replies(&output).join(" ");
            let found = found.trim_start_matches('+').replace(":", "");
            assert_eq!(
                found,
                reply.replace(":", ""),
                "docs/algorithms.md: {at} ms, {command}"
            );
        }
    }
}

#[test]
fn every_flag_is_in_the_operations_page() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operations.md");
    let page = fs::read_to_string(path).unwrap();
    let help = tollgate::arguments::parse(["tollgate", "--help"].map(Into::into)).unwrap_err();
    let help = help.render().to_string();
    let flags: Vec<&str> = help
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("--"))
        .filter_map(|flag| flag.split_whitespace().next())
        .collect();
    assert!(flags.len() > 15, "the help has another shape");
    for flag in flags {
        assert!(
            page.contains(&format!("`--{flag}")),
            "--{flag} is not in docs/operations.md"
        );
    }
}
