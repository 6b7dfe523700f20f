//! What can be set of the journal, and of what happens when the disk does not take it.

use crate::core::number;
use crate::core::units::{MILLISECOND, SECOND, Span};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

/// Shortest and longest time between two batches of the journal.
const INTERVAL_NS_MIN: u64 = MILLISECOND;
const INTERVAL_NS_MAX: u64 = 60 * SECOND;

/// When the disk is made to keep what the journal has. Redis's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fsync {
    /// Once a second.
    EverySecond,
    /// With each batch.
    Always,
    /// When the system does it by itself.
    No,
}

impl Fsync {
    const ALL: [(Self, &str); 3] = [
        (Self::EverySecond, "everysec"),
        (Self::Always, "always"),
        (Self::No, "no"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(fsync, _)| *fsync == self);
        named.map_or("", |(_, name)| name)
    }

    /// From its name, in any case.
    pub(crate) fn parse(name: &[u8]) -> Result<Self, String> {
        let is_named = |(_, known): &&(Self, &str)| name.eq_ignore_ascii_case(known.as_bytes());
        let named = Self::ALL.iter().find(is_named);
        named
            .map(|(fsync, _)| *fsync)
            .ok_or_else(|| "argument must be one of everysec, always, no".to_owned())
    }
}

/// The time between two batches.
pub(crate) fn interval(value: &[u8]) -> Result<Span, String> {
    let fits = |span: &Span| (INTERVAL_NS_MIN..=INTERVAL_NS_MAX).contains(&span.as_ns());
    let span = number::duration(value).filter(fits);
    span.ok_or_else(|| "argument must be a duration from 1ms to 60s, such as 100ms".to_owned())
}

/// How the journal is set at start.
#[derive(Clone, Copy, Debug)]
pub struct Journaling {
    /// There is one.
    pub enabled: bool,
    /// Time between two batches.
    pub interval: Span,
    /// When the disk is made to keep them.
    pub fsync: Fsync,
    /// Commands that write are refused while the disk takes no snapshot or no journal.
    pub stop_writes_on_error: bool,
}

impl Default for Journaling {
    fn default() -> Self {
        Self {
            enabled: true,
            interval: Span::from_ns(100 * MILLISECOND).unwrap_or(Span::MAX),
            fsync: Fsync::EverySecond,
            stop_writes_on_error: false,
        }
    }
}

/// The settings in force.
pub struct JournalSettings {
    enabled: bool,
    interval_ns: AtomicU64,
    fsync: AtomicU8,
    stop_writes_on_error: AtomicBool,
}

impl JournalSettings {
    pub(super) fn new(initial: Journaling) -> Self {
        let settings = Self {
            enabled: initial.enabled,
            interval_ns: initial.interval.as_ns().into(),
            fsync: AtomicU8::new(0),
            stop_writes_on_error: initial.stop_writes_on_error.into(),
        };
        settings.set_fsync(initial.fsync);
        settings
    }

    /// True if there is a journal.
    pub const fn enabled(&self) -> bool {
        self.enabled
    }

    /// Time between two batches.
    pub fn interval(&self) -> Span {
        Span::from_ns(self.interval_ns.load(Relaxed)).unwrap_or(Span::MAX)
    }

    /// When the disk is made to keep them.
    pub fn fsync(&self) -> Fsync {
        Fsync::ALL[usize::from(self.fsync.load(Relaxed))].0
    }

    /// True if commands that write are refused while the disk takes no snapshot or no journal.
    pub fn stop_writes_on_error(&self) -> bool {
        self.stop_writes_on_error.load(Relaxed)
    }

    pub(super) fn set_interval(&self, interval: Span) {
        self.interval_ns.store(interval.as_ns(), Relaxed);
    }

    pub(super) fn set_fsync(&self, fsync: Fsync) {
        let place = Fsync::ALL.iter().position(|(known, _)| *known == fsync);
        // There are three.
        self.fsync.store(place.unwrap_or(0) as u8, Relaxed);
    }

    pub(super) fn set_stop_writes_on_error(&self, stop: bool) {
        self.stop_writes_on_error.store(stop, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shown_name_is_understood_again() {
        for (fsync, name) in Fsync::ALL {
            assert_eq!(
                (fsync.name(), Fsync::parse(name.as_bytes())),
                (name, Ok(fsync))
            );
            let settings = JournalSettings::new(Journaling::default());
            settings.set_fsync(fsync);
            assert_eq!(settings.fsync(), fsync);
        }
        assert!(Fsync::parse(b"sometimes").is_err());
    }

    #[test]
    fn an_interval_has_bounds() {
        let ns = |value: &[u8]| interval(value).map(Span::as_ns);
        assert_eq!(ns(b"100"), Ok(100 * MILLISECOND));
        assert_eq!(ns(b"1m"), Ok(60 * SECOND));
        for wrong in [&b"0"[..], b"1us", b"61s", b"-1", b"", b"often"] {
            assert!(interval(wrong).is_err(), "{wrong:?}");
        }
    }
}
