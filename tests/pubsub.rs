//! Many threads publish, subscribe and change keys at once: one order for all, and no message out of place.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

use bytes::BytesMut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use tollgate::clients::Client;
use tollgate::clock::Clock;
use tollgate::core::units::Timestamp;
use tollgate::engine::Engine;
use tollgate::session::Session;
use tollgate::settings::{Initial, Settings};

#[path = "transcripts/rendering.rs"]
mod rendering;

fn engine() -> Arc<Engine> {
    let initial = Initial {
        pubsub_output_limit: u64::MAX,
        ..Initial::default()
    };
    Arc::new(Engine::new(
        Clock::manual(Timestamp::ZERO),
        Settings::new(initial),
    ))
}

/// A connection without a socket, and all that it was sent so far.
struct Peer {
    client: Arc<Client>,
    session: Session,
    received: Vec<u8>,
}

impl Peer {
    fn new(engine: &Arc<Engine>) -> Self {
        let now = engine.shared.clock.now();
        let clients = &engine.shared.clients;
        let client = clients.register(String::new(), String::new(), now, Box::new(|| {}));
        Self {
            session: Session::new(engine.clone(), client.clone()),
            client,
            received: Vec::new(),
        }
    }

    /// As a connection does: the reply, then the messages that have come.
    fn send(&mut self, request: &str) {
        let mut input = BytesMut::from(format!("{request}\r\n").as_bytes());
        self.session.receive(&mut input, &mut self.received);
        self.client.take_messages(&mut self.received);
    }

    fn received(&mut self) -> Vec<String> {
        self.client.take_messages(&mut self.received);
        rendering::replies(&std::mem::take(&mut self.received))
    }
}

