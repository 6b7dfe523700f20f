//! `tollgate demo`: some calls to look at, made against a running server, and at their end whether the server counted what
//! was sent.
//!
//! Four workers share three keys. One never waits and is mostly denied; two wait on the server, and one of them is told
//! 429 by an imagined provider and pauses the key for both; the fourth is slow by itself, and no limit holds it. From
//! outside all four look alike: little comes out. What tells them apart is what `tollgate top` and the page show.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use clap::Args;

use super::arguments::{Target, timeout};
use super::connection::Connection;
use super::reply::{Reply, error_text};
use super::top::parse;
use super::top::reading::Kind;
use super::top::words::{name, text};
use crate::clock::Clock;
use crate::core::units::Timestamp;
use crate::password::Password;

/// The run must lie within the ten minutes that `RL.TOP` counts, with a minute to spare.
const DURATION_MAX: Duration = Duration::from_secs(9 * 60);
/// Shorter, nobody would be paused.
const DURATION_MIN: Duration = Duration::from_secs(1);
/// The longest wait that a call asks for, in milliseconds: longer than a pause.
const MAX_WAIT_MS: u64 = 60_000;
/// How long an answer is waited for beyond that.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest prefix, in bytes: a name of 512 has room for the rest.
const PREFIX_MAX: usize = 400;

/// Flags of `tollgate demo`.
#[derive(Args, Clone, Debug)]
#[command(disable_help_flag = true)]
pub struct DemoArguments {
    /// Which server.
    #[command(flatten)]
    pub target: Target,

    /// Database
    #[arg(short = 'n', long = "db", value_name = "DB", default_value_t = 0)]
    pub database: u64,

    /// How long it runs, from 1s to 9m
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    pub duration: Duration,

    /// What the names of its keys begin with; behind it comes a number that is drawn anew each time
    #[arg(long, value_name = "TEXT", default_value = "demo:", value_parser = prefix)]
    pub prefix: String,
}

fn duration(value: &str) -> Result<Duration, String> {
    let duration = timeout(value).ok();
    let fits = |duration: &Duration| (DURATION_MIN..=DURATION_MAX).contains(duration);
    let duration = duration.filter(fits);
    duration.ok_or_else(|| "a duration from 1s to 9m, such as 30s".to_owned())
}

fn prefix(value: &str) -> Result<String, String> {
    match value.len() <= PREFIX_MAX {
        true => Ok(value.to_owned()),
        false => Err(format!("at most {PREFIX_MAX} bytes")),
    }
}

/// What a worker does again and again.
#[derive(Clone)]
struct Work {
    key: Vec<u8>,
    call: Vec<Vec<u8>>,
    /// How long it takes for what it was let do, or waits before it asks again.
    each: Duration,
    /// When it is told 429, from the beginning on, and for how long.
    pause: Option<(Duration, Duration)>,
}

/// What one was told.
#[derive(Clone, Copy, Default)]
struct Told {
    granted: u64,
    denied: u64,
    waited: u64,
}

impl Told {
    fn add(&mut self, other: &Self) {
        self.granted += other.granted;
        self.denied += other.denied;
        self.waited += other.waited;
    }
}

/// Runs it; false if the server did not count what was sent.
///
/// # Errors
/// A line that says why it could not run to its end.
pub fn run(arguments: &DemoArguments) -> Result<bool, String> {
    let password = arguments.target.password();
    let password = password.map_err(|error| error.to_string())?;
    let mut connection = connect(arguments, &password)?;
    let number = getrandom::u32().map_err(|error| error.to_string())?;
    let beginning = format!("{}{:04x}:", arguments.prefix, number & 0xffff);
    // Before anything is called: whoever may not ask, or asks another server, is told so.
    ranked(&mut connection, &beginning)?;
    let works = works(&beginning, arguments.duration);
    say(&announcement(arguments, &works, &beginning));
    let told = work(arguments, &password, &works);
    let compared = told.and_then(|told| {
        let counted = ranked(&mut connection, &beginning)?;
        Ok(compare(&told, &counted))
    });
    let mut remove = vec![b"DEL".to_vec()];
    remove.extend(works.iter().map(|work| work.key.clone()));
    let removed = call(&mut connection, &remove);
    let (table, agrees) = compared?;
    removed?;
    say(&table);
    Ok(agrees)
}

