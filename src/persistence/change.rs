//! What changes of one key, as it travels from one server to another: records of the journal.
//!
//! A key's own name is left out (it stands as an empty one), and so is its database: where a key is, whoever gets the change
//! knows, and a key that is renamed or copied takes all with it.

use super::codec::{self, Record};
use super::codec_gone::Gone;
use super::input::{DecodeError, Input};
use crate::store::{Key, Remembered, Ticket, Value};

/// The database that all of it names.
pub const DATABASE: u8 = 0;

/// One thing that is new, changed or gone (`None`) at a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Its state.
    State(Option<Value>),
    /// The ticket of that number.
    Ticket(u64, Option<Ticket>),
    /// The answer to that id.
    Answer(Box<[u8]>, Option<Remembered>),
}

/// A key's own name, as it is encoded.
pub fn own_name() -> Key {
    Key::new(b"")
}

/// A ticket without its key's name.
pub fn without_name(ticket: &Ticket) -> Ticket {
    let mut ticket = ticket.clone();
    if let Some(part) = ticket.parts.first_mut() {
        part.key = own_name();
    }
    ticket
}

/// Appends changes as records.
pub fn encode(out: &mut Vec<u8>, changes: &[Change]) {
    for change in changes {
        match change {
            Change::State(Some(value)) => codec::encode_key(out, DATABASE, &own_name(), value),
            Change::State(None) => codec::encode_gone(out, &Gone::Key(DATABASE, own_name())),
            Change::Ticket(number, Some(ticket)) => {
                codec::encode_ticket(out, DATABASE, *number, &without_name(ticket));
            }
            Change::Ticket(number, None) => codec::encode_gone(out, &Gone::Ticket(*number)),
            Change::Answer(id, Some(answer)) => {
                codec::encode_answer(out, DATABASE, &own_name(), id, answer);
            }
            Change::Answer(id, None) => {
                let gone = Gone::Answer(DATABASE, own_name(), id.clone());
                codec::encode_gone(out, &gone);
            }
        }
    }
}

/// Reads changes; no bytes panic.
///
/// # Errors
/// They are not records of one key's limits.
pub fn decode(bytes: &[u8]) -> Result<Vec<Change>, DecodeError> {
    const NOT_OF_A_KEY: DecodeError = DecodeError::Invalid("a record of something else than a key");
    let mut input = Input::new(bytes);
    let mut changes = Vec::new();
    while !input.is_empty() {
        changes.push(match codec::decode(&mut input)? {
            Record::Key {
                value: Value::Plain(_),
                ..
            } => return Err(NOT_OF_A_KEY),
            Record::Key { value, .. } => Change::State(Some(value)),
            Record::Ticket { number, ticket, .. } => Change::Ticket(number, Some(ticket)),
            Record::Answer { id, remembered, .. } => Change::Answer(id, Some(remembered)),
            Record::Gone(Gone::Key(..)) => Change::State(None),
            Record::Gone(Gone::Ticket(number)) => Change::Ticket(number, None),
            Record::Gone(Gone::Answer(_, _, id)) => Change::Answer(id, None),
            _ => return Err(NOT_OF_A_KEY),
        });
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::persistence::codec::encode_last_number;

    #[test]
    fn what_is_of_no_key_or_of_no_limit_is_refused() {
        let mut bytes = Vec::new();
        encode_last_number(&mut bytes, 7);
        assert!(decode(&bytes).is_err());
        let mut bytes = Vec::new();
        let plain = crate::plain::Text::new(b"text").unwrap();
        let plain = crate::plain::Plain::new(crate::plain::Data::Text(plain));
        codec::encode_key(&mut bytes, DATABASE, &own_name(), &Value::Plain(plain));
        assert!(decode(&bytes).is_err());
        assert_eq!(decode(b""), Ok(Vec::new()));
        assert!(decode(b"\xff").is_err());
    }

    #[test]
    fn what_is_gone_comes_back() {
        let changes = [
            Change::State(None),
            Change::Ticket(7, None),
            Change::Answer((&b"id"[..]).into(), None),
        ];
        let mut bytes = Vec::new();
        encode(&mut bytes, &changes);
        assert_eq!(decode(&bytes).unwrap(), changes);
    }
}
