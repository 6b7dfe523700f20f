//! Quick commands that ran one after the other while nobody looked at the clock.
//!
//! Reading the clock takes a tenth of the time that the quickest commands take. So it is read once for some of them,
//! and each is taken to have run for an equal share of the time between two readings. If that was long, the last of them
//! was held up: whoever runs them sees to it that the clock is read behind one that ran for long.

use super::commands::Run;
use smallvec::SmallVec;

/// A time in which no number of quick commands should have run, in nanoseconds.
const LONG_NS: u64 = 1_000_000;
/// What a quick command is taken to have run for, in nanoseconds, where the one behind it was held up.
const QUICK_NS: u64 = 1_000;

/// The commands since the last reading of the clock.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Stretch {
    calls: u32,
    /// All but the last, by name.
    parts: SmallVec<[Part; 4]>,
    last: Option<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Part {
    name: &'static str,
    calls: u32,
    failed: u32,
}

impl Stretch {
    /// How many commands ran.
    pub(super) const fn calls(&self) -> u32 {
        self.calls
    }

    /// A command has run.
    pub(super) fn add(&mut self, name: &'static str, failed: bool) {
        self.calls += 1;
        let part = Part {
            name,
            calls: 1,
            failed: u32::from(failed),
        };
        let Some(last) = self.last.replace(part) else {
            return;
        };
        let same = |part: &&mut Part| std::ptr::eq(part.name, last.name);
        match self.parts.iter_mut().rev().find(same) {
            Some(part) => {
                part.calls += 1;
                part.failed += last.failed;
            }
            None => self.parts.push(last),
        }
    }

    /// The clock was read, `ns` nanoseconds after the reading before: hands out what is to be counted, and returns how
    /// long the last command ran.
    pub(super) fn end(&mut self, ns: u64, mut count: impl FnMut(Run)) -> u64 {
        let Self { calls, parts, last } = std::mem::take(self);
        let Some(last) = last else {
            return 0;
        };
        let each = if ns < LONG_NS {
            ns / u64::from(calls)
        } else {
            QUICK_NS
        };
        for part in &parts {
            count(Run::of_calls(part.name, part.calls, part.failed, each));
        }
        let rest = ns.saturating_sub(each * u64::from(calls - 1));
        count(Run::of_calls(last.name, 1, last.failed, rest));
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(stretch: &mut Stretch, ns: u64) -> (u64, Vec<Run>) {
        let mut runs = Vec::new();
        (stretch.end(ns, |run| runs.push(run)), runs)
    }

    #[test]
    fn each_takes_an_equal_share() {
        let mut stretch = Stretch::default();
        for (name, failed) in [
            ("GET", false),
            ("SET", false),
            ("GET", true),
            ("GET", false),
        ] {
            stretch.add(name, failed);
        }
        assert_eq!(stretch.calls(), 4);
        let runs = vec![
            Run::of_calls("GET", 2, 1, 500),
            Run::of_calls("SET", 1, 0, 500),
            Run::of_calls("GET", 1, 0, 503),
        ];
        assert_eq!(ended(&mut stretch, 2003), (503, runs));
        assert_eq!(stretch, Stretch::default());
        assert_eq!(ended(&mut stretch, 2003), (0, Vec::new()));
    }

    #[test]
    fn the_last_is_the_one_that_was_held_up() {
        let mut stretch = Stretch::default();
        (0..3).for_each(|_| stretch.add("GET", false));
        let runs = vec![
            Run::of_calls("GET", 2, 0, 1_000),
            Run::of_calls("GET", 1, 0, 11_998_000),
        ];
        assert_eq!(ended(&mut stretch, 12_000_000), (11_998_000, runs));
    }
}
