//! The lines about the server, and what is missing on the screen.

use ratatui_core::style::Style;

use super::palette::Palette;
use super::reading::{Journal, Reading, Server};
use super::state::State;
use super::words::{age_s, bytes, short};

/// The three lines at the top.
pub(super) fn lines(state: &State, palette: Palette) -> Vec<(String, Style)> {
    let (reading, database) = (&state.reading, state.database);
    let mut first = match &reading.server {
        Ok(server) => format!("{} at {}", server.name, state.place),
        Err(_) => format!("server at {}", state.place),
    };
    if database != 0 {
        first += &format!(", database {database}");
    }
    let Ok(server) = &reading.server else {
        return vec![(first, palette.strong())];
    };
    if let Some(uptime_s) = server.uptime_s {
        first += &format!(", up {}", age_s(uptime_s));
    }
    let (disk, is_fine) = disk(server, reading.now_s.as_ref().ok().copied());
    let disk_style = match is_fine {
        true => palette.plain(),
        false => palette.alarm(),
    };
    vec![
        (first, palette.strong()),
        (work(server, short), palette.plain()),
        (disk, disk_style),
    ]
}

/// What it does, and what that takes.
pub(super) fn work(server: &Server, number: fn(u64) -> String) -> String {
    let mut parts = Vec::new();
    if let Some(rate) = server.calls_per_second {
        parts.push(format!("{} calls/s", number(rate)));
    }
    if let Some(clients) = server.clients {
        let of = server
            .clients_max
            .map(|most| format!(" of {}", number(most)));
        parts.push(format!(
            "{}{} clients",
            number(clients),
            of.unwrap_or_default()
        ));
    }
    if let Some(waiting) = server.waiting {
        parts.push(format!("{} waiting", number(waiting)));
    }
    parts.push(format!("{} keys", number(server.keys)));
    if let Some(memory) = server.memory_bytes {
        let bound = server.memory_max_bytes.filter(|most| *most > 0);
        let of = bound.map(|most| format!(" of {}", bytes(most)));
        parts.push(bytes(memory) + &of.unwrap_or_default());
    }
    parts.join(", ")
}

/// What would survive a crash, and whether all is well with it.
pub(super) fn disk(server: &Server, now_s: Option<u64>) -> (String, bool) {
    let ago = |at_s: u64| match now_s {
        Some(now_s) => format!("{} ago", age_s(now_s.saturating_sub(at_s))),
        None => format!("at {at_s}"),
    };
    let snapshot = match (&server.snapshot_error, server.snapshot_at_s) {
        (Some(error), _) => Some(format!("SNAPSHOT FAILED: {error}")),
        (None, Some(0)) => Some("no snapshot yet".to_owned()),
        (None, Some(at_s)) => Some(format!("snapshot {}", ago(at_s))),
        (None, None) => None,
    };
    let journal = server.journal.as_ref().map(|journal| match journal {
        Journal::Off => "no journal".to_owned(),
        Journal::Covers(until_s) => format!("journal written {}", ago(*until_s)),
        Journal::Suspended(since_s, error) => {
            let why = error.as_ref().map(|error| format!(": {error}"));
            format!(
                "JOURNAL SUSPENDED {}{}",
                ago(*since_s),
                why.unwrap_or_default()
            )
        }
    });
    let is_fine =
        server.snapshot_error.is_none() && !matches!(server.journal, Some(Journal::Suspended(..)));
    let parts: Vec<String> = journal.into_iter().chain(snapshot).collect();
    (parts.join(", "), is_fine)
}

/// What is missing in an answer, and why: a line for each command that the server refused.
pub(super) fn missing(reading: &Reading) -> Vec<String> {
    let rows = reading.rows.as_ref().ok().into_iter().flatten();
    let standings = rows.clone().map(|row| row.standing.as_ref().err());
    let pasts = rows.map(|row| row.past.as_ref().err());
    let key = reading.key.as_ref();
    let standing = key.and_then(|key| key.standing.as_ref().err());
    let past = key.and_then(|key| key.past.as_ref().err());
    let of = [
        ("TIME", reading.now_s.as_ref().err()),
        ("INFO", reading.server.as_ref().err()),
        ("RL.TOP", reading.rows.as_ref().err()),
        ("RL.USAGE", standings.flatten().next().or(standing)),
        ("RL.HISTORY", pasts.flatten().next().or(past)),
    ];
    let refused = of
        .into_iter()
        .filter_map(|(command, error)| Some((command, error?)));
    refused
        .map(|(command, error)| format!("no {command}: {error}"))
        .collect()
}
