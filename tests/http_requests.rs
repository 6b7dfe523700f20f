//! A browser that is made to send a request here gets nothing run: the connection ends at its first line.

use bytes::BytesMut;
use std::sync::Arc;
use tollgate::clock::Clock;
use tollgate::core::units::Timestamp;
use tollgate::engine::Engine;
use tollgate::session::{Flow, Session};
use tollgate::settings::Settings;

#[test]
fn commands_in_the_body_of_an_http_request_are_not_run() {
    for request in [
        "POST / HTTP/1.1\r\nContent-Length: 13\r\n\r\nRL.TAKE k 5 1\r\n",
        "put / HTTP/1.1\r\nhost: 127.0.0.1:6379\r\n\r\nRL.TAKE k 5 1\r\n",
        "GET /\r\nHost: 127.0.0.1\r\nRL.TAKE k 5 1\r\n",
    ] {
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
        let (mut input, mut output) = (BytesMut::from(request), Vec::new());
        assert_eq!(
            session.receive(&mut input, &mut output),
            Flow::Close,
            "{request}"
        );
        assert!(
            !engine
                .shared
                .store
                .read(0, b"k", now, |entry| entry.is_some()),
            "{request}"
        );
    }
}
