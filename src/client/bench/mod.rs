//! `tollgate bench`: a load generator for any server that speaks RESP.
//!
//! It is to measure the server and not itself. So requests are encoded once ([`template`]), replies are looked at and not
//! decoded ([`replies`]), a thread waits for all of its connections at once ([`worker`]), and it says what processor time
//! it used.

mod alarm;
pub mod arguments;
mod denial;
mod json;
mod keys;
mod peer;
mod record;
mod replies;
mod report;
mod supply;
mod template;
mod worker;

use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use arguments::BenchArguments;
use keys::Keys;
use record::Window;
use report::Report;
use supply::{End, Pace, Supply};
use template::Template;
use worker::{Message, Plan, Worker};

use super::cli::split;
use super::connection::{ClientError, Connection};
use super::dial::Stream;
use crate::clock::Clock;
use crate::core::units::Timestamp;

/// Calls, if neither their number nor a duration is given.
const CALLS: u64 = 100_000;
/// From the last connection to the first call, in nanoseconds: the threads start meanwhile.
const HEAD_START_NS: u64 = 1_000_000;
/// The largest weight of a command.
const WEIGHT_MAX: u64 = 1_000_000;

/// Runs the generator and prints what it saw; false if that is no measurement: calls without an answer, or nothing
/// but errors.
///
/// # Errors
/// A line that says why it could not run to its end.
pub fn run(arguments: &BenchArguments) -> Result<bool, String> {
    let templates = templates(arguments)?;
    let threads = arguments.threads.min(arguments.connections);
    let streams = connect(arguments).map_err(|error| error.to_string())?;
    let plan = Arc::new(Plan {
        templates,
        pipeline: arguments.pipeline,
        patience_ns: nanoseconds(arguments.patience),
        clock: Clock::system(Timestamp::ZERO),
    });
    let warmup_ns = nanoseconds(arguments.warmup);
    let start_ns = plan.clock.now().as_ns() + HEAD_START_NS;
    let counts_from_ns = start_ns + warmup_ns;
    let receiver = start(arguments, &plan, threads, streams, start_ns)?;

    let mut report = Report {
        arguments,
        plan: &plan,
        threads,
        seen: Window::new(plan.templates.len()),
        unanswered: 0,
        unsent: 0,
        counts_from_ns,
    };
    let mut running = threads;
    // What the threads have told since the last line of progress.
    let mut recent = Window::new(plan.templates.len());
    while running > 0 {
        match receiver.recv().map_err(|error| error.to_string())? {
            Message::Window(thread, window) => {
                recent.add(window);
                if thread == 0 {
                    if !arguments.quiet {
                        progress(&report.progress(&recent));
                    }
                    let told = std::mem::replace(&mut recent, Window::new(plan.templates.len()));
                    report.seen.add(told);
                }
            }
            Message::Done {
                window,
                unanswered,
                unsent,
            } => {
                recent.add(window);
                report.unanswered += unanswered;
                report.unsent += unsent;
                running -= 1;
            }
            Message::Failed(line) => return Err(line),
        }
    }
    report.seen.add(recent);
    if !arguments.quiet && io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
    let text = match arguments.json {
        true => json::text(&report),
        false => report.text(),
    };
    let mut out = io::stdout().lock();
    // Whoever read the output has gone; that is no failure.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    Ok(report.is_fine())
}

/// The commands of the command line.
fn templates(arguments: &BenchArguments) -> Result<Vec<Template>, String> {
    let mut templates = Vec::new();
    if !arguments.words.is_empty() {
        let words = arguments.words.iter();
        let words: Vec<Vec<u8>> = words.map(|word| word.as_bytes().to_vec()).collect();
        templates.push(Template::new(&words, 1));
    }
    for line in &arguments.mix {
        let (weight, command) = weighted(line.as_bytes())?;
        let shown = || command.escape_ascii().to_string();
        let words = split(command).map_err(|error| format!("--mix '{}': {error}", shown()))?;
        if words.is_empty() {
            return Err(
                "--mix takes a command, with its weight before it or not: '9: GET __key__'"
                    .to_owned(),
            );
        }
        templates.push(Template::new(&words, weight));
    }
    match templates.is_empty() {
        true => {
            Err("name a command, such as: tollgate bench RL.RESERVE __key__ 80 80 30000".to_owned())
        }
        false => Ok(templates),
    }
}

/// `9: GET k` is weight 9 and `GET k`; without a number before a colon the weight is 1.
fn weighted(line: &[u8]) -> Result<(u64, &[u8]), String> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 || line.get(digits) != Some(&b':') {
        return Ok((1, line));
    }
    let weight = crate::core::number::integer(&line[..digits])
        .filter(|weight| (1..=WEIGHT_MAX).contains(weight))
        .ok_or_else(|| format!("a weight of --mix is a number from 1 to {WEIGHT_MAX}"))?;
    Ok((weight, &line[digits + 1..]))
}

/// Opens all connections.
fn connect(arguments: &BenchArguments) -> Result<Vec<Stream>, ClientError> {
    let target = &arguments.target;
    let password = target
        .password()
        .map_err(|error| ClientError::Refused(error.to_string()))?;
    let open = |_| {
        let mut connection = Connection::open(target, None)?;
        connection.prepare(&target.user, &password, arguments.resp3, arguments.database)?;
        Ok(connection.into_stream())
    };
    (0..arguments.connections).map(open).collect()
}

/// Starts the threads; what they tell comes out of the receiver.
fn start(
    arguments: &BenchArguments,
    plan: &Arc<Plan>,
    threads: u64,
    mut streams: Vec<Stream>,
    start_ns: u64,
) -> Result<Receiver<Message>, String> {
    let warmup_ns = nanoseconds(arguments.warmup);
    let (sender, receiver) = channel();
    for thread in 0..threads {
        let part = |whole: u64| whole / threads + u64::from(thread < whole % threads);
        let end = match arguments.duration {
            Some(duration) => End::At(start_ns + warmup_ns + nanoseconds(duration)),
            None => End::Calls(part(arguments.calls.unwrap_or(CALLS))),
        };
        let pace = arguments.rate.map(|rate| Pace {
            rate,
            threads,
            thread,
        });
        let keys = Keys::new(
            arguments.draw,
            arguments.keys,
            arguments.seed,
            thread,
            threads,
        );
        let mine = streams.split_off(streams.len() - part(arguments.connections) as usize);
        let worker = Worker::new(
            plan.clone(),
            thread as usize,
            Supply::new(start_ns, warmup_ns, end, pace),
            keys,
            mine,
            sender.clone(),
        );
        let worker = worker.map_err(|error| format!("cannot start: {error}"))?;
        std::thread::Builder::new()
            .spawn(|| worker.run())
            .map_err(|error| format!("cannot start a thread: {error}"))?;
    }
    Ok(receiver)
}

/// Shows a line while it runs: over the last one at a terminal.
fn progress(line: &str) {
    match io::stderr().is_terminal() {
        true => eprint!("\r\x1b[K{line}"),
        false => eprintln!("{line}"),
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_stands_before_a_colon() {
        assert_eq!(weighted(b"9: GET k"), Ok((9, &b" GET k"[..])));
        assert_eq!(weighted(b"GET k:1"), Ok((1, &b"GET k:1"[..])));
        assert_eq!(weighted(b"9GET k"), Ok((1, &b"9GET k"[..])));
        assert!(weighted(b"0: GET k").is_err());
        assert!(weighted(b"99999999: GET k").is_err());
    }
}