#[test]
fn all_subscribers_see_one_order() {
    const PUBLISHERS: usize = 8;
    const EACH: usize = 500;
    let engine = engine();
    let mut listeners: Vec<Peer> = (0..4).map(|_| Peer::new(&engine)).collect();
    for listener in &mut listeners {
        listener.send("PSUBSCRIBE a*");
        listener.received();
    }
    thread::scope(|scope| {
        for publisher in 0..PUBLISHERS {
            let engine = &engine;
            scope.spawn(move || {
                let mut peer = Peer::new(engine);
                for number in 0..EACH {
                    peer.send(&format!("PUBLISH a{publisher} {number}"));
                }
                let replies = peer.received();
                assert!(replies.iter().all(|reply| reply == ":4"));
            });
        }
    });
    let first = listeners[0].received();
    for publisher in 0..PUBLISHERS {
        let of_one: Vec<&String> = first
            .iter()
            .filter(|message| message.contains(&format!("\"a{publisher}\"")))
            .collect();
        let expected: Vec<String> = (0..EACH)
            .map(|number| format!(r#"["pmessage" "a*" "a{publisher}" "{number}"]"#))
            .collect();
        assert!(of_one.into_iter().eq(&expected));
    }
    for listener in &mut listeners[1..] {
        assert!(listener.received() == first);
    }
}

#[test]
fn no_message_stands_outside_of_its_subscription() {
    let engine = engine();
    let (done, heard) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let listen = |_| {
            let (engine, done, heard) = (&engine, &done, &heard);
            scope.spawn(move || {
                let mut peer = Peer::new(engine);
                while !done.load(Ordering::Relaxed) {
                    peer.send("SUBSCRIBE a");
                    peer.send("PING");
                    peer.send("UNSUBSCRIBE a");
                    heard.fetch_add(check_window(&peer.received()), Ordering::Relaxed);
                }
            })
        };
        let listeners: Vec<_> = (0..4).map(listen).collect();
        let mut publisher = Peer::new(&engine);
        for number in 0.. {
            publisher.send(&format!("PUBLISH a {number}"));
            publisher.received.clear();
            let failed = listeners.iter().any(|listener| listener.is_finished());
            if failed || (number > 5_000 && heard.load(Ordering::Relaxed) > 1_000) {
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(engine.shared.hub.is_idle());
}

/// Messages only between the two confirmations, and none left out between the first and the last of them; how many.
fn check_window(received: &[String]) -> usize {
    let [subscribed, inside @ .., unsubscribed] = received else {
        panic!("{received:?}");
    };
    assert_eq!(subscribed, r#"["subscribe" "a" :1]"#);
    assert_eq!(unsubscribed, r#"["unsubscribe" "a" :0]"#);
    let number = |reply: &String| {
        let rest = reply.strip_prefix(r#"["message" "a" ""#)?;
        rest.strip_suffix(r#""]"#)?.parse::<u64>().ok()
    };
    let numbers: Vec<u64> = inside.iter().filter_map(number).collect();
    assert_eq!(numbers.len(), inside.len() - 1, "and one PONG: {inside:?}");
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
    numbers.len()
}

/// The clock stands, so pauses between two resumes only grow, and the last event tells how the key stands.
#[test]
fn events_of_a_key_come_in_the_order_of_what_happened() {
    let engine = engine();
    let mut listener = Peer::new(&engine);
    listener.send("PSUBSCRIBE __rl@0__:*");
    listener.received();
    thread::scope(|scope| {
        for thread in 0..8_u64 {
            let engine = &engine;
            scope.spawn(move || {
                let mut peer = Peer::new(engine);
                for round in 0..500 {
                    if (round + thread) % 5 == 0 {
                        peer.send("RL.RESUME k");
                    } else {
                        let ms = 1_000 + (round * 7 + thread * 13) % 97;
                        peer.send(&format!("RL.PAUSE k {ms}"));
                    }
                }
            });
        }
    });
    let mut left_ms = 0;
    let (mut pauses, mut resumes) = (0, 0);
    for event in listener.received() {
        let payload = event.rsplit('"').nth(1).unwrap();
        if event.contains("__:pause") {
            let ms: u64 = payload.strip_suffix(" k").unwrap().parse().unwrap();
            assert!(ms > left_ms, "{event} after {left_ms}");
            left_ms = ms;
            pauses += 1;
        } else {
            assert!(event.contains("__:resume") && payload == "k" && left_ms > 0);
            left_ms = 0;
            resumes += 1;
        }
    }
    assert!(pauses > 100 && resumes > 100, "{pauses} {resumes}");
    listener.send("RESET");
    listener.received();
    // A pause too short to change anything tells what is left.
    listener.send("RL.PAUSE k 1ns");
    let left = listener.received();
    assert_eq!(left, [format!(":{}", left_ms.max(1))]);
}

#[test]
fn a_subscription_beyond_a_bound_changes_nothing() {
    let engine = engine();
    let mut peer = Peer::new(&engine);
    let words = |command: &str, count: usize| {
        let names: Vec<String> = (0..count).map(|number| number.to_string()).collect();
        let mut request = format!("*{}\r\n${}\r\n{command}\r\n", count + 1, command.len());
        for name in names {
            request += &format!("${}\r\n{name}\r\n", name.len());
        }
        request
    };
    let long = "x".repeat(513);
    for (request, error) in [
        (
            format!("SUBSCRIBE a {long}"),
            "channel must be at most 512 bytes long",
        ),
        (
            format!("PSUBSCRIBE a {long}"),
            "pattern must be at most 512 bytes long",
        ),
        (
            format!("SSUBSCRIBE a {long}"),
            "shardchannel must be at most 512 bytes long",
        ),
        (
            format!("PUBLISH {long} x"),
            "channel must be at most 512 bytes long",
        ),
        (
            format!("SPUBLISH {long} x"),
            "shardchannel must be at most 512 bytes long",
        ),
        (
            format!("PUBSUB CHANNELS {long}"),
            "pattern must be at most 512 bytes long",
        ),
        (
            words("PSUBSCRIBE", 10_001),
            "pattern must be one of at most 10000 different patterns of all connections",
        ),
    ] {
        peer.send(&request);
        assert_eq!(peer.received(), [format!("-ERR {error}")]);
    }
    assert!(engine.shared.hub.is_idle());
    peer.send(&words("SUBSCRIBE", 65_535));
    assert_eq!(
        peer.received().last().unwrap(),
        r#"["subscribe" "65534" :65535]"#
    );
    peer.send("SSUBSCRIBE one two");
    let error = "-ERR shardchannel must be one of at most 65536 subscriptions of a connection";
    assert_eq!(peer.received(), [error]);
    peer.send("SSUBSCRIBE one");
    assert_eq!(peer.received(), [r#"["ssubscribe" "one" :1]"#]);
    drop(peer);
    assert!(engine.shared.hub.is_idle());
}
