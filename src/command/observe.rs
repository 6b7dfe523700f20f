//! What others learn of a command that has run: the counts of INFO, SLOWLOG, LATENCY and MONITOR.

use super::connection::Connection;
use super::context::Shared;
use super::spec::{Flags, Spec};
use crate::core::units::{MICROSECOND, MILLISECOND, SECOND, Timestamp};
use crate::metrics::{self, SlowEntry, Tally};
use crate::protocol::Arguments;
use std::io::Write as _;

/// What stands for an argument that nobody else may see.
const REDACTED: &[u8] = b"(redacted)";

/// Longest line that monitors are sent, unless their replies are bound to less: the longest value there is, with
/// room. One line must not cut off a monitor that reads.
const LINE_BYTES_MAX: usize = 128 * 1024;

/// Most arguments of a command that is quick: of more it may take long to look at them all.
const QUICK_ARGUMENTS_MAX: usize = 16;
/// Most quick commands from one reading of the clock to the next, so that the time at which they run is never older
/// than some microseconds.
const STRETCH_MAX: u32 = 16;
/// The longest time that the clock may take from one tick to the next, in nanoseconds.
const TICK_MAX_NS: u64 = 10 * MILLISECOND;

/// True for a command that takes well under a microsecond or two, whatever there is in the store.
fn is_quick(spec: &'static Spec, arguments: Arguments<'_>) -> bool {
    spec.flags.has(Flags::FAST)
        && !spec.flags.has(Flags::EXCLUSIVE)
        && arguments.len() <= QUICK_ARGUMENTS_MAX
}

/// How long a command takes that SLOWLOG or LATENCY is to hear of, in nanoseconds.
fn long_ns(shared: &Shared) -> u64 {
    let settings = &shared.settings;
    let slow_ns = settings.slowlog_slower_than_ns();
    slow_ns.min(settings.latency_threshold_ns())
}

/// Reads the clock before a command that may take long, if quick ones have run since it was read.
pub fn begins(
    spec: &'static Spec,
    shared: &Shared,
    connection: &mut Connection,
    arguments: Arguments<'_>,
    tally: &mut Tally,
) {
    if tally.has_stretch() && !is_quick(spec, arguments) {
        settle(shared, connection, tally);
    }
}

/// Reads the clock behind quick commands.
pub fn settle(shared: &Shared, connection: &mut Connection, tally: &mut Tally) {
    if tally.has_stretch() {
        let ns = connection.read_clock(&shared.clock);
        tally.end_stretch(ns);
    }
}

/// A command that began at `began` has run. The clock is read, and the command after it in the same batch begins at
/// what it says; but not behind each of several quick ones, unless one took so long that a tick of the clock passed, or
/// they are looked at more closely than that.
pub fn ran(
    spec: &'static Spec,
    shared: &Shared,
    connection: &mut Connection,
    arguments: Arguments<'_>,
    tally: &mut Tally,
    began: Timestamp,
    failed: bool,
) {
    if is_quick(spec, arguments) && long_ns(shared) >= TICK_MAX_NS {
        let calls = tally.ran_quickly(spec.name, failed);
        if calls >= STRETCH_MAX || shared.clock.tick() != connection.ran_until_tick {
            let ns = connection.read_clock(&shared.clock);
            let took_ns = tally.end_stretch(ns);
            measured(spec, shared, connection, arguments, tally, took_ns);
        }
    } else {
        settle(shared, connection, tally);
        connection.read_clock(&shared.clock);
        let took_ns = connection.ran_until.since(began);
        tally.ran(spec.name, took_ns, failed);
        measured(spec, shared, connection, arguments, tally, took_ns);
    }
    // As in Redis nobody watches administrators.
    if shared.clients.monitors.any() && !spec.flags.has(Flags::ADMIN) {
        show(spec, shared, connection, arguments);
    }
}

