//! Parameters of limits, held once for all keys that use the same.
//!
//! Many keys have few limits between them, so a key holds a number of two bytes in the place of its parameters. A number
//! is a place in one table for the whole process; how many hold it is counted, and with the last the place is free for
//! others.
//!
//! **Bounds.** A caller may name as many different parameters as it likes: the table has a fixed number of places, and
//! parameters that find none stay with their key ([`super::packed`]). Where the parameters of a caller are looked for
//! cannot be foreseen by it, since hashes are seeded at random.
//!
//! **Threads.** What is held can be read without a lock: words are written only into a place that nobody holds, and only
//! under the one lock there is, which is taken for parameters that nobody holds yet. The count says whose turn it is:
//! it goes up from zero after the words are written (release), and whoever wants a place must find it above zero
//! (acquire).

use crate::core::limit::Words;
use ahash::RandomState;
use parking_lot::Mutex;
use std::marker::PhantomData;
use std::sync::LazyLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Different parameters that can be shared at a time: more than operators think of, and 2.5 MiB if all are used. Each
/// has a number of 16 bits.
const PLACES: usize = 1 << 14;

/// Places in which parameters may stand, from where their hash points on: two cache lines and their counts one. With
/// half of the table in use, one in 170 finds none.
const PROBES: usize = 8;

static TABLE: Table<PLACES> = Table::new();

/// The hash of parameters is seeded once.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Parameters that are shared with all others who hold the same.
pub struct Shared<L> {
    number: u16,
    limit: PhantomData<L>,
}

impl<L: Words> Shared<L> {
    /// Finds who holds the same, or begins; `None` if there is no place left for these.
    pub fn new(limit: L) -> Option<Self> {
        let number = TABLE.hold(limit.to_words())?;
        Some(Self {
            number,
            limit: PhantomData,
        })
    }

    /// The parameters.
    pub fn limit(&self) -> L {
        L::from_words(TABLE.words(self.number))
    }

    /// True if these are the parameters.
    pub fn is(&self, limit: L) -> bool {
        TABLE.words(self.number) == limit.to_words()
    }
}

impl<L> Drop for Shared<L> {
    fn drop(&mut self) {
        TABLE.release(self.number);
    }
}

/// Parameters, each as words, and how many hold them. `N` is a power of two, 2^16 at most.
struct Table<const N: usize> {
    words: [Place; N],
    /// Apart from the words, which are read by every call: a count changes with every key that begins or goes.
    holders: [AtomicU64; N],
    /// Taken to write the words of a place.
    writing: Mutex<()>,
}

/// Half a cache line.
#[repr(align(32))]
struct Place([AtomicU64; 4]);

impl<const N: usize> Table<N> {
    const fn new() -> Self {
        Self {
            words: [const { Place([const { AtomicU64::new(0) }; 4]) }; N],
            holders: [const { AtomicU64::new(0) }; N],
            writing: Mutex::new(()),
        }
    }

    /// The words of a place; those of its holders, if there are any.
    fn words(&self, number: u16) -> [u64; 4] {
        let Place(words) = &self.words[usize::from(number)];
        std::array::from_fn(|index| words[index].load(Relaxed))
    }

    /// Holds the place of these words; a new one if there is none. `None` if none is left.
    fn hold(&self, words: [u64; 4]) -> Option<u16> {
        let first = HASHER.hash_one(words) as usize;
        // Numbers fit 16 bits, as `N` does.
        let places = || (0..PROBES).map(|probe| ((first + probe) % N) as u16);
        let held = |number: &u16| self.words(*number) == words && self.hold_if(*number, words);
        if let Some(number) = places().find(held) {
            return Some(number);
        }
        let _writing = self.writing.lock();
        // Others may have written them meanwhile.
        if let Some(number) = places().find(held) {
            return Some(number);
        }
        let is_free = |number: &u16| self.holders[usize::from(*number)].load(Acquire) == 0;
        let number = places().find(is_free)?;
        let Place(place) = &self.words[usize::from(number)];
        for (place, word) in place.iter().zip(words) {
            place.store(word, Relaxed);
        }
        self.holders[usize::from(number)].store(1, Release);
        Some(number)
    }

    /// Holds a place if somebody does already, and if these are its words then.
    fn hold_if(&self, number: u16, words: [u64; 4]) -> bool {
        let one_more = |holders: u64| (holders > 0).then_some(holders + 1);
        let holders = &self.holders[usize::from(number)];
        if holders.fetch_update(Acquire, Relaxed, one_more).is_err() {
            return false;
        }
        let same = self.words(number) == words;
        if !same {
            self.release(number);
        }
        same
    }

    fn release(&self, number: u16) {
        self.holders[usize::from(number)].fetch_sub(1, Release);
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
