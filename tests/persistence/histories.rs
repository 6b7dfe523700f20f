//! Random histories of requests: everything that changes what a server holds, and what shows it.

use crate::plain;
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;
use std::fmt;
use tollgate::core::units::{MILLISECOND, SECOND};

/// A request, and how long after the one before it is sent.
#[derive(Clone, Debug)]
pub struct Step {
    /// Nanoseconds.
    pub later: u64,
    /// An index into the databases that are used.
    pub database: usize,
    pub command: Command,
}

#[derive(Clone)]
pub enum Command {
    Words(Vec<Vec<u8>>),
    /// One of the requests before, once more: so a request with an id comes twice.
    Again {
        back: usize,
    },
    /// A command on one of the tickets or leases that were given, by its own key unless `key` is another.
    OfTicket {
        verb: &'static str,
        back: usize,
        key: Option<Vec<u8>>,
        actual: Option<&'static str>,
    },
}

/// So that a history that fails can be read.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => write!(f, "{}", words.join(&b' ').escape_ascii()),
            Self::Again { back } => write!(f, "(again, {back} back)"),
            Self::OfTicket {
                verb,
                back,
                key,
                actual,
            } => {
                let key = key.as_ref().map(|key| key.escape_ascii().to_string());
                write!(f, "{verb} {key:?} (ticket, {back} back) {actual:?}")
            }
        }
    }
}

const BUCKET_KEYS: [&[u8]; 3] = [b"", b"and", b"a key of more than sixteen bytes\r\n\x00\xff"];
const WINDOW_KEY: &[u8] = b"window";
const SLIDING_KEY: &[u8] = b"sliding";
const LOG_KEY: &[u8] = b"log";
const LEASES_KEY: &[u8] = b"leases";
const POLICY_KEYS: [&[u8]; 2] = [b"acct:7", b"acct:8"];
const POLICIES: [&str; 3] = ["p", "q", "none"];

/// Every key that is used.
pub fn keys() -> Vec<Vec<u8>> {
    let single = [WINDOW_KEY, SLIDING_KEY, LOG_KEY, LEASES_KEY];
    let all = BUCKET_KEYS.iter().chain(&single).chain(&POLICY_KEYS);
    let plain = plain::KEYS.iter().map(|key| key.as_bytes());
    all.copied().chain(plain).map(<[u8]>::to_vec).collect()
}

/// What a history is mostly about. One that is about everything seldom does the same thing to one key twice.
#[derive(Clone, Copy, Debug)]
pub enum About {
    Everything,
    /// One bucket, seldom another.
    Bucket,
    /// Windows and logs.
    Counted,
    /// Several limits on one key.
    Policies,
    /// Leases, alone and with other limits.
    Leases,
    /// Strings and counters.
    Plain,
}

pub fn about() -> impl Strategy<Value = About> {
    prop_oneof![
        2 => Just(About::Everything),
        3 => Just(About::Bucket),
        1 => Just(About::Counted),
        2 => Just(About::Policies),
        2 => Just(About::Leases),
        1 => Just(About::Plain),
    ]
}

/// Steps up to so many, and policies to begin with.
pub fn begin(about: About, most: usize) -> impl Strategy<Value = Vec<Step>> {
    let set = |name: &'static str| {
        vec(any_limit(), 1..4).prop_map(move |limits| Step {
            later: 0,
            database: 0,
            command: Command::Words(words(&["RL.POLICY SET", name, &limits.join(" AND ")])),
        })
    };
    let end = prop_oneof![1 => Just(Vec::new()), 1 => slots_in_a_pause()];
    (set("p"), set("q"), steps(about, most), end).prop_map(|(p, q, steps, end)| {
        let mut all = vec![p, q];
        all.extend(steps);
        all.extend(end);
        all
    })
}

/// What seldom comes about by chance: slots ahead on a bucket that a pause then covers or drains.
fn slots_in_a_pause() -> impl Strategy<Value = Vec<Step>> {
    let pause = select(vec!["20ms", "700ms", "3s", "3s KEEP", "3s SLOW 0.25 8s"]);
    (rate(), 1..4usize, pause).prop_map(|(rate, slots, pause)| {
        let key = String::from_utf8_lossy(BUCKET_KEYS[1]);
        let reserve = |options: &str| format!("RL.RESERVE {key} 2 {rate} 3650d {options}");
        let mut lines = vec![reserve("COST 2")];
        lines.extend(vec![reserve("TICKET"); slots]);
        lines.push(format!("RL.PAUSE {key} {pause}"));
        let step = |line: &String| Step {
            later: 0,
            database: 0,
            command: Command::Words(words(&[line])),
        };
        lines.iter().map(step).collect()
    })
}

