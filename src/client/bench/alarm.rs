//! Waking at an instant that is told finer than a millisecond.

use std::io;
use std::time::Duration;

use mio::{Registry, Token};

/// Wakes a poll. Linux's epoll counts in milliseconds, so there it is a timer of its own.
pub struct Alarm {
    #[cfg(target_os = "linux")]
    timer: nix::sys::timerfd::TimerFd,
}

#[cfg(target_os = "linux")]
impl Alarm {
    /// An alarm that makes `token` ready.
    pub fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags};
        use std::os::fd::{AsFd, AsRawFd};

        let timer = TimerFd::new(
            ClockId::CLOCK_MONOTONIC,
            TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC,
        )?;
        registry.register(
            &mut mio::unix::SourceFd(&timer.as_fd().as_raw_fd()),
            token,
            mio::Interest::READABLE,
        )?;
        Ok(Self { timer })
    }

    /// Has the next poll end after `wait`, which is above zero, at the latest; how long that poll may be told to
    /// take.
    pub fn set(&self, wait: Duration) -> io::Result<Duration> {
        use nix::sys::timerfd::{Expiration, TimerSetTimeFlags};
        self.timer
            .set(Expiration::OneShot(wait.into()), TimerSetTimeFlags::empty())?;
        Ok(wait + Duration::from_millis(1))
    }
}

#[cfg(not(target_os = "linux"))]
impl Alarm {
    /// An alarm that makes `token` ready.
    pub fn new(_: &Registry, _: Token) -> io::Result<Self> {
        Ok(Self {})
    }

    /// Has the next poll end after `wait`, which is above zero, at the latest; how long that poll may be told to
    /// take.
    pub fn set(&self, wait: Duration) -> io::Result<Duration> {
        Ok(wait)
    }
}
