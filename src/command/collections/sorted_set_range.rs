//! ZCOUNT, ZRANGE, ZRANGEBYSCORE and their reverse forms: members by score or by place.

use super::sorted_set::row;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::number;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Spec};
use crate::plain::sorted_set::{self, Score, Scores, SortedSet};
use crate::protocol::{Arguments, Protocol, Reply};
use std::ops::Bound;

const LIMIT: Argument = Argument::new(
    "limit",
    ArgumentKind::Block(&[Argument::integer("offset"), Argument::integer("count")]),
)
.token("LIMIT")
.optional();
const WITH_SCORES: Argument = Argument::flag("withscores", "WITHSCORES");
const BY_SCORE: &[Argument] = &[
    Argument::key("key"),
    Argument::new("min", ArgumentKind::Double),
    Argument::new("max", ArgumentKind::Double),
    WITH_SCORES,
    LIMIT,
];
const BY_SCORE_DOWN: &[Argument] = &[
    Argument::key("key"),
    Argument::new("max", ArgumentKind::Double),
    Argument::new("min", ArgumentKind::Double),
    WITH_SCORES,
    LIMIT,
];
const MEMBERS: &str =
    "An array of members; with `WITHSCORES` each followed by its score (RESP3: arrays of both).";

/// The row of ZCOUNT.
pub const ZCOUNT: Spec = Spec {
    summary: "Count the members of a sorted set from one score to another",
    arguments: &[
        Argument::key("key"),
        Argument::new("min", ArgumentKind::Double),
        Argument::new("max", ArgumentKind::Double),
    ],
    reply: "How many there are.",
    ..row(
        "ZCOUNT",
        Flags::READONLY.and(Flags::FAST),
        Arity::exactly(4),
        |context, arguments| {
            let scores = scores(&arguments[2], &arguments[3])?;
            with_set(context, arguments, |set, reply| {
                let count = set.map_or(0, |set| set.between(scores).count());
                reply.integer(count as i64);
            })
        },
    )
};

/// The row of ZRANGE.
pub const ZRANGE: Spec = Spec {
    summary: "Read members of a sorted set, by place or by score",
    arguments: &[
        Argument::key("key"),
        Argument::string("start"),
        Argument::string("stop"),
        Argument::flag("byscore", "BYSCORE"),
        Argument::flag("rev", "REV"),
        LIMIT,
        WITH_SCORES,
    ],
    reply: MEMBERS,
    ..row(
        "ZRANGE",
        Flags::READONLY,
        Arity::at_least(4),
        |context, arguments| {
            let options = Options::parse(arguments, true)?;
            range(context, arguments, options)
        },
    )
};

/// The row of ZREVRANGE.
pub const ZREVRANGE: Spec = Spec {
    summary: "Read members of a sorted set by place, from the largest score down",
    arguments: &[
        Argument::key("key"),
        Argument::integer("start"),
        Argument::integer("stop"),
        WITH_SCORES,
    ],
    reply: MEMBERS,
    ..row(
        "ZREVRANGE",
        Flags::READONLY,
        Arity::at_least(4),
        |context, arguments| {
            let options = Options {
                down: true,
                ..Options::parse(arguments, false)?
            };
            range(context, arguments, options)
        },
    )
};

/// The row of ZRANGEBYSCORE.
pub const ZRANGEBYSCORE: Spec = Spec {
    summary: "Read members of a sorted set from one score to another",
    arguments: BY_SCORE,
    reply: MEMBERS,
    ..row(
        "ZRANGEBYSCORE",
        Flags::READONLY,
        Arity::at_least(4),
        |context, arguments| {
            let options = Options {
                by_score: true,
                ..Options::parse(arguments, false)?
            };
            range(context, arguments, options)
        },
    )
};

/// The row of ZREVRANGEBYSCORE.
pub const ZREVRANGEBYSCORE: Spec = Spec {
    summary: "Read members of a sorted set from one score down to another",
    arguments: BY_SCORE_DOWN,
    reply: MEMBERS,
    ..row(
        "ZREVRANGEBYSCORE",
        Flags::READONLY,
        Arity::at_least(4),
        |context, arguments| {
            let options = Options {
                by_score: true,
                down: true,
                ..Options::parse(arguments, false)?
            };
            range(context, arguments, options)
        },
    )
};

