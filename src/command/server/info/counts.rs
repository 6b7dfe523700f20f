//! The sections of INFO with a line for each command or error: Commandstats, Errorstats, Latencystats.

use super::Lines;
use crate::command::context::Context;
use crate::command::table;
use crate::core::units::MICROSECOND;
use std::fmt;

/// Of a thousand calls, how many took no longer than what is shown.
const QUANTILES: [(&str, u64); 3] = [("p50", 500), ("p99", 990), ("p99.9", 999)];

pub(super) fn commands(lines: &mut Lines, context: &Context<'_>) {
    for name in table::names() {
        let totals = context.shared.metrics.command(name);
        let Some(totals) = totals.filter(|totals| totals.calls + totals.rejected > 0) else {
            continue;
        };
        let us = totals.ns / MICROSECOND;
        // In hundredths.
        let each = us * 100 / totals.calls.max(1);
        let value = format_args!(
            "calls={},usec={us},usec_per_call={}.{:02},rejected_calls={},failed_calls={}",
            totals.calls,
            each / 100,
            each % 100,
            totals.rejected,
            totals.failed,
        );
        lines.line(&format!("cmdstat_{}", name.to_ascii_lowercase()), value);
    }
}

pub(super) fn errors(lines: &mut Lines, context: &Context<'_>) {
    for (code, count) in context.shared.metrics.errors_by_code() {
        lines.line(&format!("errorstat_{code}"), format_args!("count={count}"));
    }
}

pub(super) fn latencies(lines: &mut Lines, context: &Context<'_>) {
    for name in table::names() {
        let totals = context.shared.metrics.command(name);
        let spread = totals.and_then(|totals| totals.spread);
        let Some(spread) = spread.filter(|spread| spread.total() > 0) else {
            continue;
        };
        let quantiles = QUANTILES.map(|(name, thousandths)| {
            let us = Microseconds(spread.quantile_ns(thousandths));
            format!("{name}={us}")
        });
        let name = format!("latency_percentiles_usec_{}", name.to_ascii_lowercase());
        lines.line(&name, quantiles.join(","));
    }
}

/// Nanoseconds, shown as microseconds.
struct Microseconds(u64);

impl fmt::Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / MICROSECOND, self.0 % MICROSECOND)
    }
}