/// It is known how long a command took.
fn measured(
    spec: &'static Spec,
    shared: &Shared,
    connection: &Connection,
    arguments: Arguments<'_>,
    tally: &mut Tally,
    took_ns: u64,
) {
    if tally.is_full() {
        shared.metrics.add(&tally.take());
    }
    if took_ns >= long_ns(shared) {
        took_long(spec, shared, connection, arguments, took_ns);
    }
}

/// Shows monitors a command.
#[cold]
fn show(spec: &'static Spec, shared: &Shared, connection: &Connection, arguments: Arguments<'_>) {
    let bytes_max = shared.settings.client_output_limit();
    let mut line = Vec::with_capacity(128);
    write_line(
        &mut line,
        spec,
        connection,
        arguments,
        bytes_max.min(LINE_BYTES_MAX),
    );
    shared.clients.monitors.push(&line, bytes_max);
}

/// Notes a command that took long, for SLOWLOG and for LATENCY.
#[cold]
fn took_long(
    spec: &'static Spec,
    shared: &Shared,
    connection: &Connection,
    arguments: Arguments<'_>,
    took_ns: u64,
) {
    let settings = &shared.settings;
    let at_s = connection.ran_until.as_ns() / SECOND;
    if took_ns >= settings.slowlog_slower_than_ns() && !spec.flags.has(Flags::SKIP_SLOWLOG) {
        let entry = SlowEntry {
            id: 0,
            at_s,
            took_us: took_ns / MICROSECOND,
            arguments: metrics::cut(shown(spec, arguments)),
            peer: connection.client.peer.clone(),
            name: connection.client.labels.read().name.clone(),
        };
        let slowlog = &shared.metrics.slowlog;
        slowlog.add(entry, settings.slowlog_len_max());
    }
    if took_ns >= settings.latency_threshold_ns() {
        let event = if spec.flags.has(Flags::FAST) {
            "fast-command"
        } else {
            "command"
        };
        let latency = &shared.metrics.latency;
        latency.add(event, at_s, took_ns / MILLISECOND);
    }
}

/// The words of a request, secrets aside.
fn shown<'a>(
    spec: &'static Spec,
    arguments: Arguments<'a>,
) -> impl ExactSizeIterator<Item = &'a [u8]> {
    let words = arguments.iter().enumerate();
    words.map(move |(at, word)| {
        if (spec.secret)(arguments, at) {
            REDACTED
        } else {
            word
        }
    })
}

/// A line for monitors: `+1700000000.000000 [0 127.0.0.1:50000] "PING"`, of at most `bytes_max`.
fn write_line(
    line: &mut Vec<u8>,
    spec: &'static Spec,
    connection: &Connection,
    arguments: Arguments<'_>,
    bytes_max: usize,
) {
    let ns = connection.ran_until.as_ns();
    let (seconds, us) = (ns / SECOND, ns % SECOND / MICROSECOND);
    let (database, peer) = (connection.database, &connection.client.peer);
    // Writing to memory cannot fail.
    let _ = write!(line, "+{seconds}.{us:06} [{database} {peer}]");
    // An escape, a quotation mark, CR LF.
    let end = bytes_max.saturating_sub(8);
    for word in shown(spec, arguments) {
        line.extend_from_slice(b" \"");
        for byte in word {
            if line.len() >= end {
                line.extend_from_slice(b"...");
                break;
            }
            write_escaped(line, *byte);
        }
        line.push(b'"');
        if line.len() >= end {
            break;
        }
    }
    line.extend_from_slice(b"\r\n");
}

fn write_escaped(line: &mut Vec<u8>, byte: u8) {
    match byte {
        b'\\' | b'"' => line.extend_from_slice(&[b'\\', byte]),
        b'\n' => line.extend_from_slice(b"\\n"),
        b'\r' => line.extend_from_slice(b"\\r"),
        b'\t' => line.extend_from_slice(b"\\t"),
        0x07 => line.extend_from_slice(b"\\a"),
        0x08 => line.extend_from_slice(b"\\b"),
        b' '..=b'~' => line.push(byte),
        _ => {
            // Writing to memory cannot fail.
            let _ = write!(line, "\\x{byte:02x}");
        }
    }
}
