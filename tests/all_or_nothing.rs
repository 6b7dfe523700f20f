//! A request of several items that is refused for one of them changes nothing: neither the items before it, nor those
//! behind.

use bytes::BytesMut;
use std::collections::BTreeSet;
use std::sync::Arc;
use tollgate::clock::Clock;
use tollgate::command::spec::{Argument, Flags, Spec};
use tollgate::command::table::COMMANDS;
use tollgate::core::units::Timestamp;
use tollgate::engine::Engine;
use tollgate::session::{Flow, Session};
use tollgate::settings::Settings;

#[path = "support/holdings.rs"]
mod holdings;

use holdings::Holdings;

/// What is there before each request. The tickets are of two limits each, of which the second refills once a day.
const SETUP: &str = "
    SET text 1
    HSET hash a 1
    RPUSH list a
    ZADD set 1 a
    RL.TAKE bucket 10 1
    RL.TAKE window WINDOW 10 1h
    RL.POLICY SET policy 10 1 AND 10 1/d
    RL.TAKE ticket POLICY policy TICKET
    RL.TAKE one 10 1 AND other 10 1/d TICKET
    ACL SETUSER user on +get
";

/// Requests, of which the last item, or one in the middle, is refused. `LONG` stands for a text that is too long, `NAME` for
/// such a name of a key, `TICKET` for the last ticket, `POLICY-TICKET` for the one before it.
const REFUSED: &str = "
    HSET hash a 2 b LONG
    HSET hash a 2 b LONG c 3
    HSET hash a 2 LONG b
    HSET hash a 2 b
    HSET new a 1 b LONG
    HSET text a 1 b 2
    HMSET hash a 2 b LONG
    HMSET new a 1 LONG b c 2
    HDEL text a b
    HDEL bucket a b
    LPUSH list b LONG
    LPUSH list b LONG c
    LPUSH new b LONG
    LPUSH text a b
    RPUSH list b LONG
    RPUSH new b LONG
    ZADD set 2 a 1 LONG
    ZADD set 2 a 1 LONG 3 c
    ZADD set 2 a x b
    ZADD set 2 a 1
    ZADD set CH 2 a 1 LONG
    ZADD set GT 2 a 1 LONG
    ZADD set NX 2 b 1 LONG
    ZADD new 1 a 2 LONG
    ZADD bucket 1 a 2 b
    ZREM text a b
    MSET text 2 new LONG
    MSET text 2 bucket 1
    MSET new 1 NAME 1
    MSET text 2 new
    MSETNX new 1 newer LONG
    MSETNX new 1 bucket 1
    RL.TAKE bucket 10 1 AND text 10 1
    RL.TAKE bucket 20 1 AND window 10 1
    RL.TAKE bucket 10 1 AND new 10 1 AND bucket 10 1
    RL.TAKE bucket 10 1 AND NAME 10 1
    RL.TAKE bucket 10 1 COST 2 AND new 10 0
    RL.TAKE new POLICY policy COST 1,2,3
    RL.TAKE new 10 1 AND bucket POLICY unknown
    RL.TAKE new LEASES 2 1m AND text 10 1
    RL.RESERVE bucket 10 1 1m AND window 10 1
    RL.RESERVE new 10 1 1m TICKET AND text 10 1
    RL.RESERVE new 10 1 1m AND newer SLIDING 10 1m
    RL.ACQUIRE bucket 10 1 1m AND window 10 1
    RL.ACQUIRE new 10 1 0 AND text 10 1
    RL.CHARGE new POLICY policy 1000000000000
    RL.CHARGE bucket POLICY policy 1000000000000
    RL.SETTLE one TICKET 5,1000000000000
    RL.SETTLE one TICKET 0,1000000000000
    RL.SETTLE one TICKET 5,x
    RL.SETTLE one TICKET 5,5,5
    RL.SETTLE ticket POLICY-TICKET 0,1000000000000
    RL.POLICY SET policy 5 1 AND 10 0
    RL.POLICY SET new 5 1 AND POLICY policy
    CONFIG SET maxmemory 1mb maxclients x
    CONFIG SET maxmemory 1mb port 1
    ACL SETUSER user -get +nosuch
    ACL SETUSER new on +nosuch
    ACL DELUSER user default