fn connect(arguments: &DemoArguments, password: &Password) -> Result<Connection, String> {
    let patience = Duration::from_millis(MAX_WAIT_MS) + PATIENCE;
    let open = || {
        let mut connection = Connection::open(&arguments.target, Some(patience))?;
        connection.prepare(&arguments.target.user, password, false, arguments.database)?;
        Ok(connection)
    };
    open().map_err(|error: super::connection::ClientError| text(error.to_string().as_bytes()))
}

/// The reply to a command that must not fail.
fn call(connection: &mut Connection, words: &[Vec<u8>]) -> Result<Reply, String> {
    let reply = connection.call(words);
    let reply = reply.map_err(|error| text(error.to_string().as_bytes()))?;
    match error_text(&reply) {
        Some(error) => {
            let command = words.first().map_or(&b""[..], |word| word);
            Err(format!("{}: {}", text(command), text(error.as_bytes())))
        }
        None => Ok(reply),
    }
}

/// Four workers, three keys.
fn works(beginning: &str, duration: Duration) -> [Work; 4] {
    let work = |name: &str, command: &str, limit: &str, each_ms| {
        let key = format!("{beginning}{name}").into_bytes();
        let mut call = vec![command.as_bytes().to_vec(), key.clone()];
        call.extend(limit.split(' ').map(|word| word.as_bytes().to_vec()));
        Work {
            key,
            call,
            each: Duration::from_millis(each_ms),
            pause: None,
        }
    };
    let wait = format!("PACE 4 {MAX_WAIT_MS}");
    let mut mailer = work("mail", "RL.ACQUIRE", &wait, 0);
    mailer.pause = Some((duration / 4, (duration / 6).min(Duration::from_secs(20))));
    [
        work("web", "RL.TAKE", "40 20", 10),
        mailer,
        work("mail", "RL.ACQUIRE", &wait, 0),
        work(
            "reports",
            "RL.RESERVE",
            &format!("10 100 {MAX_WAIT_MS}"),
            400,
        ),
    ]
}

fn announcement(arguments: &DemoArguments, works: &[Work; 4], beginning: &str) -> String {
    let [web, mail, _, reports] = works.each_ref().map(|work| name(&work.key));
    let (at, pause) = works[1].pause.unwrap_or_default();
    let pattern = name(format!("{beginning}*").as_bytes());
    format!(
        "Four workers call three keys for {:?}. Look at them in another terminal:\n\
         \x20 tollgate top --match '{}'\n\n\
         {web}      one who never waits and asks a hundred times a second for one of 20: denied\n\
         {mail}     two who wait on the server for one of 4 a second; after {at:?} one is told 429 and pauses it for {pause:?}\n\
         {reports}  one who takes 400 ms for each, of 100 a second: slow, and not limited\n\n",
        arguments.duration,
        pattern.trim_matches('"'),
    )
}

/// Lets all of them work; what was told at each key.
fn work(
    arguments: &DemoArguments,
    password: &Password,
    works: &[Work; 4],
) -> Result<BTreeMap<Vec<u8>, Told>, String> {
    let connections = works.iter().map(|_| connect(arguments, password));
    let connections = connections.collect::<Result<Vec<_>, _>>()?;
    let (tell, results) = channel();
    let mut stops = Vec::new();
    for (work, connection) in works.iter().zip(connections) {
        let (stop, stopped) = channel();
        stops.push(stop);
        let worker = Worker {
            work: work.clone(),
            connection,
            stopped,
        };
        let (tell, duration) = (tell.clone(), arguments.duration);
        // Whoever does not listen any more has failed already.
        std::thread::spawn(move || drop(tell.send(worker.run(duration))));
    }
    drop(tell);
    let mut told: BTreeMap<Vec<u8>, Told> = BTreeMap::new();
    let mut failed = None;
    for _ in works {
        let result = results.recv();
        match result.unwrap_or_else(|_| Err("a worker has failed; please report it".to_owned())) {
            Ok((key, of_one)) => told.entry(key).or_default().add(&of_one),
            Err(line) => {
                // The others are waited for, so that none comes back to a key that was removed.
                stops.clear();
                failed.get_or_insert(line);
            }
        }
    }
    failed.map_or(Ok(told), Err)
}

/// One who works, on a connection of its own.
struct Worker {
    work: Work,
    connection: Connection,
    /// Closed when it should end early.
    stopped: Receiver<()>,
}

