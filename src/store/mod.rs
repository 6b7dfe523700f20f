//! Keys and their entries: sharded, locked for as long as one call takes, swept of what is forgotten.

mod counts;
mod eviction;
mod key;
mod keyspace;
mod kinds;
mod lapses;
mod limits;
mod outline;
mod packed;
mod policies;
mod records;
mod shard;
mod table;
mod tables;
mod touched;
mod value;
mod watches;

pub use eviction::{Fit, Thinning};
pub use key::{KEY_BYTES_MAX, Key};
pub use keyspace::{DATABASES_MAX, Page, Store, Sweep};
pub use kinds::{Census, KINDS};
pub use lapses::Lapses;
pub use policies::{POLICIES_MAX, POLICY_NAME_BYTES_MAX, Policies, PolicyLimits};
pub use records::{
    ANSWER_TTL, Answer, AnswerName, AnswerRow, Home, Part, Records, Remembered, Ticket,
    TouchedRecords,
};
pub use touched::Touched;
pub use value::Value;
pub use watches::Watch;

#[cfg(test)]
mod page_tests;
#[cfg(test)]
mod plain_tests;
#[cfg(test)]
mod sweep_tests;
#[cfg(test)]
mod test_entries;
