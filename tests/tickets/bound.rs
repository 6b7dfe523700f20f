//! "The permits granted and not given back, whose slots fall in any interval of length t, are at most C + r·t."

use crate::history::{self, History};
use crate::play::Play;
use proptest::prelude::*;

fn check(history: &History) {
    let play = Play::of(history);
    play.buckets.iter().for_each(|bucket| bucket.check(0));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bucket_grants_more_than_it_may(history in history::in_milliseconds()) {
        check(&history);
    }

    #[test]
    fn no_bucket_grants_more_than_it_may_in_fractions(history in history::in_fractions()) {
        check(&history);
    }

    /// Fractions are of the slowed rate then: slots are known to the nanosecond.
    #[test]
    fn no_bucket_that_is_slowed_down_grants_more_than_it_may_at_full_rate(history in history::slowed_down()) {
        let play = Play::of(&history);
        play.buckets.iter().for_each(|bucket| bucket.check(1));
    }
}
