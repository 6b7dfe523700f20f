//! Every wait, balance and refusal of a random history is what exact arithmetic says.

use crate::history::{config, history};
use crate::world::World;
use proptest::prelude::*;

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn one_key_answers_as_exact_arithmetic_does(history in history(1, 60)) {
        World::play(&history);
    }

    #[test]
    fn several_keys_answer_as_exact_arithmetic_does(history in history(3, 60)) {
        World::play(&history);
    }
}
