//! The grammar of the `RL.` verbs: `key <limit> [max_wait] [COST n] [AND key <limit> [COST n]]... [options]`.

use super::arguments::{AMOUNT, Cursor};
use super::error::Error;
use super::spec::{Argument, ArgumentKind};
use crate::core::gcra::{self, GcraError};
use crate::core::limit::{BucketLimit, Keeps, Limit, PeriodLimit, Rate};
use crate::core::log::LOG_COUNT_MAX;
use crate::core::number;
use crate::core::units::Span;
use crate::core::window::WindowLimit;
use crate::protocol::Arguments;
use smallvec::SmallVec;

/// Most rules in one call: what one provider's credential, account, model and recipient limits come to
/// several times over, and few enough to lock together.
pub const RULES_MAX: usize = 16;

const RATE: &str = "a decimal number of permits per second (80, 0.5) or per duration (100/m, 1/5m), from 1 per 3650 days to 1000000000 per second";

/// One rule of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule<'a> {
    /// The key it counts on.
    pub key: &'a [u8],
    /// The limit.
    pub limit: Limit,
    /// Permits asked for, 1 to 10^12.
    pub cost: u64,
}

/// A call of one of the verbs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call<'a> {
    /// Its rules, on distinct keys; at least one.
    pub rules: SmallVec<[Rule<'a>; 2]>,
    /// How long it would wait, for the verbs that say so.
    pub max_wait: Span,
    /// The reply is a map.
    pub info: bool,
}

/// What the verbs differ in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// `max_wait` stands behind the first limit.
    UpTo,
    /// The verb never waits.
    Never,
}

impl<'a> Call<'a> {
    /// Reads a whole request.
    ///
    /// # Errors
    /// Names the argument that is wrong and what it takes.
    pub fn parse(arguments: Arguments<'a>, waits: Waits) -> Result<Self, Error> {
        let mut cursor = Cursor::new(arguments);
        let mut rules = SmallVec::new();
        let (key, limit) = (cursor.key()?, limit(&mut cursor)?);
        let max_wait = match waits {
            Waits::UpTo => cursor.duration_or_zero("max_wait")?,
            Waits::Never => Span::ZERO,
        };
        rules.push(Rule {
            key,
            limit,
            cost: cost(&mut cursor)?,
        });
        while cursor.keyword("AND") {
            if rules.len() == RULES_MAX {
                return Err(Error::TooManyRules);
            }
            let (key, limit) = (cursor.key()?, self::limit(&mut cursor)?);
            if rules.iter().any(|rule: &Rule<'_>| rule.key == key) {
                return Err(Error::SameKey);
            }
            rules.push(Rule {
                key,
                limit,
                cost: cost(&mut cursor)?,
            });
        }
        let mut info = false;
        while cursor.option("INFO", &mut info)? {}
        cursor.finish()?;
        Ok(Self {
            rules,
            max_wait,
            info,
        })
    }
}

fn cost(cursor: &mut Cursor<'_>) -> Result<u64, Error> {
    if cursor.keyword("COST") {
        cursor.amount("cost")
    } else {
        Ok(1)
    }
}

/// Reads a `<limit>`.
///
/// # Errors
/// Names the argument that is wrong and what it takes.
pub fn limit(cursor: &mut Cursor<'_>) -> Result<Limit, Error> {
    if cursor.keyword("GCRA") {
        let max_burst = max_burst(cursor)?;
        let count = cursor.amount("count")?;
        let period = period(cursor)?;
        return gcra_limit(max_burst, count, period);
    }
    if cursor.keyword("PACE") {
        return Ok(Limit::Bucket(gcra::pace(rate(cursor)?)?));
    }
    if cursor.keyword("WINDOW") {
        let per = count_per_period(cursor, number::AMOUNT_MAX, AMOUNT)?;
        let align = cursor.keyword("ALIGN");
        return Ok(Limit::Window(WindowLimit { per, align }));
    }
    if cursor.keyword("SLIDING") {
        return Ok(Limit::Sliding(count_per_period(
            cursor,
            number::AMOUNT_MAX,
            AMOUNT,
        )?));
    }
    if cursor.keyword("LOG") {
        const TAKES: &str = "an integer from 1 to 100000";
        return Ok(Limit::Log(count_per_period(cursor, LOG_COUNT_MAX, TAKES)?));
    }
    let capacity = if cursor.keyword("BUCKET") {
        cursor.amount("capacity")?
    } else {
        const TAKES: &str = "an integer from 1 to 1000000000000, or one of BUCKET, GCRA, PACE, WINDOW, SLIDING, LOG";
        cursor.value("capacity", TAKES, number::amount)?
    };
    Ok(Limit::Bucket(BucketLimit::new(
        capacity,
        rate(cursor)?,
        Keeps::Permits,
    )?))
}

