//! Which parameters are taken.

use crate::history::{any_parameters, config};
use proptest::prelude::*;

proptest! {
    #![proptest_config(config(4_000))]

    #[test]
    fn exactly_the_parameters_that_can_be_held_are_taken(parameters in any_parameters()) {
        // The reader of numbers takes up to 17 significant digits; all of these have no more.
        prop_assert_eq!(parameters.limit().is_some(), parameters.exact().is_some());
    }
}
