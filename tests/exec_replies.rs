//! The replies of one EXEC are bounded: its commands all run, and what does not fit is left out one by one.

use bytes::BytesMut;
use std::sync::Arc;
use tollgate::clock::Clock;
use tollgate::core::units::Timestamp;
use tollgate::engine::Engine;
use tollgate::session::{Flow, Session};
use tollgate::settings::Settings;

#[test]
fn one_exec_takes_no_more_memory_than_its_bound() {
    let engine = Arc::new(Engine::new(
        Clock::manual(Timestamp::ZERO),
        Settings::default(),
    ));
    let now = engine.shared.clock.now();
    let client =
        engine
            .shared
            .clients
            .register("peer".into(), "local".into(), now, Box::new(|| {}));
    let mut session = Session::new(engine.clone(), client);
    let mut output = Vec::new();
    // Forty kilobytes each, and a write at the end.
    let commands = 2_000;
    let requests = format!(
        "MULTI\r\n{}RL.TAKE k 5 1\r\nEXEC\r\n",
        "COMMAND DOCS\r\n".repeat(commands)
    );
    let mut input = BytesMut::from(requests.as_bytes());
    while session.receive(&mut input, &mut output) == Flow::Flush {}
    let bound = 64 * 1024 * 1024;
    assert!(
        output.len() > bound && output.len() < bound + 1024 * 1024,
        "{} bytes",
        output.len()
    );
    let left_out = output
        .windows(25)
        .filter(|text| text == b"-ERR the replies of one EX")
        .count();
    assert!(left_out < commands);
    let taken = engine
        .shared
        .store
        .read(0, b"k", now, |entry| entry.is_some());
    assert!(taken, "the last command ran");
}
