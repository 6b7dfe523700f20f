//! The slow log: the last commands that took long.

use parking_lot::Mutex;
use std::collections::VecDeque;

/// Most arguments that an entry shows, as in Redis; of more the last place says how many.
const ARGUMENTS_MAX: usize = 32;
/// Most bytes of an argument that an entry shows, as in Redis.
const ARGUMENT_BYTES_MAX: usize = 128;

/// A command that took long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlowEntry {
    /// Its number; grows, also when the log is emptied.
    pub id: u64,
    /// When it ran, in seconds since the Unix epoch.
    pub at_s: u64,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// Its words, cut.
    pub arguments: Vec<Vec<u8>>,
    /// The peer's address.
    pub peer: String,
    /// The connection's name.
    pub name: Vec<u8>,
}

/// The last commands that took long.
#[derive(Default)]
pub struct SlowLog(Mutex<Log>);

#[derive(Default)]
struct Log {
    next_id: u64,
    /// The oldest first.
    entries: VecDeque<SlowEntry>,
}

impl SlowLog {
    /// Adds an entry, whose number is set here, and drops what is then beyond `len_max`.
    pub fn add(&self, entry: SlowEntry, len_max: usize) {
        let mut log = self.0.lock();
        let id = log.next_id;
        log.next_id += 1;
        log.entries.push_back(SlowEntry { id, ..entry });
        while log.entries.len() > len_max {
            log.entries.pop_front();
        }
    }

    /// The last `count` entries, the latest first.
    pub fn latest(&self, count: usize) -> Vec<SlowEntry> {
        self.0
            .lock()
            .entries
            .iter()
            .rev()
            .take(count)
            .cloned()
            .collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.lock().entries.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops all.
    pub fn clear(&self) {
        self.0.lock().entries.clear();
    }
}

/// The words of a command as an entry shows them.
pub fn cut<'a>(arguments: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let count = arguments.len();
    let shown = if count > ARGUMENTS_MAX {
        ARGUMENTS_MAX - 1
    } else {
        count
    };
    let mut words: Vec<Vec<u8>> = arguments.take(shown).map(cut_one).collect();
    if count > shown {
        words.push(format!("... ({} more arguments)", count - shown).into_bytes());
    }
    words
}

fn cut_one(argument: &[u8]) -> Vec<u8> {
    match argument.split_at_checked(ARGUMENT_BYTES_MAX) {
        Some((shown, rest)) if !rest.is_empty() => {
            let more = format!("... ({} more bytes)", rest.len());
            [shown, more.as_bytes()].concat()
        }
        _ => argument.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(at_s: u64) -> SlowEntry {
        SlowEntry {
            id: 0,
            at_s,
            took_us: 1,
            arguments: Vec::new(),
            peer: String::new(),
            name: Vec::new(),
        }
    }

    #[test]
    fn the_oldest_go_and_numbers_grow() {
        let log = SlowLog::default();
        (0..5).for_each(|at_s| log.add(entry(at_s), 3));
        let latest: Vec<(u64, u64)> = log.latest(10).iter().map(|e| (e.id, e.at_s)).collect();
        assert_eq!(latest, [(4, 4), (3, 3), (2, 2)]);
        assert_eq!(log.latest(1).len(), 1);
        log.clear();
        assert!(log.is_empty());
        log.add(entry(9), 1);
        assert_eq!(log.latest(9)[0].id, 5);
        log.add(entry(10), 0);
        assert_eq!(log.len(), 0);
    }

    #[test]
    fn long_commands_are_cut() {
        let word = [b'x'; 128];
        assert_eq!(cut([&word[..]].into_iter()), [word]);
        let word = [b'x'; 130];
        let shown = [&word[..128], b"... (2 more bytes)"].concat();
        assert_eq!(cut([&word[..]].into_iter()), [shown]);
        assert_eq!(cut([&b"a"[..]; 32].into_iter()).len(), 32);
        let cut = cut([&b"a"[..]; 33].into_iter());
        assert_eq!(
            (cut.len(), cut[31].as_slice()),
            (32, &b"... (2 more arguments)"[..])
        );
    }
}
