//! What was granted and not given back, and whether that is within the bound.
//!
//! Amounts are counted in `1 / per_ns` permits and instants in `1 / permits` nanoseconds of a bucket's rate
//! `permits / per_ns`: in the time of one unit exactly one unit refills, so that all numbers are whole.

use tollgate::core::limit::{Limit, Rate};
use tollgate::core::timeline::Slot;
use tollgate::core::units::Timestamp;

/// The parameters of a bucket, and what it has granted.
pub struct Bucket {
    pub name: String,
    pub capacity: u64,
    pub rate: String,
    permits: u64,
    per_ns: i128,
    grants: Vec<Grant>,
    pub paused_until: Timestamp,
    pub was_paused: bool,
}

/// What one request was granted of one bucket.
#[derive(Clone, Copy, Debug)]
struct Grant {
    request: usize,
    cost: u64,
    at: i128,
    /// What counts of it.
    amount: i128,
}

impl Bucket {
    pub fn new(name: String, capacity: u64, rate: &str) -> Self {
        let exact = Rate::parse(rate.as_bytes()).unwrap();
        Self {
            name,
            capacity,
            rate: rate.to_owned(),
            permits: exact.permits(),
            per_ns: i128::try_from(exact.per_ns()).unwrap(),
            grants: Vec::new(),
            paused_until: Timestamp::ZERO,
            was_paused: false,
        }
    }

    pub fn limit(&self) -> String {
        format!("{} {}", self.capacity, self.rate)
    }

    pub fn is_of(&self, limit: &Limit) -> bool {
        matches!(limit, Limit::Bucket(limit) if limit.capacity() == self.capacity)
    }

    fn scaled(&self, slot: Slot) -> i128 {
        if slot.fraction >= self.permits {
            // Of a slower rate.
            let at = slot.rounded_up();
            return self.scaled(Slot { at, fraction: 0 });
        }
        i128::try_from(slot.scaled(self.permits)).unwrap()
    }

    /// `cost` was granted to a request, to go at `slot`.
    pub fn grant(&mut self, request: usize, cost: u64, slot: Slot) {
        assert!(
            slot.rounded_up() >= self.paused_until,
            "{} grants inside a pause",
            self.name
        );
        self.grants.push(Grant {
            request,
            cost,
            at: self.scaled(slot),
            amount: i128::from(cost) * self.per_ns,
        });
    }

    /// A request's slot was replaced.
    pub fn move_to(&mut self, request: usize, slot: Slot) {
        let at = self.scaled(slot);
        let grant = self.grant_of(request);
        let (moved, cost) = (grant.at != at, grant.cost);
        if moved {
            self.grants.retain(|grant| grant.request != request);
            self.grant(request, cost, slot);
        }
    }

    /// Of a request only `actual` was used: the rest is free again, but for what refill has given back.
    pub fn give_back(&mut self, request: usize, actual: u64, now: Timestamp) {
        let used = i128::from(actual) * self.per_ns;
        let now = self.scaled(Slot {
            at: now,
            fraction: 0,
        });
        let grant = self.grant_of(request);
        let refilled = (now - grant.at).max(0);
        grant.amount = grant.amount.min(used.max(refilled));
    }

    fn grant_of(&mut self, request: usize) -> &mut Grant {
        let grant = self
            .grants
            .iter_mut()
            .find(|grant| grant.request == request);
        grant.expect("what was granted")
    }

    /// Of any interval, the permits whose slots fall into it are at most `C + r·t`, with `t` known to `within_ns`.
    pub fn check(&self, within_ns: u64) {
        let mut grants = self.grants.clone();
        grants.sort_by_key(|grant| grant.at);
        let capacity = i128::from(self.capacity) * self.per_ns;
        let within = i128::from(within_ns) * i128::from(self.permits);
        for (index, first) in grants.iter().enumerate() {
            let mut sum = 0;
            for last in &grants[index..] {
                sum += last.amount;
                let most = capacity + (last.at - first.at) + within;
                assert!(
                    sum <= most,
                    "{} ({}) granted {sum} of {most} between {first:?} and {last:?}: {grants:#?}",
                    self.name,
                    self.limit()
                );
            }
        }
    }
}
