use super::*;
use crate::core::limit::Limit;
use crate::plain::{Data, Deadline, Plain, Text};
use crate::store::Answer;
use proptest::prelude::*;

const INSTANT_MAX: u64 = (1 << 63) + 2 * Span::MAX.as_ns();

fn encoded(record: &Record) -> Vec<u8> {
    let mut bytes = Vec::new();
    let out = &mut bytes;
    match record {
        Record::Key {
            database,
            key,
            value,
        } => encode_key(out, *database, key, value),
        Record::Policy { name, limits } => encode_policy(out, name, limits),
        Record::LastNumber(number) => encode_last_number(out, *number),
        Record::Ticket {
            database,
            number,
            ticket,
        } => encode_ticket(out, *database, *number, ticket),
        Record::Answer {
            database,
            key,
            id,
            remembered,
        } => encode_answer(out, *database, key, id, remembered),
        Record::JournalFrom(generation) => encode_journal_from(out, *generation),
        Record::Gone(gone) => encode_gone(out, gone),
    }
    bytes
}

fn decoded(bytes: &[u8]) -> Result<Record, DecodeError> {
    let mut input = Input::new(bytes);
    let record = decode(&mut input)?;
    assert!(input.is_empty(), "a record is read to its end");
    Ok(record)
}

fn instant(ns: u64) -> Timestamp {
    Timestamp::from_ns(ns).expect("in range")
}

/// Numbers of every length, the ends of the range among them.
fn number(max: u128) -> impl Strategy<Value = u128> {
    let any_length =
        (any::<u128>(), 0u32..128).prop_map(move |(value, shift)| (value >> shift).min(max));
    prop_oneof![8 => any_length, 1 => Just(0), 1 => Just(max)]
}

fn instants() -> impl Strategy<Value = Timestamp> {
    number(u128::from(INSTANT_MAX)).prop_map(|ns| instant(ns as u64))
}

fn limits() -> impl Strategy<Value = BucketLimit> {
    let parts = (
        number(u128::from(AMOUNT_MAX)),
        number(1 << 60),
        number(1 << 120),
        any::<bool>(),
    );
    parts.prop_filter_map(
        "a limit that exists",
        |(capacity, permits, per_ns, keeps_time)| {
            let keeps = if keeps_time {
                Keeps::Time
            } else {
                Keeps::Permits
            };
            // Half of all pairs are rates faster than any; turned around they are good.
            let (permits, per_ns) = (permits.min(per_ns), permits.max(per_ns));
            BucketLimit::new(
                (capacity as u64).max(1),
                Rate::from_fraction(permits, per_ns)?,
                keeps,
            )
            .ok()
        },
    )
}

fn levels() -> impl Strategy<Value = Level> {
    (number(DEFICIT_MAX), instants()).prop_map(|(deficit, base)| Level { deficit, base })
}

fn buckets() -> impl Strategy<Value = Bucket> {
    (
        limits(),
        levels(),
        any::<bool>(),
        any::<bool>(),
        prop::option::of(levels()),
    )
        .prop_map(|(limit, level, after_pause, ahead, undrained)| Bucket {
            limit,
            level,
            promised_after_pause: after_pause,
            promised_ahead: ahead,
            undrained,
        })
}

fn pauses() -> impl Strategy<Value = Pause> {
    (
        instants(),
        number(u128::from(Span::MAX.as_ns())),
        any::<bool>(),
    )
        .prop_map(|(until, kept, drains)| {
            let kept_until = instant(until.as_ns().saturating_add(kept as u64).min(INSTANT_MAX));
            Pause {
                until,
                drains,
                kept_until,
            }
        })
}

fn plains() -> impl Strategy<Value = Plain> {
    let texts = prop_oneof![
        any::<i64>().prop_map(Text::from),
        prop::collection::vec(any::<u8>(), 0..300).prop_map(|bytes| Text::new(&bytes).unwrap()),
    ];
    let deadlines = (number(i64::MAX as u128), 0..1_000_000u32)
        .prop_map(|(ms, ns)| Deadline::from_parts(ms as i64, ns).unwrap());
    (texts, prop::option::of(deadlines)).prop_map(|(text, expires)| Plain {
        data: Data::Text(text),
        expires,
    })
}

