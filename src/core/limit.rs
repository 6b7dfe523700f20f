//! Limits: rules with their parameters. Only values that can be held exactly exist.

use super::gcra;
use super::leases::LeasesLimit;
use super::number::{AMOUNT_MAX, Decimal, duration_after_slash};
use super::units::{MILLISECOND, SECOND, Span, Timestamp};
use super::wide::greatest_common_divisor;
use super::window::WindowLimit;
use std::fmt;

#[path = "limit_words.rs"]
mod words;

pub use words::Words;

/// What a call may ask of a key. One variant an algorithm; buckets, GCRA and PACE are one, since
/// they convert into each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Token bucket, GCRA or PACE.
    Bucket(BucketLimit),
    /// Fixed window.
    Window(WindowLimit),
    /// Sliding window counter.
    Sliding(PeriodLimit),
    /// Sliding log.
    Log(PeriodLimit),
    /// Leases.
    Leases(LeasesLimit),
}

impl Limit {
    /// The most permits that can go at one instant: 1 to 10^12.
    pub const fn capacity(&self) -> u64 {
        match self {
            Self::Bucket(limit) => limit.capacity,
            Self::Window(limit) => limit.per.count,
            Self::Sliding(limit) | Self::Log(limit) => limit.count,
            Self::Leases(limit) => limit.max(),
        }
    }

    /// The period of a limit that has one; of leases how long each is held.
    pub const fn period(&self) -> Option<Span> {
        match self {
            Self::Bucket(_) => None,
            Self::Window(limit) => Some(limit.per.period),
            Self::Sliding(limit) | Self::Log(limit) => Some(limit.period),
            Self::Leases(limit) => Some(limit.ttl()),
        }
    }

    /// The kind's name as replies give it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Bucket(limit) => limit.keeps.kind(),
            Self::Window(_) => "window",
            Self::Sliding(_) => "sliding",
            Self::Log(_) => "log",
            Self::Leases(_) => "leases",
        }
    }
}

/// So many permits per period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeriodLimit {
    count: u64,
    period: Span,
}

impl PeriodLimit {
    /// `count` (1 to 10^12) per `period`; `None` for a period of no length.
    pub fn new(count: u64, period: Span) -> Option<Self> {
        debug_assert!((1..=AMOUNT_MAX).contains(&count));
        (period > Span::ZERO).then_some(Self { count, period })
    }

    /// Permits per period.
    pub const fn count(self) -> u64 {
        self.count
    }

    /// The period, above zero.
    pub const fn period(self) -> Span {
        self.period
    }

    /// The last multiple of the period since the epoch up to `at`.
    pub const fn aligned(self, at: Timestamp) -> Timestamp {
        Timestamp::ZERO.after_periods(at.as_ns() / self.period.as_ns(), self.period)
    }
}

/// As a rate: `7/2s`.
impl fmt::Display for PeriodLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.count, self.period)
    }
}

/// As a command takes it.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per = |f: &mut fmt::Formatter<'_>, kind: &str, per: &PeriodLimit| {
            write!(f, "{kind} {} {}", per.count, per.period)
        };
        match self {
            Self::Bucket(limit) => write!(f, "{limit}"),
            Self::Window(limit) => {
                per(f, "WINDOW", &limit.per)?;
                f.write_str(if limit.align { " ALIGN" } else { "" })
            }
            Self::Sliding(limit) => per(f, "SLIDING", limit),
            Self::Log(limit) => per(f, "LOG", limit),
            Self::Leases(limit) => write!(f, "{limit}"),
        }
    }
}

/// As a command takes it; one at a time is `PACE`.
impl fmt::Display for BucketLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.keeps {
            Keeps::Permits => write!(f, "BUCKET {} {}", self.capacity, self.rate),
            Keeps::Time if self.capacity == 1 => write!(f, "PACE {}", self.rate),
            // A GCRA's rate came from a count per period, and this denominator divides that period.
            Keeps::Time => {
                let period = u64::try_from(self.rate.per_ns)
                    .ok()
                    .and_then(Span::from_ns)
                    .unwrap_or(Span::MAX);
                write!(
                    f,
                    "GCRA {} {} {period}",
                    self.capacity - 1,
                    self.rate.permits
                )
            }
        }
    }
}

/// Permits per nanosecond as a fraction in lowest terms, `permits / per_ns`, both positive.
///
/// From 1 per 3650 days to 10^9 per second, so `permits < 2^60` and `per_ns < 2^120`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, packed(8))]
pub struct Rate {
    permits: u64,
    per_ns: u128,
}

impl Rate {
    /// `permits` every `period`; `None` out of range or where the fraction cannot be held.
    pub fn new(permits: Decimal, period: Span) -> Option<Self> {
        let per_ns = 10u128
            .pow(permits.decimals)
            .checked_mul(u128::from(period.as_ns()))?;
        Self::from_fraction(permits.digits, per_ns)
    }

