//! Replies, read back by a reader that shares no code with the writer.
use proptest::collection::vec;
use proptest::prelude::*;
use redis_protocol::resp2::types::OwnedFrame as Resp2Frame;
use redis_protocol::resp3::types::{OwnedFrame as Resp3Frame, VerbatimStringFormat};
use tollgate::protocol::limits::TEXT_BYTES_MAX;
use tollgate::protocol::{Protocol, Reply};

use crate::replies::written;

/// A reply as its reader sees it.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Simple(String),
    Error(String),
    Integer(i64),
    Bulk(Vec<u8>),
    Null,
    NullArray,
    Array(Vec<Value>),
    /// Keys are told apart by a number, and sorted by it.
    Map(Vec<(Value, Value)>),
    /// Sorted, no two alike.
    Set(Vec<i64>),
    Push(Vec<Value>),
    Double(f64),
    Boolean(bool),
    Verbatim(Vec<u8>),
}

fn write(reply: &mut Reply<'_>, value: &Value) {
    match value {
        Value::Simple(text) if text == "OK" => reply.ok(),
        Value::Simple(text) => reply.simple(text),
        Value::Error(text) => reply.error(text),
        Value::Integer(number) => reply.integer(*number),
        Value::Bulk(bytes) => reply.bulk(bytes),
        Value::Null => reply.null(),
        Value::NullArray => reply.null_array(),
        Value::Array(values) => {
            reply.array(values.len());
            values.iter().for_each(|value| write(reply, value));
        }
        Value::Map(pairs) => {
            reply.map(pairs.len());
            for (key, value) in pairs {
                write(reply, key);
                write(reply, value);
            }
        }
        Value::Set(numbers) => {
            reply.set(numbers.len());
            numbers.iter().for_each(|&number| reply.integer(number));
        }
        Value::Push(values) => {
            reply.push(values.len());
            values.iter().for_each(|value| write(reply, value));
        }
        Value::Double(number) => reply.double(*number),
        Value::Boolean(value) => reply.boolean(*value),
        Value::Verbatim(text) => reply.verbatim("txt", text),
    }
}

/// What a RESP2 client is to see of `value`.
fn in_resp2(value: Value) -> Value {
    match value {
        Value::Array(values) | Value::Push(values) => {
            Value::Array(values.into_iter().map(in_resp2).collect())
        }
        Value::Map(pairs) => Value::Array(
            pairs
                .into_iter()
                .flat_map(|(k, v)| [in_resp2(k), in_resp2(v)])
                .collect(),
        ),
        Value::Set(numbers) => Value::Array(numbers.into_iter().map(Value::Integer).collect()),
        Value::Double(number) => Value::Double(number),
        Value::Boolean(value) => Value::Integer(value.into()),
        Value::Verbatim(text) => Value::Bulk(text),
        Value::NullArray => Value::Null,
        other => other,
    }
}

/// What a RESP3 client is to see of `value`.
fn in_resp3(value: Value) -> Value {
    match value {
        Value::Array(values) => Value::Array(values.into_iter().map(in_resp3).collect()),
        Value::Push(values) => Value::Push(values.into_iter().map(in_resp3).collect()),
        Value::Map(pairs) => Value::Map(
            pairs
                .into_iter()
                .map(|(k, v)| (in_resp3(k), in_resp3(v)))
                .collect(),
        ),
        Value::NullArray => Value::Null,
        other => other,
    }
}

/// Doubles are bulk strings to a RESP2 reader: read as numbers where `expected` has one.
fn from_resp2(frame: Resp2Frame, expected: &Value) -> Value {
    match (frame, expected) {
        (Resp2Frame::BulkString(bytes), Value::Double(_)) => {
            Value::Double(String::from_utf8(bytes).unwrap().parse().unwrap())
        }
        (Resp2Frame::SimpleString(text), _) => Value::Simple(String::from_utf8(text).unwrap()),
        (Resp2Frame::Error(text), _) => Value::Error(text),
        (Resp2Frame::Integer(number), _) => Value::Integer(number),
        (Resp2Frame::BulkString(bytes), _) => Value::Bulk(bytes),
        (Resp2Frame::Null, _) => Value::Null,
        (Resp2Frame::Array(frames), Value::Array(values)) if frames.len() == values.len() => {
            Value::Array(
                frames
                    .into_iter()
                    .zip(values)
                    .map(|(frame, value)| from_resp2(frame, value))
                    .collect(),
            )
        }
        (frame, expected) => panic!("read {frame:?}, expected {expected:?}"),
    }
}

