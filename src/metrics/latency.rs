//! Moments at which something held others up: the longest in each second, by what it was.

use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};

/// Most seconds that are kept of each event, as in Redis.
const SAMPLES_MAX: usize = 160;

/// The longest in a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The second, since the Unix epoch.
    pub at_s: u64,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// What is kept of one event.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Series {
    /// The oldest first.
    pub samples: VecDeque<Sample>,
    /// The longest ever, in milliseconds.
    pub longest_ms: u64,
}

/// All events that were seen, by name.
#[derive(Default)]
pub struct Latency(Mutex<BTreeMap<&'static str, Series>>);

impl Latency {
    /// Notes that `event` took `took_ms` at `at_s`.
    pub fn add(&self, event: &'static str, at_s: u64, took_ms: u64) {
        let mut events = self.0.lock();
        let series = events.entry(event).or_default();
        series.longest_ms = series.longest_ms.max(took_ms);
        match series.samples.back_mut() {
            Some(last) if last.at_s == at_s => last.took_ms = last.took_ms.max(took_ms),
            _ => series.samples.push_back(Sample { at_s, took_ms }),
        }
        if series.samples.len() > SAMPLES_MAX {
            series.samples.pop_front();
        }
    }

    /// All events, by name.
    pub fn events(&self) -> Vec<(&'static str, Series)> {
        let events = self.0.lock();
        events
            .iter()
            .map(|(name, series)| (*name, series.clone()))
            .collect()
    }

    /// What is kept of one event.
    pub fn series(&self, event: &[u8]) -> Series {
        let events = self.0.lock();
        let mut found = events.iter().filter(|(name, _)| name.as_bytes() == event);
        found
            .next()
            .map(|(_, series)| series.clone())
            .unwrap_or_default()
    }

    /// Forgets the events that `wanted` names; how many there were.
    pub fn reset(&self, wanted: impl Fn(&str) -> bool) -> usize {
        let mut events = self.0.lock();
        let before = events.len();
        events.retain(|name, _| !wanted(name));
        before - events.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_second_the_longest_is_kept() {
        let latency = Latency::default();
        for (at_s, took_ms) in [(1, 5), (1, 9), (1, 2), (2, 3)] {
            latency.add("command", at_s, took_ms);
        }
        let series = latency.series(b"command");
        let samples: Vec<(u64, u64)> = series.samples.iter().map(|s| (s.at_s, s.took_ms)).collect();
        assert_eq!((samples, series.longest_ms), (vec![(1, 9), (2, 3)], 9));
        assert_eq!(latency.series(b"other"), Series::default());
    }

    #[test]
    fn no_more_seconds_than_are_kept() {
        let latency = Latency::default();
        (0..200).for_each(|at_s| latency.add("command", at_s, 200 - at_s));
        let series = latency.series(b"command");
        assert_eq!(
            (series.samples.len(), series.longest_ms),
            (SAMPLES_MAX, 200)
        );
        assert_eq!(series.samples.back().map(|sample| sample.at_s), Some(199));
    }

    #[test]
    fn events_are_forgotten_by_name() {
        let latency = Latency::default();
        latency.add("command", 1, 1);
        latency.add("expire-cycle", 1, 1);
        assert_eq!(latency.reset(|name| name == "command"), 1);
        assert_eq!(latency.events().len(), 1);
        assert_eq!(latency.reset(|_| true), 1);
        assert!(latency.events().is_empty());
    }
}