pub fn steps(about: About, most: usize) -> impl Strategy<Value = Vec<Step>> {
    vec(step(about), 0..most)
}

fn step(about: About) -> impl Strategy<Value = Step> {
    let later = prop_oneof![
        4 => Just(0),
        1 => 1..=1000u64,
        3 => 0..=20 * MILLISECOND,
        3 => 0..=2 * SECOND,
        1 => 0..=30 * SECOND,
    ];
    let database = prop_oneof![9 => Just(0usize), 1 => Just(1)];
    (later, database, command(about)).prop_map(|(later, database, command)| Step {
        later,
        database,
        command,
    })
}

fn command(about: About) -> impl Strategy<Value = Command> {
    let plain = match about {
        About::Plain => 200,
        _ => 5,
    };
    let words = prop_oneof![
        40 => verb(about),
        5 => lease(),
        10 => pause(about),
        4 => key(about).prop_map(|key| vec![b"RL.RESUME".to_vec(), key]),
        5 => charge(about),
        4 => refund(about),
        4 => policy(),
        3 => dialect(),
        3 => look(about),
        1 => removal(about),
        plain => plain::command(),
    ];
    prop_oneof![
        16 => words.prop_map(Command::Words),
        2 => (0..6usize).prop_map(|back| Command::Again { back }),
        8 => of_ticket(about),
    ]
}

/// Words of a request: texts, some of which are several words.
pub fn words(texts: &[&str]) -> Vec<Vec<u8>> {
    let texts = texts.iter().flat_map(|text| text.split_ascii_whitespace());
    texts.map(|word| word.as_bytes().to_vec()).collect()
}

fn key(about: About) -> impl Strategy<Value = Vec<u8>> {
    let key = match about {
        About::Everything => LOG_KEY,
        About::Bucket => BUCKET_KEYS[1],
        About::Counted => WINDOW_KEY,
        About::Policies => POLICY_KEYS[0],
        About::Leases => LEASES_KEY,
        About::Plain => plain::KEYS[0].as_bytes(),
    };
    prop_oneof![3 => Just(key.to_vec()), 2 => select(keys())]
}

fn rate() -> impl Strategy<Value = &'static str> {
    select(vec![
        "80",
        "1",
        "0.5",
        "3",
        "7/2s",
        "100/m",
        "1/5m",
        "0.0002777777777777778",
        "99999.999999999999",
    ])
}

fn bucket_limit() -> impl Strategy<Value = String> {
    let capacity = || select(vec![1, 2, 3, 7, 80, 1_000_000u64]);
    let period = select(vec!["1s", "2s", "7ms", "1m"]);
    prop_oneof![
        5 => (capacity(), rate()).prop_map(|(capacity, rate)| format!("{capacity} {rate}")),
        1 => (0..4u64, 1..9u64, period).prop_map(|(burst, count, period)| format!("GCRA {burst} {count} {period}")),
        1 => rate().prop_map(|rate| format!("PACE {rate}")),
    ]
}

fn counted_limit(kind: &'static str) -> impl Strategy<Value = String> {
    let period = select(vec!["1s", "2s", "60s", "1500ms", "333333333ns"]);
    let align = if kind == "WINDOW" { " ALIGN" } else { "" };
    (1..=7u64, period, any::<bool>()).prop_map(move |(count, period, aligned)| {
        let align = if aligned { align } else { "" };
        format!("{kind} {count} {period}{align}")
    })
}

fn leases_limit() -> impl Strategy<Value = String> {
    let ttl = select(vec!["20ms", "2s", "30s", "333333333ns"]);
    (1..=4u64, ttl).prop_map(|(max, ttl)| format!("LEASES {max} {ttl}"))
}

