//! Calls on keys that are held here as the server holds them, beside a replica that is told what changes.

use super::*;
use crate::held::RECORDS_MAX;
use std::collections::BTreeMap;
use tollgate::command::table;
use tollgate::core::units::SECOND;
use tollgate::persistence::change::{decode, encode};

struct World {
    host: Host,
    keys: BTreeMap<Vec<u8>, Held>,
    replica: BTreeMap<Vec<u8>, Held>,
}

impl World {
    fn new() -> Self {
        let (keys, replica) = Default::default();
        Self {
            host: Host::new(Hand::Manual),
            keys,
            replica,
        }
    }

    fn advance(&mut self, seconds: u64) {
        let at = self.host.now().as_ns() + seconds * SECOND;
        self.host.learn_time(Timestamp::from_ns(at).unwrap(), false);
    }

    /// Calls as the server does, further keys of tickets included.
    fn call(&mut self, line: &str) -> String {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let spec = table::find(words[0]).unwrap();
        let owned = OwnedArguments::from_slices(&words);
        let request = Words {
            of_request: owned.as_arguments(),
            all: matches!(spec.name, "RL.PAUSE" | "RL.RESUME"),
        };
        let mut names: Vec<Vec<u8>> = Vec::new();
        for at in spec.keys.positions(request.of_request) {
            names.push(words[at].to_vec());
        }
        let further = names
            .iter()
            .filter_map(|name| self.keys.get(name))
            .flat_map(|held| held.further_keys(request));
        let further: Vec<Vec<u8>> = further.map(|key| key.as_bytes().to_vec()).collect();
        names.extend(further);
        names.sort_unstable();
        names.dedup();
        let now = self.host.now();
        let mut taken: Vec<Option<Held>> =
            names.iter().map(|name| self.keys.remove(name)).collect();
        let mut places: Vec<Place<'_>> = names
            .iter()
            .zip(&mut taken)
            .map(|(name, held)| Place {
                name,
                holds: held.as_mut().map_or(Holds::Nothing, Holds::Limits),
            })
            .collect();
        let changes = self
            .host
            .serve(spec, request, Protocol::Resp2, &mut places, now);
        for ((name, held), changes) in names.iter().zip(taken).zip(changes) {
            let mut held = held.unwrap_or_default();
            held.apply(&changes, now);
            let mut bytes = Vec::new();
            encode(&mut bytes, &changes);
            let told = decode(&bytes).unwrap();
            assert_eq!(told, changes, "{line}");
            let replica = self.replica.entry(name.clone()).or_default();
            // Where the primary was full it has looked for what has expired; the replica will do so later.
            assert_eq!(replica.has_room(now), held.has_room(now), "{line}");
            replica.apply(&told, now);
            assert_eq!(replica.to_bytes(), held.to_bytes(), "{line}");
            let again = Held::from_bytes(&held.to_bytes(), now).unwrap();
            assert_eq!(again.to_bytes(), held.to_bytes(), "{line}");
            if held.gone_after(now).is_zero() {
                self.replica.remove(name);
            } else {
                self.keys.insert(name.clone(), held);
            }
        }
        String::from_utf8(self.host.reply.clone())
            .unwrap()
            .replace("\r\n", " ")
            .trim()
            .to_owned()
    }

    fn number(&mut self, line: &str) -> u64 {
        let reply = self.call(line);
        reply.rsplit(':').next().unwrap().parse().unwrap()
    }
}

#[test]
fn a_ticket_over_two_keys_is_given_back_at_both() {
    let mut world = World::new();
    let ticket = world.number("RL.RESERVE a 5 1 0 AND b 5 1 TICKET 1m");
    assert_eq!(world.call("RL.PEEK b 5 1"), "*5 :0 :5 :4 :-1 :1000");
    assert_eq!(world.call(&format!("RL.CANCEL a {ticket}")), ":1");
    assert_eq!(world.call("RL.PEEK b 5 1"), "*5 :0 :5 :5 :-1 :0");
    assert!(world.keys.is_empty(), "{:?}", world.keys.keys());
}

#[test]
fn a_key_stays_as_long_as_a_ticket_or_an_answer_of_it_is_known() {
    let mut world = World::new();
    let ticket = world.number("RL.RESERVE a 5 5 0 TICKET 10m");
    assert_eq!(
        world.call("RL.TAKE b 5 5 ID x"),
        world.call("RL.TAKE b 5 5 ID x")
    );
    world.advance(30);
    assert_eq!(world.call("RL.USAGE a"), "$-1");
    assert_eq!(world.call("RL.TAKE b 5 5 ID x"), "*5 :0 :5 :4 :-1 :200");
    assert_eq!(world.call(&format!("RL.SETTLE a {ticket} 3")), ":1");
    let known = &world.keys[&b"b"[..]];
    assert_eq!(known.gone_after(world.host.now()).ceil_ms(), 30_000);
    world.advance(60);
    assert!(world.keys[&b"b"[..]].gone_after(world.host.now()).is_zero());
    assert_eq!(world.call("RL.PEEK b 5 5"), "*5 :0 :5 :5 :-1 :0");
}

