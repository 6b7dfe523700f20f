//! Several clients of one server in process, with the manual clock, that play a script of anything.
//!
//! No request may panic, one that is refused or only reads changes nothing, each gets exactly one reply, replies can be read in the client's protocol, what is counted of
//! the keys is what a walk over them finds, nothing of a client is left when it has gone, and a snapshot brings back
//! all that the store holds. That memory stays bounded is for the fuzzer's own limit to notice.

mod batch;
mod frame;
mod grammar;
mod play;
mod script;
mod stores;

pub use grammar::mutate;
pub use play::Play;
pub use stores::{comes_back, counts_agree, settled};

/// Most lines of a script that are played, so that an input takes milliseconds.
const LINES_MAX: usize = 200;

/// Plays a script; see `script.rs` for what its lines say.
pub fn check(script: &[u8]) {
    let mut play = Play::new();
    lines(script)
        .take(LINES_MAX)
        .for_each(|line| play.line(line));
    play.end();
}

/// The lines of a script.
pub fn lines(script: &[u8]) -> impl Iterator<Item = &[u8]> {
    script.split(|&byte| byte == b'\n')
}
