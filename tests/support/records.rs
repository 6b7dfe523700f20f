//! Any record as bytes.

use tollgate::persistence::codec::{self, Record};

/// Appends a record.
pub fn encode(record: &Record, out: &mut Vec<u8>) {
    match record {
        Record::Key {
            database,
            key,
            value,
        } => codec::encode_key(out, *database, key, value),
        Record::Policy { name, limits } => codec::encode_policy(out, name, limits),
        Record::LastNumber(number) => codec::encode_last_number(out, *number),
        Record::Ticket {
            database,
            number,
            ticket,
        } => codec::encode_ticket(out, *database, *number, ticket),
        Record::Answer {
            database,
            key,
            id,
            remembered,
        } => codec::encode_answer(out, *database, key, id, remembered),
        Record::JournalFrom(generation) => codec::encode_journal_from(out, *generation),
        Record::Gone(gone) => codec::encode_gone(out, gone),
    }
}