/// RL.LEASE, bound to no connection: after a restart it would be bound to none.
fn lease() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let owner = select(vec!["OWNER me", "OWNER you"]);
    let options = (weighted(0.5, owner), weighted(0.2, id()));
    (leases_limit(), options).prop_map(|(limit, (owner, id))| {
        let mut request = vec![b"RL.LEASE".to_vec(), LEASES_KEY.to_vec()];
        let limit = limit.trim_start_matches("LEASES ");
        request.extend(words(&[
            limit,
            owner.unwrap_or_default(),
            id.unwrap_or_default(),
        ]));
        request
    })
}

fn any_limit() -> impl Strategy<Value = String> {
    prop_oneof![
        bucket_limit(),
        counted_limit("WINDOW"),
        counted_limit("SLIDING"),
        counted_limit("LOG"),
        leases_limit()
    ]
}

/// A key and a limit that mostly go together.
fn keyed_limit(about: About) -> impl Strategy<Value = (Vec<u8>, String)> {
    let [bucket, counted, policy, leases] = match about {
        About::Everything => [5, 5, 4, 2],
        About::Bucket => [20, 1, 1, 1],
        About::Counted => [1, 20, 1, 1],
        About::Policies => [2, 1, 20, 1],
        About::Leases => [4, 4, 4, 12],
        About::Plain => [1, 1, 1, 1],
    };
    let one_of = |keys: &[&[u8]]| {
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.to_vec()).collect();
        prop_oneof![3 => Just(keys[0].clone()), 1 => select(keys)]
    };
    let counted_limits = prop_oneof![
        2 => (Just(WINDOW_KEY.to_vec()), counted_limit("WINDOW")),
        1 => (Just(SLIDING_KEY.to_vec()), counted_limit("SLIDING")),
        2 => (Just(LOG_KEY.to_vec()), counted_limit("LOG")),
    ];
    let policy_name = prop_oneof![
        20 => select(POLICIES[..2].to_vec()),
        1 => Just(POLICIES[2]),
    ];
    prop_oneof![
        bucket => (one_of(&[BUCKET_KEYS[1], BUCKET_KEYS[0], BUCKET_KEYS[2]]), bucket_limit()),
        counted => counted_limits,
        policy => (one_of(&POLICY_KEYS), policy_name.prop_map(|name| format!("POLICY {name}"))),
        leases => (Just(LEASES_KEY.to_vec()), leases_limit()),
        1 => (select(keys()), any_limit()),
    ]
}

fn cost() -> impl Strategy<Value = String> {
    prop_oneof![
        20 => (1..=3u64).prop_map(|cost| cost.to_string()),
        3 => (1..=100u64).prop_map(|cost| cost.to_string()),
        1 => Just("1000000000000".to_owned()),
        1 => vec((1..=3u64).prop_map(|cost| cost.to_string()), 2..4).prop_map(|costs| costs.join(",")),
    ]
}

fn id() -> impl Strategy<Value = &'static str> {
    select(vec!["ID a", "ID b"])
}

/// A key, its limit, and a cost unless it is 1.
type Rule = ((Vec<u8>, String), Option<String>);

/// RESERVE, TAKE and PEEK, over up to four rules.
fn verb(about: About) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let max_wait = select(vec!["0", "0", "1500", "60s", "3650d"]);
    let verb = prop_oneof![
        6 => max_wait.prop_map(|max_wait| ("RL.RESERVE", max_wait)),
        4 => Just(("RL.TAKE", "")),
        1 => Just(("RL.PEEK", "")),
    ];
    let more = prop_oneof![5 => Just(0usize), 3 => Just(1), 1 => Just(3)];
    let rules =
        more.prop_flat_map(move |more| vec((keyed_limit(about), weighted(0.5, cost())), 1 + more));
    let tickets = vec![
        "TICKET",
        "TICKET",
        "TICKET 500ms",
        "TICKET 5s",
        "TICKET 3650d",
    ];
    let ticket = weighted(0.5, select(tickets));
    (verb, rules, ticket, weighted(0.2, id()), any::<[bool; 3]>()).prop_map(
        |((name, max_wait), rules, ticket, id, info)| {
            let (ticket, id) = match name {
                "RL.PEEK" => ("", ""),
                _ => (ticket.unwrap_or_default(), id.unwrap_or_default()),
            };
            let info = if info == [true; 3] { "INFO" } else { "" };
            let mut request = with_rules(name, max_wait, &rules);
            request.extend(words(&[ticket, id, info]));
            request
        },
    )
}

