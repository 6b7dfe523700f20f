//! A string is at most 64 KiB long, and a reply that grows with what was asked for 64 MiB.

use bytes::BytesMut;
use std::sync::Arc;
use tollgate::clock::Clock;
use tollgate::core::units::Timestamp;
use tollgate::engine::Engine;
use tollgate::session::Session;
use tollgate::settings::Settings;

const TEXT_BYTES_MAX: usize = 65_536;

struct Server(Session);

impl Server {
    fn new() -> Self {
        let clock = Clock::manual(Timestamp::ZERO);
        let engine = Arc::new(Engine::new(clock, Settings::default()));
        let now = engine.shared.clock.now();
        let (peer, local) = ("peer".to_owned(), "local".to_owned());
        let client = engine
            .shared
            .clients
            .register(peer, local, now, Box::new(|| {}));
        Self(Session::new(engine, client))
    }

    fn call(&mut self, words: &[&[u8]]) -> Vec<u8> {
        let mut input = BytesMut::from(format!("*{}\r\n", words.len()).as_bytes());
        for word in words {
            input.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            input.extend_from_slice(word);
            input.extend_from_slice(b"\r\n");
        }
        let mut output = Vec::new();
        self.0.receive(&mut input, &mut output);
        output
    }
}

#[test]
fn a_string_ends_at_its_bound() {
    let mut server = Server::new();
    let (longest, longer) = ([b'x'; TEXT_BYTES_MAX], [b'x'; TEXT_BYTES_MAX + 1]);
    assert_eq!(server.call(&[b"SET", b"k", &longest]), b"+OK\r\n");
    assert_eq!(server.call(&[b"STRLEN", b"k"]), b":65536\r\n");
    let reply = server.call(&[b"GET", b"k"]);
    assert_eq!(reply, [&b"$65536\r\n"[..], &longest, b"\r\n"].concat());

    let refused = b"-ERR string exceeds maximum allowed size (65536 bytes)\r\n";
    for request in [
        &[&b"SET"[..], b"new", &longer][..],
        &[b"SETNX", b"new", &longer],
        &[b"SETEX", b"new", b"10", &longer],
        &[b"PSETEX", b"new", b"10", &longer],
        &[b"GETSET", b"new", &longer],
        &[b"MSET", b"other", b"1", b"new", &longer],
        &[b"MSETNX", b"other", b"1", b"new", &longer],
    ] {
        assert_eq!(server.call(request), refused);
    }
    assert_eq!(server.call(&[b"DBSIZE"]), b":1\r\n");
}

#[test]
fn the_reply_of_one_mget_ends_at_its_bound() {
    let mut server = Server::new();
    server.call(&[b"SET", b"k", &[b'x'; TEXT_BYTES_MAX]]);
    let mget = |times: usize| [vec![&b"MGET"[..]], vec![b"k"; times]].concat();
    let reply = server.call(&mget(1_000));
    assert!(reply.starts_with(b"*1000\r\n") && reply.len() > 1_000 * TEXT_BYTES_MAX);
    let refused = b"-ERR the reply of one MGET must be at most 64 MiB\r\n";
    assert_eq!(server.call(&mget(1_025)), refused);
    assert_eq!(server.call(&[b"STRLEN", b"k"]), b":65536\r\n");
}

#[test]
fn the_reply_of_one_hmget_ends_at_its_bound() {
    let mut server = Server::new();
    server.call(&[b"HSET", b"h", b"f", &[b'x'; TEXT_BYTES_MAX - 1]]);
    let hmget = |times: usize| [vec![&b"HMGET"[..], b"h"], vec![b"f"; times]].concat();
    let reply = server.call(&hmget(1_000));
    assert!(reply.starts_with(b"*1000\r\n") && reply.len() > 1_000 * (TEXT_BYTES_MAX - 1));
    let refused = b"-ERR the reply of one HMGET must be at most 64 MiB\r\n";
    assert_eq!(server.call(&hmget(60_000)), refused);
    assert_eq!(server.call(&[b"HLEN", b"h"]), b":1\r\n");
}

#[test]
fn what_is_told_of_commands_ends_at_its_bound() {
    let mut server = Server::new();
    for (subcommand, refused) in [
        (
            &b"DOCS"[..],
            &b"-ERR the reply of one COMMAND DOCS must be at most 64 MiB\r\n"[..],
        ),
        (
            b"INFO",
            b"-ERR the reply of one COMMAND INFO must be at most 64 MiB\r\n",
        ),
    ] {
        let request = [vec![&b"COMMAND"[..], subcommand], vec![b"CLIENT"; 60_000]].concat();
        assert_eq!(server.call(&request), refused);
    }
    assert_eq!(server.call(&[b"PING"]), b"+PONG\r\n");
}
