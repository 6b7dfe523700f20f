//! Requests on plain values, for histories.

use crate::histories::words;
use proptest::prelude::*;
use proptest::sample::select;

/// Keys that mostly hold plain values.
pub const KEYS: [&str; 3] = ["plain", "counter", "a plain key with a long name"];

/// Everything that changes a plain value, or when it goes.
pub fn command() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let key = || select(KEYS.to_vec());
    let value = prop_oneof![
        any::<i64>().prop_map(|value| value.to_string().into_bytes()),
        prop::collection::vec(any::<u8>(), 0..40),
        Just(vec![b'x'; 65_536]),
    ];
    let expiry = select(vec![
        "",
        "",
        "KEEPTTL",
        "NX",
        "EX 1",
        "PX 1500",
        "EX 100000000000",
        "PXAT 1700000003000",
    ]);
    let set = (key(), value, expiry).prop_map(|(key, value, expiry)| {
        let mut request = vec![b"SET".to_vec(), key.into(), value];
        request.extend(words(&[expiry]));
        request
    });
    let change = select(vec![
        ("INCR", ""),
        ("INCRBY", "9223372036854775807"),
        ("DECRBY", "7"),
        ("INCRBYFLOAT", "0.1"),
        ("INCREX", "UBOUND 3 EX 2 ENX"),
        ("INCREX", "BYFLOAT 0.7 UBOUND 3 SATURATE PX 700"),
        ("EXPIRE", "1 GT"),
        ("PEXPIRE", "700"),
        ("PEXPIREAT", "1700000002500 LT"),
        ("PERSIST", ""),
        ("GETEX", "EX 3"),
        ("GETDEL", ""),
        ("RENAME", "counter"),
        ("RENAMENX", "plain"),
        ("MGET", "plain counter"),
        ("MSETNX", "1 counter 2"),
    ]);
    let change = (change, key()).prop_map(|((name, rest), key)| {
        let mut request = vec![name.as_bytes().to_vec(), key.into()];
        request.extend(words(&[rest]));
        request
    });
    prop_oneof![1 => set, 2 => change]
}
