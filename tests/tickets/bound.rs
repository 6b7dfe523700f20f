//! "The permits granted and not given back, whose slots fall in any interval of length t, are at most C + r·t."

use crate::history::{self, History};
use crate::ledger::Bucket;
use crate::play::Play;
use proptest::prelude::*;

fn check(history: &History) {
    let play = Play::of(history);
    play.buckets.iter().for_each(Bucket::check);
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
}
