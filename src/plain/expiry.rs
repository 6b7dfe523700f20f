//! When a key goes: set, changed under a condition, taken away.

use super::{Deadline, Plain};
use crate::core::units::Timestamp;

/// What an operation does to the time at which a key goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiry {
    /// It stays as it is.
    Keep,
    /// The key stays from now on.
    Clear,
    /// The key goes then; at once if that is past.
    At(Deadline),
}

/// Under which conditions [`expire`] sets a time. All that are set must hold; a key that stays counts as one that goes
/// later than any other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Conditions {
    /// The key stays.
    pub nx: bool,
    /// The key goes by itself.
    pub xx: bool,
    /// It goes earlier than the new time.
    pub gt: bool,
    /// It goes later than the new time.
    pub lt: bool,
}

impl Conditions {
    fn hold(self, current: Option<Deadline>, new: Deadline) -> bool {
        let prolongs = current.is_some_and(|current| new > current);
        let shortens = current.is_none_or(|current| new < current);
        !(self.nx && current.is_some()
            || self.xx && current.is_none()
            || self.gt && !prolongs
            || self.lt && !shortens)
    }
}

/// Changes when an existing key goes; one that is past deletes it.
pub fn apply(slot: &mut Option<Plain>, expiry: Expiry, now: Timestamp) {
    let Some(plain) = slot else {
        return;
    };
    match expiry {
        Expiry::Keep => {}
        Expiry::Clear => plain.expires = None,
        Expiry::At(deadline) if deadline.is_past(now) => *slot = None,
        Expiry::At(deadline) => plain.expires = Some(deadline),
    }
}

/// Sets when a key goes; one that is past deletes it. False if there is no key or a condition does not hold.
pub fn expire(
    slot: &mut Option<Plain>,
    deadline: Deadline,
    conditions: Conditions,
    now: Timestamp,
) -> bool {
    let holds = slot
        .as_ref()
        .is_some_and(|plain| conditions.hold(plain.expires, deadline));
    if holds {
        apply(slot, Expiry::At(deadline), now);
    }
    holds
}

/// Lets a key stay; false if there is none or it stays anyway.
pub fn persist(slot: &mut Option<Plain>) -> bool {
    let expires = slot.as_mut().and_then(|plain| plain.expires.take());
    expires.is_some()
}

#[cfg(test)]
mod tests {
    use super::super::{Data, Text};
    use super::*;

    const NOW: Timestamp = Timestamp::ZERO;

    fn slot(expires_ms: Option<i64>) -> Option<Plain> {
        Some(Plain {
            data: Data::Text(Text::from(1)),
            expires: expires_ms.map(Deadline::at_ms),
        })
    }

    fn conditions(words: &str) -> Conditions {
        Conditions {
            nx: words.contains("NX"),
            xx: words.contains("XX"),
            gt: words.contains("GT"),
            lt: words.contains("LT"),
        }
    }

    #[test]
    fn conditions_compare_the_new_time_with_the_old() {
        for (words, current, new, holds) in [
            ("", None, 5, true),
            ("", Some(5), 5, true),
            ("NX", None, 5, true),
            ("NX", Some(9), 5, false),
            ("XX", None, 5, false),
            ("XX", Some(9), 5, true),
            ("GT", None, 5, false),
            ("GT", Some(4), 5, true),
            ("GT", Some(5), 5, false),
            ("GT", Some(6), 5, false),
            ("LT", None, 5, true),
            ("LT", Some(4), 5, false),
            ("LT", Some(5), 5, false),
            ("LT", Some(6), 5, true),
            ("XX GT", Some(4), 5, true),
            ("XX LT", None, 5, false),
            ("XX LT", Some(6), 5, true),
        ] {
            let mut key = slot(current);
            let set = expire(&mut key, Deadline::at_ms(new), conditions(words), NOW);
            assert_eq!(set, holds, "{words} {current:?} {new}");
            assert_eq!(key, slot(if holds { Some(new) } else { current }));
        }
    }

    #[test]
    fn a_time_that_is_past_deletes() {
        for ms in [0, -1, i64::MIN] {
            let mut key = slot(None);
            assert!(expire(
                &mut key,
                Deadline::at_ms(ms),
                Conditions::default(),
                NOW
            ));
            assert_eq!(key, None);
        }
        let mut key = slot(Some(5));
        assert!(!expire(
            &mut key,
            Deadline::at_ms(-1),
            conditions("GT"),
            NOW
        ));
        assert_eq!(key, slot(Some(5)));
    }

    #[test]
    fn no_key_takes_no_time() {
        let mut none = None;
        assert!(!expire(
            &mut none,
            Deadline::at_ms(5),
            Conditions::default(),
            NOW
        ));
        assert!(!persist(&mut none));
        apply(&mut none, Expiry::At(Deadline::at_ms(5)), NOW);
        assert_eq!(none, None);
    }

    #[test]
    fn persist_tells_whether_it_did_something() {
        let mut key = slot(Some(5));
        assert!(persist(&mut key));
        assert!(!persist(&mut key));
        assert_eq!(key, slot(None));
    }
}
