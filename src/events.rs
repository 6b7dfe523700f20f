//! What the server tells of itself on Pub/Sub, so that whoever waits by its own clock hears of a change.
//!
//! | channel | payload | when |
//! |---|---|---|
//! | `__rl@<db>__:pause` | `<ms> <key>` | a pause was set, prolonged, or ended earlier by force: so much is left of it |
//! | `__rl@<db>__:resume` | `<key>` | a pause or a slow-down was ended by `RL.RESUME` |
//! | `__rl@<db>__:lease-lapsed` | `<lease> <key>` | a lease ran out |
//! | `__rl@<db>__:policy` | `<name>` | a policy was set or removed, by a connection on that database |
//!
//! A number comes first and ends at the first space; all that follows is the name, byte for byte, spaces and all.
//!
//! Each function notes its event and returns. Call it under the lock of the key, so that events of a key go out in
//! the order of what happened to it. They go out when the command has ended; whoever notes one outside of a command
//! calls [`Hub::deliver`] once it holds no lock of the store.

use crate::pubsub::Hub;

/// A key is paused for `left_ms` from now.
pub fn pause(hub: &Hub, database: u8, key: &[u8], left_ms: i64) {
    note(hub, database, "pause", Some(left_ms.unsigned_abs()), key);
}

/// The pause or slow-down of a key was ended.
pub fn resume(hub: &Hub, database: u8, key: &[u8]) {
    note(hub, database, "resume", None, key);
}

/// A lease has lapsed: `lease` is its number.
pub fn lease_lapsed(hub: &Hub, database: u8, key: &[u8], lease: u64) {
    note(hub, database, "lease-lapsed", Some(lease), key);
}

/// A policy was set or removed.
pub fn policy(hub: &Hub, database: u8, name: &[u8]) {
    note(hub, database, "policy", None, name);
}

fn note(hub: &Hub, database: u8, event: &str, number: Option<u64>, name: &[u8]) {
    if hub.is_idle() {
        return;
    }
    let channel = format!("__rl@{database}__:{event}").into_bytes();
    let mut message = number.map_or_else(Vec::new, |number| format!("{number} ").into_bytes());
    message.extend_from_slice(name);
    hub.note(channel, message);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::Clients;
    use crate::core::units::Timestamp;
    use crate::protocol::{Protocol, Reply};
    use crate::pubsub::{Kind, Subscriptions};

    #[test]
    fn a_payload_is_a_number_and_a_name_of_any_bytes() {
        let (hub, clients) = (Hub::default(), Clients::default());
        let client = clients.register(
            String::new(),
            String::new(),
            Timestamp::ZERO,
            Box::new(|| {}),
        );
        let mut own = Subscriptions::default();
        // Nobody listens: nothing is kept.
        pause(&hub, 0, b"k", 1);
        assert!(!hub.has_noted());
        hub.change()
            .subscribe(&client, &mut own, Kind::Pattern, b"__rl@*");
        pause(&hub, 0, b" 7 \r\n\xff", 30_000);
        resume(&hub, 15, b"");
        lease_lapsed(&hub, 3, b"a b", u64::MAX);
        policy(&hub, 0, b"meta");
        hub.deliver(1024);
        let mut output = Vec::new();
        client.take_messages(&mut output);
        let mut expected = Vec::new();
        for (channel, payload) in [
            ("__rl@0__:pause", &b"30000  7 \r\n\xff"[..]),
            ("__rl@15__:resume", b""),
            ("__rl@3__:lease-lapsed", b"18446744073709551615 a b"),
            ("__rl@0__:policy", b"meta"),
        ] {
            let mut reply = Reply::new(&mut expected, Protocol::Resp2);
            reply.push(4);
            let words = [&b"pmessage"[..], b"__rl@*", channel.as_bytes(), payload];
            words.iter().for_each(|word| reply.bulk(word));
        }
        assert_eq!(
            output.escape_ascii().to_string(),
            expected.escape_ascii().to_string()
        );
    }
}