    /// `permits / per_ns`, brought to lowest terms; `None` as in [`Self::new`].
    pub fn from_fraction(permits: u128, per_ns: u128) -> Option<Self> {
        Self::not_below(permits, per_ns, u128::from(Span::MAX.as_ns()))
    }

    /// As [`Self::from_fraction`], down to 1/64 of the slowest rate: what a slow-down makes of it.
    pub fn slowed_from_fraction(permits: u128, per_ns: u128) -> Option<Self> {
        Self::not_below(permits, per_ns, 64 * u128::from(Span::MAX.as_ns()))
    }

    /// `rate × numerator / denominator`, a factor from 1/64 to 1.
    pub fn scaled(rate: Self, numerator: u32, denominator: u32) -> Option<Self> {
        let (numerator, denominator) = (u128::from(numerator), u128::from(denominator));
        let common = greatest_common_divisor(numerator, denominator);
        let (numerator, denominator) = (numerator / common, denominator / common);
        // What cancels out is taken out first, so that no more than the result has to fit.
        let above = greatest_common_divisor(u128::from(rate.permits), denominator);
        let below = greatest_common_divisor(numerator, rate.per_ns);
        let permits = (u128::from(rate.permits) / above).checked_mul(numerator / below)?;
        let per_ns = (rate.per_ns / below).checked_mul(denominator / above)?;
        Self::slowed_from_fraction(permits, per_ns)
    }

    /// In lowest terms, at least 1 per `slowest` nanoseconds.
    fn not_below(permits: u128, per_ns: u128, slowest: u128) -> Option<Self> {
        let divisor = greatest_common_divisor(permits, per_ns);
        if divisor == 0 {
            return None;
        }
        let (permits, per_ns) = (permits / divisor, per_ns / divisor);
        let in_range = permits > 0 && permits <= per_ns && per_ns.div_ceil(slowest) <= permits;
        if !in_range || per_ns >> 120 != 0 {
            return None;
        }
        let permits = u64::try_from(permits)
            .ok()
            .filter(|permits| permits >> 60 == 0)?;
        Some(Self { permits, per_ns })
    }

    /// Reads `80`, `0.5`, `100/m`, `1/5m`, `150/60s`.
    pub fn parse(text: &[u8]) -> Option<Self> {
        match text.iter().position(|&byte| byte == b'/') {
            Some(at) => Self::new(
                Decimal::parse(&text[..at])?,
                duration_after_slash(&text[at + 1..])?,
            ),
            None => Self::new(Decimal::parse(text)?, Span::from_ns(SECOND)?),
        }
    }

    /// The numerator: permits that refill every [`Self::per_ns`] nanoseconds.
    pub const fn permits(self) -> u64 {
        self.permits
    }

    /// The denominator, in nanoseconds. A deficit is held in units of `1 / per_ns` permits.
    pub const fn per_ns(self) -> u128 {
        self.per_ns
    }
}

/// As a rate can be written: `80/s`, `0.5/s`, `1/300s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // permits / per_ns × 10^9 per second; numerator below 2^90.
        let numerator = u128::from(self.permits) * u128::from(SECOND);
        let divisor = greatest_common_divisor(numerator, self.per_ns);
        let (numerator, mut rest) = (numerator / divisor, self.per_ns / divisor);
        if rest == 1 {
            return write!(f, "{numerator}/s");
        }
        // A finite decimal has a denominator of twos and fives; as many decimals as the more of them.
        let (mut twos, mut fives) = (0u32, 0u32);
        while rest.is_multiple_of(2) {
            (rest, twos) = (rest / 2, twos + 1);
        }
        while rest.is_multiple_of(5) {
            (rest, fives) = (rest / 5, fives + 1);
        }
        let decimals = twos.max(fives);
        let scale = 10u128
            .checked_pow(decimals)
            .filter(|_| rest == 1 && decimals <= 20);
        match scale.and_then(|scale| {
            numerator
                .checked_mul(scale / (self.per_ns / divisor))
                .map(|digits| (digits, scale))
        }) {
            Some((digits, scale)) => {
                write!(
                    f,
                    "{}.{:0width$}/s",
                    digits / scale,
                    digits % scale,
                    width = decimals as usize
                )
            }
            None if self.per_ns.is_multiple_of(u128::from(SECOND)) => {
                write!(f, "{}/{}s", self.permits, self.per_ns / u128::from(SECOND))
            }
            None => write!(f, "{}/{}ns", self.permits, { self.per_ns }),
        }
    }
}

/// What a key keeps when its parameters change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeps {
    /// A bucket keeps its available permits.
    Permits,
    /// GCRA (and PACE) keep at least the time until they are full.
    Time,
}

impl Keeps {
    const fn kind(self) -> &'static str {
        match self {
            Self::Permits => "bucket",
            Self::Time => gcra::KIND,
        }
    }
}

