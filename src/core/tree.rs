//! A tree over runs of bookings: what any range of them comes to, and where there is room between two.

use super::sums::{Run, Sum};
use std::ops::Range;

/// A binary tree in an array: the children of node `i` are `2i` and `2i + 1`, and the second half are the runs. Each
/// node is what its children come to together. Empty for fewer than two runs, which need none.
#[derive(Clone, Debug, Default)]
pub struct Tree(Vec<Run>);

/// What is looked for: a booking with at least `least` between it and the next, which is the lowest height up to it,
/// `floor` included, less the highest height of those behind it.
#[derive(Clone, Copy, Debug)]
pub struct Sought {
    /// The lowest height before all bookings.
    pub floor: i128,
    /// At most zero.
    pub least: i128,
}

impl Sought {
    /// True if there is as much behind the last of the bookings `before`, `highest` being what comes behind them.
    pub fn is_behind(&self, before: &Sum, highest: i128) -> bool {
        self.floor.min(before.floor).saturating_sub(highest) >= self.least
    }
}

impl Tree {
    /// A tree over runs, with room for as many again at most.
    pub fn of(runs: &[Run]) -> Self {
        if runs.len() < 2 {
            return Self::default();
        }
        let leaves = (runs.len() + 1).next_power_of_two();
        let mut nodes = vec![Run::NONE; 2 * leaves];
        nodes[leaves..leaves + runs.len()].copy_from_slice(runs);
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node].then(nodes[2 * node + 1]);
        }
        Self(nodes)
    }

    /// True if it holds nothing.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes that it takes outside of itself.
    pub const fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Run>()
    }

    /// The runs, and none where there is room for more.
    pub fn runs(&self) -> &[Run] {
        &self.0[self.0.len() / 2..]
    }

    /// Puts a run in the place of another.
    pub fn set(&mut self, index: usize, run: Run) {
        let mut node = self.0.len() / 2 + index;
        self.0[node] = run;
        while node > 1 {
            node /= 2;
            self.0[node] = self.0[2 * node].then(self.0[2 * node + 1]);
        }
    }

    /// What a range of runs comes to.
    pub fn sum(&self, runs: Range<usize>) -> Sum {
        let leaves = self.0.len() / 2;
        let (mut from, mut to) = (leaves + runs.start, leaves + runs.end);
        let (mut left, mut right) = (Sum::NONE, Sum::NONE);
        while from < to {
            if from % 2 == 1 {
                left = left.then(self.0[from].sum);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                right = self.0[to].sum.then(right);
            }
            (from, to) = (from / 2, to / 2);
        }
        left.then(right)
    }

    /// The first booking sought in run `from` and those behind it. `look` looks into a run, with what comes before it
    /// and the highest height behind it.
    pub fn find<R>(
        &self,
        from: usize,
        sought: &Sought,
        mut look: impl FnMut(usize, Sum, i128) -> Option<R>,
    ) -> Option<R> {
        let all = Below {
            node: 1,
            runs: 0..self.0.len() / 2,
            before: Sum::NONE,
            highest: i128::MIN,
        };
        self.find_below(all, from, sought, &mut look)
    }

    fn find_below<R>(
        &self,
        below: Below,
        from: usize,
        sought: &Sought,
        look: &mut impl FnMut(usize, Sum, i128) -> Option<R>,
    ) -> Option<R> {
        let Below {
            node,
            runs,
            before,
            highest,
        } = below;
        // What is lowest before all of them and what is highest behind all of them bound what is between any two.
        let bound = sought.is_behind(&before, highest);
        if !bound || self.0[node].sum.is_none() || runs.end <= from {
            return None;
        }
        if runs.len() == 1 {
            return look(runs.start, before, highest);
        }
        let (left, right) = (self.0[2 * node].sum, self.0[2 * node + 1].sum);
        let (middle, up_to) = (runs.start + runs.len() / 2, before.then(left));
        let least = self.0[node].most_between(&before, sought.floor);
        if right.is_none() || least >= sought.least {
            let left = Below {
                node: 2 * node,
                runs: runs.start..middle,
                before,
                highest: highest.max(up_to.peak_of(&right)),
            };
            let found = self.find_below(left, from, sought, look);
            if found.is_some() {
                return found;
            }
        }
        // Else only behind the last of them.
        let right = Below {
            node: 2 * node + 1,
            runs: middle..runs.end,
            before: up_to,
            highest,
        };
        self.find_below(right, from, sought, look)
    }
}

/// A node, the runs below it, and what lies on both sides of them.
struct Below {
    node: usize,
    runs: Range<usize>,
    before: Sum,
    highest: i128,
}
