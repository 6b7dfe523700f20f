//! Calls on one bucket are decided on a short way, unless somebody watches a key. Both ways answer alike, whatever
//! has happened to the keys.

use bytes::BytesMut;
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::Arc;
use tollgate::clock::Clock;
use tollgate::core::units::Timestamp;
use tollgate::engine::Engine;
use tollgate::session::Session;
use tollgate::settings::{Initial, Settings};

/// A server with the manual clock, and the sessions of two clients.
struct Server {
    caller: Session,
    _bystander: Session,
}

impl Server {
    /// One on which a bystander `says` something first.
    fn new(says: &str) -> Self {
        let settings = Settings::new(Initial::default());
        let engine = Arc::new(Engine::new(Clock::manual(Timestamp::ZERO), settings));
        let session = || {
            let now = engine.shared.clock.now();
            let clients = &engine.shared.clients;
            let client = clients.register(String::new(), String::new(), now, Box::new(|| {}));
            Session::new(engine.clone(), client)
        };
        let (caller, mut bystander) = (session(), session());
        send(&mut bystander, says);
        Self {
            caller,
            _bystander: bystander,
        }
    }
}

/// Sends lines and returns the replies as they are.
fn send(session: &mut Session, lines: &str) -> String {
    let mut input = BytesMut::from(lines.as_bytes());
    let mut output = Vec::new();
    session.receive(&mut input, &mut output);
    assert!(input.is_empty());
    String::from_utf8(output).expect("replies in text")
}

/// Calls that go the short way, and those that leave keys as it must not find them.
fn calls() -> impl Strategy<Value = String> {
    let limits = select(vec![
        "80 80",
        "3 2",
        "1 0.3333333333333333",
        "3 2/s",
        "1000000000000 1000000000",
        "5 1/3650d",
    ]);
    let cells = select(vec![
        "79 80 1",
        "2 2 1",
        "0 1 3",
        "4 1 315360000",
        "79 80 1 3",
        "2 2 1 4",
        "2 2 1 0",
    ]);
    let waits = select(vec![
        "0", "1", "12", "13", "500", "1500ms", "30000", "3650d", "x",
    ]);
    let others = select(vec![
        "RL.TAKE KEY 80 80 COST 20",
        "RL.RESERVE KEY 3 2 60000 TICKET",
        "RL.RESERVE KEY 3 2 60000 AND other 1 1",
        "RL.PAUSE KEY 700",
        "RL.PAUSE KEY 700 KEEP",
        "RL.PAUSE KEY 300 SLOW 0.5 2s",
        "RL.RESUME KEY",
        "RL.REFUND KEY 2",
        "RL.CHARGE KEY 3 2 9",
        "RL.CHARGE KEY 1 1/3650d 1",
        "RL.TAKE KEY WINDOW 5 2s",
        "INCR KEY",
        "DEL KEY",
    ]);
    let key = select(vec!["a", "b", "cccccccccccccccc", "ddddddddddddddddd"]);
    let spans = select(vec![
        "1ns", "999us", "12500us", "13ms", "500ms", "1s", "70s",
    ]);
    prop_oneof![
        4 => (key.clone(), limits.clone(), waits).prop_map(|(key, limit, wait)| format!("RL.RESERVE {key} {limit} {wait}")),
        4 => (key.clone(), limits).prop_map(|(key, limit)| format!("RL.TAKE {key} {limit}")),
        4 => (key.clone(), cells).prop_map(|(key, cell)| format!("CL.THROTTLE {key} {cell}")),
        2 => (key, others).prop_map(|(key, call)| call.replace("KEY", key)),
        3 => spans.prop_map(|span| format!("DEBUG CLOCK ADVANCE {span}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn both_ways_answer_alike(calls in prop::collection::vec(calls(), 1..60)) {
        let (mut short, mut long) = (Server::new("PING\r\n"), Server::new("WATCH elsewhere\r\n"));
        for call in calls {
            let lines = format!("{call}\r\nRL.USAGE a b cccccccccccccccc ddddddddddddddddd\r\nPTTL a\r\nDBSIZE\r\n");
            let (got, expected) = (send(&mut short.caller, &lines), send(&mut long.caller, &lines));
            // Tickets are drawn from one row, and one of them may be refused.
            prop_assert_eq!(got, expected, "{}", call);
        }
        let counts = "INFO STATS\r\nINFO RATELIMIT\r\n";
        let told = |text: String| -> Vec<String> {
            let counts = text.lines().filter(|line| ["granted", "denied", "total_commands"].iter().any(|name| line.contains(name)));
            counts.map(str::to_owned).collect()
        };
        let (short, long) = (told(send(&mut short.caller, counts)), told(send(&mut long.caller, counts)));
        prop_assert!(!short.is_empty());
        // The bystanders have sent a command each.
        prop_assert_eq!(short, long);
    }
}

/// What connections say in pipelines: much of the same, and what changes who they are or what it does to them.
fn words() -> impl Strategy<Value = &'static str> {
    let usual = select(vec![
        "RL.RESERVE tenant:1 3 2 30000",
        "RL.RESERVE tenant:2 3 2 30000",
        "RL.RESERVE other:33 3 2 30000",
        "RL.RESERVE tenant:2 3 2 40000",
        "RL.TAKE tenant:1 3 2",
        "RL.TAKE tenant:2 3 2",
        "RL.TAKE other:33 3 2",
        "RL.TAKE tenant:1 9 9",
        "CL.THROTTLE tenant:1 9 9 9",
        "CL.THROTTLE tenant:3 9 9 9",
        "CL.THROTTLE other:33 9 9 9",
        "GET tenant:1",
        "GET tenant:2",
        "GET other:33",
    ]);
    let others = select(vec![
        "CLIENT GETNAME",
        "CLIENT NOEVICT",
        "CLIENT ID x",
        "SET tenant:1 a",
        "SET tenant:2 b",
        "DEL tenant:1",
        "AUTH tenant secret",
        "AUTH nobody secret",
        "AUTH default x",
        "MULTI",
        "EXEC",
        "DISCARD",
        "RESET",
        "RL.TAKE tenant:1 3 x",
        "RL.TAKE tenant:2 3 x",
        "RL.TAKE tenant:1 3",
        "RL.TAKE tenant:2 3",
        "NOSUCH tenant:1",
        "NOSUCH tenant:2",
        "SELECT 1",
        "SELECT 0",
        "SUBSCRIBE tenant:1",
        "UNSUBSCRIBE tenant:1",
        "RL.PAUSE tenant:1 700",
        "RL.RESUME tenant:1",
        "CLIENT REPLY SKIP",
        "DEBUG CLOCK ADVANCE 100ms",
    ]);
    prop_oneof![4 => usual, 1 => others]
}

/// The request as clients send it.
fn request(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let bulks = words
        .iter()
        .map(|word| format!("${}\r\n{word}\r\n", word.len()));
    format!("*{}\r\n{}", words.len(), bulks.collect::<String>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// What a request says is not found out again where it repeats the one before it. Nobody can tell.
    #[test]
    fn a_pipeline_is_answered_as_one_request_after_the_other(lines in prop::collection::vec(words(), 1..60)) {
        let user = "ACL SETUSER tenant on >secret ~tenant:* &tenant:* +@all -debug -get\r\n";
        let (mut whole, mut single) = (Server::new(user), Server::new(user));
        let pipeline: String = lines.iter().map(|line| request(line)).collect();
        let got = send(&mut whole.caller, &pipeline);
        let expected: String = lines.iter().map(|line| send(&mut single.caller, &request(line))).collect();
        prop_assert_eq!(got, expected, "{:?}", lines);
    }
}
