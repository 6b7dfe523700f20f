//! Asking the server, once and again and again.

use std::ops::Range;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::arguments::TopArguments;
use super::parse;
use super::reading::{Key, Kind, Part, Reading, Row};
use super::words::text;
use crate::client::arguments::Target;
use crate::client::connection::{ClientError, Connection};
use crate::client::reply::Reply;
use crate::clock::Clock;
use crate::core::units::Timestamp;
use crate::password::Password;

/// How long a connection, or an answer, is waited for. A server that takes longer cannot be watched.
const PATIENCE: Duration = Duration::from_secs(5);
/// Requests that are sent before their answers are read. Their bytes, 64 names of 512 bytes and a little, fit into what a
/// socket takes at once, so that neither side waits for the other to read.
const BATCH_MAX: usize = 64;
/// The first wait before a server that went away is tried again; it doubles up to the second.
const BACK_OFF: Duration = Duration::from_secs(1);
const BACK_OFF_MAX: Duration = Duration::from_secs(16);

/// What there is to ask.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Question {
    /// What keys are ranked by; without one, by each of them.
    pub kind: Option<Kind>,
    /// Which keys.
    pub pattern: Option<Vec<u8>>,
    /// How many of a kind.
    pub count: usize,
    /// The rows whose standing and past are asked for.
    pub closely: Range<usize>,
    /// A key that is looked at.
    pub key: Option<Vec<u8>>,
}

/// Whoever asks.
pub(super) struct Asker {
    target: Target,
    password: Password,
    database: u64,
    connection: Option<Connection>,
}

impl Asker {
    /// One that has not connected yet.
    ///
    /// # Errors
    /// A line about the password.
    pub(super) fn new(arguments: &TopArguments) -> Result<Self, String> {
        let password = arguments.target.password();
        Ok(Self {
            password: password.map_err(|error| error.to_string())?,
            target: arguments.target.clone(),
            database: arguments.database,
            connection: None,
        })
    }

    /// Asks, on a new connection if there is none any more.
    ///
    /// # Errors
    /// A line that says that there is no server, that it lets nobody in, or that it went away.
    pub(super) fn ask(&mut self, question: &Question) -> Result<Reading, String> {
        let asked = self.try_to_ask(question);
        // It may quote the server.
        asked.map_err(|error| text(error.to_string().as_bytes()))
    }

    fn try_to_ask(&mut self, question: &Question) -> Result<Reading, ClientError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let mut connection = Connection::open(&self.target, Some(PATIENCE))?;
                connection.prepare(&self.target.user, &self.password, false, self.database)?;
                // Shown by CLIENT LIST. A user who may not say it asks without a name.
                connection.call(&words(&[b"CLIENT", b"SETNAME", b"tollgate-top"]))?;
                connection
            }
        };
        let reading = ask(&mut connection, question)?;
        self.connection = Some(connection);
        Ok(reading)
    }
}

fn words(words: &[&[u8]]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.to_vec()).collect()
}

fn ask(connection: &mut Connection, question: &Question) -> Result<Reading, ClientError> {
    let requests = [words(&[b"TIME"]), words(&[b"INFO"]), top(question)];
    let replies = connection.calls(&requests)?;
    let [time, info, top] = &replies[..] else {
        // There are as many as requests.
        return Err(ClientError::Closed);
    };
    let mut rows = parse::rows(top);
    if let Ok(rows) = &mut rows {
        let end = question.closely.end.min(rows.len());
        let closely = &mut rows[question.closely.start.min(end)..end];
        look_closely(connection, closely)?;
    }
    let key = match &question.key {
        Some(name) => {
            let (standing, past) = of_keys(connection, &[name])?.remove(0);
            let name = name.clone();
            Some(Key {
                name,
                standing,
                past,
            })
        }
        None => None,
    };
    Ok(Reading {
        question: question.clone(),
        now_s: parse::time(time),
        server: parse::server(info),
        rows,
        key,
    })
}

fn top(question: &Question) -> Vec<Vec<u8>> {
    let mut top = words(&[b"RL.TOP"]);
    if let Some(kind) = question.kind {
        top.push(kind.name().as_bytes().to_vec());
    }
    top.extend([b"COUNT".to_vec(), question.count.to_string().into_bytes()]);
    if let Some(pattern) = &question.pattern {
        top.extend([b"MATCH".to_vec(), pattern.clone()]);
    }
    top
}

fn look_closely(connection: &mut Connection, rows: &mut [Row]) -> Result<(), ClientError> {
    let names: Vec<&Vec<u8>> = rows.iter().map(|row| &row.key).collect();
    let found = of_keys(connection, &names)?;
    for (row, (standing, past)) in rows.iter_mut().zip(found) {
        (row.standing, row.past) = (standing, past);
    }
    Ok(())
}

type Standing = Part<Option<super::reading::Standing>>;
type Past = Part<Option<super::reading::Past>>;

/// How each key stands, and its past. Each is asked for by itself: one that holds no limit is an error, and of several in
/// one call it would be the error of all.
fn of_keys(
    connection: &mut Connection,
    names: &[&Vec<u8>],
) -> Result<Vec<(Standing, Past)>, ClientError> {
    let about = |name: &&Vec<u8>| {
        let about = |command: &[u8]| words(&[command, name]);
        [about(b"RL.USAGE"), about(b"RL.HISTORY")]
    };
    let requests: Vec<Vec<Vec<u8>>> = names.iter().flat_map(about).collect();
    let mut replies: Vec<Reply> = Vec::with_capacity(requests.len());
    for batch in requests.chunks(BATCH_MAX) {
        replies.extend(connection.calls(batch)?);
    }
    let pairs = replies.chunks_exact(2);
    let pairs = pairs.map(|pair| (parse::standing(&pair[0]), parse::past(&pair[1])));
    Ok(pairs.collect())
}

/// What comes of asking again and again.
pub(super) enum News {
    /// An answer.
    Reading(Box<Reading>),
    /// There is no server, and why; when it is tried again.
    Lost(String, Duration),
}

/// Asks every `interval`, and at once when there is another question; a server that went away is tried again after
/// longer and longer waits. Ends when nobody listens any more.
pub(super) fn keep_asking(
    mut asker: Asker,
    mut question: Question,
    interval: Duration,
    questions: &Receiver<Question>,
    tell: impl Fn(News) -> bool,
) {
    let clock = Clock::system(Timestamp::ZERO);
    let mut back_off = BACK_OFF;
    let mut wait = interval;
    let mut is_lost = false;
    loop {
        let until_ns = clock.now().as_ns().saturating_add(nanoseconds(wait));
        loop {
            let left_ns = until_ns.saturating_sub(clock.now().as_ns());
            match questions.recv_timeout(Duration::from_nanos(left_ns)) {
                Ok(another) => question = another,
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
            // Keys that are pressed do not hurry a server that is not there.
            if !is_lost {
                break;
            }
        }
        // Of several that came meanwhile the last one counts.
        question = questions.try_iter().last().unwrap_or(question);
        let news = match asker.ask(&question) {
            Ok(reading) => {
                (is_lost, wait, back_off) = (false, interval, BACK_OFF);
                News::Reading(Box::new(reading))
            }
            Err(error) => {
                (is_lost, wait) = (true, back_off);
                back_off = (back_off * 2).min(BACK_OFF_MAX);
                News::Lost(error, wait)
            }
        };
        if !tell(news) {
            return;
        }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
