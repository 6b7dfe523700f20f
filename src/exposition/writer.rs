//! Families of numbers, as the crate for the format takes them.

use crate::core::units::{SECOND, Timestamp};
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use std::fmt;

/// The unit that stands at the end of a name.
pub(super) const SECONDS: Option<&Unit> = Some(&Unit::Seconds);
/// As [`SECONDS`].
pub(super) const BYTES: Option<&Unit> = Some(&Unit::Bytes);

/// Seconds since the Unix epoch; 0 for none.
pub(super) fn seconds(at: Timestamp) -> f64 {
    at.as_ns() as f64 / SECOND as f64
}

/// Counts of one histogram, each with the bound that its values do not exceed.
pub(super) struct Histogram {
    pub(super) sum: f64,
    /// The last bound is infinite.
    pub(super) buckets: Vec<(f64, u64)>,
}

/// Writes one family after the other.
pub(super) struct Writer<'e>(pub(super) DescriptorEncoder<'e>);

impl Writer<'_> {
    fn family(
        &mut self,
        name: &str,
        unit: Option<&Unit>,
        kind: MetricType,
        help: &str,
        write: impl FnOnce(&mut MetricEncoder<'_>) -> fmt::Result,
    ) -> fmt::Result {
        write(&mut self.0.encode_descriptor(name, help, unit, kind)?)
    }

    /// A number that only grows; `_total` is put behind its name.
    pub(super) fn counter(
        &mut self,
        name: &str,
        unit: Option<&Unit>,
        help: &str,
        value: impl EncodeCounterValue,
    ) -> fmt::Result {
        self.family(name, unit, MetricType::Counter, help, |metric| {
            metric.encode_counter::<NoLabelSet, _, u64>(&value, None)
        })
    }

    /// A number that goes up and down.
    pub(super) fn gauge(
        &mut self,
        name: &str,
        unit: Option<&Unit>,
        help: &str,
        value: impl EncodeGaugeValue,
    ) -> fmt::Result {
        self.family(name, unit, MetricType::Gauge, help, |metric| {
            metric.encode_gauge(&value)
        })
    }

    /// Numbers that only grow, one for each value of a label.
    pub(super) fn counters(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        rows: impl IntoIterator<Item = (impl AsRef<str>, u64)>,
    ) -> fmt::Result {
        self.family(name, None, MetricType::Counter, help, |metric| {
            rows.into_iter().try_for_each(|(value, count)| {
                metric
                    .encode_family(&[(label, value.as_ref())])?
                    .encode_counter::<NoLabelSet, _, u64>(&count, None)
            })
        })
    }

    /// Numbers that go up and down, one for each value of a label.
    pub(super) fn gauges(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        rows: impl IntoIterator<Item = (impl AsRef<str>, u64)>,
    ) -> fmt::Result {
        self.family(name, None, MetricType::Gauge, help, |metric| {
            rows.into_iter().try_for_each(|(value, count)| {
                metric
                    .encode_family(&[(label, value.as_ref())])?
                    .encode_gauge(&count)
            })
        })
    }

    /// How long something took.
    pub(super) fn durations(
        &mut self,
        name: &str,
        help: &str,
        histogram: &Histogram,
    ) -> fmt::Result {
        self.family(name, SECONDS, MetricType::Histogram, help, |metric| {
            write_histogram(metric, histogram)
        })
    }

    /// How long something took, for each value of a label.
    pub(super) fn durations_by(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        rows: impl IntoIterator<Item = (String, Histogram)>,
    ) -> fmt::Result {
        self.family(name, SECONDS, MetricType::Histogram, help, |metric| {
            rows.into_iter().try_for_each(|(value, histogram)| {
                write_histogram(
                    &mut metric.encode_family(&[(label, value.as_str())])?,
                    &histogram,
                )
            })
        })
    }
}

fn write_histogram(metric: &mut MetricEncoder<'_>, histogram: &Histogram) -> fmt::Result {
    let buckets = &histogram.buckets;
    let count = buckets.iter().map(|(_, count)| count).sum();
    metric.encode_histogram::<NoLabelSet>(histogram.sum, count, buckets, None)
}
