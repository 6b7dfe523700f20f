//! What commands ask of the work in the background, without knowing who does it or how it is woken.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

type Wake = Box<dyn Fn() + Send + Sync>;

/// Requests that wait to be taken up.
#[derive(Default)]
pub struct Requests {
    snapshot: AtomicBool,
    wake: OnceLock<Wake>,
}

impl Requests {
    /// Sets what wakes the worker, which then looks for requests; once, at start. One that was made
    /// before wakes it now.
    pub fn on_request(&self, wake: impl Fn() + Send + Sync + 'static) {
        if self.wake.set(Box::new(wake)).is_ok() && self.is_snapshot_wanted() {
            self.wake_up();
        }
    }

    /// Asks for a snapshot (`BGSAVE`); false if one was asked for already and not begun.
    pub fn ask_for_snapshot(&self) -> bool {
        let asked = self.snapshot.swap(true, Ordering::AcqRel);
        self.wake_up();
        !asked
    }

    /// True if a snapshot was asked for and not begun.
    pub fn is_snapshot_wanted(&self) -> bool {
        self.snapshot.load(Ordering::Acquire)
    }

    /// Takes up the request for a snapshot, right before it begins; true if there was one.
    pub fn take_snapshot(&self) -> bool {
        self.snapshot.swap(false, Ordering::AcqRel)
    }

    fn wake_up(&self) {
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn a_request_waits_for_its_worker() {
        let (requests, woken) = (Requests::default(), Arc::new(AtomicUsize::new(0)));
        assert!(requests.ask_for_snapshot());
        assert!(!requests.ask_for_snapshot());
        let count = woken.clone();
        requests.on_request(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        assert!(requests.take_snapshot() && !requests.take_snapshot());
        assert!(requests.ask_for_snapshot());
        assert_eq!(woken.load(Ordering::Relaxed), 2);
    }
}
