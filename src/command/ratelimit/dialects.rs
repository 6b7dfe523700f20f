//! Other people's commands on the same keys: `CL.THROTTLE` (redis-cell, Dragonfly), `GCRA` (the Redis
//! 8.8 milestones), `THROTTLE` (throttlecrab). All are GCRA in whole seconds; they differ in the order
//! of their words and in what they call the capacity.

use crate::command::access;
use crate::command::arguments::Cursor;
use crate::command::context::Context;
use crate::command::counted;
use crate::command::error::Error;
use crate::command::limits::{gcra_limit, max_burst};
use crate::command::lone::{self, Asked, Form};
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::core::decision::{Earliest, Standing};
use crate::core::limit::Limit;
use crate::core::number::{self, Decimal};
use crate::core::units::{SECOND, Span, Timestamp, Wait};
use crate::protocol::Arguments;

const MAX_BURST: Argument = Argument::integer("max_burst");
const COUNT: Argument = Argument::integer("count");
const PERIOD: Argument = Argument::integer("period");
const QUANTITY: Argument = Argument::integer("quantity").optional();

/// The row of `CL.THROTTLE`.
pub const CL_THROTTLE: Spec = Spec {
    summary: "Take from a GCRA, as redis-cell and Dragonfly do",
    arguments: &[Argument::key("key"), MAX_BURST, COUNT, PERIOD, QUANTITY],
    reply: "Five integers: limited (0 or 1), max_burst + 1, remaining, retry_after and reset_after in seconds; retry_after is -1 when allowed or never. A quantity of 0 only looks.",
    flags: Flags::BOOKS.and(Flags::FAST),
    keys: Keys::ONE,
    ..Spec::new(
        "CL.THROTTLE",
        Group::RateLimit,
        Arity::between(5, 6),
        cl_throttle,
    )
};

/// The row of `RL.THROTTLE`.
pub const RL_THROTTLE: Spec = Spec {
    name: "RL.THROTTLE",
    summary: "Take from a GCRA; the same as CL.THROTTLE",
    ..CL_THROTTLE
};

/// The row of `THROTTLE`.
pub const THROTTLE: Spec = Spec {
    summary: "Take from a GCRA, as throttlecrab does",
    reply: "Five integers: allowed (1 or 0), max_burst, remaining, reset_after and retry_after in seconds; here max_burst is the capacity. retry_after is 0 when allowed and -1 when it never can be.",
    ..Spec {
        name: "THROTTLE",
        run: throttle,
        ..CL_THROTTLE
    }
};

/// The row of `GCRA`.
pub const GCRA: Spec = Spec {
    summary: "Take from a GCRA, as the Redis 8.8 milestones do",
    arguments: &[
        Argument::key("key"),
        MAX_BURST,
        Argument::integer("tokens_per_period"),
        Argument::new("period", crate::command::spec::ArgumentKind::Double),
        Argument::integer("tokens").token("TOKENS").optional(),
    ],
    reply: "As `CL.THROTTLE`; the period may be a decimal, and TOKENS 0 only looks.",
    flags: Flags::BOOKS.and(Flags::FAST),
    keys: Keys::ONE,
    ..Spec::new("GCRA", Group::RateLimit, Arity::between(5, 7), gcra)
};

/// What one of the commands found.
struct Answer {
    allowed: bool,
    capacity: i64,
    earliest: Earliest,
    standing: Standing,
}

impl Answer {
    fn retry_seconds(&self) -> i64 {
        match self.earliest {
            Earliest::After(wait) if !self.allowed => wait.ceil_seconds(),
            _ => -1,
        }
    }
}

/// Takes `cost`, or only looks if it is zero.
fn take(context: &mut Context<'_>, key: &[u8], limit: Limit, cost: u64) -> Result<Answer, Error> {
    if let Some(answer) = take_alone(context, key, &limit, cost) {
        return Ok(answer);
    }
    let now = context.now;
    let answer = access::decide(&*context, &[key], |keys| {
        let mut draft = keys.seen[0].draft(&limit, now)?;
        let earliest = draft.retry_after(0, cost);
        let allowed = earliest.is_now();
        let spends = allowed && cost > 0;
        if spends {
            draft.book(cost)?;
            if context.is_full && draft.grows() {
                return Err(Error::OUT_OF_MEMORY);
            }
            if let Some(kept) = keys.kept {
                let mut draft = kept[0].draft(&limit, now)?;
                draft.book(cost)?;
                draft.commit();
            }
        }
        let standing = draft.standing();
        if spends {
            draft.commit();
        }
        Ok(Answer {
            allowed,
            capacity: limit.capacity() as i64,
            earliest,
            standing,
        })
    })?;
    if cost > 0 {
        let at_once = answer.allowed.then_some(Wait::ZERO);
        counted::one(context.shared, context.tally, key, at_once);
    }
    Ok(answer)
}

