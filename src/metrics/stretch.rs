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
    /// By name.
    parts: SmallVec<[Part; 4]>,
    /// Which of them the last command is part of, and whether it failed.
    last: usize,
    last_failed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Part {
    name: &'static str,
    calls: u32,
    failed: u32,
}

impl Part {
    fn add(&mut self, failed: bool) {
        self.calls += 1;
        self.failed += u32::from(failed);
    }

    fn is_of(&self, name: &'static str) -> bool {
        std::ptr::eq(self.name, name)
    }
}

impl Stretch {
    /// How many commands ran.
    pub(super) const fn calls(&self) -> u32 {
        self.calls
    }

    /// A command has run.
    #[inline]
    pub(super) fn add(&mut self, name: &'static str, failed: bool) {
        self.calls += 1;
        self.last_failed = failed;
        match self.parts.get_mut(self.last) {
            Some(last) if last.is_of(name) => last.add(failed),
            _ => self.part_of(name).add(failed),
        }
    }

    /// The part of a command that is not the last.
    fn part_of(&mut self, name: &'static str) -> &mut Part {
        let known = self.parts.iter().position(|part| part.is_of(name));
        self.last = known.unwrap_or_else(|| {
            let (calls, failed) = (0, 0);
            self.parts.push(Part {
                name,
                calls,
                failed,
            });
            self.parts.len() - 1
        });
        &mut self.parts[self.last]
    }

    /// The clock was read, `ns` nanoseconds after the reading before: hands out what is to be counted, and returns how
    /// long the last command ran.
    pub(super) fn end(&mut self, ns: u64, mut count: impl FnMut(Run)) -> u64 {
        let Some(Part { name, .. }) = self.parts.get(self.last).copied() else {
            return 0;
        };
        let each = if ns < LONG_NS {
            ns / u64::from(self.calls)
        } else {
            QUICK_NS
        };
        let rest = ns.saturating_sub(each * u64::from(self.calls - 1));
        let last_failed = u32::from(self.last_failed);
        let last = &mut self.parts[self.last];
        (last.calls, last.failed) = (last.calls - 1, last.failed - last_failed);
        for part in self.parts.iter().filter(|part| part.calls > 0) {
            count(Run::of_calls(part.name, part.calls, part.failed, each));
        }
        count(Run::of_calls(name, 1, last_failed, rest));
        *self = Self::default();
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
