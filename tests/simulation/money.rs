//! The bound that matters: over any interval no more is granted than the capacity and what flowed in, over all lives of
//! the server together, but for what a kill made it forget.

use tollgate::core::units::{SECOND, Timestamp};

struct Grant {
    call: u64,
    at: Timestamp,
    cost: u64,
}

/// Capacity, and permits a second.
const LIMITS: [(u64, u64); 2] = [(12, 5), (20, 3)];

#[derive(Default)]
pub struct Money([Vec<Grant>; 2]);

impl Money {
    pub fn limit(key: usize) -> String {
        let (capacity, rate) = LIMITS[key];
        format!("{capacity} {rate}")
    }

    /// So much was granted now.
    pub fn grant(&mut self, key: usize, call: u64, at: Timestamp, cost: u64) -> Result<(), String> {
        self.0[key].push(Grant { call, at, cost });
        let (capacity, rate) = LIMITS[key];
        // In billionths of a permit. The level of a bucket that leaks is the most that any interval up to now has
        // above what flowed in.
        let (mut level, mut last) = (0_u128, Timestamp::ZERO);
        for grant in &self.0[key] {
            if grant.at < last {
                return Err(format!(
                    "the clock went back to {:?} from {last:?}",
                    grant.at
                ));
            }
            let flowed = u128::from(grant.at.since(last)) * u128::from(rate);
            level = level.saturating_sub(flowed) + u128::from(grant.cost) * u128::from(SECOND);
            last = grant.at;
        }
        if level > u128::from(capacity) * u128::from(SECOND) {
            return Err(format!(
                "m{key} granted {level} billionths over an interval, its capacity is {capacity}"
            ));
        }
        Ok(())
    }

    /// A kill made the server forget what came after a call.
    pub fn forget_after(&mut self, call: u64) {
        self.0
            .iter_mut()
            .for_each(|grants| grants.retain(|grant| grant.call <= call));
    }
}
