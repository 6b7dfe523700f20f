//! A restart is not noticed: whatever was done to the keys, every reply after a save and a load is the
//! one that would have come without.

use proptest::prelude::*;
use std::fmt::Write as _;
use tollgate::core::entry::Entry;
use tollgate::core::limit::{BucketLimit, Keeps, Limit, Rate};
use tollgate::core::units::{DAY, MILLISECOND, SECOND, Span, Timestamp};
use tollgate::persistence::codec::Record;
use tollgate::persistence::snapshot;
use tollgate::store::Store;

const KEYS: [&[u8]; 2] = [b"", b"a key of more than sixteen bytes"];
const DATABASES: [u8; 2] = [0, 15];

/// Something that can happen to a key.
#[derive(Clone, Debug)]
enum Act {
    Book { limit: Limit, cost: u64 },
    Charge { limit: Limit, cost: u64 },
    Peek { limit: Limit, cost: u64 },
    Pause { span: Span, keep: bool, force: bool },
    Resume,
    Refund { cost: u64 },
}

#[derive(Clone, Debug)]
struct Step {
    /// Nanoseconds since the step before.
    later: u64,
    database: usize,
    key: usize,
    act: Act,
}

fn limits() -> impl Strategy<Value = Limit> {
    let rate = prop::sample::select(vec![
        "80",
        "1",
        "0.5",
        "3",
        "7",
        "100/m",
        "1/5m",
        "1000000000",
        "0.0002777777777777778",
        "99999.999999999999",
    ]);
    let capacity = prop::sample::select(vec![1, 2, 7, 80, 1_000_000]);
    (capacity, rate, prop::bool::weighted(0.3)).prop_map(|(capacity, rate, keeps_time)| {
        let keeps = if keeps_time {
            Keeps::Time
        } else {
            Keeps::Permits
        };
        let rate = Rate::parse(rate.as_bytes()).expect("a rate");
        Limit::Bucket(BucketLimit::new(capacity, rate, keeps).expect("a limit"))
    })
}

fn acts() -> impl Strategy<Value = Act> {
    let cost = || prop_oneof![6 => 1..=3u64, 2 => 1..=100u64, 1 => Just(1_000_000_000_000)];
    let span = prop_oneof![0..=3 * SECOND, Just(0), Just(3650 * DAY)]
        .prop_map(|ns| Span::from_ns(ns).expect("a span"));
    prop_oneof![
        6 => (limits(), cost()).prop_map(|(limit, cost)| Act::Book { limit, cost }),
        2 => (limits(), cost()).prop_map(|(limit, cost)| Act::Charge { limit, cost }),
        2 => (limits(), cost()).prop_map(|(limit, cost)| Act::Peek { limit, cost }),
        3 => (span, any::<bool>(), any::<bool>()).prop_map(|(span, keep, force)| Act::Pause { span, keep, force }),
        1 => Just(Act::Resume),
        1 => cost().prop_map(|cost| Act::Refund { cost }),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let later = prop_oneof![Just(0), 1..=1000u64, 0..=20 * MILLISECOND, 0..=5 * SECOND];
    let step = (later, 0..DATABASES.len(), 0..KEYS.len(), acts()).prop_map(
        |(later, database, key, act)| Step {
            later,
            database,
            key,
            act,
        },
    );
    prop::collection::vec(step, 0..24)
}

/// Does it, and tells everything that a reply could show.
fn act(entry: &mut Entry, act: &Act, now: Timestamp) -> String {
    let mut reply = String::new();
    match act {
        Act::Book { limit, cost } | Act::Charge { limit, cost } | Act::Peek { limit, cost } => {
            match entry.draft(limit, now) {
                Ok(mut draft) => {
                    let earliest = draft.earliest(*cost);
                    write!(
                        reply,
                        "{earliest:?} {:?} {} ",
                        draft.standing(),
                        draft.is_paused()
                    )
                    .expect("memory");
                    let granted = earliest != tollgate::core::decision::Earliest::Never;
                    let books = matches!(act, Act::Charge { .. })
                        || (matches!(act, Act::Book { .. }) && granted);
                    if books {
                        let booked = draft.book(*cost);
                        write!(reply, "{booked:?} {:?}", draft.standing()).expect("memory");
                        if booked.is_ok() {
                            draft.commit();
                        }
                    }
                }
                Err(refusal) => write!(reply, "{refusal:?}").expect("memory"),
            }
        }
        Act::Pause { span, keep, force } => {
            write!(reply, "{:?}", entry.pause(*span, *keep, *force, now)).expect("memory");
        }
        Act::Resume => write!(reply, "{}", entry.resume(now)).expect("memory"),
        Act::Refund { cost } => write!(reply, "{}", entry.refund(*cost, now)).expect("memory"),
    }
    write!(
        reply,
        " | {:?} {:?}",
        entry.usage(now),
        entry.forgotten_after(now)
    )
    .expect("memory");
    reply
}

fn run(store: &Store, steps: &[Step], now: &mut u64) -> Vec<String> {
    let does = |step: &Step| {
        *now += step.later;
        let at = Timestamp::from_ns(*now).expect("in range");
        store
            .with_limit(DATABASES[step.database], KEYS[step.key], at, |entry| {
                act(entry, &step.act, at)
            })
            .expect("no plain value is written")
    };
    steps.iter().map(does).collect()
}

fn restarted(store: &Store, now: u64) -> Store {
    let mut bytes = Vec::new();
    let now = Timestamp::from_ns(now).expect("in range");
    snapshot::write(store, now, 1, &mut bytes).expect("memory takes it");
    let (loaded, records) = snapshot::decode(&bytes).expect("it was just written");
    assert_eq!(loaded.taken_at, now);
    let other = Store::new();
    for record in records {
        let Record::Key {
            database,
            key,
            value,
        } = record
        else {
            continue;
        };
        store.read(database, key.as_bytes(), now, |kept| {
            assert_eq!(kept, Some(&value))
        });
        other.restore(database, &key, value);
    }
    other
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_later_reply_is_the_same_as_without_the_restart(before in steps(), down in 0..=10 * SECOND, after in steps()) {
        let store = Store::new();
        let mut now = 1_700_000_000 * SECOND;
        run(&store, &before, &mut now);
        let other = restarted(&store, now);
        // Time passes while the server is down.
        now += down;
        let mut same_now = now;
        prop_assert_eq!(run(&store, &after, &mut now), run(&other, &after, &mut same_now));
        // And a second restart changes nothing either.
        let third = restarted(&other, now);
        let mut same_now = now;
        prop_assert_eq!(run(&store, &after, &mut now), run(&third, &after, &mut same_now));
    }
}
