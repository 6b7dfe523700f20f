//! Bookings by slot, in blocks with a tree of what they come to.
//!
//! What a run of bookings comes to is put together from what its parts come to ([`super::sums`]). So a tree over the
//! blocks answers for any run in as many steps as it is high, and finds the first two bookings with enough room
//! between each other without looking at those that have less: a booking behind the last, into a hole or away from
//! the front costs the logarithm of how many there are. A block that is full is halved, and the tree then made anew.
//!
//! The tree is a cache. It is not part of what a line is equal to, nor of a snapshot.

use super::limit::Rate;
use super::state::Grant;
use super::sums::{Run, Sum};
use super::timeline::{Booking, Slot};
use super::tree::{Sought, Tree};
use super::units::Timestamp;
use smallvec::SmallVec;
use std::fmt;
use std::ops::Range;

/// Most bookings in a block: some hundred nanoseconds to walk. Tests have many blocks of few.
const BLOCK: usize = if cfg!(test) { 4 } else { 32 };

/// The largest deficit that the bookings of a line may amount to by themselves. Heights and their differences then
/// stay below 2^127, since time is below 2^124. It takes 1,000 years to refill at any rate.
const HELD_MAX: i128 = 1 << 125;

/// Bookings by slot.
#[derive(Clone)]
pub struct Line {
    /// That of the bucket: fractions of slots are of it.
    rate: Rate,
    /// Those before `front` have gone and are empty, no other is.
    blocks: SmallVec<[Vec<Booking>; 1]>,
    front: usize,
    len: usize,
    /// Over what the blocks come to.
    tree: Tree,
}

/// A place between two bookings: before that one of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    block: usize,
    index: usize,
}

/// A booking behind which there is room enough until the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// Its slot.
    pub slot: Slot,
    /// The bookings up to it, from the first of the line.
    pub sum: Sum,
}

