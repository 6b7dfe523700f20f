//! `RL.TOP` and `RL.HISTORY`: which keys matter now, and what went on at one.

use crate::command::acl::check;
use crate::command::arguments::Cursor;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Keys, Spec};
use crate::core::number;
use crate::glob;
use crate::hot::{Kind, Ranked, Second};
use crate::protocol::{Arguments, Reply};

/// Most keys of a kind that are told: as many as are kept of a stretch of time that is over.
const COUNT_MAX: u64 = 256;
/// Keys of a kind that are told unless it is said how many.
const COUNT_DEFAULT: u64 = 10;

/// The row of `RL.TOP`.
pub const TOP: Spec = Spec {
    summary: "List the keys that were denied, waited at, paused or granted most",
    arguments: &[
        Argument::new(
            "kind",
            ArgumentKind::OneOf(&[
                Argument::choice("denied", "DENIED"),
                Argument::choice("waited", "WAITED"),
                Argument::choice("paused", "PAUSED"),
                Argument::choice("shadowed", "SHADOWED"),
                Argument::choice("granted", "GRANTED"),
            ]),
        )
        .optional(),
        Argument::integer("count").token("COUNT").optional(),
        Argument::new("pattern", ArgumentKind::Pattern)
            .token("MATCH")
            .optional(),
    ],
    reply: "An array of arrays: kind, key, calls in the last minute, calls in the last ten, by how much the first number may be too high, and the second. Those first that were surely called most in the minute, then in the ten. Without a kind those of all, the denied first. At most COUNT (10) of a kind, up to 256. Only keys of the selected database that the user may read. See docs/operations.md.",
    flags: Flags::READONLY,
    ..Spec::new("RL.TOP", Group::RateLimit, Arity::between(1, 6), top)
};

/// The row of `RL.HISTORY`.
pub const HISTORY: Spec = Spec {
    summary: "Show the last ten minutes of a key, second by second",
    arguments: &[Argument::key("key")],
    reply: "A map (in RESP2 a flat array): `since`, the second from which the key is followed, since the Unix epoch; `seconds`, an array, by time, of arrays: the second, calls granted, denied, granted for later or after a wait, the longest of these waits in milliseconds, calls refused or put off by a pause, and those that SHADOW let go. Seconds in which nothing was decided are left out. Nil for a key that is not followed: the 25 hottest of each kind are, and others while there is room.",
    flags: Flags::READONLY,
    keys: Keys::ONE,
    ..Spec::new("RL.HISTORY", Group::RateLimit, Arity::exactly(2), history)
};

struct Request<'a> {
    kind: Option<Kind>,
    count: usize,
    pattern: Option<&'a [u8]>,
}

fn parse(arguments: Arguments<'_>) -> Result<Request<'_>, Error> {
    let mut cursor = Cursor::new(arguments);
    let kind = cursor.peek().and_then(Kind::named);
    cursor.skip(usize::from(kind.is_some()));
    let (mut counts, mut matches) = (false, false);
    let mut request = Request {
        kind,
        count: COUNT_DEFAULT as usize,
        pattern: None,
    };
    loop {
        if cursor.option("COUNT", &mut counts)? {
            request.count = cursor.value("COUNT", "an integer from 1 to 256", |text| {
                let count = number::integer(text)?;
                let fits = (1..=COUNT_MAX).contains(&count);
                fits.then_some(count as usize)
            })?;
        } else if cursor.option("MATCH", &mut matches)? {
            request.pattern = Some(cursor.take("pattern")?);
        } else {
            break;
        }
    }
    cursor.finish()?;
    Ok(request)
}

fn top(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let request = parse(arguments)?;
    let (shared, now) = (context.shared, context.now);
    let database = context.connection.database;
    let login = &mut context.connection.login;
    let mut wanted = |key: &[u8]| {
        let matches = |pattern| glob::matches(pattern, key);
        request.pattern.is_none_or(matches) && check::may_see(&shared.acl, login, &TOP, key)
    };
    shared.hot.gather(now);
    let mut rows = Vec::new();
    for kind in Kind::ALL {
        if request.kind.is_none_or(|asked| asked == kind) {
            let ranked = shared
                .hot
                .top(kind, database, request.count, now, &mut wanted);
            rows.extend(ranked.into_iter().map(|ranked| (kind, ranked)));
        }
    }
    context.reply.array(rows.len());
    for (kind, ranked) in &rows {
        write(&mut context.reply, *kind, ranked);
    }
    Ok(())
}

fn write(reply: &mut Reply<'_>, kind: Kind, ranked: &Ranked) {
    let Ranked {
        name,
        minute,
        ten_minutes,
    } = ranked;
    reply.array(6);
    reply.bulk(kind.name().as_bytes());
    reply.bulk(name);
    for number in [
        minute.count,
        ten_minutes.count,
        minute.error,
        ten_minutes.error,
    ] {
        reply.integer(i64::try_from(number).unwrap_or(i64::MAX));
    }
}

fn history(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let key = Cursor::new(arguments).key()?;
    let (hot, now) = (&context.shared.hot, context.now);
    hot.gather(now);
    let reply = &mut context.reply;
    let Some(history) = hot.history(context.connection.database, key, now) else {
        reply.null();
        return Ok(());
    };
    reply.map(2);
    reply.bulk(b"since");
    reply.integer(history.since_s as i64);
    reply.bulk(b"seconds");
    reply.array(history.seconds.len());
    for second in &history.seconds {
        reply.integers(&numbers(second));
    }
    Ok(())
}

fn numbers(second: &Second) -> [i64; 7] {
    let count = |kind| i64::from(second.count(kind));
    [
        second.at_s as i64,
        count(Kind::Granted),
        count(Kind::Denied),
        count(Kind::Waited),
        i64::from(second.wait_ms),
        count(Kind::Paused),
        count(Kind::Shadowed),
    ]
}