";

/// A script's earlier changes stay when a later command of it fails, as in Redis; the others are never refused.
const NEVER_IN_PART: [&str; 4] = ["EVAL", "EVALSHA", "DEL", "UNLINK"];
/// Rows that change something but no keys.
const OTHER_CHANGES: [&str; 3] = ["CONFIG SET", "ACL SETUSER", "ACL DELUSER"];

struct Server {
    engine: Arc<Engine>,
    session: Session,
    numbers: Vec<String>,
}

impl Server {
    /// One that has served what stands in [`SETUP`].
    fn new() -> Self {
        let clock = Clock::manual(Timestamp::ZERO);
        let engine = Arc::new(Engine::new(clock, Settings::default()));
        let (clients, now) = (&engine.shared.clients, engine.shared.clock.now());
        let client = clients.register("peer".into(), "local".into(), now, Box::new(|| {}));
        let mut server = Self {
            session: Session::new(engine.clone(), client),
            engine,
            numbers: Vec::new(),
        };
        for line in lines(SETUP) {
            let reply = server.call(line);
            assert!(!reply.starts_with('-'), "{line}: {reply}");
            if line.ends_with("TICKET") {
                let number = reply.trim_end().rsplit(':').next().unwrap_or_default();
                server.numbers.push(number.to_owned());
            }
        }
        server
    }

    fn call(&mut self, line: &str) -> String {
        let mut input = BytesMut::new();
        let words: Vec<&str> = line.split_whitespace().collect();
        input.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
        for word in words {
            let word = match word {
                "LONG" => "x".repeat(65_537),
                "NAME" => "x".repeat(513),
                "TICKET" if line.starts_with("RL.SETTLE") => self.numbers[1].clone(),
                "POLICY-TICKET" => self.numbers[0].clone(),
                _ => word.to_owned(),
            };
            input.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
        }
        let mut output = Vec::new();
        assert_eq!(self.session.receive(&mut input, &mut output), Flow::Read);
        String::from_utf8_lossy(&output).into_owned()
    }

    /// All that a request may change.
    fn state(&mut self) -> (Holdings, String, String) {
        let now = self.engine.shared.clock.now();
        let holdings = Holdings::of(&self.engine.shared.store, now);
        (holdings, self.call("CONFIG GET *"), self.call("ACL LIST"))
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// The rows that change something and take several items.
fn rows_of_several_items() -> BTreeSet<String> {
    fn takes_several(arguments: &[Argument]) -> bool {
        arguments
            .iter()
            .any(|argument| argument.multiple || takes_several(argument.parts()))
    }
    let rows = COMMANDS.iter().flat_map(|&spec| {
        let itself: &'static Spec = spec;
        std::iter::once(itself).chain(spec.subcommands)
    });
    rows.filter(|row| takes_several(row.arguments))
        .map(|row| (row.flags, row.name.replace('|', " ")))
        .filter(|(flags, name)| flags.has(Flags::WRITE) || OTHER_CHANGES.contains(&&**name))
        .map(|(_, name)| name)
        .collect()
}

#[test]
fn a_request_of_several_items_that_is_refused_changes_nothing() {
    let mut server = Server::new();
    for line in lines(REFUSED) {
        let before = server.state();
        let reply = server.call(line);
        assert!(reply.starts_with('-'), "{line}: {reply}");
        assert_eq!(server.state(), before, "{line}: {reply}");
    }
}

#[test]
fn every_command_that_changes_several_items_is_refused_here() {
    let rows = rows_of_several_items();
    let told = |row: &str| lines(REFUSED).any(|line| line.starts_with(&format!("{row} ")));
    for row in &rows {
        assert!(
            told(row) || NEVER_IN_PART.contains(&&**row),
            "{row} has no request here that is refused for one of its items"
        );
    }
    for row in NEVER_IN_PART.iter().chain(&OTHER_CHANGES) {
        assert!(rows.contains(*row), "{row} is no such command");
    }
}