/// How members are asked for.
#[derive(Clone, Copy, Default)]
struct Options {
    by_score: bool,
    down: bool,
    with_scores: bool,
    limit: Option<(i64, i64)>,
}

impl Options {
    /// Reads what stands behind the bounds; `any` as ZRANGE does, which takes them all.
    fn parse(arguments: Arguments<'_>, any: bool) -> Result<Self, Error> {
        let (mut options, mut at) = (Self::default(), 4);
        while let Some(word) = arguments.get(at) {
            let left = arguments.len() - at - 1;
            match word.to_ascii_uppercase().as_slice() {
                b"WITHSCORES" => options.with_scores = true,
                b"LIMIT" if left >= 2 => {
                    let part = |index| number::required(arguments.get(index).unwrap_or_default());
                    options.limit = Some((part(at + 1)?, part(at + 2)?));
                    at += 2;
                }
                b"BYSCORE" if any => options.by_score = true,
                b"REV" if any => options.down = true,
                _ => return Err(Error::SYNTAX),
            }
            at += 1;
        }
        if any && options.limit.is_some() && !options.by_score {
            return Err(Error::redis(
                "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
            ));
        }
        Ok(options)
    }
}

fn range(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    options: Options,
) -> Result<(), Error> {
    let (first, last) = (&arguments[2], &arguments[3]);
    if !options.by_score {
        let (first, last) = (number::required(first)?, number::required(last)?);
        return with_set(context, arguments, |set, reply| match set {
            Some(set) if options.down => write(reply, set.at_places_down(first, last), options),
            Some(set) => write(reply, set.at_places(first, last), options),
            None => reply.array(0),
        });
    }
    let scores = if options.down {
        scores(last, first)?
    } else {
        scores(first, last)?
    };
    let (offset, count) = options.limit.unwrap_or((0, -1));
    // As in Redis: an offset below 0 leaves nothing, a count below 0 is all.
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    with_set(context, arguments, |set, reply| match set {
        Some(set) if options.down => {
            write(
                reply,
                set.between(scores).rev().skip(offset).take(count),
                options,
            );
        }
        Some(set) => write(reply, set.between(scores).skip(offset).take(count), options),
        None => reply.array(0),
    })
}

fn write<'a>(
    reply: &mut Reply<'_>,
    members: impl Iterator<Item = (&'a [u8], Score)>,
    options: Options,
) {
    let members: Vec<_> = members.collect();
    let pairs = options.with_scores && reply.protocol() == Protocol::Resp3;
    let flat = options.with_scores && !pairs;
    reply.array(members.len() * if flat { 2 } else { 1 });
    for (member, score) in members {
        if pairs {
            reply.array(2);
        }
        reply.bulk(member);
        if options.with_scores {
            reply.double(score.value());
        }
    }
}

/// The bounds of a range of scores: `5`, `(5` without it, `-inf`, `+inf`.
pub(super) fn scores(least: &[u8], most: &[u8]) -> Result<Scores, Error> {
    let bound = |text: &[u8]| match text.strip_prefix(b"(") {
        Some(text) => sorted_set::parse_bound(text).map(Bound::Excluded),
        None => sorted_set::parse_bound(text).map(Bound::Included),
    };
    match (bound(least), bound(most)) {
        (Some(least), Some(most)) => Ok(Scores { least, most }),
        _ => Err(Error::redis("ERR min or max is not a float")),
    }
}

fn with_set(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    write: impl FnOnce(Option<&SortedSet>, &mut Reply<'_>),
) -> Result<(), Error> {
    let (store, database) = (&context.shared.store, context.connection.database);
    store.read_plain(database, &arguments[1], context.now, |plain| {
        write(sorted_set::get(plain)?, &mut context.reply);
        Ok(())
    })?
}
