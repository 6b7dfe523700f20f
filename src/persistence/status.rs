//! Whether a save runs, and how the last one went. Told the time; reads no clock.

use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;

/// Shared by the commands, the background task and the shutdown.
#[derive(Debug)]
pub struct SaveStatus {
    report: Mutex<SaveReport>,
    idle: Condvar,
}

/// What `INFO persistence` tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SaveReport {
    /// When the running save began, in seconds since the epoch; `None` if none runs.
    pub running_since_s: Option<u64>,
    /// When the last good save ended, in seconds since the epoch; the start of the server before that.
    pub last_save_s: u64,
    /// Why the last save failed; `None` if it did not.
    pub last_error: Option<String>,
    /// Saves that have failed since the start.
    pub failures: u64,
    /// How long the last save took, good or not.
    pub last_duration: Option<Duration>,
    /// Changes that there had been in all when the last good save began.
    pub changes_saved: u64,
}

impl SaveReport {
    /// Changes that no snapshot holds, of `changes` in all.
    pub const fn changes_since(&self, changes: u64) -> u64 {
        changes.saturating_sub(self.changes_saved)
    }
}

impl SaveStatus {
    /// For a server that has started (and loaded its snapshot) at `now_s` seconds since the epoch.
    pub fn new(now_s: u64) -> Arc<Self> {
        let report = SaveReport {
            running_since_s: None,
            last_save_s: now_s,
            last_error: None,
            failures: 0,
            last_duration: None,
            changes_saved: 0,
        };
        Arc::new(Self {
            report: Mutex::new(report),
            idle: Condvar::new(),
        })
    }

    /// How things stand.
    pub fn report(&self) -> SaveReport {
        self.report.lock().clone()
    }

    /// True while a save runs.
    pub fn is_saving(&self) -> bool {
        self.report.lock().running_since_s.is_some()
    }

    /// Begins a save, with `changes` there have been in all so far; `None` if one runs already.
    pub fn try_begin(self: &Arc<Self>, changes: u64, now_s: u64) -> Option<Saving> {
        let mut report = self.report.lock();
        if report.running_since_s.is_some() {
            return None;
        }
        report.running_since_s = Some(now_s);
        Some(Saving {
            status: Arc::clone(self),
            changes,
            ended: false,
        })
    }

    /// Waits until no save runs. For the shutdown, which must not cut one off; blocks its thread. Another
    /// may begin right after, so ask [`Self::try_begin`] again.
    pub fn wait_until_idle(&self) {
        let mut report = self.report.lock();
        while report.running_since_s.is_some() {
            self.idle.wait(&mut report);
        }
    }
}

/// The right to save. There is one at a time; dropped without an [`end`](Self::end), as by a panic,
/// it counts as a save that failed.
#[derive(Debug)]
pub struct Saving {
    status: Arc<SaveStatus>,
    changes: u64,
    ended: bool,
}

impl Saving {
    /// Ends the save at `now_s` seconds since the epoch, after `took`, with the text of its error if
    /// it failed.
    pub fn end(mut self, result: Result<(), String>, now_s: u64, took: Duration) {
        self.ended = true;
        let mut report = self.status.report.lock();
        report.last_duration = Some(took);
        if result.is_ok() {
            report.last_save_s = now_s;
            report.changes_saved = self.changes;
        }
        report.failures += u64::from(result.is_err());
        report.last_error = result.err();
    }
}

impl Drop for Saving {
    fn drop(&mut self) {
        let mut report = self.status.report.lock();
        report.running_since_s = None;
        if !self.ended {
            report.failures += 1;
            report.last_error = Some("the save was broken off".to_owned());
        }
        self.status.idle.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOK: Duration = Duration::from_millis(7);

    #[test]
    fn two_saves_never_run_at_once() {
        let status = SaveStatus::new(100);
        let saving = status.try_begin(5, 110).unwrap();
        assert!(status.is_saving());
        assert!(status.try_begin(6, 111).is_none());
        assert_eq!(status.report().running_since_s, Some(110));
        saving.end(Ok(()), 112, TOOK);
        assert!(!status.is_saving());
        assert!(status.try_begin(6, 113).is_some());
    }

    #[test]
    fn a_good_save_counts_the_changes_from_its_beginning() {
        let status = SaveStatus::new(100);
        assert_eq!(status.report().changes_since(5), 5);
        status.try_begin(5, 110).unwrap().end(Ok(()), 112, TOOK);
        let report = status.report();
        assert_eq!(
            (
                report.last_save_s,
                report.last_duration,
                report.changes_since(9)
            ),
            (112, Some(TOOK), 4)
        );
        assert_eq!(report.last_error, None);
    }

    #[test]
    fn a_failed_save_leaves_the_last_good_one() {
        let status = SaveStatus::new(100);
        status
            .try_begin(5, 110)
            .unwrap()
            .end(Err("no space".to_owned()), 112, TOOK);
        let report = status.report();
        assert_eq!((report.last_save_s, report.changes_since(5)), (100, 5));
        assert_eq!(report.failures, 1);
        assert_eq!(report.last_error.as_deref(), Some("no space"));
        status.try_begin(5, 120).unwrap().end(Ok(()), 121, TOOK);
        assert_eq!(status.report().last_error, None);
    }

    #[test]
    fn a_save_that_is_dropped_has_failed() {
        let status = SaveStatus::new(100);
        drop(status.try_begin(5, 110));
        assert!(!status.is_saving());
        assert!(status.report().last_error.is_some());
    }

    #[test]
    fn the_shutdown_waits_for_a_running_save() {
        let status = SaveStatus::new(100);
        status.wait_until_idle();
        let saving = status.try_begin(5, 110).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                status.wait_until_idle();
                status.report().last_save_s
            });
            saving.end(Ok(()), 112, TOOK);
            assert_eq!(waiting.join().unwrap(), 112);
        });
    }
}
