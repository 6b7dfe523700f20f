//! What the core answers.

use super::limit::Limit;
use super::slow::Factor;
use super::units::Wait;
use smallvec::SmallVec;

/// When a cost could go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Earliest {
    /// After this wait; zero is now.
    After(Wait),
    /// Not at any time: the cost is above the capacity.
    Never,
}

impl Earliest {
    /// True if the cost can go at once.
    pub const fn is_now(self) -> bool {
        matches!(self, Self::After(wait) if wait.is_zero())
    }
}

/// How a key stands under a limit at an instant, nothing more arriving.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The largest cost that could go now.
    pub remaining: u64,
    /// The time until the key is full again, with nothing booked.
    pub reset_after: Wait,
}

/// What `RL.USAGE` tells of one limit of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LimitUsage {
    /// The limit in force.
    pub limit: Limit,
    /// Permits of the capacity that are gone, a begun one counted whole.
    pub used: u64,
    /// Permits promised for later: beyond the capacity and not yet refilled, rounded up, and those
    /// listed at later slots.
    pub booked: u64,
    /// When a cost of 1 could go.
    pub wait: Wait,
    /// How it stands.
    pub standing: Standing,
}

/// What `RL.USAGE` tells of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Usage {
    /// One a limit; none where the key only holds a pause.
    pub limits: SmallVec<[LimitUsage; 1]>,
    /// The time until the key is gone.
    pub reset_after: Wait,
    /// What is left of its pause.
    pub paused: Wait,
    /// The factor of its rate that is in force.
    pub slowed: Factor,
}

/// Why the core refuses to act. Nothing has changed then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The debt would exceed 3650 days' worth of refill.
    DebtTooLarge,
    /// What the key owes cannot be held exactly under the new parameters.
    CarryTooLarge,
    /// A time that the reply would have to say does not fit its 64 bits.
    BeyondReply,
    /// The limit cannot be held exactly at the rate to which a slow-down brings it.
    SlowedTooFine,
    /// The key holds another kind of limit.
    WrongKind,
    /// The key holds as many bookings ahead as it may.
    TooManyBookings,
}
