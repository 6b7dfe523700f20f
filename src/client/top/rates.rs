//! Grants and denials a second: what the server's totals grew by between two looks.

use std::collections::VecDeque;

use super::reading::Server;

/// Longest time that is remembered, in microseconds.
const KEPT_US: u64 = 600_000_000;
/// Most looks that are remembered: ten minutes at the shortest interval.
const KEPT_MAX: usize = 6_000;

/// Calls a second, in thousandths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Rate {
    pub granted: u64,
    pub denied: u64,
}

/// The totals at one look.
struct Totals {
    run_id: String,
    at_us: u64,
    granted: u64,
    denied: u64,
}

/// What was counted from one look to the next.
struct Stretch {
    /// When it ended.
    at_us: u64,
    took_us: u64,
    granted: u64,
    denied: u64,
}

/// The rates of the last minutes.
#[derive(Default)]
pub(super) struct Rates {
    last: Option<Totals>,
    stretches: VecDeque<Stretch>,
}

impl Rates {
    /// Takes in another look.
    pub(super) fn note(&mut self, server: &Server) {
        let (Some(at_us), Some(granted), Some(denied)) =
            (server.at_us, server.granted, server.denied)
        else {
            return;
        };
        let run_id = server.run_id.clone();
        let totals = Totals {
            run_id,
            at_us,
            granted,
            denied,
        };
        if let Some(stretch) = self.last.as_ref().and_then(|last| totals.since(last)) {
            self.stretches.push_back(stretch);
        }
        self.last = Some(totals);
        let is_old = |stretch: &Stretch| stretch.at_us.saturating_add(KEPT_US) < at_us;
        while self.stretches.len() > KEPT_MAX || self.stretches.front().is_some_and(is_old) {
            self.stretches.pop_front();
        }
    }

    /// Between the last two looks.
    pub(super) fn latest(&self) -> Option<Rate> {
        let last = self.stretches.back()?;
        Some(rate([last]))
    }

    /// The last `width * each_us` microseconds in so many columns, the newest last; `None` where nothing is known.
    pub(super) fn columns(&self, width: usize, each_us: u64) -> Vec<Option<Rate>> {
        let mut columns: Vec<Vec<&Stretch>> = vec![Vec::new(); width];
        let Some(last) = &self.last else {
            return vec![None; width];
        };
        // Columns end at multiples of their length, so that what stands in one does not change from look to look.
        let newest = last.at_us / each_us;
        for stretch in &self.stretches {
            let back = newest.saturating_sub(stretch.at_us / each_us);
            let back = usize::try_from(back).unwrap_or(usize::MAX);
            if let Some(column) = width.checked_sub(1).and_then(|end| end.checked_sub(back)) {
                columns[column].push(stretch);
            }
        }
        let columns = columns.into_iter();
        columns
            .map(|stretches| (!stretches.is_empty()).then(|| rate(stretches)))
            .collect()
    }
}

impl Totals {
    /// What was counted since; nothing if the server or its counters began anew, or if no time has passed.
    fn since(&self, last: &Self) -> Option<Stretch> {
        let took_us = self
            .at_us
            .checked_sub(last.at_us)
            .filter(|took| *took > 0)?;
        let granted = self.granted.checked_sub(last.granted)?;
        let denied = self.denied.checked_sub(last.denied)?;
        (self.run_id == last.run_id).then_some(Stretch {
            at_us: self.at_us,
            took_us,
            granted,
            denied,
        })
    }
}

fn rate<'a>(stretches: impl IntoIterator<Item = &'a Stretch>) -> Rate {
    let (mut took_us, mut granted, mut denied) = (0, 0, 0);
    for stretch in stretches {
        took_us += u128::from(stretch.took_us);
        granted += u128::from(stretch.granted);
        denied += u128::from(stretch.denied);
    }
    let thousandths = |count: u128| {
        let thousandths = count * 1_000_000_000 / took_us.max(1);
        u64::try_from(thousandths).unwrap_or(u64::MAX)
    };
    Rate {
        granted: thousandths(granted),
        denied: thousandths(denied),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(at_s: u64, granted: u64, denied: u64) -> Server {
        Server {
            at_us: Some(at_s * 1_000_000),
            granted: Some(granted),
            denied: Some(denied),
            run_id: "a".to_owned(),
            ..Server::default()
        }
    }

    #[test]
    fn a_rate_is_what_was_counted_by_the_time_it_took() {
        let mut rates = Rates::default();
        rates.note(&look(100, 1_000, 50));
        assert_eq!(rates.latest(), None);
        rates.note(&look(102, 1_005, 50));
        let rate = |granted, denied| Rate { granted, denied };
        assert_eq!(rates.latest(), Some(rate(2_500, 0)));
        rates.note(&look(103, 1_005, 53));
        assert_eq!(rates.latest(), Some(rate(0, 3_000)));
        // Both in one column of 4 s: 5 and 3 calls in 3 s.
        let columns = rates.columns(2, 4_000_000);
        assert_eq!(columns, [None, Some(rate(1_666, 1_000))]);
        let columns = rates.columns(3, 1_000_000);
        assert_eq!(columns, [None, Some(rate(2_500, 0)), Some(rate(0, 3_000))]);
    }

    #[test]
    fn counters_that_begin_anew_are_no_rate() {
        let mut rates = Rates::default();
        rates.note(&look(100, 1_000, 50));
        rates.note(&look(101, 3, 60));
        assert_eq!(rates.latest(), None);
        let restarted = Server {
            run_id: "b".to_owned(),
            ..look(102, 5_000, 100)
        };
        rates.note(&restarted);
        assert_eq!(rates.latest(), None);
        rates.note(&Server::default());
        assert_eq!(rates.columns(1, 1), [None]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut rates = Rates::default();
        for at_s in 0..2_000 {
            rates.note(&look(at_s, at_s, 0));
        }
        assert_eq!(rates.stretches.len(), 601);
    }
}
