//! What others put into a connection's stream of replies.

use parking_lot::Mutex;

/// Messages for a connection, and the answer to the command with which it waits. Whoever puts something in wakes
/// the connection, which takes it out.
#[derive(Default)]
pub struct Mailbox {
    contents: Mutex<Contents>,
}

#[derive(Default)]
struct Contents {
    messages: Vec<u8>,
    answer: Option<Vec<u8>>,
}

/// The connection does not take its messages fast enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

impl Mailbox {
    /// Adds a message, in the connection's protocol; true if the mailbox held none before.
    ///
    /// # Errors
    /// [`Full`] if it would hold more than `bytes_max`; nothing is added then.
    pub fn push(&self, message: &[u8], bytes_max: usize) -> Result<bool, Full> {
        let mut contents = self.contents.lock();
        if contents.messages.len().saturating_add(message.len()) > bytes_max {
            return Err(Full);
        }
        let first = contents.messages.is_empty();
        contents.messages.extend_from_slice(message);
        Ok(first)
    }

    /// Moves all messages to the end of `output`.
    pub fn take_messages(&self, output: &mut Vec<u8>) {
        let mut contents = self.contents.lock();
        if output.is_empty() {
            std::mem::swap(output, &mut contents.messages);
        } else {
            output.append(&mut contents.messages);
        }
        contents.messages = Vec::new();
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

    #[test]
    fn messages_come_out_once_and_in_order() {
        let mailbox = Mailbox::default();
        assert_eq!(mailbox.push(b"a", 2), Ok(true));
        assert_eq!(mailbox.push(b"b", 2), Ok(false));
        assert_eq!(mailbox.push(b"c", 2), Err(Full));
        let mut output = b"0".to_vec();
        mailbox.take_messages(&mut output);
        mailbox.take_messages(&mut output);
        assert_eq!(output, b"0ab");
        assert_eq!(mailbox.push(b"d", 2), Ok(true));
        output.clear();
        mailbox.take_messages(&mut output);
        assert_eq!(output, b"d");
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