/// As [`take`], where one bucket is all there is to it.
fn take_alone(context: &mut Context<'_>, key: &[u8], limit: &Limit, cost: u64) -> Option<Answer> {
    let (now, Limit::Bucket(limit)) = (context.now, limit) else {
        return None;
    };
    if cost == 0 {
        return None;
    }
    lone::decide(context, key, limit, cost, Span::ZERO, |verdict, bucket| {
        Answer {
            allowed: verdict.granted,
            capacity: limit.capacity() as i64,
            earliest: Earliest::After(verdict.wait),
            standing: bucket.standing(now, Timestamp::ZERO),
        }
    })
}

fn write_in_cells_order(context: &mut Context<'_>, answer: &Answer) {
    let (limited, remaining) = (i64::from(!answer.allowed), answer.standing.remaining as i64);
    let reset = answer.standing.reset_after.ceil_seconds();
    context.reply.integers(&[
        limited,
        answer.capacity,
        remaining,
        answer.retry_seconds(),
        reset,
    ]);
}

fn cl_throttle(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let mut cursor = Cursor::new(arguments);
    let key = cursor.key()?;
    let known = context.connection.memo.find(Form::Cell, arguments);
    let (cost, limit) = if let Some(Asked { limit, .. }) = known {
        cursor.skip(3);
        (optional_quantity(&mut cursor)?, limit)
    } else {
        let max_burst = max_burst(&mut cursor)?;
        let (count, period) = (cursor.amount("count")?, whole_seconds(&mut cursor)?);
        let cost = optional_quantity(&mut cursor)?;
        let limit = gcra_limit(max_burst, count, period)?;
        let max_wait = Span::ZERO;
        let asked = Asked { limit, max_wait };
        context.connection.memo.keep(Form::Cell, arguments, asked);
        (cost, limit)
    };
    let limit = Limit::Bucket(limit);
    let answer = take(context, key, limit, cost)?;
    write_in_cells_order(context, &answer);
    Ok(())
}

fn gcra(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let mut cursor = Cursor::new(arguments);
    let (key, max_burst) = (cursor.key()?, max_burst(&mut cursor)?);
    let (count, period) = (
        cursor.amount("tokens_per_period")?,
        decimal_seconds(&mut cursor)?,
    );
    let cost = if cursor.keyword("TOKENS") {
        quantity(&mut cursor, "tokens")?
    } else {
        1
    };
    cursor.finish()?;
    let limit = Limit::Bucket(gcra_limit(max_burst, count, period)?);
    let answer = take(context, key, limit, cost)?;
    write_in_cells_order(context, &answer);
    Ok(())
}

fn throttle(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let mut cursor = Cursor::new(arguments);
    let (key, capacity) = (cursor.key()?, cursor.amount("max_burst")?);
    let (count, period) = (cursor.amount("count")?, whole_seconds(&mut cursor)?);
    let cost = optional_quantity(&mut cursor)?;
    let limit = Limit::Bucket(gcra_limit(capacity - 1, count, period)?);
    let answer = take(context, key, limit, cost)?;
    let retry = if answer.allowed {
        0
    } else {
        answer.retry_seconds()
    };
    let (allowed, remaining) = (i64::from(answer.allowed), answer.standing.remaining as i64);
    let reset = answer.standing.reset_after.ceil_seconds();
    context
        .reply
        .integers(&[allowed, answer.capacity, remaining, reset, retry]);
    Ok(())
}

fn quantity(cursor: &mut Cursor<'_>, name: &'static str) -> Result<u64, Error> {
    const TAKES: &str = "an integer from 0 to 1000000000000";
    cursor.value(name, TAKES, |text| {
        number::integer(text).filter(|&quantity| quantity <= number::AMOUNT_MAX)
    })
}

fn optional_quantity(cursor: &mut Cursor<'_>) -> Result<u64, Error> {
    if cursor.peek().is_some() {
        quantity(cursor, "quantity")
    } else {
        Ok(1)
    }
}

fn whole_seconds(cursor: &mut Cursor<'_>) -> Result<Span, Error> {
    const TAKES: &str = "an integer from 1 to 315360000 (seconds)";
    cursor.value("period", TAKES, |text| {
        Span::from_ns(number::amount(text)?.checked_mul(SECOND)?)
    })
}

fn decimal_seconds(cursor: &mut Cursor<'_>) -> Result<Span, Error> {
    const TAKES: &str =
        "a decimal number of seconds above 0 and up to 315360000, in whole nanoseconds";
    cursor.value("period", TAKES, |text| {
        Span::from_ns(Decimal::parse(text)?.whole_multiple(SECOND)?)
            .filter(|span| *span > Span::ZERO)
    })
}
