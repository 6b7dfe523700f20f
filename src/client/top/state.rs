//! What is on the screen, and what the keys on the keyboard do to it.

use std::time::Duration;

use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::ask::{News, Question};
use super::rates::Rates;
use super::reading::{Kind, Reading, Row};

/// Keys of a kind that are ranked.
pub(super) const RANKED_MAX: usize = 100;
/// Longest pattern that can be typed, in bytes: as long as a name.
const PATTERN_MAX: usize = 512;

/// What is shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum View {
    /// The ranked keys.
    Table,
    /// One key.
    Key(Vec<u8>),
}

/// A server that is not there.
pub(super) struct Lost {
    pub reason: String,
    /// When it is tried again.
    pub again_in: Duration,
}

/// All of it.
pub(super) struct State {
    /// Where the server is.
    pub place: String,
    pub database: u64,
    pub view: View,
    /// What the keys do is shown instead.
    pub is_helping: bool,
    pub kind: Kind,
    /// Which keys are shown.
    pub pattern: Option<String>,
    /// What is being typed as a pattern.
    pub typed: Option<String>,
    /// The row that is chosen, and its key, which it follows.
    pub chosen: usize,
    chosen_key: Option<Vec<u8>>,
    /// The first row on the screen, and how many there is room for. The screen says so when it is drawn.
    pub first: usize,
    pub room: usize,
    /// The last answer.
    pub reading: Reading,
    pub rates: Rates,
    pub lost: Option<Lost>,
}

/// What is to be done after a key.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Then {
    GoOn,
    End,
}

impl State {
    pub(super) fn new(
        place: String,
        database: u64,
        kind: Kind,
        pattern: Option<String>,
        reading: Reading,
    ) -> Self {
        let mut rates = Rates::default();
        if let Ok(server) = &reading.server {
            rates.note(server);
        }
        Self {
            place,
            database,
            view: View::Table,
            is_helping: false,
            kind,
            pattern,
            typed: None,
            chosen: 0,
            chosen_key: None,
            first: 0,
            room: 0,
            reading,
            rates,
            lost: None,
        }
    }

    /// The ranked keys, if the last answer is about what is shown now.
    pub(super) fn rows(&self) -> Option<&Result<Vec<Row>, String>> {
        let asked = &self.reading.question;
        let is_current = asked.kind == Some(self.kind) && asked.pattern == self.pattern_bytes();
        is_current.then_some(&self.reading.rows)
    }

    fn rows_or_none(&self) -> &[Row] {
        match self.rows() {
            Some(Ok(rows)) => rows,
            _ => &[],
        }
    }

    fn pattern_bytes(&self) -> Option<Vec<u8>> {
        let pattern = self.pattern.as_ref();
        pattern.map(|pattern| pattern.clone().into_bytes())
    }

    /// What to ask for what is shown.
    pub(super) fn question(&self) -> Question {
        let key = match &self.view {
            View::Key(key) => Some(key.clone()),
            View::Table => None,
        };
        Question {
            kind: Some(self.kind),
            pattern: self.pattern_bytes(),
            count: RANKED_MAX,
            closely: match key.is_some() {
                true => 0..0,
                false => self.first..self.first + self.room,
            },
            key,
        }
    }

    /// Takes in what came of asking.
    pub(super) fn hear(&mut self, news: News) {
        match news {
            News::Reading(reading) => {
                if let Ok(server) = &reading.server {
                    self.rates.note(server);
                }
                self.reading = *reading;
                self.lost = None;
                let rows = self.rows_or_none();
                let key = self.chosen_key.as_ref();
                let found = key.and_then(|key| rows.iter().position(|row| row.key == *key));
                self.choose(found.unwrap_or(self.chosen));
            }
            News::Lost(reason, again_in) => self.lost = Some(Lost { reason, again_in }),
        }
    }

    /// There is room for so many rows.
    pub(super) fn has_room(&mut self, room: usize) {
        self.room = room;
        let last = self.rows_or_none().len().saturating_sub(1);
        let first = self.first.min(self.chosen);
        let first = first.max((self.chosen + 1).saturating_sub(room));
        self.first = first.min((last + 1).saturating_sub(room));
    }

