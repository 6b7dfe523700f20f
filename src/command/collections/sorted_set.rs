//! ZADD, ZINCRBY, ZREM, ZCARD, ZSCORE, ZREMRANGEBYSCORE, ZREMRANGEBYRANK.

use super::change;
use super::sorted_set_range::scores;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::number;
use crate::command::spec::{
    Argument, ArgumentKind, Arity, Flags, Group, KeyUse, Keys, Run, Spec, Uses,
};
use crate::plain::sorted_set::{self, Score, SortedSet};
use crate::protocol::{Arguments, Reply};

pub use super::sorted_set_range::{ZCOUNT, ZRANGE, ZRANGEBYSCORE, ZREVRANGE, ZREVRANGEBYSCORE};

const WRITE: Flags = Flags::WRITE.and(Flags::FAST);
const ADDS: Flags = WRITE.and(Flags::DENYOOM);
const READ: Flags = Flags::READONLY.and(Flags::FAST);

const MEMBER: Argument = Argument::string("member");

/// The row of ZADD.
pub const ZADD: Spec = Spec {
    summary: "Set the scores of members of a sorted set",
    arguments: &[
        Argument::key("key"),
        Argument::new(
            "condition",
            ArgumentKind::OneOf(&[Argument::choice("nx", "NX"), Argument::choice("xx", "XX")]),
        )
        .optional(),
        Argument::new(
            "comparison",
            ArgumentKind::OneOf(&[Argument::choice("gt", "GT"), Argument::choice("lt", "LT")]),
        )
        .optional(),
        Argument::flag("change", "CH"),
        Argument::flag("increment", "INCR"),
        Argument::new(
            "data",
            ArgumentKind::Block(&[Argument::new("score", ArgumentKind::Double), MEMBER]),
        )
        .multiple(),
    ],
    reply: "How many members are new, with `CH` how many are new or have another score. With `INCR` the new score, nil if the options kept it.",
    uses: Uses::Each(&[KeyUse::UPDATE]),
    ..row("ZADD", ADDS, Arity::at_least(4), add)
};

/// The row of ZINCRBY.
pub const ZINCRBY: Spec = Spec {
    summary: "Add to the score of a member of a sorted set",
    arguments: &[
        Argument::key("key"),
        Argument::new("increment", ArgumentKind::Double),
        MEMBER,
    ],
    reply: "The new score.",
    ..row("ZINCRBY", ADDS, Arity::exactly(4), |context, arguments| {
        let by = float(arguments.get(2).unwrap_or_default())?;
        let (key, member) = (
            arguments.get(1).unwrap_or_default(),
            arguments.get(3).unwrap_or_default(),
        );
        let score = change(context, key, |slot| {
            sorted_set::change(slot, |set| {
                Ok(increase(set, member, by, Options::default()))
            })
        })??;
        reply_score(&mut context.reply, score);
        Ok(())
    })
};

/// The row of ZREM.
pub const ZREM: Spec = Spec {
    summary: "Remove members of a sorted set",
    arguments: &[Argument::key("key"), Argument::string("member").multiple()],
    reply: "How many were there.",
    uses: Uses::Each(&[KeyUse::TRIM]),
    ..row("ZREM", WRITE, Arity::at_least(3), |context, arguments| {
        let removed = change(context, arguments.get(1).unwrap_or_default(), |slot| {
            sorted_set::change(slot, |set| {
                Ok(arguments
                    .iter()
                    .skip(2)
                    .filter(|member| set.remove(member))
                    .count())
            })
        })?;
        context.reply.integer(removed as i64);
        Ok(())
    })
};

/// The row of ZCARD.
pub const ZCARD: Spec = Spec {
    summary: "Count the members of a sorted set",
    arguments: &[Argument::key("key")],
    reply: "How many there are; 0 for a key that does not exist.",
    uses: Uses::Each(&[KeyUse::LOOK]),
    ..row("ZCARD", READ, Arity::exactly(2), |context, arguments| {
        read(context, arguments, |set, reply| {
            reply.integer(set.map_or(0, SortedSet::len) as i64)
        })
    })
};

/// The row of ZSCORE.
pub const ZSCORE: Spec = Spec {
    summary: "Read the score of a member of a sorted set",
    arguments: &[Argument::key("key"), MEMBER],
    reply: "The score (RESP3: a double); nil if there is no such member.",
    ..row("ZSCORE", READ, Arity::exactly(3), |context, arguments| {
        let member = arguments.get(2).unwrap_or_default();
        read(context, arguments, |set, reply| {
            reply_score(reply, set.and_then(|set| set.score(member)));
        })
    })
};

/// The row of ZREMRANGEBYSCORE.
pub const ZREMRANGEBYSCORE: Spec = Spec {
    summary: "Remove the members of a sorted set from one score to another",
    arguments: &[
        Argument::key("key"),
        Argument::new("min", ArgumentKind::Double),
        Argument::new("max", ArgumentKind::Double),
    ],
    reply: "How many were removed.",
    uses: Uses::Each(&[KeyUse::TRIM]),
    ..row(
        "ZREMRANGEBYSCORE",
        Flags::WRITE,
        Arity::exactly(4),
        |context, arguments| {
            let scores = scores(
                arguments.get(2).unwrap_or_default(),
                arguments.get(3).unwrap_or_default(),
            )?;
            let removed = change(context, arguments.get(1).unwrap_or_default(), |slot| {
                sorted_set::remove_between(slot, scores)
            })?;
            context.reply.integer(removed as i64);
            Ok(())
        },
    )
};

