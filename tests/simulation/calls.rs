//! What the clients of a history ask for: drawn calls over a handful of keys, and what is remembered of their replies.

use crate::money::Money;
use crate::numbers::Numbers;
use crate::trace::Trace;
use bytes::BytesMut;
use std::collections::BTreeMap;
use std::sync::Arc;
use tollgate::engine::Engine;
use tollgate::session::Session;

/// Keys of each of the two databases.
pub const KEYS: [&str; 11] = ["b0", "b1", "w", "s", "l", "p", "f", "c", "h", "m0", "m1"];

/// Limits by key. The last two are counted by [`Money`], and nobody does anything but take from them.
const LIMITS: [(&str, &str); 6] = [
    ("b0", "10 5"),
    ("b1", "GCRA 4 3 1s"),
    ("w", "WINDOW 7 2s"),
    ("s", "SLIDING 6 3s"),
    ("l", "LOG 5 2s"),
    ("p", "POLICY p0"),
];

const MONEY: [&str; 2] = ["m0", "m1"];
const POLICIES: [&str; 3] = ["10 5", "4 1 AND WINDOW 9 5s", "6 2"];
const TTLS: [&str; 3] = ["3s", "40s", "1h"];

/// A ticket or a lease that was given.
#[derive(Clone)]
struct Given {
    session: usize,
    key: String,
    number: u64,
}

/// The connections of one engine.
pub struct Sessions(Vec<Session>);

impl Sessions {
    pub fn new(engine: &Arc<Engine>) -> Self {
        let session = |number: usize| {
            let (peer, local) = (format!("10.0.0.1:{number}"), "127.0.0.1:6379".to_owned());
            let (clients, now) = (&engine.shared.clients, engine.shared.clock.now());
            let client = clients.register(peer, local, now, Box::new(|| {}));
            Session::new(engine.clone(), client)
        };
        let mut sessions = Self((0..3).map(session).collect());
        // The last works in another database, and empties it now and then.
        sessions.call(2, "SELECT 1");
        sessions
    }

    fn call(&mut self, session: usize, line: &str) -> String {
        let mut output = Vec::new();
        let mut input = BytesMut::from(format!("{line}\r\n").as_bytes());
        self.0[session].receive(&mut input, &mut output);
        String::from_utf8_lossy(&output).into_owned()
    }
}

/// What clients know, over all lives of the server.
pub struct Calls {
    tickets: Vec<Given>,
    leases: Vec<Given>,
    /// Every number that was given, with the request for which it may be given again.
    numbers: BTreeMap<u64, String>,
    of_this_life: Vec<u64>,
    ids: u64,
    pub money: Money,
}

fn integers(reply: &str) -> Vec<i64> {
    let lines = reply.split("\r\n");
    lines
        .filter_map(|line| line.strip_prefix(':')?.parse().ok())
        .collect()
}

impl Calls {
    pub fn new() -> Self {
        Self {
            tickets: Vec::new(),
            leases: Vec::new(),
            numbers: BTreeMap::new(),
            of_this_life: Vec::new(),
            ids: 0,
            money: Money::default(),
        }
    }

    /// The server starts again. Unless its last life is `covered`, its numbers may be given again.
    pub fn begin_life(&mut self, covered: bool) {
        for number in self.of_this_life.drain(..).filter(|_| !covered) {
            self.numbers.remove(&number);
        }
    }

