//! The arithmetic of limits: pure functions of state and time.
//!
//! Nothing here reads a clock, takes a lock, or does I/O; the instant is always an argument. Every
//! decision is exact integer arithmetic on a nanosecond clock (see [`bucket`] for how a fraction of
//! a permit is held), and rounding happens only where a number leaves for a reply ([`units::Wait`]).

pub mod booked;
pub mod bucket;
pub mod course;
pub mod decision;
pub mod draft;
pub mod entry;
pub mod gcra;
pub mod joint;
pub mod leases;
pub mod limit;
pub mod line;
pub mod log;
pub mod lone;
pub mod loss;
pub mod number;
pub mod pause;
mod seen;
pub mod sliding;
pub mod slow;
pub mod state;
pub mod sums;
pub mod timeline;
pub mod tree;
pub mod units;
pub mod waited;
pub mod wide;
pub mod window;

#[cfg(test)]
mod carry_tests;
#[cfg(test)]
mod planned_tests;
#[cfg(test)]
mod test_booking;
#[cfg(test)]
mod test_key;
#[cfg(test)]
mod test_walk;
#[cfg(test)]
mod waited_tests;
