//! Waking at an instant that is told finer than a millisecond.

use std::io;
use std::time::Duration;

use mio::{Registry, Token};

/// Wakes a poll. Linux's epoll counts in milliseconds, so there it is a timer of its own.
pub struct Alarm {
    #[cfg(target_os = "linux")]
    timer: std::os::fd::OwnedFd,
}

#[cfg(target_os = "linux")]
impl Alarm {
    /// An alarm that makes `token` ready.
    pub fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
        use std::os::fd::AsRawFd;

        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let source = &timer.as_raw_fd();
        registry.register(
            &mut mio::unix::SourceFd(source),
            token,
            mio::Interest::READABLE,
        )?;
        Ok(Self { timer })
    }

    /// Has the next poll end after `wait`, which is above zero, at the latest; how long that poll may be told to
    /// take.
    pub fn set(&self, wait: Duration) -> io::Result<Duration> {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};

        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec::try_from(wait).map_err(io::Error::other)?,
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
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