    /// One call of one client; `call` is its number. What is wrong with the answer is the error.
    pub fn one(
        &mut self,
        numbers: &mut Numbers,
        sessions: &mut Sessions,
        engine: &Engine,
        call: u64,
        trace: &Trace,
    ) -> Result<(), String> {
        let session = numbers.below(3) as usize;
        let mut ask = |line: &str| {
            let reply = sessions.call(session, line);
            trace.line(|| {
                format!(
                    "  {call} client {session}: {line} -> {}",
                    reply.escape_debug()
                )
            });
            reply
        };
        match numbers.below(24) {
            0..=5 => {
                let (line, kind) = self.book(numbers);
                let reply = ask(&line);
                self.learn(session, &line, kind, &reply)?;
            }
            6..=8 if session < 2 => {
                let line = self.take_money(numbers);
                let granted = integers(&ask(&line.0)).first() == Some(&0);
                if granted {
                    let now = engine.shared.clock.now();
                    for (key, cost) in line.1 {
                        self.money.grant(key, call, now, cost)?;
                    }
                }
            }
            6..=10 => {
                if let Some(given) = self.given(numbers, session) {
                    let Given { key, number, .. } = given;
                    let line = match numbers.below(6) {
                        0 => format!("RL.CONFIRM {key} {number}"),
                        1 | 2 => format!("RL.SETTLE {key} {number} {}", numbers.below(3)),
                        _ => format!("RL.CANCEL {key} {number}"),
                    };
                    ask(&line);
                }
            }
            11 | 12 => {
                let (key, limit) = numbers.one_of(&LIMITS);
                let id = self.maybe_id(numbers);
                ask(&format!(
                    "RL.CHARGE {key} {limit} {}{id}",
                    1 + numbers.below(4)
                ));
            }
            13 => {
                let (key, _) = numbers.one_of(&LIMITS);
                let id = self.maybe_id(numbers);
                ask(&format!("RL.REFUND {key} {}{id}", 1 + numbers.below(4)));
            }
            14 => {
                let (key, _) = numbers.one_of(&LIMITS);
                let how = numbers.one_of(&["", " KEEP", " FORCE", " SLOW 0.5 4s"]);
                ask(&format!(
                    "RL.PAUSE {key} {}ms{how}",
                    200 + numbers.below(5000)
                ));
            }
            15 => {
                let (key, _) = numbers.one_of(&LIMITS);
                ask(&format!("RL.RESUME {key}"));
            }
            16 | 17 => self.lease(numbers, session, &mut ask)?,
            18 => {
                let policy = numbers.one_of(&POLICIES);
                let name = numbers.one_of(&["p0", "p0", "p1"]);
                ask(&if numbers.once_in(5) {
                    format!("RL.POLICY DEL {name}")
                } else {
                    format!("RL.POLICY SET {name} {policy}")
                });
            }
            19 if session == 2 => {
                ask("FLUSHDB");
            }
            19 => {
                let (key, _) = numbers.one_of(&LIMITS);
                ask(&format!("DEL {key}"));
            }
            20 => {
                ask("MULTI");
                let (line, kind) = self.book(numbers);
                ask(&line);
                ask("INCR c");
                let reply = ask("EXEC");
                // The answer to INCR is behind.
                let cut = reply.trim_end().rfind("\r\n").unwrap_or(0);
                if reply[cut..].contains("\r\n:") {
                    self.learn(session, &line, kind, &reply[..cut])?;
                }
            }
            _ => {
                ask(&plain(numbers));
            }
        }
        Ok(())
    }

    fn maybe_id(&mut self, numbers: &mut Numbers) -> String {
        match numbers.below(4) {
            0 => {
                self.ids += 1;
                format!(" ID i{}", self.ids)
            }
            // Sent again, perhaps for something else.
            1 if self.ids > 0 => format!(" ID i{}", 1 + numbers.below(self.ids)),
            _ => String::new(),
        }
    }

    /// A booking over one key or two.
    fn book(&mut self, numbers: &mut Numbers) -> (String, Kind) {
        let (key, limit) = numbers.one_of(&LIMITS);
        let cost = 1 + numbers.below(3);
        let mut line = if numbers.once_in(3) {
            format!("RL.TAKE {key} {limit}")
        } else {
            let wait = match key {
                "s" => 0,
                _ => numbers.one_of(&[0, 3_000]),
            };
            format!("RL.RESERVE {key} {limit} {wait}")
        };
        line += &format!(" COST {cost}");
        let (other, its_limit) = numbers.one_of(&LIMITS);
        if numbers.once_in(3) && other != key {
            line += &format!(" AND {other} {its_limit}");
        }
        let has_ticket = !numbers.once_in(4);
        if has_ticket {
            line += &format!(" TICKET {}", numbers.one_of(&TTLS));
        }
        line += &self.maybe_id(numbers);
        let kind = if has_ticket { Kind::Ticket } else { Kind::None };
        (line, kind)
    }

