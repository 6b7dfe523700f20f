//! The one host of this process. The server runs commands one at a time; whoever holds the lock calls nothing of the
//! server's, which might call back.

use crate::host::{Hand, Host};
use parking_lot::Mutex;
use tollgate::core::units::Timestamp;

static HOST: Mutex<Option<Host>> = Mutex::new(None);

/// The module is loaded: time goes by, or is moved by hand.
pub fn start(hand: Hand) {
    *HOST.lock() = Some(Host::new(hand));
}

/// Does something with the host, `None` before [`start`].
pub fn with<R>(f: impl FnOnce(&mut Host) -> R) -> Option<R> {
    HOST.lock().as_mut().map(f)
}

/// The instant it is.
pub fn now() -> Timestamp {
    with(|host| host.now()).unwrap_or_default()
}

/// Numbers that are given from now on are above this one.
pub fn give_numbers_above(number: u64) {
    with(|host| host.give_numbers_above(host.now(), number));
}
