//! The grammar of a `<limit>`.

use super::arguments::{AMOUNT, Cursor};
use super::error::Error;
use super::spec::{Argument, ArgumentKind};
use crate::core::gcra::{self, GcraError};
use crate::core::leases::{LEASES_MAX, LeasesLimit};
use crate::core::limit::{BucketLimit, Keeps, Limit, PeriodLimit, Rate};
use crate::core::log::LOG_COUNT_MAX;
use crate::core::number;
use crate::core::units::Span;
use crate::core::window::WindowLimit;

const RATE: &str = "a decimal number of permits per second (80, 0.5) or per duration (100/m, 1/5m), from 1 per 3650 days to 1000000000 per second";

/// What stands where a limit is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Term<'a> {
    /// A limit, spelled out.
    Plain(Limit),
    /// The name of a policy.
    Policy(&'a [u8]),
}

/// Reads a `<limit>`.
///
/// # Errors
/// Names the argument that is wrong and what it takes.
pub fn limit<'a>(cursor: &mut Cursor<'a>) -> Result<Term<'a>, Error> {
    if cursor.keyword("POLICY") {
        return Ok(Term::Policy(cursor.take("name")?));
    }
    plain_limit(cursor).map(Term::Plain)
}

fn plain_limit(cursor: &mut Cursor<'_>) -> Result<Limit, Error> {
    if cursor.keyword("GCRA") {
        let max_burst = max_burst(cursor)?;
        let count = cursor.amount("count")?;
        let period = positive_span(cursor, "period")?;
        return gcra_limit(max_burst, count, period).map(Limit::Bucket);
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
    if cursor.keyword("LEASES") {
        let max = leases_max(cursor)?;
        let ttl = positive_span(cursor, "ttl")?;
        return Ok(Limit::Leases(leases_limit(max, ttl)?));
    }
    let capacity = if cursor.keyword("BUCKET") {
        cursor.amount("capacity")?
    } else {
        const TAKES: &str = "an integer from 1 to 1000000000000, or one of BUCKET, GCRA, PACE, WINDOW, SLIDING, LOG, LEASES, POLICY";
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
    let period = positive_span(cursor, "period")?;
    PeriodLimit::new(count, period).ok_or(Error::argument("period", "above 0"))
}

/// A GCRA from its parameters, with errors that name them.
pub fn gcra_limit(max_burst: u64, count: u64, period: Span) -> Result<BucketLimit, Error> {
    gcra::limit(max_burst, count, period).map_err(|error| match error {
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

/// Takes the `max` of leases.
pub fn leases_max(cursor: &mut Cursor<'_>) -> Result<u64, Error> {
    const TAKES: &str = "an integer from 1 to 100000";
    cursor.value("max", TAKES, |text| {
        number::amount(text).filter(|&max| max <= LEASES_MAX)
    })
}

/// A limit of leases from parameters that were read one by one.
pub fn leases_limit(max: u64, ttl: Span) -> Result<LeasesLimit, Error> {
    LeasesLimit::new(max, ttl).ok_or(Error::argument("ttl", "above 0"))
}

fn positive_span(cursor: &mut Cursor<'_>, name: &'static str) -> Result<Span, Error> {
    const TAKES: &str =
        "above 0: a decimal with one of the units ns us ms s m h d, up to 3650 days";
    cursor.value(name, TAKES, |text| {
        number::duration_with_unit(text).filter(|span| *span > Span::ZERO)
    })
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
        Argument::new(
            "leases",
            ArgumentKind::Block(&[Argument::integer("max"), Argument::string("ttl")]),
        )
        .token("LEASES"),
        Argument::string("name").token("POLICY"),
    ]),
);
const COUNT: Argument = Argument::integer("count");
const PERIOD: Argument = Argument::string("period");
const CAPACITY: Argument = Argument::integer("capacity");
const RATE_ARGUMENT: Argument = Argument::string("rate");