/// Why a combination of good parameters is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LimitError {
    /// `capacity × denominator of the rate` reaches 2^120.
    TooFine,
    /// `capacity / rate` reaches 2^53 milliseconds.
    TooSlow,
}

/// A capacity and the rate at which it refills.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BucketLimit {
    capacity: u64,
    rate: Rate,
    keeps: Keeps,
}

impl BucketLimit {
    /// A limit of `capacity` (1 to 10^12) that refills at `rate`.
    pub fn new(capacity: u64, rate: Rate, keeps: Keeps) -> Result<Self, LimitError> {
        debug_assert!((1..=AMOUNT_MAX).contains(&capacity));
        let scaled = u128::from(capacity)
            .checked_mul(rate.per_ns)
            .filter(|scaled| scaled >> 120 == 0);
        let scaled = scaled.ok_or(LimitError::TooFine)?;
        if scaled / u128::from(rate.permits) >= (1 << 53) * u128::from(MILLISECOND) {
            return Err(LimitError::TooSlow);
        }
        Ok(Self {
            capacity,
            rate,
            keeps,
        })
    }

    /// A limit at a rate that a slow-down has made: it may take longer to fill.
    pub fn slowed(capacity: u64, rate: Rate, keeps: Keeps) -> Result<Self, LimitError> {
        let scaled = u128::from(capacity)
            .checked_mul(rate.per_ns)
            .filter(|scaled| scaled >> 120 == 0);
        scaled.ok_or(LimitError::TooFine)?;
        Ok(Self {
            capacity,
            rate,
            keeps,
        })
    }

    /// Permits that can go at one instant.
    pub const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The rate of refill.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// What is kept when the parameters change.
    pub const fn keeps(&self) -> Keeps {
        self.keeps
    }

    /// The capacity in units of `1 / per_ns` permits; below 2^120.
    pub const fn scaled_capacity(&self) -> u128 {
        self.capacity as u128 * self.rate.per_ns
    }

    /// True if capacity and rate are the same, whatever is kept when they change.
    pub fn same_numbers(&self, other: &Self) -> bool {
        self.capacity == other.capacity && self.rate == other.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fraction(text: &str) -> Option<(u64, u128)> {
        Rate::parse(text.as_bytes()).map(|rate| (rate.permits, rate.per_ns))
    }

    #[test]
    fn rates_are_held_in_lowest_terms() {
        assert_eq!(fraction("80"), Some((1, 12_500_000)));
        assert_eq!(fraction("0.5"), Some((1, 2_000_000_000)));
        assert_eq!(fraction("150/60s"), fraction("2.5"));
        assert_eq!(fraction("100/m"), Some((1, 600_000_000)));
        assert_eq!(fraction("1/5m"), Some((1, 300_000_000_000)));
        assert_eq!(fraction("1000000000"), Some((1, 1)));
        assert_eq!(fraction("1/3650d"), Some((1, 315_360_000_000_000_000)));
    }

    #[test]
    fn rates_out_of_range_or_unreadable_are_refused() {
        for bad in [
            "0",
            "-1",
            "",
            "1000000001",
            "1000000000.1",
            "0.5/3650d",
            "0.000000003",
            "1/",
            "/s",
            "1/s/s",
            "1/0s",
            "1/5",
            "80 ",
            "1e3",
            "nan",
            "2/ns",
            "99/1w",
            "1/3651d",
        ] {
            assert_eq!(fraction(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_combination_that_does_not_fit_is_refused() {
        let limit = |capacity, rate: &str| {
            BucketLimit::new(
                capacity,
                Rate::parse(rate.as_bytes()).expect(rate),
                Keeps::Permits,
            )
        };
        assert!(limit(1, "0.0002777777777777778").is_ok());
        assert_eq!(
            limit(AMOUNT_MAX, "0.00027777777777777781"),
            Err(LimitError::TooFine)
        );
        assert_eq!(limit(AMOUNT_MAX, "1/3650d"), Err(LimitError::TooSlow));
        assert!(limit(AMOUNT_MAX, "1").is_ok());
    }

    #[test]
    fn rates_are_shown_as_they_can_be_written() {
        for (text, shown) in [
            ("80", "80/s"),
            ("0.5", "0.5/s"),
            ("1/5m", "1/300s"),
            ("100/m", "1/600000000ns"),
            ("7/2s", "3.5/s"),
            ("1000000000", "1000000000/s"),
            ("0.0002777777777777778", "0.0002777777777777778/s"),
            ("1/3s", "1/3s"),
            ("10/7ms", "1/700000ns"),
        ] {
            let rate = Rate::parse(text.as_bytes()).expect(text);
            let text = rate.to_string();
            assert_eq!(Rate::parse(text.as_bytes()), Some(rate), "{text}");
            if !text.ends_with("ns") {
                assert_eq!(text, shown);
            }
        }
    }
}
