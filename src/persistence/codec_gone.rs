//! What is there no longer, as bytes; see [`super::codec`] for the whole.
//!
//! ```text
//! gone = 1 database key_length key | 2 database                 a key; all keys, tickets and answers of a database
//!      | 3 name | 4 number | 5 database key_length key id       a policy, a ticket, an answer
//! ```

use super::codec::decode_name;
use super::codec_records::{ID_BYTES_MAX, database, put_text, text, ticket_number};
use super::input::{DecodeError, Input, put_varint};
use crate::store::{Key, POLICY_NAME_BYTES_MAX, Store, Value};

const KEY: u8 = 1;
const DATABASE: u8 = 2;
const POLICY: u8 = 3;
const TICKET: u8 = 4;
const ANSWER: u8 = 5;

/// Something that is there no longer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Gone {
    /// A key: its database and its name. Its tickets and answers are told apart.
    Key(u8, Key),
    /// All keys, tickets and answers of a database.
    Database(u8),
    /// The policy of that name.
    Policy(Box<[u8]>),
    /// The ticket of that number.
    Ticket(u64),
    /// An answer: its database, the first key of its request, and the request's id.
    Answer(u8, Key, Box<[u8]>),
}

impl Gone {
    /// Takes it out of a store that is being loaded.
    pub(super) fn take_out(&self, store: &Store) {
        match self {
            Self::Key(database, key) => store.restore(*database, key, Value::default()),
            Self::Database(database) => store.clear(*database, Default::default()),
            Self::Policy(name) => {
                store.policies.remove(name);
            }
            Self::Ticket(number) => store.records.take_out_ticket(*number),
            Self::Answer(database, key, id) => {
                let home = (*database, key.clone());
                store.records.take_out_answer(&home, id);
            }
        }
    }
}

pub fn encode(out: &mut Vec<u8>, gone: &Gone) {
    match gone {
        Gone::Key(database, key) => {
            out.extend_from_slice(&[KEY, *database]);
            put_text(out, key.as_bytes());
        }
        Gone::Database(database) => out.extend_from_slice(&[DATABASE, *database]),
        Gone::Policy(name) => {
            out.push(POLICY);
            put_text(out, name);
        }
        Gone::Ticket(number) => {
            out.push(TICKET);
            put_varint(out, *number);
        }
        Gone::Answer(database, key, id) => {
            out.extend_from_slice(&[ANSWER, *database]);
            put_text(out, key.as_bytes());
            put_text(out, id);
        }
    }
}

pub fn decode(input: &mut Input<'_>) -> Result<Gone, DecodeError> {
    Ok(match input.byte()? {
        KEY => {
            let (database, key) = decode_name(input)?;
            Gone::Key(database, key)
        }
        DATABASE => Gone::Database(database(input)?),
        POLICY => Gone::Policy(text(input, POLICY_NAME_BYTES_MAX)?.into()),
        TICKET => Gone::Ticket(ticket_number(input)?),
        ANSWER => {
            let (database, key) = decode_name(input)?;
            Gone::Answer(database, key, text(input, ID_BYTES_MAX)?.into())
        }
        tag => return Err(DecodeError::Unknown("something gone of kind", tag)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_comes_back() {
        let key = || Key::new(b"a key that is on the heap");
        for gone in [
            Gone::Key(15, key()),
            Gone::Key(0, Key::new(b"")),
            Gone::Database(3),
            Gone::Policy((&b"meta"[..]).into()),
            Gone::Ticket(i64::MAX as u64),
            Gone::Answer(1, key(), (&b"id"[..]).into()),
        ] {
            let mut bytes = Vec::new();
            encode(&mut bytes, &gone);
            assert_eq!(decode(&mut Input::new(&bytes)), Ok(gone));
            for cut in 0..bytes.len() {
                let short = decode(&mut Input::new(&bytes[..cut]));
                assert_eq!(short, Err(DecodeError::Short));
            }
        }
        for wrong in [&[KEY, 16, 0][..], &[DATABASE, 16], &[9]] {
            let result = decode(&mut Input::new(wrong));
            assert!(matches!(
                result,
                Err(DecodeError::Invalid(_) | DecodeError::Unknown(..))
            ));
        }
    }
}
