//! From replies, in RESP2, to a [`Reading`]. What a newer server may add is passed over.

use std::collections::HashMap;

use super::reading::{Count, Journal, Kind, Limit, Part, Past, Row, Second, Server, Standing};
use super::words;
use crate::client::reply::{Reply, error_text};

/// What is said of a reply that has not the form it should have.
const NOT_UNDERSTOOD: &str = "the server's answer is not understood; is it as new as this program?";

/// The reply, or the text of the error that it is.
fn fine(reply: &Reply) -> Part<&Reply> {
    match error_text(reply) {
        Some(error) => Err(words::text(error.as_bytes())),
        None => Ok(reply),
    }
}

fn understood<T>(value: Option<T>) -> Part<T> {
    value.ok_or_else(|| NOT_UNDERSTOOD.to_owned())
}

fn items(reply: &Reply) -> Option<&[Reply]> {
    match reply {
        Reply::Array { data, .. } => Some(data),
        _ => None,
    }
}

fn blob(reply: &Reply) -> Option<&[u8]> {
    match reply {
        Reply::BlobString { data, .. } | Reply::SimpleString { data, .. } => Some(data),
        _ => None,
    }
}

/// A number that is not negative.
fn number(reply: &Reply) -> Option<u64> {
    match reply {
        Reply::Number { data, .. } => u64::try_from(*data).ok(),
        _ => None,
    }
}

/// The fields of a map.
fn fields(reply: &Reply) -> Option<HashMap<&[u8], &Reply>> {
    let pairs = items(reply)?.chunks_exact(2);
    pairs
        .map(|pair| Some((blob(&pair[0])?, &pair[1])))
        .collect()
}

/// The second of `TIME`.
pub(super) fn time(reply: &Reply) -> Part<u64> {
    let reply = fine(reply)?;
    let second = items(reply).and_then(|items| blob(items.first()?));
    let second = second.and_then(|text| std::str::from_utf8(text).ok());
    understood(second.and_then(|text| text.parse().ok()))
}

/// `INFO`, of this server or of another one.
pub(super) fn server(reply: &Reply) -> Part<Server> {
    let text = words_of(understood(blob(fine(reply)?))?);
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let lines: HashMap<&str, &str> = lines.collect();
    let told = |name: &str| lines.get(name).map(|value| words::text(value.as_bytes()));
    let count = |name: &str| lines.get(name).and_then(|value| value.parse().ok());
    let is_fine = |name: &str| lines.get(name).is_none_or(|status| *status == "ok");
    let named = |name: &str, field: &str| told(field).map(|version| format!("{name} {version}"));
    let snapshot_error = match is_fine("rdb_last_bgsave_status") {
        true => None,
        false => Some(told("rdb_last_bgsave_error").unwrap_or_else(|| "failed".to_owned())),
    };
    let journal = match count("journal_enabled") {
        Some(0) => Some(Journal::Off),
        Some(_) => match count("journal_suspended_since") {
            Some(since) if since > 0 => Some(Journal::Suspended(since, told("journal_error"))),
            _ => count("journal_covers_until").map(Journal::Covers),
        },
        None => None,
    };
    Ok(Server {
        name: named("Tollgate", "tollgate_version")
            .or_else(|| named("Redis", "redis_version"))
            .unwrap_or_else(|| "a server without a name".to_owned()),
        run_id: told("run_id").unwrap_or_default(),
        at_us: count("server_time_usec"),
        uptime_s: count("uptime_in_seconds"),
        clients: count("connected_clients"),
        clients_max: count("maxclients"),
        waiting: count("blocked_clients"),
        memory_bytes: count("used_memory"),
        memory_max_bytes: count("maxmemory"),
        calls_per_second: count("instantaneous_ops_per_sec"),
        keys: lines
            .iter()
            .filter_map(|(name, value)| keys(name, value))
            .sum(),
        granted: count("granted_total"),
        denied: count("denied_total"),
        paused: count("paused_total"),
        shadowed: count("shadow_limited"),
        snapshot_at_s: count("rdb_last_save_time"),
        snapshot_error,
        journal,
    })
}

fn words_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The keys of a line such as `db0:keys=3,expires=0`.
fn keys(name: &str, value: &str) -> Option<u64> {
    let digits = name.strip_prefix("db")?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    value.strip_prefix("keys=")?.split(',').next()?.parse().ok()
}

/// `RL.TOP`, without what it does not tell.
pub(in crate::client) fn rows(reply: &Reply) -> Part<Vec<Row>> {
    let rows = understood(items(fine(reply)?))?;
    // A kind that is not known here is passed over.
    let known = |row: &&Reply| items(row).and_then(|row| Kind::named(blob(row.first()?)?));
    let rows = rows
        .iter()
        .filter(|row| known(row).is_some() || items(row).is_none());
    rows.map(|row| understood(self::row(row))).collect()
}

