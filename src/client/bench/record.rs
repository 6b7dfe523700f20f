//! What the calls of a span of time came to.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::denial::Denial;
use super::replies::Reply;

/// The longest latency that is told from longer ones: an hour, in nanoseconds.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;
/// Digits of a latency that are kept.
const DIGITS: u8 = 3;
/// Codes of errors that are told apart; a server has a dozen.
const CODES_MAX: usize = 64;
/// Longest code and longest text of an error that are kept, in characters.
const CODE_CHARS_MAX: usize = 32;
const TEXT_CHARS_MAX: usize = 200;

/// An empty histogram of nanoseconds.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_NS_MAX, DIGITS).expect("1 is below half of an hour")
}

/// The answered calls of one command.
pub struct Count {
    /// How long they took, in nanoseconds. Their number is its length.
    pub latency_ns: Histogram<u64>,
    /// How many were denied by a limit.
    pub denied: u64,
    /// How many got an error.
    pub errors: u64,
}

impl Count {
    fn add(&mut self, other: &Self) {
        self.latency_ns
            .add(&other.latency_ns)
            .expect("all have the same bounds");
        self.denied += other.denied;
        self.errors += other.errors;
    }
}

/// Errors by their code, the first word, each with the first text that came.
#[derive(Default)]
pub struct Errors(pub BTreeMap<String, (u64, String)>);

impl Errors {
    fn note(&mut self, text: &[u8]) {
        let code = text.split(|byte| *byte == b' ').next().unwrap_or_default();
        let mut code = shown(code, CODE_CHARS_MAX);
        if self.0.len() >= CODES_MAX && !self.0.contains_key(&code) {
            "(others)".clone_into(&mut code);
        }
        let entry = self.0.entry(code);
        entry.or_insert_with(|| (0, shown(text, TEXT_CHARS_MAX))).0 += 1;
    }

    fn add(&mut self, other: Self) {
        for (code, (count, text)) in other.0 {
            self.0.entry(code).or_insert((0, text)).0 += count;
        }
    }
}

/// A text for a terminal: its beginning, without control characters.
fn shown(text: &[u8], chars_max: usize) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.trim_end().chars().take(chars_max);
    text.map(|char| if char.is_control() { '?' } else { char })
        .collect()
}

/// What a thread has seen in a span of time, or all threads in all.
pub struct Window {
    /// A count for each command, in their order.
    pub counts: Vec<Count>,
    /// The errors among them.
    pub errors: Errors,
    /// Processor time that the generator used, in nanoseconds.
    pub cpu_ns: u64,
    /// When the last reply came, in nanoseconds of the generator's clock; 0 if none has.
    pub last_reply_ns: u64,
}

impl Window {
    /// An empty one for so many commands.
    pub fn new(commands: usize) -> Self {
        let count = || Count {
            latency_ns: histogram(),
            denied: 0,
            errors: 0,
        };
        Self {
            counts: std::iter::repeat_with(count).take(commands).collect(),
            errors: Errors::default(),
            cpu_ns: 0,
            last_reply_ns: 0,
        }
    }

    /// Notes whether a reply is a denial or an error; its time is noted by [`Self::took`].
    pub fn judge(&mut self, command: usize, denial: Denial, reply: &Reply<'_>) {
        let count = &mut self.counts[command];
        if reply.is_error() {
            count.errors += 1;
            self.errors.note(reply.text());
        } else if denial.is_in(reply) {
            count.denied += 1;
        }
    }

    /// Notes how long so many calls of a command took.
    pub fn took(&mut self, command: usize, latency_ns: u64, calls: u64) {
        self.counts[command]
            .latency_ns
            .saturating_record_n(latency_ns, calls);
    }

    /// Adds what another has.
    pub fn add(&mut self, other: Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            count.add(more);
        }
        self.errors.add(other.errors);
        self.cpu_ns += other.cpu_ns;
        self.last_reply_ns = self.last_reply_ns.max(other.last_reply_ns);
    }

    /// All commands together.
    pub fn total(&self) -> Count {
        let mut total = Count {
            latency_ns: histogram(),
            denied: 0,
            errors: 0,
        };
        for count in &self.counts {
            total.add(count);
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_code_and_bounded() {
        let mut errors = Errors::default();
        errors.note(b"ERR first");
        errors.note(b"ERR second");
        for code in 0..200 {
            errors.note(format!("E{code} x").as_bytes());
        }
        assert_eq!(errors.0["ERR"], (2, "ERR first".to_owned()));
        assert_eq!(errors.0.len(), CODES_MAX + 1);
        let all: u64 = errors.0.values().map(|(count, _)| count).sum();
        assert_eq!(all, 202);
    }

    #[test]
    fn a_latency_beyond_an_hour_is_counted_as_one() {
        let mut window = Window::new(1);
        window.took(0, u64::MAX, 2);
        window.took(0, 1_000, 1);
        let total = window.total().latency_ns;
        assert_eq!(total.len(), 3);
        assert!(total.max() >= LATENCY_NS_MAX);
    }
}