    fn choose(&mut self, index: usize) {
        let last = self.rows_or_none().len().saturating_sub(1);
        self.chosen = index.min(last);
        let row = self.rows_or_none().get(self.chosen);
        // A row that is gone for a moment is found again if it comes back.
        if let Some(key) = row.map(|row| row.key.clone()) {
            self.chosen_key = Some(key);
        }
    }

    /// Another ranking: from its top.
    fn rank(&mut self, kind: Kind, pattern: Option<String>) {
        (self.kind, self.pattern) = (kind, pattern);
        (self.chosen, self.first, self.chosen_key) = (0, 0, None);
    }

    /// A key was pressed.
    pub(super) fn press(&mut self, key: KeyEvent) -> Then {
        if key.kind == KeyEventKind::Release {
            return Then::GoOn;
        }
        let with_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if with_control && key.code == KeyCode::Char('c') {
            return Then::End;
        }
        if self.typed.is_some() {
            self.type_pattern(key.code, with_control);
            return Then::GoOn;
        }
        if key.code == KeyCode::Char('q') {
            return Then::End;
        }
        if self.is_helping || matches!(key.code, KeyCode::Char('?' | 'h')) {
            self.is_helping = !self.is_helping;
            return Then::GoOn;
        }
        match (&self.view, key.code) {
            (View::Key(_), KeyCode::Esc | KeyCode::Enter | KeyCode::Backspace | KeyCode::Left) => {
                self.view = View::Table;
            }
            (View::Key(_), _) => {}
            (View::Table, code) => self.press_in_table(code),
        }
        Then::GoOn
    }

    fn press_in_table(&mut self, code: KeyCode) {
        let page = self.room.max(1);
        match code {
            KeyCode::Down | KeyCode::Char('j') => self.choose(self.chosen + 1),
            KeyCode::Up | KeyCode::Char('k') => self.choose(self.chosen.saturating_sub(1)),
            KeyCode::PageDown => self.choose(self.chosen + page),
            KeyCode::PageUp => self.choose(self.chosen.saturating_sub(page)),
            KeyCode::Home | KeyCode::Char('g') => self.choose(0),
            KeyCode::End | KeyCode::Char('G') => self.choose(usize::MAX),
            KeyCode::Tab | KeyCode::Right | KeyCode::Char('l') => self.turn(1),
            KeyCode::BackTab | KeyCode::Left => self.turn(Kind::ALL.len() - 1),
            KeyCode::Char('/') => self.typed = Some(self.pattern.clone().unwrap_or_default()),
            KeyCode::Esc => self.rank(self.kind, None),
            KeyCode::Enter => {
                if let Some(row) = self.rows_or_none().get(self.chosen) {
                    self.view = View::Key(row.key.clone());
                }
            }
            _ => {}
        }
    }

    /// So many tabs on.
    fn turn(&mut self, steps: usize) {
        let at = Kind::ALL.iter().position(|kind| *kind == self.kind);
        let next = (at.unwrap_or(0) + steps) % Kind::ALL.len();
        self.rank(Kind::ALL[next], self.pattern.clone());
    }

    fn type_pattern(&mut self, code: KeyCode, with_control: bool) {
        let Some(typed) = &mut self.typed else {
            return;
        };
        match code {
            KeyCode::Char('u') if with_control => typed.clear(),
            KeyCode::Char(_) if with_control => {}
            KeyCode::Char(character) if typed.len() + character.len_utf8() <= PATTERN_MAX => {
                typed.push(character);
            }
            KeyCode::Backspace => drop(typed.pop()),
            KeyCode::Esc => self.typed = None,
            KeyCode::Enter => {
                let pattern = self.typed.take().filter(|typed| !typed.is_empty());
                self.rank(self.kind, pattern.map(found_anywhere));
            }
            _ => {}
        }
    }
}

/// A text without any sign of a pattern is looked for anywhere in a name.
fn found_anywhere(typed: String) -> String {
    match typed.contains(['*', '?', '[', '\\']) {
        true => typed,
        false => format!("*{typed}*"),
    }
}
