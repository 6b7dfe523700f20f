//! Bugs that are put in on purpose, to see that they are found.

use crate::numbers::Numbers;
use tollgate::store::Store;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sabotage {
    None,
    /// Now and then a batch leaves out a key that was touched.
    SkipsAKey,
    /// Now and then a batch leaves out a ticket that was touched.
    SkipsATicket,
    /// Now and then a batch leaves out an answer that was touched.
    SkipsAnAnswer,
    /// Now and then a batch leaves out a policy that was touched.
    SkipsAPolicy,
    /// The disk says that it was flushed, and was not.
    SyncsNothing,
}

impl Sabotage {
    pub fn syncs_nothing(self) -> bool {
        self == Self::SyncsNothing
    }

    /// Takes a name out of those that the next batch is about to write.
    pub fn before_a_batch(self, store: &Store, numbers: &mut Numbers) {
        if matches!(self, Self::None | Self::SyncsNothing) || !numbers.once_in(10) {
            return;
        }
        match self {
            Self::None | Self::SyncsNothing => {}
            Self::SkipsAKey => {
                let mut skipped = false;
                let taken: Vec<_> = store.touched.take(0).collect();
                for mut names in taken {
                    if !skipped {
                        skipped = names.pop().is_some();
                    }
                    store.touched.put_back(0, names);
                }
            }
            Self::SkipsATicket => {
                let mut touched = store.records.take_touched();
                touched.tickets.clear();
                store.records.put_back(touched);
            }
            Self::SkipsAnAnswer => {
                let mut touched = store.records.take_touched();
                touched.answers.clear();
                store.records.put_back(touched);
            }
            Self::SkipsAPolicy => drop(store.policies.take_touched()),
        }
    }
}
