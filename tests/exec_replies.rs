//! What one EXEC costs is bounded: its replies, and how much it looks at. What changes something runs in any case.

use bytes::BytesMut;
use std::sync::Arc;
use tollgate::clock::Clock;
use tollgate::core::units::Timestamp;
use tollgate::engine::Engine;
use tollgate::session::{Flow, Session};
use tollgate::settings::Settings;

fn session() -> (Arc<Engine>, Session) {
    let engine = Arc::new(Engine::new(
        Clock::manual(Timestamp::ZERO),
        Settings::default(),
    ));
    let (clients, now) = (&engine.shared.clients, engine.shared.clock.now());
    let client = clients.register("peer".into(), "local".into(), now, Box::new(|| {}));
    (engine.clone(), Session::new(engine, client))
}

fn ask(session: &mut Session, requests: &str) -> Vec<u8> {
    let mut output = Vec::new();
    let mut input = BytesMut::from(requests.as_bytes());
    while session.receive(&mut input, &mut output) == Flow::Flush {}
    output
}

fn count(output: &[u8], text: &str) -> usize {
    let windows = output.windows(text.len());
    windows.filter(|bytes| *bytes == text.as_bytes()).count()
}

#[test]
fn one_exec_takes_no_more_memory_than_its_bound() {
    let (engine, mut session) = session();
    ask(&mut session, &format!("SET s {}\r\n", "x".repeat(60_000)));
    let commands = 2_000;
    let reads = "GET s\r\n".repeat(commands);
    let output = ask(
        &mut session,
        &format!("MULTI\r\n{reads}RL.TAKE k 5 1\r\nEXEC\r\n"),
    );
    let bound = 64 * 1024 * 1024;
    assert!(
        output.len() > bound - 60_000 && output.len() < bound + 1024 * 1024,
        "{} bytes",
        output.len()
    );
    // One reply did not fit; after that nothing was read in vain. The last command ran, and there was no room to say so.
    assert_eq!(count(&output, "this one is left out"), 2);
    let in_vain = count(&output, "this command only reads, and did not run");
    assert_eq!(in_vain, commands - bound / 60_011 - 1);
    let now = engine.shared.clock.now();
    let taken = engine
        .shared
        .store
        .read(0, b"k", now, |entry| entry.is_some());
    assert!(taken, "the last command ran");
}

#[test]
fn one_exec_looks_at_no_more_than_its_bound() {
    let (_, mut session) = session();
    for survey in ["COMMAND DOCS", "SCAN 0 COUNT 100000", "INFO", "RL.TOP"] {
        let surveys = format!("{survey}\r\n").repeat(129);
        let output = ask(&mut session, &format!("MULTI\r\n{surveys}EXEC\r\n"));
        assert_eq!(count(&output, "+QUEUED"), 128, "{survey}");
        assert_eq!(
            count(&output, "-ERR MULTI takes at most 128"),
            1,
            "{survey}"
        );
        assert_eq!(count(&output, "-EXECABORT"), 1, "{survey}");
    }
    let quick = "PING\r\nRL.PEEK k 5 1\r\n".repeat(1_000);
    let output = ask(&mut session, &format!("MULTI\r\n{quick}EXEC\r\n"));
    assert_eq!(count(&output, "+PONG"), 1_000);
}