fn with_rules(name: &str, max_wait: &str, rules: &[Rule]) -> Vec<Vec<u8>> {
    let mut request = words(&[name]);
    for (index, ((key, limit), cost)) in rules.iter().enumerate() {
        if rules[..index].iter().any(|((other, _), _)| other == key) {
            continue;
        }
        request.extend(words(&[if index > 0 { "AND" } else { "" }]));
        request.push(key.clone());
        request.extend(words(&[limit, if index == 0 { max_wait } else { "" }]));
        if let Some(cost) = cost {
            request.extend(words(&["COST", cost]));
        }
    }
    request
}

fn pause(about: About) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let duration = prop_oneof![9 => select(vec!["1ns", "20ms", "700ms", "3s", "3s"]), 1 => select(vec!["1h", "3650d"])];
    let options = select(vec![
        "",
        "",
        "",
        "KEEP",
        "FORCE",
        "KEEP FORCE",
        "SLOW 0.5 10s",
    ]);
    (key(about), duration, options).prop_map(|(key, duration, options)| {
        let mut request = vec![b"RL.PAUSE".to_vec(), key];
        request.extend(words(&[duration, options]));
        request
    })
}

fn charge(about: About) -> impl Strategy<Value = Vec<Vec<u8>>> {
    (keyed_limit(about), cost(), weighted(0.3, id())).prop_map(|((key, limit), cost, id)| {
        let mut request = vec![b"RL.CHARGE".to_vec(), key];
        request.extend(words(&[&limit, &cost, id.unwrap_or_default()]));
        request
    })
}

fn refund(about: About) -> impl Strategy<Value = Vec<Vec<u8>>> {
    (key(about), cost(), weighted(0.3, id())).prop_map(|(key, cost, id)| {
        let mut request = vec![b"RL.REFUND".to_vec(), key];
        request.extend(words(&[&cost, id.unwrap_or_default()]));
        request
    })
}

fn policy() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let name = || select(POLICIES[..2].to_vec());
    prop_oneof![
        4 => (name(), vec(any_limit(), 1..4)).prop_map(|(name, limits)| {
            words(&["RL.POLICY SET", name, &limits.join(" AND ")])
        }),
        1 => name().prop_map(|name| words(&["RL.POLICY DEL", name])),
        1 => name().prop_map(|name| words(&["RL.POLICY GET", name])),
        1 => Just(words(&["RL.POLICY LIST"])),
    ]
}

fn dialect() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let name = select(vec!["CL.THROTTLE", "RL.THROTTLE", "THROTTLE", "GCRA"]);
    let numbers = (0..4u64, 1..9u64, 1..9u64);
    (name, select(BUCKET_KEYS.to_vec()), numbers).prop_map(|(name, key, (burst, count, period))| {
        let mut request = vec![name.into(), key.to_vec()];
        request.extend([burst, count, period].map(|number| number.to_string().into_bytes()));
        request
    })
}

fn look(about: About) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let name = select(vec!["RL.USAGE", "RL.LEASES", "PTTL", "EXISTS", "TYPE"]);
    (name, key(about)).prop_map(|(name, key)| vec![name.into(), key])
}

fn removal(about: About) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let name = select(vec!["DEL", "UNLINK"]);
    prop_oneof![
        4 => (name, key(about)).prop_map(|(name, key)| vec![name.into(), key]),
        1 => Just(words(&["FLUSHDB"])),
        1 => Just(words(&["FLUSHALL"])),
    ]
}

fn of_ticket(about: About) -> impl Strategy<Value = Command> {
    let actual = select(vec!["0", "1", "2", "5", "1,2", "0,3", "1000000000000"]);
    let ttl = select(vec!["1ms", "700ms", "60s"]);
    let verb = prop_oneof![
        2 => ttl.prop_map(|ttl| ("RL.RENEW", Some(ttl))),
        1 => Just(("RL.RELEASE", None)),
        3 => Just(("RL.CONFIRM", None)),
        2 => Just(("RL.CANCEL", None)),
        2 => actual.prop_map(|actual| ("RL.SETTLE", Some(actual))),
    ];
    (verb, 0..6usize, weighted(0.1, key(about))).prop_map(|((verb, actual), back, key)| {
        Command::OfTicket {
            verb,
            back,
            key,
            actual,
        }
    })
}