fn from_resp3(frame: Resp3Frame) -> Value {
    let all = |frames: Vec<Resp3Frame>| frames.into_iter().map(from_resp3).collect();
    match frame {
        Resp3Frame::SimpleString { data, .. } => Value::Simple(String::from_utf8(data).unwrap()),
        Resp3Frame::SimpleError { data, .. } => Value::Error(data),
        Resp3Frame::Number { data, .. } => Value::Integer(data),
        Resp3Frame::BlobString { data, .. } => Value::Bulk(data),
        Resp3Frame::Null => Value::Null,
        Resp3Frame::Array { data, .. } => Value::Array(all(data)),
        Resp3Frame::Push { data, .. } => Value::Push(all(data)),
        Resp3Frame::Double { data, .. } => Value::Double(data),
        Resp3Frame::Boolean { data, .. } => Value::Boolean(data),
        Resp3Frame::VerbatimString {
            data,
            format: VerbatimStringFormat::Text,
            ..
        } => Value::Verbatim(data),
        Resp3Frame::Map { data, .. } => {
            let mut pairs: Vec<_> = data
                .into_iter()
                .map(|(k, v)| (from_resp3(k), from_resp3(v)))
                .collect();
            pairs.sort_by_key(|(key, _)| {
                if let Value::Integer(number) = key {
                    *number
                } else {
                    panic!("{key:?}")
                }
            });
            Value::Map(pairs)
        }
        Resp3Frame::Set { data, .. } => {
            let mut numbers: Vec<i64> = data
                .into_iter()
                .map(|frame| {
                    if let Resp3Frame::Number { data, .. } = frame {
                        data
                    } else {
                        panic!("{frame:?}")
                    }
                })
                .collect();
            numbers.sort_unstable();
            Value::Set(numbers)
        }
        frame => panic!("nothing writes {frame:?}"),
    }
}

/// Reads one reply in RESP2 that must be all of `bytes`.
fn read_resp2(bytes: &[u8]) -> Resp2Frame {
    let (frame, length) = redis_protocol::resp2::decode::decode(bytes)
        .unwrap()
        .expect("a whole reply");
    assert_eq!(length, bytes.len(), "{}", bytes.escape_ascii());
    frame
}

fn read_resp3(bytes: &[u8]) -> Resp3Frame {
    let (frame, length) = redis_protocol::resp3::decode::complete::decode(bytes)
        .unwrap()
        .expect("a whole reply");
    assert_eq!(length, bytes.len(), "{}", bytes.escape_ascii());
    frame
}

fn check_round_trip(value: &Value) {
    let expected = in_resp2(value.clone());
    let read = from_resp2(
        read_resp2(&written(Protocol::Resp2, |reply| write(reply, value))),
        &expected,
    );
    assert_eq!(read, expected);
    let read = from_resp3(read_resp3(&written(Protocol::Resp3, |reply| {
        write(reply, value)
    })));
    assert_eq!(read, in_resp3(value.clone()));
}

#[test]
fn a_long_bulk_string_is_read_back() {
    check_round_trip(&Value::Bulk(
        (0..1_000_000_u32).map(|number| number as u8).collect(),
    ));
}

fn leaf() -> impl Strategy<Value = Value> {
    let line = || "[^\\p{Cc}]{0,20}";
    prop_oneof![
        line().prop_map(Value::Simple),
        Just(Value::Simple("OK".into())),
        line().prop_map(|text| Value::Error(format!("ERR {text}"))),
        any::<i64>().prop_map(Value::Integer),
        (-20_i64..20).prop_map(Value::Integer),
        vec(any::<u8>(), 0..40).prop_map(Value::Bulk),
        Just(Value::Null),
        Just(Value::NullArray),
        any::<f64>()
            .prop_filter("NaN equals nothing", |number| !number.is_nan())
            .prop_map(Value::Double),
        any::<bool>().prop_map(Value::Boolean),
        vec(any::<u8>(), 1..40).prop_map(Value::Verbatim),
        proptest::collection::btree_set(any::<i64>(), 0..5)
            .prop_map(|numbers| Value::Set(numbers.into_iter().collect())),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 30, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::Array),
            vec(inner, 0..6)
                .prop_map(|values| { Value::Map((0..).map(Value::Integer).zip(values).collect()) }),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_what_is_read(value in value()) {
        check_round_trip(&value);
    }

    #[test]
    fn a_push_is_read_as_one(channel in "[a-z]{1,10}", message in vec(any::<u8>(), 0..40)) {
        let channel = Value::Bulk(channel.into());
        check_round_trip(&Value::Push(vec![Value::Bulk(b"message".to_vec()), channel, Value::Bulk(message)]));
    }

    #[test]
    fn any_error_text_is_one_line_to_its_reader(text in "(?s).{0,600}") {
        let cleaned = |text: &str| -> String {
            let mut cut = text.len().min(TEXT_BYTES_MAX);
            while !text.is_char_boundary(cut) {
                cut -= 1;
            }
            text[..cut].chars().map(|c| if c.is_ascii_control() { ' ' } else { c }).collect()
        };
        let bytes = written(Protocol::Resp2, |reply| reply.error(&text));
        prop_assert_eq!(read_resp2(&bytes), Resp2Frame::Error(cleaned(&text)));
        let bytes = written(Protocol::Resp3, |reply| reply.error(&text));
        prop_assert_eq!(from_resp3(read_resp3(&bytes)), Value::Error(cleaned(&text)));
    }

    #[test]
    fn integers_in_one_go_are_the_array_of_each(values in vec(prop_oneof![any::<i64>(), -1_100..1_100_i64], 0..20)) {
        let one_by_one = written(Protocol::Resp2, |reply| {
            reply.array(values.len());
            values.iter().for_each(|&value| reply.integer(value));
        });
        prop_assert_eq!(written(Protocol::Resp2, |reply| reply.integers(&values)), one_by_one);
    }
}