fn plain_records() -> impl Strategy<Value = Record> {
    (0..DATABASES_MAX, plains()).prop_map(|(database, plain)| Record::Key {
        database,
        key: Key::new(b"k"),
        value: Value::Plain(plain),
    })
}

fn records() -> impl Strategy<Value = Record> {
    prop_oneof![2 => limit_records(), 1 => plain_records()]
}

fn limit_records() -> impl Strategy<Value = Record> {
    let states = prop_oneof![1 => Just(States::new()), 4 => buckets().prop_map(|bucket| States::from_elem(State::Bucket(bucket, None), 1))];
    let names =
        prop::collection::vec(any::<u8>(), 0..=KEY_BYTES_MAX).prop_map(|name| Key::new(&name));
    (0..DATABASES_MAX, names, states, prop::option::of(pauses())).prop_filter_map(
        "holds something",
        |(database, key, state, pause)| {
            let entry = Entry::from_parts(state, pause, None);
            (!entry.is_absent()).then_some(Record::Key {
                database,
                key,
                value: Value::Limit(entry),
            })
        },
    )
}

/// A bucket's key as bytes, with nothing wrong.
fn bucket_record() -> Vec<u8> {
    let rate = Rate::parse(b"80").expect("a rate");
    let mut bucket = Bucket::new(
        BucketLimit::new(80, rate, Keeps::Permits).unwrap(),
        instant(7),
    );
    bucket.level.deficit = 3;
    let entry = Entry::from_parts(
        States::from_elem(State::Bucket(bucket, None), 1),
        None,
        None,
    );
    encoded(&Record::Key {
        database: 2,
        key: Key::new(b"ab"),
        value: Value::Limit(entry),
    })
}

#[test]
fn the_encoding_is_as_it_is_written_down() {
    let bytes = [
        &[1, 2, 2, b'a', b'b'][..],          // a key, its database, its name
        &[1, 1, 0, 80, 1, 160, 248, 250, 5], // one limit, a bucket, no flags, 80 at 1 / 12,500,000 ns
        &[3, 7, 0, 0, 0, 0, 0, 0, 0],        // three parts of a permit are gone, as of 7 ns
        &[0, 0],                             // no pause, no slow-down
    ];
    assert_eq!(bucket_record(), bytes.concat());
}

#[test]
fn every_byte_that_stands_for_something_unknown_is_named() {
    let change = |at: usize, to: u8| {
        let mut bytes = bucket_record();
        bytes[at] = to;
        decoded(&bytes).unwrap_err()
    };
    assert_eq!(change(0, 9), DecodeError::Unknown("a record of kind", 9));
    assert_eq!(change(6, 9), DecodeError::Unknown("a key of kind", 9));
    assert_eq!(
        change(7, 64),
        DecodeError::Unknown("a bucket with flags", 64)
    );
    assert_eq!(change(23, 3), DecodeError::Unknown("a pause of kind", 3));
    assert_eq!(
        change(24, 2),
        DecodeError::Unknown("a slow-down of kind", 2)
    );
}

