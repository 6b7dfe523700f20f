//! Which tickets and answers have changed since the journal last looked.

use super::{Home, Records, Remembered, Ticket};
use std::collections::HashSet;

/// More numbers than are given from one batch of the journal to the next.
const NUMBERS_AHEAD: u64 = 1_000_000;

/// What an answer is found by: the first key of its request, and the request's id.
pub type AnswerName = (Home, Box<[u8]>);

/// Names of tickets and answers that are new, changed or gone. Kept under the lock of their table.
#[derive(Default)]
pub struct TouchedRecords {
    on: bool,
    /// Numbers of tickets.
    pub tickets: HashSet<u64>,
    /// Names of answers.
    pub answers: HashSet<AnswerName>,
}

impl TouchedRecords {
    pub(super) fn start(&mut self) {
        self.on = true;
    }

    pub(super) fn ticket(&mut self, number: u64) {
        if self.on {
            self.tickets.insert(number);
        }
    }

    pub(super) fn answer(&mut self, home: &Home, id: &[u8]) {
        if self.on {
            self.answers.insert((home.clone(), id.into()));
        }
    }

    pub(super) fn take(&mut self) -> Self {
        Self {
            on: false,
            tickets: std::mem::take(&mut self.tickets),
            answers: std::mem::take(&mut self.answers),
        }
    }

    pub(super) fn put_back(&mut self, other: Self) {
        self.tickets.extend(other.tickets);
        self.answers.extend(other.answers);
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.tickets.is_empty() && self.answers.is_empty()
    }

    /// How many there are.
    fn len(&self) -> usize {
        self.tickets.len() + self.answers.len()
    }
}

impl Records {
    /// A number above all that are given until the next batch of the journal is written, which has the next such number: so
    /// that a server which starts from what is on disk gives none twice, whatever its clock says.
    pub fn number_ahead(&self) -> u64 {
        let number = self.last_number().saturating_add(NUMBERS_AHEAD);
        number.min(i64::MAX as u64)
    }

    /// From now on tickets and answers that change are noted.
    pub fn note_changes(&self) {
        self.0.lock().touched.start();
    }

    /// How many have changed since the journal last looked.
    pub fn touched(&self) -> usize {
        self.0.lock().touched.len()
    }

    /// Takes out which tickets and answers have changed.
    pub fn take_touched(&self) -> TouchedRecords {
        self.0.lock().touched.take()
    }

    /// Puts back what was taken out and could not be written.
    pub fn put_back(&self, touched: TouchedRecords) {
        self.0.lock().touched.put_back(touched);
    }

    /// Calls `f` with the database and the ticket of each number, `None` if there is none.
    pub fn for_tickets(&self, numbers: &[u64], mut f: impl FnMut(u64, Option<(u8, &Ticket)>)) {
        let tables = self.0.lock();
        for number in numbers {
            let home = tables.homes.get(number);
            let ticket =
                home.and_then(|home| Some((home.0, tables.tickets.get(home)?.get(number)?)));
            f(*number, ticket);
        }
    }

    /// Calls `f` with what is remembered for each id of a key, `None` if nothing is, and whether that is noted as changed.
    pub fn for_answers<'a>(
        &self,
        names: impl IntoIterator<Item = &'a AnswerName>,
        mut f: impl FnMut(&AnswerName, Option<&Remembered>, bool),
    ) {
        let tables = self.0.lock();
        for name in names {
            let of_key = tables.answers.get(&name.0);
            let remembered = of_key.and_then(|of_key| Some(&of_key.get(&name.1)?.1));
            f(name, remembered, tables.touched.answers.contains(name));
        }
    }

    /// Takes a ticket out that is gone, and nothing else.
    pub fn take_out_ticket(&self, number: u64) {
        let mut tables = self.0.lock();
        if let Some(home) = tables.homes.get(&number).cloned() {
            drop(tables.remove_ticket(&home, number));
        }
    }

    /// Takes an answer out that is gone.
    pub fn take_out_answer(&self, home: &Home, id: &[u8]) {
        self.0.lock().remove_answer(home, id);
    }
}