#[test]
fn what_would_wait_or_go_with_a_connection_is_refused_and_changes_nothing() {
    let mut world = World::new();
    world.call("RL.LEASE l 1 10s");
    let before = world.keys[&b"l"[..]].to_bytes();
    assert!(world.call("RL.LEASE l 1 10s WAIT 1s").starts_with("-ERR"));
    assert!(world.call("RL.LEASE l 2 10s BOUND").starts_with("-ERR"));
    assert_eq!(world.keys[&b"l"[..]].to_bytes(), before);
    assert!(world.call("RL.LEASE m 2 10s BOUND").starts_with("-ERR"));
    assert!(!world.keys.contains_key(&b"m"[..]));
    // And neither stands in the way of the next.
    assert_eq!(world.call("RL.TAKE k 2 1"), "*5 :0 :2 :1 :-1 :1000");
}

#[test]
fn a_key_of_too_many_tickets_takes_no_more_until_they_expire() {
    let mut world = World::new();
    let ticket = world.number("RL.RESERVE k 1000000 1000000 0 TICKET 1m");
    let held = world.keys.get_mut(&b"k"[..]).unwrap();
    let changes = decode(&held.to_bytes()).unwrap();
    let kept = changes.iter().find_map(|change| match change {
        Change::Ticket(_, Some(kept)) => Some(kept.clone()),
        _ => None,
    });
    let more: Vec<Change> = (1..RECORDS_MAX as u64)
        .map(|at| Change::Ticket(ticket - at, kept.clone()))
        .collect();
    let now = world.host.now();
    held.apply(&more, now);
    let full = held.to_bytes();
    world
        .replica
        .insert(b"k".to_vec(), Held::from_bytes(&full, now).unwrap());
    assert!(
        world
            .call("RL.RESERVE k 1000000 1000000 0 TICKET 1m")
            .starts_with("-ERR")
    );
    assert_eq!(world.keys[&b"k"[..]].to_bytes().len(), full.len());
    assert_eq!(world.call("RL.RESERVE k 1000000 1000000 0"), ":0");
    assert_eq!(world.call(&format!("RL.CONFIRM k {ticket}")), ":0");
    world.advance(61);
    assert!(
        world
            .call("RL.RESERVE k 1000000 1000000 0 TICKET 1m")
            .starts_with("*2 :0")
    );
    assert!(world.keys[&b"k"[..]].to_bytes().len() < full.len() / 1000);
}

#[test]
fn a_key_of_another_kind_is_refused_wherever_it_stands() {
    let mut world = World::new();
    let words: Vec<&[u8]> = "RL.TAKE a 5 1 AND other 5 1"
        .split(' ')
        .map(str::as_bytes)
        .collect();
    let owned = OwnedArguments::from_slices(&words);
    let spec = table::find(b"RL.TAKE").unwrap();
    let request = Words {
        of_request: owned.as_arguments(),
        all: false,
    };
    let mut places = [
        Place {
            name: b"a",
            holds: Holds::Nothing,
        },
        Place {
            name: b"other",
            holds: Holds::Other,
        },
    ];
    let now = world.host.now();
    let changes = world
        .host
        .serve(spec, request, Protocol::Resp2, &mut places, now);
    assert!(world.host.reply.starts_with(b"-WRONGTYPE"));
    assert!(changes.iter().all(Vec::is_empty));
}

#[test]
fn bytes_that_are_no_state_are_refused_and_none_panics() {
    let mut world = World::new();
    world.call("RL.RESERVE a 5 1 30s COST 5 AND b LOG 3 10s TICKET 1m ID x");
    world.call("RL.PAUSE a 5s SLOW 0.5 10s");
    world.call("RL.LEASE c 3 10s OWNER me ID y");
    let now = world.host.now();
    for held in world.keys.values() {
        let bytes = held.to_bytes();
        for cut in 1..bytes.len() {
            // Cut between two records it is one of fewer.
            if let Ok(held) = Held::from_bytes(&bytes[..cut], now) {
                assert_eq!(held.to_bytes(), bytes[..cut]);
            }
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                if let Ok(held) = Held::from_bytes(&bytes, now) {
                    let _ = held.gone_after(now);
                }
            }
        }
    }
    let mut others = Vec::new();
    tollgate::persistence::codec::encode_last_number(&mut others, 7);
    assert!(decode(&others).is_err() && decode(b"\xff").is_err());
    assert!(decode(b"").unwrap().is_empty());
}