/// The row of ZREMRANGEBYRANK.
pub const ZREMRANGEBYRANK: Spec = Spec {
    summary: "Remove the members of a sorted set from one place to another",
    arguments: &[
        Argument::key("key"),
        Argument::integer("start"),
        Argument::integer("stop"),
    ],
    reply: "How many were removed.",
    uses: Uses::Each(&[KeyUse::TRIM]),
    ..row(
        "ZREMRANGEBYRANK",
        Flags::WRITE,
        Arity::exactly(4),
        |context, arguments| {
            let place = |index| number::required(arguments.get(index).unwrap_or_default());
            let (first, last) = (place(2)?, place(3)?);
            let removed = change(context, arguments.get(1).unwrap_or_default(), |slot| {
                sorted_set::remove_at_places(slot, first, last)
            })?;
            context.reply.integer(removed as i64);
            Ok(())
        },
    )
};

pub(super) const fn row(name: &'static str, flags: Flags, arity: Arity, run: Run) -> Spec {
    Spec {
        flags,
        keys: Keys::ONE,
        ..Spec::new(name, Group::SortedSet, arity, run)
    }
}

/// What stands before ZADD's pairs.
#[derive(Clone, Copy, Default)]
struct Options {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
    ch: bool,
    incr: bool,
}

impl Options {
    /// The options, and the index of the first score.
    fn parse(arguments: Arguments<'_>) -> Result<(Self, usize), Error> {
        let (mut options, mut at) = (Self::default(), 2);
        while let Some(word) = arguments.get(at) {
            let option = match word.to_ascii_uppercase().as_slice() {
                b"NX" => &mut options.nx,
                b"XX" => &mut options.xx,
                b"GT" => &mut options.gt,
                b"LT" => &mut options.lt,
                b"CH" => &mut options.ch,
                b"INCR" => &mut options.incr,
                _ => break,
            };
            *option = true;
            at += 1;
        }
        let words = arguments.len() - at;
        if words == 0 || words % 2 == 1 {
            return Err(Error::SYNTAX);
        }
        if options.nx && options.xx {
            return Err(Error::redis(
                "ERR XX and NX options at the same time are not compatible",
            ));
        }
        if u8::from(options.nx) + u8::from(options.gt) + u8::from(options.lt) > 1 {
            return Err(Error::redis(
                "ERR GT, LT, and/or NX options at the same time are not compatible",
            ));
        }
        if options.incr && words > 2 {
            return Err(Error::redis(
                "ERR INCR option supports a single increment-element pair",
            ));
        }
        Ok((options, at))
    }

    /// True if a member may get this score.
    fn allow(self, old: Option<Score>, new: Score) -> bool {
        match old {
            None => !self.xx,
            Some(old) => !(self.nx || self.gt && new <= old || self.lt && new >= old),
        }
    }
}

fn add(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let (options, at) = Options::parse(arguments)?;
    let words = arguments.tail(at);
    let scores = words
        .iter()
        .step_by(2)
        .map(float)
        .collect::<Result<Vec<_>, _>>()?;
    let members = words.iter().skip(1).step_by(2);
    let key = arguments.get(1).unwrap_or_default();
    if options.incr {
        let (by, member) = (scores[0], words.get(1).unwrap_or_default());
        let score = change(context, key, |slot| {
            sorted_set::change(slot, |set| Ok(increase(set, member, by, options)))
        })??;
        reply_score(&mut context.reply, score);
        return Ok(());
    }
    let changed = change(context, key, |slot| {
        sorted_set::change(slot, |set| {
            if !options.xx {
                set.check_room(members.clone())?;
            }
            let (mut added, mut changed) = (0, 0);
            for (member, &score) in members.zip(&scores) {
                let old = set.score(member);
                if options.allow(old, score) {
                    set.set(member, score)?;
                    added += i64::from(old.is_none());
                    changed += i64::from(old != Some(score));
                }
            }
            Ok(if options.ch { changed } else { added })
        })
    })?;
    context.reply.integer(changed);
    Ok(())
}

/// Adds to a score; the new one, `None` if the options keep the old.
fn increase(
    set: &mut SortedSet,
    member: &[u8],
    by: Score,
    options: Options,
) -> Result<Option<Score>, Error> {
    let old = set.score(member);
    let sum = old.map_or(0.0, Score::value) + by.value();
    let score = Score::new(sum).ok_or(Error::redis("ERR resulting score is not a number (NaN)"))?;
    if !options.allow(old, score) {
        return Ok(None);
    }
    set.set(member, score)?;
    Ok(Some(score))
}

/// A score among the arguments.
fn float(text: &[u8]) -> Result<Score, Error> {
    sorted_set::parse(text).ok_or(Error::redis("ERR value is not a valid float"))
}

fn read(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    write: impl FnOnce(Option<&SortedSet>, &mut Reply<'_>),
) -> Result<(), Error> {
    let key = arguments.get(1).unwrap_or_default();
    let (store, database) = (&context.shared.store, context.connection.database);
    store.read_plain(database, key, context.now, |plain| {
        write(sorted_set::get(plain)?, &mut context.reply);
        Ok(())
    })?
}

fn reply_score(reply: &mut Reply<'_>, score: Option<Score>) {
    match score {
        Some(score) => reply.double(score.value()),
        None => reply.null(),
    }
}