impl Worker {
    /// Works for that long; its key, and what it was told.
    fn run(mut self, duration: Duration) -> Result<(Vec<u8>, Told), String> {
        let clock = Clock::system(Timestamp::ZERO);
        let after = |span: Duration| {
            let ns = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
            clock.now().after_ns(ns)
        };
        let end = after(duration);
        let mut pause = self.work.pause.map(|(at, span)| (after(at), span));
        let mut told = Told::default();
        while clock.now() < end {
            if let Some((_, span)) = pause.take_if(|(at, _)| *at <= clock.now()) {
                let ms = span.as_millis().to_string().into_bytes();
                let words = [b"RL.PAUSE".to_vec(), self.work.key.clone(), ms];
                call(&mut self.connection, &words)?;
            }
            let reply = call(&mut self.connection, &self.work.call)?;
            let wait = told.note(&reply)?;
            // What was reserved for later is done later; a call that waited on the server comes back in time.
            let reserved = match self.work.call.first() {
                Some(command) if command == b"RL.RESERVE" => wait,
                _ => Duration::ZERO,
            };
            match self.stopped.recv_timeout(self.work.each + reserved) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => break,
            }
        }
        Ok((self.work.key, told))
    }
}

impl Told {
    /// Counts an answer: a number of milliseconds to wait, below zero if it may not go, or a list that begins with 1 if
    /// it may not go. The wait.
    fn note(&mut self, reply: &Reply) -> Result<Duration, String> {
        let number = |reply: &Reply| match reply {
            Reply::Number { data, .. } => Some(*data),
            _ => None,
        };
        let wait_ms = match reply {
            Reply::Array { data, .. } => {
                let limited = data.first().and_then(number);
                limited.map(|limited| if limited == 0 { 0 } else { -1 })
            }
            reply => number(reply),
        };
        let wait_ms = wait_ms.ok_or("the server's answer is not understood")?;
        match u64::try_from(wait_ms) {
            Ok(wait_ms) => {
                self.granted += 1;
                self.waited += u64::from(wait_ms > 0);
                Ok(Duration::from_millis(wait_ms))
            }
            Err(_) => {
                self.denied += 1;
                Ok(Duration::ZERO)
            }
        }
    }
}

/// What the server counted at the keys of a run: calls of the last ten minutes, and by how much that may be too high.
type Counted = BTreeMap<(Vec<u8>, &'static str), (u64, u64)>;

fn ranked(connection: &mut Connection, beginning: &str) -> Result<Counted, String> {
    let mut pattern = Vec::new();
    for byte in beginning.bytes() {
        if matches!(byte, b'*' | b'?' | b'[' | b']' | b'\\') {
            pattern.push(b'\\');
        }
        pattern.push(byte);
    }
    pattern.push(b'*');
    let words = ["RL.TOP", "COUNT", "256", "MATCH"].map(|word| word.as_bytes().to_vec());
    let reply = call(connection, &[&words[..], &[pattern]].concat())?;
    let rows = parse::rows(&reply)?.into_iter();
    let counted = rows.map(|row| {
        let calls = (row.ten_minutes.calls, row.ten_minutes.error);
        ((row.key, row.kind.name()), calls)
    });
    Ok(counted.collect())
}

/// What was sent beside what was counted, and whether the one is the other.
fn compare(told: &BTreeMap<Vec<u8>, Told>, counted: &Counted) -> (String, bool) {
    let mut lines = vec![["KEY", "", "SENT", "RL.TOP"].map(str::to_owned)];
    let mut agrees = true;
    for (key, told) in told {
        // Whether a pause held a call is not in its answer.
        for (kind, sent) in [
            (Kind::Granted, told.granted),
            (Kind::Denied, told.denied),
            (Kind::Waited, told.waited),
        ] {
            let counted = counted.get(&(key.clone(), kind.name()));
            let (calls, error) = counted.copied().unwrap_or_default();
            agrees &= sent <= calls && calls.saturating_sub(error) <= sent;
            let about = match error {
                0 => calls.to_string(),
                _ => format!("{} to {calls}", calls.saturating_sub(error)),
            };
            lines.push([name(key), kind.name().to_owned(), sent.to_string(), about]);
        }
    }
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max();
    let widths: Vec<usize> = (0..4).map(|column| width(column).unwrap_or(0)).collect();
    let mut out = String::new();
    for [key, kind, sent, calls] in &lines {
        let [of_key, of_kind, of_sent, of_calls] = widths[..] else {
            break;
        };
        out += &format!("{key:of_key$}  {kind:of_kind$}  {sent:>of_sent$}  {calls:>of_calls$}\n");
    }
    out += match agrees {
        true => "\nThe server counted what was sent.\n",
        false => "\nThe server did NOT count what was sent.\n",
    };
    (out, agrees)
}

/// Prints to standard output; whoever stopped reading it does not want the rest.
fn say(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
