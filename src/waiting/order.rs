//! In which order those who wait are booked.
//!
//! A lower priority number goes first. Inside a priority everybody is either the first of their group at all of
//! their keys, or stands behind somebody of it. **Those who are first take turns, in the order in which they became
//! first**: by arriving, or by the departure of the last one before them. So groups stand in a ring, from which each
//! in turn sends one, and a group that is new joins at its end. Who is first is overtaken by nobody who becomes first
//! later: no stream of newcomers, in however many groups, can hold anybody up for good. Where one leaves that has
//! not gone, the next of its group has its turn.
//!
//! Which turns will come later is told by playing it: who has been booked has left, and those behind it become first
//! after all who are. Only the order of two who share a key matters, since bookings on different keys do not touch.

use super::line::Lines;
use super::place::Places;
use ahash::RandomState;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// `members` (by arrival), among whom are all that stand before any of them, in the order of their turns.
pub(super) fn order<C>(lines: &Lines, places: &Places<C>, members: &[u64]) -> Vec<u64> {
    // How many lines there are in which others of the group stand before.
    let mut behind: HashMap<u64, usize, RandomState> = HashMap::default();
    let mut first = BinaryHeap::new();
    for &id in members {
        let Some(place) = places.get(&id) else {
            continue;
        };
        let spots = place.spots.iter();
        let before = spots.filter(|spot| lines[spot.line].first_of(&place.queue) != Some(id));
        let before = before.count();
        if before == 0 {
            first.push(Reverse((
                place.queue.0,
                (false, place.turn.unwrap_or(0)),
                id,
            )));
        } else {
            behind.insert(id, before);
        }
    }
    let (mut order, mut later) = (Vec::with_capacity(members.len()), 0);
    while let Some(Reverse((priority, _, id))) = first.pop() {
        order.push(id);
        let Some(place) = places.get(&id) else {
            continue;
        };
        let mut freed: Vec<u64> = Vec::new();
        for spot in &place.spots {
            if let Some(next) = lines[spot.line].next_of(&place.queue, id)
                && let Some(before) = behind.get_mut(&next)
            {
                *before -= 1;
                if *before == 0 {
                    freed.push(next);
                }
            }
        }
        freed.sort_unstable();
        for id in freed {
            later += 1;
            first.push(Reverse((priority, (true, later), id)));
        }
    }
    order
}