fn row(reply: &Reply) -> Option<Row> {
    let [kind, key, minute, ten, minute_error, ten_error, ..] = items(reply)? else {
        return None;
    };
    let count = |calls, error| {
        let (calls, error) = (number(calls)?, number(error)?);
        Some(Count { calls, error })
    };
    Some(Row {
        kind: Kind::named(blob(kind)?)?,
        key: blob(key)?.to_vec(),
        minute: count(minute, minute_error)?,
        ten_minutes: count(ten, ten_error)?,
        standing: Ok(None),
        past: Ok(None),
    })
}

/// `RL.USAGE` of one key; nothing for one without state, or with a plain value such as `INCREX` counts in.
pub(super) fn standing(reply: &Reply) -> Part<Option<Standing>> {
    match fine(reply) {
        Ok(Reply::Null) => Ok(None),
        Ok(reply) => understood(standing_of(reply)).map(Some),
        Err(error) if error.starts_with("WRONGTYPE ") => Ok(None),
        Err(error) => Err(error),
    }
}

fn standing_of(reply: &Reply) -> Option<Standing> {
    let fields = fields(reply)?;
    let rules = match fields.get(&b"rules"[..]) {
        Some(rules) => items(rules)?.iter().map(limit).collect::<Option<_>>()?,
        None => Vec::new(),
    };
    let count = |name: &[u8]| fields.get(name).and_then(|value| number(value));
    let slowed = fields.get(&b"slowed"[..]).and_then(|value| blob(value));
    Some(Standing {
        limit: limit(reply)?,
        paused_ms: count(b"paused_ms")?,
        slowed: words::text(slowed.unwrap_or(b"1")),
        waiting: count(b"waiting")?,
        leases: count(b"leases")?,
        rules,
    })
}

fn limit(reply: &Reply) -> Option<Limit> {
    let fields = fields(reply)?;
    let text = |name: &[u8]| {
        let value = fields.get(name).and_then(|value| blob(value));
        value.map(words::text)
    };
    let count = |name: &[u8]| fields.get(name).and_then(|value| number(value));
    Some(Limit {
        kind: text(b"limit"),
        capacity: count(b"capacity"),
        rate: text(b"rate"),
        period_ms: count(b"period_ms"),
        used: count(b"used")?,
        remaining: count(b"remaining")?,
        booked: count(b"booked")?,
        wait_ms: count(b"wait_ms")?,
        reset_after_ms: count(b"reset_after_ms")?,
    })
}

/// `RL.HISTORY`; nothing for a key that is not followed.
pub(super) fn past(reply: &Reply) -> Part<Option<Past>> {
    match fine(reply)? {
        Reply::Null => Ok(None),
        reply => understood(past_of(reply)).map(Some),
    }
}

fn past_of(reply: &Reply) -> Option<Past> {
    let fields = fields(reply)?;
    let seconds = items(fields.get(&b"seconds"[..])?)?;
    Some(Past {
        since_s: number(fields.get(&b"since"[..])?)?,
        seconds: seconds.iter().map(second).collect::<Option<_>>()?,
    })
}