#[test]
fn values_out_of_range_are_refused() {
    let key = |rest: &[u8]| decoded(&[&[1, 0, 0], rest].concat()).unwrap_err();
    let bucket = |capacity: u64, permits: u128, per_ns: u128, deficit: u128, base: u64| {
        let mut bytes = vec![1, STATE_BUCKET, 0];
        put_varint(&mut bytes, capacity);
        [permits, per_ns, deficit]
            .into_iter()
            .for_each(|value| put_varint(&mut bytes, value));
        bytes.extend_from_slice(&base.to_le_bytes());
        bytes.extend_from_slice(&[PAUSE_NONE, 0]);
        key(&bytes)
    };
    let pause = |until: u64, kept: u64| {
        let mut bytes = vec![0, PAUSE_PLAIN];
        bytes.extend_from_slice(&until.to_le_bytes());
        put_varint(&mut bytes, kept);
        bytes.push(0);
        key(&bytes)
    };
    use DecodeError::Invalid;
    assert_eq!(
        decoded(&[1, 16, 0, 0, 0]),
        Err(Invalid("a database number out of range"))
    );
    assert_eq!(
        decoded(&[1, 0, 0x81, 4]),
        Err(Invalid("a key that is too long"))
    );
    assert_eq!(key(&[0, 0, 0]), Invalid("a key that holds nothing"));
    assert_eq!(bucket(0, 1, 9, 0, 0), Invalid("a capacity out of range"));
    assert_eq!(
        bucket(AMOUNT_MAX + 1, 1, 9, 0, 0),
        Invalid("a capacity out of range")
    );
    assert_eq!(bucket(1, 0, 9, 0, 0), Invalid("a rate out of range"));
    assert_eq!(bucket(1, 1, 0, 0, 0), Invalid("a rate out of range"));
    assert_eq!(bucket(1, 10, 9, 0, 0), Invalid("a rate out of range"));
    assert_eq!(
        bucket(1, 3, 9, 0, 0),
        Invalid("a rate that is not in lowest terms")
    );
    assert_eq!(
        bucket(AMOUNT_MAX, 1, 1 << 58, 0, 0),
        Invalid("a capacity and a rate that do not go together")
    );
    assert_eq!(
        bucket(1, 1, 9, DEFICIT_MAX + 1, 0),
        Invalid("a deficit out of range")
    );
    assert_eq!(
        bucket(1, 1, 9, 0, INSTANT_MAX + 1),
        Invalid("an instant beyond the last one")
    );
    assert_eq!(
        pause(INSTANT_MAX + 1, 0),
        Invalid("an instant beyond the last one")
    );
    assert_eq!(
        pause(0, Span::MAX.as_ns() + 1),
        Invalid("a pause that is too long")
    );
    assert_eq!(
        pause(INSTANT_MAX, 1),
        Invalid("a pause beyond the last instant")
    );
}

#[test]
fn a_plain_value_is_encoded_as_it_is_written_down() {
    let record = |expires, text: &[u8]| {
        encoded(&Record::Key {
            database: 2,
            key: Key::new(b"ab"),
            value: Value::Plain(Plain {
                data: Data::Text(Text::new(text).unwrap()),
                expires,
            }),
        })
    };
    assert_eq!(
        record(None, b"-7"),
        [6, 2, 2, b'a', b'b', 0, 1, 2, b'-', b'7']
    );
    let deadline = Deadline::from_parts(300, 5).unwrap();
    assert_eq!(
        record(Some(deadline), b""),
        [6, 2, 2, b'a', b'b', 1, 172, 2, 5, 1, 0]
    );
}

#[test]
fn a_plain_value_out_of_range_is_refused() {
    use DecodeError::{Invalid, Short, Unknown};
    let plain = |rest: &[u8]| decoded(&[&[6, 0, 0], rest].concat()).unwrap_err();
    let goes = |ms: u128, ns: u128| {
        let mut bytes = vec![1];
        put_varint(&mut bytes, ms);
        put_varint(&mut bytes, ns);
        bytes.extend_from_slice(&[1, 0]);
        plain(&bytes)
    };
    assert_eq!(plain(&[2, 1, 0]), Unknown("an expiry of kind", 2));
    assert_eq!(plain(&[0, 99, 0]), Unknown("a plain value of kind", 99));
    assert_eq!(plain(&[0, 1, 1]), Short);
    let beyond = Invalid("an expiry beyond the last one");
    assert_eq!(goes(1 << 63, 0), beyond);
    assert_eq!(goes(0, 1_000_000), beyond);
    assert_eq!(goes(0, 1 << 40), beyond);
    let too_long = Invalid("a string that is too long");
    let mut bytes = vec![0, 1];
    put_varint(&mut bytes, 65_537u64);
    bytes.extend_from_slice(&[b'x'; 65_537]);
    assert_eq!(plain(&bytes), too_long);
    let mut bytes = vec![0, 1];
    put_varint(&mut bytes, u128::MAX);
    assert_eq!(plain(&bytes), too_long);
}

