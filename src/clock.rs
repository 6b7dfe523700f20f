//! The one place that reads time.

use crate::core::units::{Span, Timestamp};
use parking_lot::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Where the manual clock starts: 1700000000000 ms after the epoch.
const MANUAL_START_NS: u64 = 1_700_000_000_000_000_000;

/// A clock. Never goes back.
pub enum Clock {
    /// Monotonic while the process runs, anchored to wall time at its start: a step of the system's
    /// clock changes nothing.
    System {
        /// Wall time at the anchor.
        wall: Timestamp,
        /// The anchor.
        anchor: Instant,
    },
    /// Moves only when told to (`--clock manual`).
    Manual(Mutex<Timestamp>),
}

impl Clock {
    /// The system's clock. It starts no earlier than `not_before`, the instant of the snapshot: if wall
    /// time stands before that, no time has passed.
    #[allow(clippy::disallowed_methods)]
    pub fn system(not_before: Timestamp) -> Self {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        let wall = u64::try_from(since_epoch.as_nanos())
            .ok()
            .and_then(Timestamp::from_ns)
            .unwrap_or(Timestamp::MAX);
        Self::System {
            wall: wall.max(not_before),
            anchor: Instant::now(),
        }
    }

    /// A clock for tests, starting at 1700000000000 ms or at `not_before` if that is later.
    pub fn manual(not_before: Timestamp) -> Self {
        let start = Timestamp::from_ns(MANUAL_START_NS).unwrap_or_default();
        Self::Manual(Mutex::new(start.max(not_before)))
    }

    /// The instant it is.
    #[allow(clippy::disallowed_methods)]
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System { wall, anchor } => {
                let elapsed = Instant::now().saturating_duration_since(*anchor).as_nanos();
                let ns = wall
                    .as_ns()
                    .saturating_add(u64::try_from(elapsed).unwrap_or(u64::MAX));
                Timestamp::from_ns(ns).unwrap_or(Timestamp::MAX)
            }
            Self::Manual(now) => *now.lock(),
        }
    }

    /// A number that changes as time goes by, at least every ten milliseconds, and that is read in a few nanoseconds.
    pub fn tick(&self) -> u64 {
        match self {
            Self::System { .. } => system_tick(),
            Self::Manual(now) => now.lock().as_ns(),
        }
    }

    /// Moves the manual clock on; `None` for the system's clock, or past [`Timestamp::MAX`].
    pub fn advance(&self, span: Span) -> Option<Timestamp> {
        self.set(self.now().after(span))
    }

    /// Sets the manual clock; back counts as no time passed. `None` as in [`Self::advance`].
    pub fn set(&self, at: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Manual(now) if at <= Timestamp::MAX => {
                let mut now = now.lock();
                *now = at.max(*now);
                Some(*now)
            }
            _ => None,
        }
    }

    /// Puts the manual clock at `at`, back as well: for a host that keeps the time, and learns that it was another's.
    pub fn put(&self, at: Timestamp) {
        if let Self::Manual(now) = self {
            *now.lock() = at;
        }
    }

    /// True if the clock only moves when told to.
    pub const fn is_manual(&self) -> bool {
        matches!(self, Self::Manual(_))
    }
}

/// The time of the kernel's last tick, of which there are 100 to 1000 a second: it lies in memory, where the exact time
/// is asked of the processor and takes several times as long.
#[cfg(target_os = "linux")]
fn system_tick() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one timespec to the place it is given, which is one.
    let read = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
    debug_assert_eq!(read, 0, "Linux has this clock since 2.6.32");
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}

/// Elsewhere every reading is a tick.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::disallowed_methods)]
fn system_tick() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    static READINGS: AtomicU64 = AtomicU64::new(0);
    READINGS.fetch_add(1, Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_clock_never_goes_back() {
        let clock = Clock::manual(Timestamp::ZERO);
        let start = clock.now();
        let second = Span::from_ns(1_000_000_000).expect("a span");
        assert_eq!(clock.advance(second), Some(start.after(second)));
        assert_eq!(clock.set(Timestamp::ZERO), Some(start.after(second)));
        assert_eq!(
            clock.advance(second),
            Some(start.after(second).after(second))
        );
        assert_eq!(clock.set(Timestamp::MAX), Some(Timestamp::MAX));
        assert_eq!(clock.advance(second), None);
    }

    #[test]
    fn a_clock_starts_no_earlier_than_the_snapshot() {
        assert_eq!(Clock::manual(Timestamp::MAX).now(), Timestamp::MAX);
        assert!(Clock::system(Timestamp::MAX).now() >= Timestamp::MAX);
        assert!(
            Clock::system(Timestamp::ZERO).now() > Timestamp::from_ns(MANUAL_START_NS).unwrap()
        );
        assert_eq!(Clock::system(Timestamp::ZERO).advance(Span::ZERO), None);
    }
}