    fn take_money(&mut self, numbers: &mut Numbers) -> (String, Vec<(usize, u64)>) {
        let first = numbers.below(2) as usize;
        let cost = 1 + numbers.below(3);
        let mut rules = vec![(first, cost)];
        if numbers.once_in(3) {
            rules.push((1 - first, 1 + numbers.below(2)));
        }
        let words = rules.iter().map(|(key, cost)| {
            let limit = Money::limit(*key);
            format!("{} {limit} COST {cost}", MONEY[*key])
        });
        let words = words.collect::<Vec<_>>().join(" AND ");
        let ticket = if numbers.once_in(2) { " TICKET" } else { "" };
        (format!("RL.TAKE {words}{ticket}"), rules)
    }

    fn lease(
        &mut self,
        numbers: &mut Numbers,
        session: usize,
        ask: &mut impl FnMut(&str) -> String,
    ) -> Result<(), String> {
        let held = of_session(&self.leases, session);
        match (numbers.below(4), held.is_empty()) {
            (0, false) => {
                let given = &held[numbers.below(held.len() as u64) as usize];
                ask(&format!("RL.RELEASE f {}", given.number));
            }
            (1, false) => {
                let given = &held[numbers.below(held.len() as u64) as usize];
                ask(&format!("RL.RENEW f {} 5s", given.number));
            }
            _ => {
                let line = format!("RL.LEASE f 4 8s{}", self.maybe_id(numbers));
                let reply = ask(&line);
                self.learn(session, &line, Kind::Lease, &reply)?;
            }
        }
        Ok(())
    }

    fn given(&self, numbers: &mut Numbers, session: usize) -> Option<Given> {
        let held = of_session(&self.tickets, session);
        let index = numbers.below(held.len().max(1) as u64) as usize;
        held.get(index).map(|given| (*given).clone())
    }

    /// Reads the number of a ticket or a lease out of a reply: it is none that was given before.
    fn learn(&mut self, session: usize, line: &str, kind: Kind, reply: &str) -> Result<(), String> {
        let found = integers(reply);
        let number = match kind {
            Kind::None => return Ok(()),
            Kind::Ticket => found.last(),
            Kind::Lease => found.first(),
        };
        let Some(number) = number.and_then(|&number| u64::try_from(number).ok()) else {
            return Ok(());
        };
        if number == 0 || reply.contains('-') && reply.contains("ERR") {
            return Ok(());
        }
        let key = line.split(' ').nth(1).unwrap_or_default().to_owned();
        // The same id of the same key of the same database gets the same number again.
        let id = line.split(" ID ").nth(1).unwrap_or_default();
        let request = format!("{} {key} {id}", session / 2);
        if let Some(before) = self.numbers.get(&number) {
            if id.is_empty() || *before != request {
                return Err(format!(
                    "{line} got the number {number} of `{before}` again"
                ));
            }
            return Ok(());
        }
        self.numbers.insert(number, request);
        self.of_this_life.push(number);
        let given = Given {
            session,
            key,
            number,
        };
        match kind {
            Kind::Lease => self.leases.push(given),
            _ => self.tickets.push(given),
        }
        Ok(())
    }
}

/// What is at the end of a reply.
#[derive(Clone, Copy)]
enum Kind {
    None,
    Ticket,
    Lease,
}

/// The last few of what somebody in the same database was given.
fn of_session(given: &[Given], session: usize) -> Vec<&Given> {
    let same = given.iter().rev();
    let same = same.filter(|given| given.session / 2 == session / 2);
    same.take(6).collect()
}

fn plain(numbers: &mut Numbers) -> String {
    match numbers.below(9) {
        0 | 1 => "INCR c".to_owned(),
        2 => format!("SET c {} EX {}", numbers.below(50), 1 + numbers.below(20)),
        3 => format!("EXPIRE c {}", 1 + numbers.below(20)),
        4 => format!("HINCRBY h f{} 1", numbers.below(3)),
        5 => format!("PEXPIRE h {}", 500 + numbers.below(5_000)),
        6 => format!(
            "RENAME {}",
            numbers.one_of(&["c h", "h c", "b0 b1", "l b0"])
        ),
        7 => format!("DEL {}", numbers.one_of(&["c", "h"])),
        _ => format!(
            "EXPIRE {} {}",
            numbers.one_of(&["b0", "w"]),
            numbers.below(20)
        ),
    }
}