#[test]
fn no_change_of_parameters_carries_more_debt_than_is_decoded() {
    let limit = |capacity, rate: &[u8]| {
        BucketLimit::new(capacity, Rate::parse(rate).expect("a rate"), Keeps::Permits)
            .expect("a limit")
    };
    // 3650 days' worth at the fastest rate, carried to a slow one: 500,000 years of debt.
    let slow = limit(1, b"20000");
    let mut bucket = Bucket::new(slow, instant(0));
    bucket.level.deficit = 315_361_000_000_000_000 * slow.rate().per_ns();
    // A rate fine enough that the same time comes within one charge of 2^128.
    let fine = limit(AMOUNT_MAX, b"21580.502722028059");
    assert_eq!(
        bucket.adopt(fine, instant(0)),
        Err(crate::core::decision::Refusal::CarryTooLarge)
    );
}

#[test]
fn a_number_that_no_reply_can_tell_is_refused() {
    let last = |number| decoded(&encoded(&Record::LastNumber(number)));
    let most = i64::MAX as u64;
    assert_eq!(last(most), Ok(Record::LastNumber(most)));
    assert_eq!(
        last(most + 1),
        Err(DecodeError::Invalid("a count out of range"))
    );
}

#[test]
fn an_answer_may_end_after_the_last_instant_of_a_clock() {
    let never = Timestamp::ZERO.after_ns(u64::MAX);
    let answer = Record::Answer {
        database: 0,
        key: Key::new(b"k"),
        id: (*b"id").into(),
        remembered: Remembered {
            answer: Answer::Until(never),
            request: 1,
            expires: never,
        },
    };
    assert_eq!(decoded(&encoded(&answer)), Ok(answer));
}

proptest! {
    #[test]
    fn a_record_comes_back_as_it_was(record in records()) {
        prop_assert_eq!(decoded(&encoded(&record)), Ok(record));
    }

    #[test]
    fn half_a_record_is_refused(record in records(), cut in any::<prop::sample::Index>()) {
        let bytes = encoded(&record);
        prop_assert_eq!(decoded(&bytes[..cut.index(bytes.len())]), Err(DecodeError::Short));
    }

    #[test]
    fn any_bytes_are_refused_or_are_the_one_encoding_of_a_record(
        record in records(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        noise in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let mut bytes = encoded(&record);
        for (at, to) in changes {
            let at = at.index(bytes.len());
            bytes[at] = to;
        }
        for bytes in [bytes, noise] {
            let mut input = Input::new(&bytes);
            if let Ok(record) = decode(&mut input) {
                let again = encoded(&record);
                prop_assert_eq!(&bytes[..again.len()], &again[..]);
            }
        }
    }

    #[test]
    fn the_arithmetic_holds_for_whatever_is_decoded(
        record in records(),
        limit in limits(),
        now in 0..=Timestamp::MAX.as_ns(),
        cost in 1..=AMOUNT_MAX,
        span in 0..=Span::MAX.as_ns(),
    ) {
        // Debug builds panic on overflow: that none does is what is tested.
        let (now, span) = (instant(now), Span::from_ns(span).expect("in range"));
        let Record::Key { value: Value::Limit(mut entry), .. } = record else {
            return Ok(());
        };
        let _ = entry.usage(now);
        entry.forget(now);
        if let Some(own) = limit_of(&entry, now) {
            for cost in [1, own.capacity()] {
                let draft = entry.draft(&Limit::Bucket(own), now).expect("its own limit");
                let _ = (draft.earliest(cost), draft.standing());
            }
        }
        for limit in [limit, limit_of(&entry, now).unwrap_or(limit)] {
            entry.pause(span, cost % 2 == 0, cost % 3 == 0, now);
            let _ = entry.refund(cost, now);
            if let Ok(mut draft) = entry.draft(&Limit::Bucket(limit), now) {
                let _ = (draft.earliest(cost), draft.standing());
                if draft.book(cost).is_ok() {
                    draft.commit();
                }
            }
            let _ = (entry.forgotten_after(now), entry.resume(now), entry.usage(now));
        }
    }
}

fn limit_of(entry: &Entry, now: Timestamp) -> Option<BucketLimit> {
    match entry.usage(now)?.limits.first()?.limit {
        Limit::Bucket(limit) => Some(limit),
        _ => None,
    }
}
