//! What others put into a connection's stream of replies.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes after which messages go into a new piece. A long queue then grows without being copied, and what was
/// sent of it is given back.
const PIECE_BYTES: usize = 16 * 1024;

/// Messages for a connection, and the answer to the command with which it waits. Whoever puts something in wakes
/// the connection, which takes it out.
#[derive(Default)]
pub struct Mailbox {
    /// Whether there are messages; read without the lock, since there are none for most connections.
    has_messages: AtomicBool,
    contents: Mutex<Contents>,
}

#[derive(Default)]
struct Contents {
    /// Whole messages, some to a piece.
    pieces: VecDeque<Vec<u8>>,
    bytes: usize,
    /// There was one message too many: no more are taken in.
    overrun: bool,
    answer: Option<Vec<u8>>,
}

/// The connection does not take its messages fast enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

impl Mailbox {
    /// Adds a message, in the connection's protocol; true if the mailbox held none before.
    ///
    /// # Errors
    /// [`Full`] if it would hold more than `bytes_max`; it is emptied then, and nothing is added any more.
    pub fn push(&self, message: &[u8], bytes_max: usize) -> Result<bool, Full> {
        let mut contents = self.contents.lock();
        if contents.overrun || contents.bytes.saturating_add(message.len()) > bytes_max {
            (contents.overrun, contents.bytes) = (true, 0);
            contents.pieces = VecDeque::new();
            self.has_messages.store(false, Ordering::Release);
            return Err(Full);
        }
        let first = contents.pieces.is_empty();
        contents.bytes += message.len();
        match contents.pieces.back_mut() {
            Some(piece) if piece.len() + message.len() <= PIECE_BYTES => {
                piece.extend_from_slice(message);
            }
            _ => contents.pieces.push_back(message.to_vec()),
        }
        self.has_messages.store(true, Ordering::Release);
        Ok(first)
    }

    /// Moves messages to the end of `output`, the oldest first: all, or as many as make it `enough` bytes long.
    /// True if some are left.
    pub fn take_messages(&self, output: &mut Vec<u8>, enough: usize) -> bool {
        if !self.has_messages.load(Ordering::Acquire) {
            return false;
        }
        let mut contents = self.contents.lock();
        while output.len() < enough
            && let Some(mut piece) = contents.pieces.pop_front()
        {
            contents.bytes -= piece.len();
            if output.is_empty() {
                std::mem::swap(output, &mut piece);
            } else {
                output.append(&mut piece);
            }
        }
        let left = !contents.pieces.is_empty();
        self.has_messages.store(left, Ordering::Release);
        left
    }

    /// Puts in the whole reply to the command with which the connection waits.
    pub fn put_answer(&self, reply: Vec<u8>) {
        self.contents.lock().answer = Some(reply);
    }

    /// Takes that reply out.
    pub fn take_answer(&self) -> Option<Vec<u8>> {
        self.contents.lock().answer.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(mailbox: &Mailbox) -> Vec<u8> {
        let mut output = Vec::new();
        assert!(!mailbox.take_messages(&mut output, usize::MAX));
        output
    }

    #[test]
    fn messages_come_out_once_and_in_order() {
        let mailbox = Mailbox::default();
        assert_eq!(mailbox.push(b"a", 2), Ok(true));
        assert_eq!(mailbox.push(b"b", 2), Ok(false));
        let mut output = b"0".to_vec();
        assert!(!mailbox.take_messages(&mut output, usize::MAX));
        assert!(!mailbox.take_messages(&mut output, usize::MAX));
        assert_eq!(output, b"0ab");
        assert_eq!(mailbox.push(b"cd", 2), Ok(true));
        assert_eq!(take(&mailbox), b"cd");
    }

    #[test]
    fn a_mailbox_that_was_overrun_stays_empty() {
        let mailbox = Mailbox::default();
        assert_eq!(mailbox.push(b"ab", 2), Ok(true));
        assert_eq!(mailbox.push(b"c", 2), Err(Full));
        assert_eq!(mailbox.push(b"", 2), Err(Full));
        assert_eq!(take(&mailbox), b"");
    }

    #[test]
    fn a_long_queue_comes_out_in_parts_of_whole_messages() {
        let mailbox = Mailbox::default();
        for number in 0..100_u8 {
            assert!(mailbox.push(&[number; 1000], 100_000).is_ok());
        }
        let (mut all, mut parts, mut left) = (Vec::new(), 0, true);
        while left {
            let mut part = Vec::new();
            left = mailbox.take_messages(&mut part, 20_000);
            assert!(part.len() % 1000 == 0 && part.len() < 20_000 + PIECE_BYTES);
            all.append(&mut part);
            parts += 1;
        }
        assert!(parts > 2);
        let expected: Vec<u8> = (0..100).flat_map(|number| [number; 1000]).collect();
        assert_eq!(all, expected);
        // The room of what was taken is there again.
        assert_eq!(mailbox.push(&[0; 100_000], 100_000), Ok(true));
    }

    #[test]
    fn an_answer_is_taken_once() {
        let mailbox = Mailbox::default();
        assert_eq!(mailbox.take_answer(), None);
        mailbox.put_answer(b":0\r\n".to_vec());
        assert_eq!(mailbox.take_answer(), Some(b":0\r\n".to_vec()));
        assert_eq!(mailbox.take_answer(), None);
    }
}
