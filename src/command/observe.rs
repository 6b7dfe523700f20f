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

/// A command that began at `began` has run: the clock is read, and the command after it in the same batch begins
/// at what it says. So that a command costs one reading of the clock.
pub fn ran(
    spec: &'static Spec,
    shared: &Shared,
    connection: &mut Connection,
    arguments: Arguments<'_>,
    tally: &mut Tally,
    began: Timestamp,
    failed: bool,
) {
    let ended = shared.clock.now();
    connection.ran_until = ended;
    let took_ns = ended.since(began);
    tally.ran(spec.name, took_ns, failed);
    if tally.is_full() {
        shared.metrics.add(&tally.take());
    }
    let settings = &shared.settings;
    if took_ns >= settings.slowlog_slower_than_ns() && !spec.flags.has(Flags::SKIP_SLOWLOG) {
        let entry = SlowEntry {
            id: 0,
            at_s: ended.as_ns() / SECOND,
            took_us: took_ns / MICROSECOND,
            arguments: metrics::cut(shown(spec, arguments)),
            peer: connection.client.peer.clone(),
            name: connection.client.labels.read().name.clone(),
        };
        shared
            .metrics
            .slowlog
            .add(entry, settings.slowlog_len_max());
    }
    if took_ns >= settings.latency_threshold_ns() {
        let event = if spec.flags.has(Flags::FAST) {
            "fast-command"
        } else {
            "command"
        };
        let latency = &shared.metrics.latency;
        latency.add(event, ended.as_ns() / SECOND, took_ns / MILLISECOND);
    }
    let monitors = &shared.clients.monitors;
    // As in Redis nobody watches administrators.
    if monitors.any() && !spec.flags.has(Flags::ADMIN) {
        let bytes_max = settings.client_output_limit();
        let mut line = Vec::with_capacity(128);
        write_line(
            &mut line,
            spec,
            connection,
            arguments,
            bytes_max.min(LINE_BYTES_MAX),
        );
        monitors.push(&line, bytes_max);
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
