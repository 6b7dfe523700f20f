//! One limit of a key as one call sees it.

use super::booked::Booked;
use super::bucket::Bucket;
use super::decision::Refusal;
use super::entry::States;
use super::leases::{Lease, Leases};
use super::limit::Limit;
use super::log::{self, Log};
use super::sliding::Sliding;
use super::slow::Slow;
use super::state::State;
use super::timeline::Timeline;
use super::units::Timestamp;
use super::window::Window;

/// One limit of a key, under the call's own parameters.
pub(super) enum Seen {
    Bucket(Booked),
    /// The windows, and where their row begins if none of them holds anything.
    Window(Window, Timestamp),
    Sliding(Sliding),
    /// What begins here, if the key holds no log yet, and what the call adds.
    Log(Log, Option<log::Pending>),
    /// As a log: none held under the call's limit, and the lease that it takes.
    Leases(Leases, Option<(u64, Lease)>),
    /// A bucket of this capacity that owes more than can be held under the call's parameters. More than 2^127 parts
    /// of a permit take 4,000 years at any rate (and what is booked ahead, a quarter of that), so all that is not known of it is
    /// how long it is later than whatever may be waited for.
    Beyond(u64),
}

/// A limit at the rate that is in force when what is booked now begins to refill.
pub(super) fn slowed(
    slow: &Slow,
    full: &Limit,
    state: &State,
    at: Timestamp,
) -> Result<Limit, Refusal> {
    let Limit::Bucket(limit) = full else {
        return Ok(*full);
    };
    let at = match state {
        State::Bucket(bucket, _) => bucket.start(at, at),
        _ => at,
    };
    let limit = slow
        .factor_at(at)
        .of(limit)
        .map_err(|_| Refusal::SlowedTooFine)?;
    Ok(Limit::Bucket(limit))
}

/// A state under the call's limit, `None` if it is of another kind.
pub(super) fn see(state: &State, limit: &Limit, now: Timestamp, begins: Timestamp) -> Option<Seen> {
    Some(match (limit, state) {
        (Limit::Bucket(limit), State::Bucket(bucket, timeline)) => {
            match Booked::new(bucket, timeline.as_deref(), *limit, now) {
                Ok(booked) => Seen::Bucket(booked),
                Err(_) => Seen::Beyond(limit.capacity()),
            }
        }
        (Limit::Window(limit), State::Window(window)) => {
            Seen::Window(window.clone().adopt(*limit, now), begins)
        }
        (Limit::Sliding(limit), State::Sliding(sliding)) => {
            Seen::Sliding(sliding.adopt(*limit, now))
        }
        (Limit::Log(limit), State::Log(_)) => Seen::Log(Log::new(*limit), None),
        (Limit::Leases(limit), State::Leases(_)) => Seen::Leases(Leases::new(*limit), None),
        _ => return None,
    })
}

/// A limit that begins at `now`, a row of windows at `begins`; a bucket with the drain of a pause that ended, or
/// ends, at `drained`.
pub(super) fn begin(
    limit: &Limit,
    now: Timestamp,
    begins: Timestamp,
    drained: Option<Timestamp>,
) -> Seen {
    match limit {
        Limit::Bucket(limit) => {
            let mut bucket = Bucket::new(*limit, now);
            if let Some(at) = drained {
                bucket.drain_to(at);
            }
            Seen::Bucket(Booked::fresh(bucket))
        }
        Limit::Window(limit) => Seen::Window(Window::new(*limit), begins),
        Limit::Sliding(limit) => Seen::Sliding(Sliding::new(*limit, now)),
        Limit::Log(limit) => Seen::Log(Log::new(*limit), None),
        Limit::Leases(limit) => Seen::Leases(Leases::new(*limit), None),
    }
}

/// A limit that begins at `now` where another kind has counted: it lets at most one permit go at once. Leases
/// begin with none held, since none is.
pub(super) fn begin_drained(
    limit: &Limit,
    now: Timestamp,
    begins: Timestamp,
    pause: Option<Timestamp>,
) -> Seen {
    let drained = pause.map_or(now, |until| until.max(now));
    let mut seen = begin(limit, now, begins, Some(drained));
    match &mut seen {
        Seen::Bucket(_) | Seen::Leases(..) | Seen::Beyond(_) => {}
        Seen::Window(window, _) => window.drain(now),
        Seen::Sliding(sliding) => sliding.book(sliding.limit.count() - 1, now),
        Seen::Log(begun, _) => begun.drain(now),
    }
    seen
}

/// The log of a state, or `begun` if there is none.
pub(super) fn log_of<'a>(states: &'a States, index: usize, begun: &'a Log) -> &'a Log {
    match states.get(index) {
        Some(State::Log(log)) => log,
        _ => begun,
    }
}

/// The leases of a state, or `begun` if there are none.
pub(super) fn leases_of<'a>(states: &'a States, index: usize, begun: &'a Leases) -> &'a Leases {
    match states.get(index) {
        Some(State::Leases(leases)) => leases,
        _ => begun,
    }
}

pub(super) fn timeline_of(state: &State) -> Option<&Timeline> {
    match state {
        State::Bucket(_, timeline) => timeline.as_deref(),
        _ => None,
    }
}
