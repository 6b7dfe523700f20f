//! Which slot a call was given, read from what its key holds before and after.

use crate::exact::{Q, whole};
use crate::server::START;
use num_rational::Ratio;
use tollgate::core::bucket::Bucket;
use tollgate::core::entry::{Entry, State};
use tollgate::core::timeline::{Booking, Slot};
use tollgate::core::units::{Timestamp, Wait};

/// Nanoseconds since the start.
pub fn instant(at: Timestamp) -> Q {
    whole(i128::from(at.as_ns()) - i128::from(START))
}

fn exact(slot: Slot, permits: u64) -> Q {
    instant(slot.at) + Ratio::new(i128::from(slot.fraction), i128::from(permits))
}

/// A wait in nanoseconds.
pub fn nanoseconds(wait: Wait) -> Q {
    let (whole_ns, numerator, denominator) = wait.parts();
    whole(whole_ns as i128) + Ratio::new(i128::from(numerator), i128::from(denominator))
}

/// A key's bucket and its bookings ahead.
pub fn bucket_of(entry: &Entry) -> Option<(&Bucket, Vec<Booking>)> {
    match entry.parts().0 {
        [State::Bucket(bucket, timeline)] => {
            let ahead = timeline.iter().flat_map(|timeline| timeline.ahead.iter());
            Some((bucket, ahead.copied().collect()))
        }
        _ => None,
    }
}

/// The slot that the last call was granted on a key: a booking that was not there before, or else the
/// instant up to which the deficit is spoken for.
pub fn granted(before: &Entry, after: &Entry) -> Q {
    let (bucket, ahead) = bucket_of(after).expect("a bucket behind a grant");
    let permits = bucket.limit.rate().permits();
    let (mut old, mut rate_changed) = (Vec::new(), false);
    if let Some((before, ahead)) = bucket_of(before) {
        rate_changed = before.limit.rate() != bucket.limit.rate();
        old = ahead;
    }
    if rate_changed {
        // They have moved to whole nanoseconds.
        old.iter_mut().for_each(|booking| {
            booking.slot = Slot {
                at: booking.slot.rounded_up(),
                fraction: 0,
            }
        });
    }
    for booking in ahead {
        match old.iter().position(|other| *other == booking) {
            Some(index) => drop(old.remove(index)),
            None => return exact(booking.slot, permits),
        }
    }
    let over = bucket
        .level
        .deficit
        .saturating_sub(bucket.limit.scaled_capacity());
    instant(bucket.level.base) + Ratio::new(over as i128, i128::from(permits))
}
