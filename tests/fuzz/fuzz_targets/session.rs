#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use tollgate_fuzz::{Random, session};

fuzz_target!(|script: &[u8]| session::check(script));

// By the grammar of the commands as often as byte by byte.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = Random::new(seed.into());
    if random.once_in(2) {
        return fuzzer_mutate(data, size, max_size);
    }
    let mutated = session::mutate(&data[..size], &mut random);
    let size = mutated.len().min(max_size);
    data[..size].copy_from_slice(&mutated[..size]);
    size
});
