//! Which connections are served where: by as few threads as are not too busy.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::workers::Workers;

/// How often it is looked at.
const TICK: Duration = Duration::from_millis(100);
/// A worker that is busy for so much of the time hands connections over. What comes then waits for a few others, each
/// some microseconds.
pub(super) const HIGH_PERCENT: usize = 75;
/// And to one that is busy for so much less: to move takes some tens of microseconds and leaves a cold cache.
const GAP_PERCENT: usize = 20;
/// A worker is given back if another one would be busy for no more than this with both's connections: far enough below
/// the bound above that they do not come and go.
const LOW_PERCENT: usize = 40;

/// What a worker has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Load {
    /// Of each hundred parts of the time so many.
    pub(super) busy_percent: usize,
    pub(super) connections: usize,
}

/// Connections that are to move from one worker to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Move {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) connections: usize,
}

/// Looks at what the workers have to do, for ever.
pub(super) async fn balance(workers: Arc<Workers>) {
    let (mut before, mut at) = (workers.busy(), Instant::now());
    loop {
        sleep(TICK).await;
        let (busy, now) = (workers.busy(), Instant::now());
        let whole = (now - at).max(Duration::from_millis(1));
        let percent = |(busy, before): (&Duration, &Duration)| {
            let share = busy.saturating_sub(*before).as_micros() * 100 / whole.as_micros();
            usize::try_from(share).unwrap_or(100).min(100)
        };
        let loads = workers.loads(busy.iter().zip(&before).map(percent));
        workers.carry_out(&plan(&loads));
        (before, at) = (busy, now);
    }
}

/// What is to move: from the busiest worker half of what it has more than the least busy one; or all from the last one
/// that another one can do the work of.
fn plan(loads: &[Load]) -> Vec<Move> {
    let by_load = |&index: &usize| loads[index].busy_percent;
    let (Some(most), Some(least)) = (
        (0..loads.len()).max_by_key(by_load),
        (0..loads.len()).min_by_key(by_load),
    ) else {
        return Vec::new();
    };
    let (high, low) = (loads[most], loads[least]);
    if high.busy_percent >= HIGH_PERCENT {
        let more = high.busy_percent - low.busy_percent;
        // All of them are as busy, and one by itself makes no load smaller.
        let share = (high.connections * more).div_ceil(2 * high.busy_percent);
        let connections = share.min(high.connections.saturating_sub(1));
        let worth_it = more >= GAP_PERCENT && connections > 0;
        return worth_it
            .then_some(Move {
                from: most,
                to: least,
                connections,
            })
            .into_iter()
            .collect();
    }
    let served = |&index: &usize| loads[index].connections > 0;
    let Some(last) = (1..loads.len()).rev().find(served) else {
        return Vec::new();
    };
    let takes =
        |&index: &usize| loads[index].busy_percent + loads[last].busy_percent <= LOW_PERCENT;
    let other = (0..last).filter(served).find(takes);
    let all = |to| Move {
        from: last,
        to,
        connections: loads[last].connections,
    };
    other.map(all).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(loads: &[(usize, usize)]) -> Vec<(usize, usize, usize)> {
        let load = |&(busy_percent, connections): &(usize, usize)| Load {
            busy_percent,
            connections,
        };
        let loads: Vec<Load> = loads.iter().map(load).collect();
        let moves = plan(&loads);
        let numbers = |it: &Move| (it.from, it.to, it.connections);
        moves.iter().map(numbers).collect()
    }

    #[test]
    fn a_busy_worker_hands_over_half_of_the_difference() {
        assert_eq!(planned(&[(100, 50), (0, 0)]), [(0, 1, 25)]);
        assert_eq!(planned(&[(20, 5), (90, 30), (30, 5)]), [(1, 0, 12)]);
        assert_eq!(planned(&[(74, 50), (0, 0)]), []);
    }

    #[test]
    fn nothing_moves_if_it_does_not_help() {
        assert_eq!(planned(&[(100, 1), (0, 0)]), []);
        assert_eq!(planned(&[(100, 50), (81, 50)]), []);
        assert_eq!(planned(&[(100, 50)]), []);
        assert_eq!(planned(&[]), []);
    }

    #[test]
    fn a_worker_that_is_not_needed_is_given_back() {
        assert_eq!(planned(&[(20, 25), (20, 25)]), [(1, 0, 25)]);
        assert_eq!(planned(&[(21, 25), (20, 25)]), []);
        assert_eq!(planned(&[(50, 25), (10, 5), (10, 3)]), [(2, 1, 3)]);
        assert_eq!(planned(&[(0, 3), (0, 0)]), []);
    }

    #[test]
    fn what_has_moved_does_not_move_back() {
        // Two workers share it evenly once the first was too busy.
        for busy in HIGH_PERCENT..=200 {
            assert_eq!(planned(&[(busy / 2, 25), (busy - busy / 2, 25)]), []);
        }
    }
}