impl Line {
    /// A line without bookings.
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            blocks: SmallVec::new(),
            front: 0,
            len: 0,
            tree: Tree::default(),
        }
    }

    /// Bookings that ascend by slot.
    pub fn of(rate: Rate, bookings: impl IntoIterator<Item = Booking>) -> Self {
        let mut line = Self::new(rate);
        for booking in bookings {
            line.len += 1;
            match line.blocks.last_mut() {
                Some(last) if last.len() < BLOCK => last.push(booking),
                _ => line.blocks.push(vec![booking]),
            }
        }
        line.build(line.runs());
        line
    }

    /// True if all sums over the bookings are exact.
    pub fn holds(&self) -> bool {
        let mut sum = Sum::NONE;
        self.iter().all(|booking| {
            sum = sum.then(Sum::of(booking, self.rate));
            let height = sum.height_at(self.scaled(booking));
            height.saturating_sub(sum.floor) <= HELD_MAX
        })
    }

    /// The rate that fractions of slots are of.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// How many bookings there are.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Bytes that it takes outside of itself.
    pub fn heap_bytes(&self) -> usize {
        let bookings: usize = self.blocks.iter().map(Vec::capacity).sum();
        let blocks = if self.blocks.spilled() {
            self.blocks.capacity() * size_of::<Vec<Booking>>()
        } else {
            0
        };
        bookings * size_of::<Booking>() + blocks + self.tree.heap_bytes()
    }

    /// True if there is none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bookings in order.
    pub fn iter(&self) -> impl Iterator<Item = &Booking> {
        self.blocks.iter().flatten()
    }

    /// The slot of the first booking.
    pub fn first(&self) -> Option<Slot> {
        Some(self.blocks.get(self.front)?.first()?.slot)
    }

    /// True if a booking has come by `at`.
    pub fn is_due(&self, at: Timestamp) -> bool {
        self.first().is_some_and(|slot| slot <= Slot::whole(at))
    }

    /// The slot of the last booking.
    pub fn last(&self) -> Option<Slot> {
        Some(self.blocks.last()?.last()?.slot)
    }

    /// The slot of the first booking after `slot`.
    pub fn next(&self, slot: Slot) -> Option<Slot> {
        let place = self.behind(slot);
        Some(self.blocks.get(place.block)?.get(place.index)?.slot)
    }

    /// What the bookings after one slot and up to another come to; from the first and to the last if there is none.
    pub fn sum(&self, after: Option<Slot>, until: Option<Slot>) -> Sum {
        // Blocks that have gone come to nothing.
        let start = Place { block: 0, index: 0 };
        let end = Place {
            block: self.blocks.len(),
            index: 0,
        };
        let from = after.map_or(start, |slot| self.behind(slot));
        let to = until.map_or(end, |slot| self.behind(slot));
        if from.block == to.block {
            return self.walk(from.block, from.index..to.index);
        }
        let (head, first) = if from.index == 0 {
            (Sum::NONE, from.block)
        } else {
            (self.walk(from.block, from.index..BLOCK), from.block + 1)
        };
        let whole = if self.tree.is_empty() {
            self.walk(first, 0..BLOCK)
        } else {
            self.tree.sum(first..to.block)
        };
        head.then(whole).then(self.walk(to.block, 0..to.index))
    }

    /// The first booking after `slot` behind which there is room for a cost that leaves `left` of the capacity, in
    /// parts of a permit; `floor` is the lowest height of the bucket before the first of the line. `None` if no booking
    /// comes after `slot`: behind the last there is always room.
    pub fn roomy(&self, slot: Slot, floor: i128, left: u128) -> Option<Found> {
        let sought = Sought {
            floor,
            least: i128::try_from(left).map_or(i128::MIN, |left| -left),
        };
        let from = self.behind(slot);
        let look = |block: usize, before: Sum, highest: i128| {
            let skip = if block == from.block { from.index } else { 0 };
            self.look(block, skip, before, highest, &sought)
        };
        if self.tree.is_empty() {
            look(from.block, Sum::NONE, i128::MIN)
        } else {
            self.tree.find(from.block, &sought, look)
        }
    }

    /// As [`Self::roomy`] in a block but for the first few, with what comes before it and the highest height behind it.
    fn look(
        &self,
        block: usize,
        skip: usize,
        before: Sum,
        mut highest: i128,
        sought: &Sought,
    ) -> Option<Found> {
        let bookings = self.blocks.get(block)?;
        let (mut sums, mut sum) = ([Sum::NONE; BLOCK], before);
        for (up_to, booking) in sums.iter_mut().zip(bookings) {
            sum = sum.then(Sum::of(booking, self.rate));
            *up_to = sum;
        }
        let mut found = None;
        for (booking, sum) in bookings.iter().zip(sums).skip(skip).rev() {
            if sought.is_behind(&sum, highest) {
                let slot = booking.slot;
                found = Some(Found { slot, sum });
            }
            highest = highest.max(sum.height_at(self.scaled(booking)));
        }
        found
    }

    /// Puts a booking in its place, behind others of the same slot.
    pub fn insert(&mut self, booking: Booking) {
        self.len += 1;
        let Place { block, index } = self.behind(booking.slot);
        if block < self.blocks.len() {
            self.blocks[block].insert(index, booking);
            if self.blocks[block].len() > BLOCK {
                self.halve(block);
            } else {
                self.refresh(block);
            }
            return;
        }
        match self.blocks.last_mut() {
            Some(last) if last.len() < BLOCK => last.push(booking),
            _ => self.blocks.push(vec![booking]),
        }
        let last = self.blocks.len() - 1;
        if let Some(&run) = self.tree.runs().get(last) {
            self.tree.set(last, run.then(Run::of(&booking, self.rate)));
        } else if last > 0 {
            let mut runs = self.runs();
            runs[last] = self.run(last);
            self.build(runs);
        }
    }

    /// Takes the bookings up to a slot away, and hands them over in order.
    pub fn take_until(&mut self, slot: Slot, mut taken: impl FnMut(Booking)) {
        let (front, place) = (self.front, self.behind(slot));
        let mut count = 0;
        let mut take = |booking| {
            count += 1;
            taken(booking);
        };
        for block in &mut self.blocks[front..place.block] {
            std::mem::take(block).into_iter().for_each(&mut take);
        }
        if place.index > 0 {
            self.blocks[place.block].drain(..place.index).for_each(take);
        }
        self.len -= count;
        self.front = place.block;
        if count > 0 {
            let last = (self.blocks.len() - 1).min(place.block);
            (front..=last).for_each(|block| self.refresh(block));
        }
        if self.front * 2 > self.blocks.len() {
            self.build(self.runs());
        }
    }

    /// Takes `amount` off what was granted to a ticket; false if that is not here.
    pub fn take_off(&mut self, grant: &Grant, amount: u64) -> bool {
        // It may have moved to the next whole nanosecond.
        let last = Slot::whole(grant.slot.rounded_up());
        let Place { mut block, index } = self.place(|booking| booking.slot < grant.slot);
        let mut skip = index;
        let index = loop {
            let Some(bookings) = self.blocks.get(block) else {
                return false;
            };
            let mut rest = bookings.iter().enumerate().skip(skip);
            let found =
                rest.find(|(_, booking)| booking.slot > last || booking.ticket == grant.ticket);
            match found {
                Some((_, booking)) if booking.slot > last => return false,
                Some((index, _)) => break index,
                None => (block, skip) = (block + 1, 0),
            }
        };
        let booking = &mut self.blocks[block][index];
        booking.cost = booking.cost.saturating_sub(amount);
        if booking.cost == 0 {
            self.blocks[block].remove(index);
            self.len -= 1;
        }
        self.refresh(block);
        if self.blocks[block].is_empty() {
            let mut runs = self.runs();
            runs.remove(block);
            self.blocks.remove(block);
            self.build(runs);
        }
        true
    }

    fn scaled(&self, booking: &Booking) -> u128 {
        booking.slot.scaled(self.rate.permits())
    }

    /// The place behind all bookings up to a slot.
    fn behind(&self, slot: Slot) -> Place {
        self.place(|booking| booking.slot <= slot)
    }

    /// The place behind the bookings at the front of which something is true.
    fn place(&self, is_before: impl Fn(&Booking) -> bool) -> Place {
        let whole = |bookings: &Vec<Booking>| bookings.last().is_none_or(&is_before);
        let block = self.front + self.blocks[self.front..].partition_point(whole);
        let bookings = self.blocks.get(block);
        let index = bookings.map_or(0, |bookings| bookings.partition_point(&is_before));
        Place { block, index }
    }

    /// What a part of a block comes to.
    fn walk(&self, block: usize, range: Range<usize>) -> Sum {
        let bookings = self.blocks.get(block).map_or(&[][..], |block| block);
        let part = bookings.iter().take(range.end).skip(range.start);
        part.fold(Sum::NONE, |sum, booking| {
            sum.then(Sum::of(booking, self.rate))
        })
    }

    fn run(&self, block: usize) -> Run {
        let bookings = self.blocks[block].iter();
        bookings.fold(Run::NONE, |run, booking| {
            run.then(Run::of(booking, self.rate))
        })
    }

    /// What each block comes to, as the tree knows it.
    fn runs(&self) -> Vec<Run> {
        if self.tree.is_empty() {
            return (0..self.blocks.len())
                .map(|block| self.run(block))
                .collect();
        }
        let mut runs = self.tree.runs().to_vec();
        runs.resize(self.blocks.len(), Run::NONE);
        runs
    }

    /// A block has changed.
    fn refresh(&mut self, block: usize) {
        if !self.tree.is_empty() {
            self.tree.set(block, self.run(block));
        }
    }

    fn halve(&mut self, block: usize) {
        let mut runs = self.runs();
        let half = self.blocks[block].split_off(BLOCK / 2);
        self.blocks.insert(block + 1, half);
        runs[block] = self.run(block);
        runs.insert(block + 1, self.run(block + 1));
        self.build(runs);
    }

    /// Lets go of the blocks that have gone, and makes the tree anew.
    fn build(&mut self, mut runs: Vec<Run>) {
        self.blocks.drain(..self.front);
        runs.drain(..self.front);
        self.front = 0;
        self.tree = Tree::of(&runs);
    }
}

/// The tree is a cache.
impl PartialEq for Line {
    fn eq(&self, other: &Self) -> bool {
        self.rate == other.rate && self.len == other.len && self.iter().eq(other.iter())
    }
}

impl Eq for Line {}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