fn second(reply: &Reply) -> Option<Second> {
    let numbers: Option<Vec<u64>> = items(reply)?.iter().map(number).collect();
    let [at_s, granted, denied, waited, wait_ms, paused, shadowed, ..] = numbers?[..] else {
        return None;
    };
    Some(Second {
        at_s,
        granted,
        denied,
        waited,
        wait_ms,
        paused,
        shadowed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::reply::Scanner;

    fn reply(wire: &str) -> Reply {
        let mut bytes = wire.replace(' ', "\r\n").into_bytes();
        bytes.extend(b"\r\n");
        Scanner::default().take(&mut bytes).unwrap().unwrap()
    }

    fn text(text: &str) -> Reply {
        let data = text.replace('\n', "\r\n").into_bytes();
        Reply::BlobString {
            data,
            attributes: None,
        }
    }

    #[test]
    fn info_is_read_as_far_as_it_goes() {
        let info = "# Server\nredis_version:7.4.0\ntollgate_version:0.1.0\nrun_id:abc\nserver_time_usec:1700000000000001\n\
            uptime_in_seconds:61\nconnected_clients:3\nblocked_clients:2\nused_memory:1000\nmaxmemory:0\n\
            rdb_last_bgsave_status:ok\nrdb_last_save_time:0\njournal_enabled:1\njournal_suspended_since:0\n\
            journal_covers_until:1700000000\ngranted_total:5\ndenied_total:6\ndb0:keys=3,expires=3\ndb15:keys=4,expires=0\n";
        let server = server(&text(info)).unwrap();
        assert_eq!(server.name, "Tollgate 0.1.0");
        assert_eq!(
            (server.granted, server.denied, server.keys),
            (Some(5), Some(6), 7)
        );
        assert_eq!((server.waiting, server.clients_max), (Some(2), None));
        assert_eq!(server.journal, Some(Journal::Covers(1_700_000_000)));
        assert_eq!(
            (server.snapshot_at_s, server.snapshot_error),
            (Some(0), None)
        );
    }

    #[test]
    fn what_goes_wrong_on_the_disk_is_found() {
        let info = "redis_version:7.0.15\x1b[2J\nrdb_last_bgsave_status:err\nrdb_last_bgsave_error:disk full\n\
            journal_enabled:1\njournal_suspended_since:17\njournal_error:no space\njournal_covers_until:16\n";
        let server = server(&text(info)).unwrap();
        assert_eq!(server.name, "Redis 7.0.15\\x1b[2J");
        assert_eq!(server.snapshot_error.as_deref(), Some("disk full"));
        assert_eq!(
            server.journal,
            Some(Journal::Suspended(17, Some("no space".into())))
        );
    }

    #[test]
    fn an_error_is_the_reason_why_a_part_is_missing() {
        let denied = reply("-NOPERM\tno\x1b[2J");
        assert_eq!(rows(&denied), Err("NOPERM no\\x1b[2J".to_owned()));
        assert_eq!(server(&denied).unwrap_err(), "NOPERM no\\x1b[2J");
        assert!(time(&denied).is_err() && standing(&denied).is_err() && past(&denied).is_err());
    }

    #[test]
    fn rows_of_kinds_that_are_not_known_are_passed_over() {
        let two = "*2 *6 $6 denied $1 k :3 :4 :1 :2 *6 $5 risen $1 k :1 :1 :0 :0";
        let rows = rows(&reply(two)).unwrap();
        assert_eq!(rows.len(), 1);
        let (minute, ten) = (rows[0].minute, rows[0].ten_minutes);
        assert_eq!((rows[0].kind, &rows[0].key[..]), (Kind::Denied, &b"k"[..]));
        assert_eq!(
            (minute, ten),
            (Count { calls: 3, error: 1 }, Count { calls: 4, error: 2 })
        );
        assert_eq!(self::rows(&reply("*0")), Ok(Vec::new()));
    }

    #[test]
    fn a_key_with_several_limits_has_them_all() {
        let of = |remaining: u8| {
            format!(
                "$5 limit $6 bucket $8 capacity :7 $4 rate $4 3.5/s $9 period_ms $-1 $4 used :1 $9 remaining :{remaining} \
                 $6 booked :0 $7 wait_ms :0 $14 reset_after_ms :9"
            )
        };
        let wire = format!(
            "*28 {} $9 paused_ms :50 $6 slowed $3 0.5 $7 waiting :2 $6 leases :0 $5 rules *2 *18 {} *18 {}",
            of(6),
            of(6),
            of(5)
        );
        let wire = wire.replace("$4 3.5/s", "$5 3.5/s");
        let standing = standing(&reply(&wire)).unwrap().unwrap();
        assert_eq!(
            (standing.limit.remaining, standing.limit.capacity),
            (6, Some(7))
        );
        assert_eq!(
            (standing.limit.rate.as_deref(), standing.limit.period_ms),
            (Some("3.5/s"), None)
        );
        assert_eq!(
            (standing.paused_ms, &standing.slowed[..], standing.waiting),
            (50, "0.5", 2)
        );
        assert_eq!(standing.rules[1].remaining, 5);
        assert_eq!(self::standing(&reply("$-1")), Ok(None));
    }

    #[test]
    fn a_past_is_read_second_by_second() {
        let wire = "*4 $5 since :10 $7 seconds *1 *7 :11 :1 :2 :3 :4 :5 :6";
        let past = past(&reply(wire)).unwrap().unwrap();
        assert_eq!(past.since_s, 10);
        let second = past.seconds[0];
        assert_eq!((second.at_s, second.wait_ms), (11, 4));
        assert_eq!(Kind::ALL.map(|kind| second.of(kind)), [2, 3, 5, 6, 1]);
        assert_eq!(self::past(&reply("*-1")), Ok(None));
    }

    #[test]
    fn what_has_another_form_is_not_understood() {
        for wire in [
            ":1",
            "*1 :1",
            "*1 *1 $6 denied",
            "*2 $5 since :1",
            "*1 *6 $6 denied $1 k :-1 :0 :0 :0",
            "+OK",
        ] {
            let reply = reply(wire);
            assert!(
                rows(&reply).is_err() && standing(&reply).is_err() && past(&reply).is_err(),
                "{wire}"
            );
            assert!(time(&reply).is_err(), "{wire}");
        }
        assert!(server(&reply(":1")).is_err());
    }
}
