//! Every input that the fuzz targets have kept, played again, so that what was found once is not found twice; and
//! inputs that differ a little from those, `FUZZ_INPUTS` a target, always the same ones.

use fuzz::Random;
use std::panic::catch_unwind;
use std::{env, fs, path::Path};

#[path = "fuzz/src/lib.rs"]
mod fuzz;

/// How many inputs each target plays that are not kept, unless `FUZZ_INPUTS` says so.
const INPUTS: usize = 200;

/// What a target does with an input.
type Check = fn(&[u8]);

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    let inputs = fs::read_dir(corpus.join(target)).expect("a corpus");
    let mut paths: Vec<_> = inputs
        .map(|input| input.expect("an input").path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no inputs of {target}");
    let inputs = paths
        .iter()
        .map(|path| fs::read(path).expect("it was listed"));
    inputs.collect()
}

/// Plays an input; one that fails is left in a file, to be given to the target or kept.
fn play(target: &str, check: Check, input: &[u8]) {
    if catch_unwind(|| check(input)).is_err() {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{target}"));
        fs::write(&path, input).expect("the target directory takes it");
        panic!("{}: {}", path.display(), input.escape_ascii());
    }
}

fn play_kept(target: &str, check: Check) {
    for input in corpus(target) {
        play(target, check, &input);
    }
}

/// Inputs that were made of kept ones by `change`, which is handed two of them.
fn play_changed(target: &str, check: Check, change: impl Fn(&[u8], &[u8], &mut Random) -> Vec<u8>) {
    let count = env::var("FUZZ_INPUTS").map_or(INPUTS, |text| text.parse().expect("a number"));
    let (kept, mut random) = (corpus(target), Random::new(0));
    for _ in 0..count {
        let (one, other) = (random.below(kept.len()), random.below(kept.len()));
        play(
            target,
            check,
            &change(&kept[one], &kept[other], &mut random),
        );
    }
}

fn change_bytes(one: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    random.changed(one, other)
}

/// By the grammar of the commands as often as byte by byte.
fn change_script(one: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    match random.once_in(2) {
        true => fuzz::session::mutate(one, random),
        false => random.changed(one, other),
    }
}

/// What it says of bytes changes byte by byte, a script as scripts do.
fn change_journal(one: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    fuzz::journal::mutate(one, random).unwrap_or_else(|| random.changed(one, other))
}

#[test]
fn kept_bytes_are_scanned() {
    play_kept("scanner", fuzz::scanner::check);
}

#[test]
fn kept_journals_are_read_or_refused() {
    play_kept("journal", fuzz::journal::check);
}

#[test]
fn kept_scripts_are_played() {
    play_kept("session", fuzz::session::check);
}

#[test]
fn kept_snapshots_are_loaded_or_refused() {
    play_kept("snapshot", fuzz::snapshot::check);
}

#[test]
fn changed_bytes_are_scanned() {
    play_changed("scanner", fuzz::scanner::check, change_bytes);
}

#[test]
fn changed_journals_are_read_or_refused() {
    play_changed("journal", fuzz::journal::check, change_journal);
}

#[test]
fn changed_scripts_are_played() {
    play_changed("session", fuzz::session::check, change_script);
}

#[test]
fn changed_snapshots_are_loaded_or_refused() {
    play_changed("snapshot", fuzz::snapshot::check, change_bytes);
}
