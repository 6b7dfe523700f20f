use super::super::codec::{Record, decode as decode_record, encode_key};
use super::*;
use crate::core::entry::{Entry, State, States};
use crate::core::units::{SECOND, Timestamp};
use crate::store::{Key, Value};
use proptest::prelude::*;

fn at(ns: u64) -> Timestamp {
    Timestamp::from_ns(ns).expect("in range")
}

fn limit(max: u64) -> LeasesLimit {
    LeasesLimit::new(max, Span::from_ns(3).expect("a span")).expect("a limit")
}

fn lease(lapses: u64, owner: Option<&[u8]>) -> Lease {
    Lease {
        lapses: at(lapses),
        owner: owner.map(Box::from),
        bound_to: 0,
    }
}

fn record(states: Vec<State>) -> Record {
    Record::Key {
        database: 0,
        key: Key::new(b"k"),
        value: Value::Limit(Entry::from_parts(States::from_vec(states), None, None)),
    }
}

fn of_leases(leases: &Leases) -> State {
    State::Leases(Box::new(leases.clone()))
}

fn encoded(record: &Record) -> Vec<u8> {
    let mut out = Vec::new();
    if let Record::Key {
        database,
        key,
        value,
    } = record
    {
        encode_key(&mut out, *database, key, value);
    }
    out
}

fn decoded(bytes: &[u8]) -> Result<Record, DecodeError> {
    decode_record(&mut Input::new(bytes))
}

#[test]
fn the_encoding_is_as_it_is_written_down() {
    let mut leases = Leases::new(limit(2));
    leases.hold(5, lease(9, Some(b"me")));
    leases.hold(8, lease(7, None));
    let bytes = [
        &[1, 0, 1, b'k'][..],                           // a key in database 0
        &[1, 5, 2, 3],                                  // one limit, of leases: two, for 3 ns
        &[2, 5, 9, 0, 0, 0, 0, 0, 0, 0, 2, b'm', b'e'], // two are held: 5 until 9 ns
        &[3, 7, 0, 0, 0, 0, 0, 0, 0, 0],                // and 8 until 7 ns, nobody's
        &[0, 0],                                        // no pause, no slow-down
    ];
    assert_eq!(encoded(&record(vec![of_leases(&leases)])), bytes.concat());
}

#[test]
fn values_out_of_range_are_refused() {
    let read = |rest: &[u64], after: &[u8]| {
        let mut bytes = vec![1, 0, 1, b'k', 1, 5];
        rest.iter()
            .for_each(|&number| put_varint(&mut bytes, number));
        bytes.extend_from_slice(after);
        bytes.extend_from_slice(&[0, 0]);
        decoded(&bytes)
    };
    use DecodeError::Invalid;
    let out_of_range = Err(Invalid("a limit of leases out of range"));
    assert_eq!(read(&[0, 1, 0], &[]), out_of_range);
    assert_eq!(read(&[LEASES_MAX + 1, 1, 0], &[]), out_of_range);
    assert_eq!(read(&[1, 0, 0], &[]), out_of_range);
    assert_eq!(read(&[1, Span::MAX.as_ns() + 1, 0], &[]), out_of_range);
    assert!(read(&[LEASES_MAX, Span::MAX.as_ns(), 0], &[]).is_ok());
    assert_eq!(
        read(&[1, 1, LEASES_MAX + 1], &[]),
        Err(Invalid("a key of too many leases"))
    );
    let number = Err(Invalid("the number of a lease out of range"));
    assert_eq!(read(&[1, 1, 1, 0], &[0; 9]), number);
    assert_eq!(read(&[1, 1, 1, 1 << 63], &[0; 9]), number);
    assert!(read(&[1, 1, 1, (1 << 63) - 1], &[0; 9]).is_ok());
    let twice = [&[0; 9][..], &[0], &[0; 9]].concat();
    assert_eq!(
        read(&[1, 1, 2, 1], &twice),
        Err(Invalid("a row that does not ascend"))
    );
    assert_eq!(
        read(&[1, 1, 1, 1], &[0xff; 9]),
        Err(Invalid("an instant beyond the last one"))
    );
    let long = [&[0; 8][..], &[OWNER_BYTES_MAX as u8 + 1], &[b'x'; 65]].concat();
    assert_eq!(
        read(&[1, 1, 1, 1], &long),
        Err(Invalid("a text that is too long"))
    );
}

#[test]
fn a_key_has_one_limit_of_leases_at_most() {
    let mut leases = Leases::new(limit(1));
    leases.hold(1, lease(9, None));
    let two = record(vec![of_leases(&leases), State::Empty, of_leases(&leases)]);
    assert_eq!(
        decoded(&encoded(&two)),
        Err(DecodeError::Invalid("a key of several limits of leases"))
    );
}

#[test]
fn a_lease_comes_back_bound_to_no_connection() {
    let mut leases = Leases::new(limit(1));
    leases.hold(
        1,
        Lease {
            bound_to: 7,
            ..lease(9, None)
        },
    );
    let back = decoded(&encoded(&record(vec![of_leases(&leases)])));
    leases.hold(1, lease(9, None));
    assert_eq!(back, Ok(record(vec![of_leases(&leases)])));
}

proptest! {
    #[test]
    fn leases_come_back_as_they_were_and_half_of_them_are_refused(
        max in 1..=LEASES_MAX,
        ttl in 1..=Span::MAX.as_ns(),
        held in prop::collection::btree_map(
            1..=i64::MAX as u64,
            (0..=Timestamp::MAX.as_ns() + SECOND, prop::option::of(prop::collection::vec(any::<u8>(), 1..=OWNER_BYTES_MAX))),
            0..20,
        ),
        cut in any::<prop::sample::Index>(),
    ) {
        let ttl = Span::from_ns(ttl).expect("a span");
        let mut leases = Leases::new(LeasesLimit::new(max, ttl).expect("a limit"));
        for (number, (lapses, owner)) in held {
            leases.hold(number, lease(lapses, owner.as_deref()));
        }
        let record = record(vec![of_leases(&leases)]);
        let bytes = encoded(&record);
        prop_assert_eq!(decoded(&bytes[..cut.index(bytes.len())]), Err(DecodeError::Short));
        prop_assert_eq!(decoded(&bytes), Ok(record));
    }
}