fn count_per_period(
    cursor: &mut Cursor<'_>,
    most: u64,
    takes: &'static str,
) -> Result<PeriodLimit, Error> {
    let count = cursor.value("count", takes, |text| {
        number::amount(text).filter(|&count| count <= most)
    })?;
    let period = period(cursor)?;
    PeriodLimit::new(count, period).ok_or(Error::argument("period", "above 0"))
}

/// A GCRA from its parameters, with errors that name them.
pub fn gcra_limit(max_burst: u64, count: u64, period: Span) -> Result<Limit, Error> {
    gcra::limit(max_burst, count, period)
        .map(Limit::Bucket)
        .map_err(|error| match error {
            GcraError::Rate => Error::argument(
                "count",
                "between 1 per 3650 days and 1000000000 per second of its period",
            ),
            GcraError::Limit(error) => error.into(),
        })
}

/// Takes a `max_burst`.
pub fn max_burst(cursor: &mut Cursor<'_>) -> Result<u64, Error> {
    const TAKES: &str = "an integer from 0 to 999999999999";
    cursor.value("max_burst", TAKES, |text| {
        number::integer(text).filter(|&burst| burst < number::AMOUNT_MAX)
    })
}

fn rate(cursor: &mut Cursor<'_>) -> Result<Rate, Error> {
    cursor.value("rate", RATE, Rate::parse)
}

fn period(cursor: &mut Cursor<'_>) -> Result<Span, Error> {
    const TAKES: &str =
        "above 0: a decimal with one of the units ns us ms s m h d, up to 3650 days";
    cursor.value("period", TAKES, |text| {
        number::duration_with_unit(text).filter(|span| *span > Span::ZERO)
    })
}

/// Where the keys of a call are: the first argument, and one behind each AND that the grammar finds.
fn keys(arguments: Arguments<'_>, waits: Waits) -> Vec<usize> {
    let mut cursor = Cursor::new(arguments);
    let mut positions = Vec::new();
    // As far as the request can be read; one that cannot is refused whole when it runs.
    let _ = (|| -> Result<(), Error> {
        loop {
            positions.push(cursor.index());
            cursor.key()?;
            limit(&mut cursor)?;
            if positions.len() == 1 && waits == Waits::UpTo {
                cursor.duration_or_zero("max_wait")?;
            }
            cost(&mut cursor)?;
            if !cursor.keyword("AND") || cursor.peek().is_none() {
                return Ok(());
            }
        }
    })();
    positions
}

/// [`keys`] of a verb with `max_wait`.
pub fn keys_of_waiting(arguments: Arguments<'_>) -> Vec<usize> {
    keys(arguments, Waits::UpTo)
}

/// [`keys`] of a verb without.
pub fn keys_of_immediate(arguments: Arguments<'_>) -> Vec<usize> {
    keys(arguments, Waits::Never)
}

/// `<limit>`, for the documentation.
pub const LIMIT: Argument = Argument::new(
    "limit",
    ArgumentKind::OneOf(&[
        Argument::new("bucket", ArgumentKind::Block(&[CAPACITY, RATE_ARGUMENT])),
        Argument::new("bucket", ArgumentKind::Block(&[CAPACITY, RATE_ARGUMENT])).token("BUCKET"),
        Argument::new(
            "gcra",
            ArgumentKind::Block(&[
                Argument::integer("max_burst"),
                Argument::integer("count"),
                Argument::string("period"),
            ]),
        )
        .token("GCRA"),
        RATE_ARGUMENT.token("PACE"),
        Argument::new(
            "window",
            ArgumentKind::Block(&[COUNT, PERIOD, Argument::flag("align", "ALIGN")]),
        )
        .token("WINDOW"),
        Argument::new("sliding", ArgumentKind::Block(&[COUNT, PERIOD])).token("SLIDING"),
        Argument::new("log", ArgumentKind::Block(&[COUNT, PERIOD])).token("LOG"),
    ]),
);
const COUNT: Argument = Argument::integer("count");
const PERIOD: Argument = Argument::string("period");
const CAPACITY: Argument = Argument::integer("capacity");
const RATE_ARGUMENT: Argument = Argument::string("rate");
/// `max_wait`, for the documentation.
pub const MAX_WAIT: Argument = Argument::string("max_wait");
/// `[COST n]`, for the documentation.
pub const COST: Argument = Argument::integer("cost").token("COST").optional();
/// `[AND …]`, for the documentation.
pub const MORE_RULES: Argument = Argument::new(
    "rule",
    ArgumentKind::Block(&[Argument::key("key"), LIMIT, COST]),
)
.token("AND")
.optional()
.multiple();
/// `[INFO]`, for the documentation.
pub const INFO: Argument = Argument::flag("info", "INFO");
