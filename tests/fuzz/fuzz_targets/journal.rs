#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use tollgate_fuzz::{Random, journal};

fuzz_target!(|input: &[u8]| journal::check(input));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mutated = journal::mutate(&data[..size], &mut Random::new(seed.into()));
    let Some(mutated) = mutated else {
        return fuzzer_mutate(data, size, max_size);
    };
    let size = mutated.len().min(max_size);
    data[..size].copy_from_slice(&mutated[..size]);
    size
});
