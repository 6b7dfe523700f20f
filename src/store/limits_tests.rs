//! A place has one set of parameters for as long as anybody holds it, and is free afterwards.

use super::*;
use std::collections::HashMap;

const FEW: usize = 64;

fn words(seed: u64) -> [u64; 4] {
    [seed, seed.wrapping_mul(3), 1, 0]
}

fn holders<const N: usize>(table: &Table<N>) -> u64 {
    let holders = table.holders.iter();
    holders.map(|holders| holders.load(Relaxed)).sum()
}

#[test]
fn the_same_parameters_have_the_same_place() {
    static TABLE: Table<FEW> = Table::new();
    let number = TABLE.hold(words(1)).unwrap();
    assert_eq!(TABLE.hold(words(1)), Some(number));
    assert_ne!(TABLE.hold(words(2)), Some(number));
    assert_eq!(TABLE.words(number), words(1));
    assert_eq!(holders(&TABLE), 3);
}

#[test]
fn a_place_is_free_when_the_last_has_let_it_go() {
    static TABLE: Table<FEW> = Table::new();
    for seed in 0..10_000 {
        let number = TABLE.hold(words(seed)).unwrap();
        assert_eq!(TABLE.hold(words(seed)), Some(number));
        TABLE.release(number);
        assert_eq!(TABLE.words(number), words(seed));
        TABLE.release(number);
    }
    assert_eq!(holders(&TABLE), 0);
}

#[test]
fn parameters_that_find_no_place_are_told_so() {
    static TABLE: Table<FEW> = Table::new();
    let held: HashMap<u64, u16> = (0..10_000)
        .filter_map(|seed| Some((seed, TABLE.hold(words(seed))?)))
        .collect();
    assert_eq!(held.len(), FEW, "every place is found by somebody");
    assert!(
        held.iter()
            .all(|(&seed, &at)| TABLE.words(at) == words(seed))
    );
    held.values().for_each(|&number| TABLE.release(number));
    assert!(TABLE.hold(words(10_001)).is_some());
}

#[test]
fn nobody_sees_the_parameters_of_another() {
    static TABLE: Table<FEW> = Table::new();
    // More than there are places, so that places go from one to another all the time.
    let run = |offset: u64| {
        let mut held = Vec::new();
        for round in 0..20_000u64 {
            let seed = (round.wrapping_mul(0x9e37_79b9) + offset) % 200;
            if let Some(number) = TABLE.hold(words(seed)) {
                held.push((seed, number));
            }
            if held.len() > 20 {
                let (seed, number) = held.swap_remove((round % 20) as usize);
                assert_eq!(TABLE.words(number), words(seed));
                TABLE.release(number);
            }
        }
        for (seed, number) in held {
            assert_eq!(TABLE.words(number), words(seed));
            TABLE.release(number);
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || run(thread * 50));
        }
    });
    assert_eq!(holders(&TABLE), 0);
}
