//! One look, as text or JSON.

use std::fmt::Write as _;

use super::head;
use super::reading::{Count, Limit, Reading, Row, Server};
use super::words::{age_s, name, span_ms};
use crate::client::json::{array, object, string};

/// The look as text for people and scripts: exact numbers, a key a line with its name last.
pub(super) fn text(reading: &Reading, place: &str) -> String {
    let mut out = String::new();
    let now_s = reading.now_s.as_ref().ok().copied();
    if let Ok(server) = &reading.server {
        let up = server
            .uptime_s
            .map(|uptime_s| format!(", up {}", age_s(uptime_s)));
        // Writing to a text cannot fail.
        let _ = writeln!(out, "{} at {place}{}", server.name, up.unwrap_or_default());
        let _ = writeln!(out, "{}", head::work(server, |number| number.to_string()));
        let _ = writeln!(out, "{}", head::disk(server, now_s).0);
        let _ = writeln!(out, "{}", totals(server));
    }
    for note in head::missing(reading) {
        let _ = writeln!(out, "{note}");
    }
    if let Ok(rows) = &reading.rows {
        out.push('\n');
        out += &table(rows);
    }
    out
}

fn totals(server: &Server) -> String {
    let of = [
        ("granted", server.granted),
        ("denied", server.denied),
        ("held by a pause", server.paused),
        ("let go by SHADOW", server.shadowed),
    ];
    let known = of
        .iter()
        .filter_map(|(title, count)| Some(format!("{title} {}", (*count)?)));
    let known: Vec<String> = known.collect();
    match known.is_empty() {
        true => "not counted: granted, denied".to_owned(),
        false => format!("since the start: {}", known.join(", ")),
    }
}

const TITLES: [&str; 10] = [
    "RANKED", "1MIN", "10MIN", "LEFT", "CAPACITY", "BOOKED", "WAIT", "PAUSE", "QUEUE", "KEY",
];

fn table(rows: &[Row]) -> String {
    let titles = TITLES.map(str::to_owned);
    let lines: Vec<[String; 10]> = std::iter::once(titles)
        .chain(rows.iter().map(cells))
        .collect();
    let width = |column: usize| {
        lines
            .iter()
            .map(|line| line[column].len())
            .max()
            .unwrap_or(0)
    };
    // The name, which is the last, may be as long as it is.
    let widths: Vec<usize> = (0..9).map(width).collect();
    let mut out = String::new();
    for line in &lines {
        for (cell, width) in line.iter().zip(&widths) {
            let _ = write!(out, "{cell:<width$} ");
        }
        let _ = writeln!(out, "{}", line[9]);
    }
    out
}

fn cells(row: &Row) -> [String; 10] {
    let count = |count: Count| match count.error {
        0 => count.calls.to_string(),
        _ => format!("<={}", count.calls),
    };
    let standing = row.standing.as_ref();
    let of = |text: &dyn Fn(&super::reading::Standing) -> Option<String>| match standing {
        Ok(Some(standing)) => text(standing).unwrap_or_else(|| "-".to_owned()),
        Ok(None) => "-".to_owned(),
        Err(_) => "?".to_owned(),
    };
    [
        row.kind.name().to_owned(),
        count(row.minute),
        count(row.ten_minutes),
        of(&|standing| {
            let limit = &standing.limit;
            limit.kind.as_ref().map(|_| limit.remaining.to_string())
        }),
        of(&|standing| standing.limit.capacity.map(|capacity| capacity.to_string())),
        of(&|standing| Some(standing.limit.booked.to_string())),
        of(&|standing| Some(span_ms(standing.limit.wait_ms))),
        of(&|standing| Some(span_ms(standing.paused_ms))),
        of(&|standing| Some(standing.waiting.to_string())),
        name(&row.key),
    ]
}

/// The look for programs: one object on a line. A name that is no UTF-8 stands there in hexadecimal.
pub(super) fn json(reading: &Reading) -> String {
    let or_null = |value: Option<u64>| value.map_or("null".to_owned(), |value| value.to_string());
    let server = reading.server.as_ref().map_or("null".to_owned(), |server| {
        object([
            ("name", string(&server.name)),
            ("uptime_s", or_null(server.uptime_s)),
            ("clients", or_null(server.clients)),
            ("waiting", or_null(server.waiting)),
            ("keys", server.keys.to_string()),
            ("memory_bytes", or_null(server.memory_bytes)),
            ("calls_per_second", or_null(server.calls_per_second)),
            ("granted", or_null(server.granted)),
            ("denied", or_null(server.denied)),
            ("paused", or_null(server.paused)),
            ("shadow_limited", or_null(server.shadowed)),
            ("snapshot_at_s", or_null(server.snapshot_at_s)),
            ("disk_is_fine", head::disk(server, None).1.to_string()),
        ])
    });
    let rows = reading.rows.as_ref().map_or(&[][..], |rows| rows);
    let missing = head::missing(reading).into_iter();
    let result = object([
        ("now_s", or_null(reading.now_s.as_ref().ok().copied())),
        ("server", server),
        ("ranked", array(rows.iter().map(row))),
        ("missing", array(missing.map(|note| string(&note)))),
    ]);
    result + "\n"
}

fn row(row: &Row) -> String {
    let key = match std::str::from_utf8(&row.key) {
        Ok(key) => ("key", string(key)),
        Err(_) => ("key_hex", string(&hexadecimal(&row.key))),
    };
    let standing = match &row.standing {
        Ok(Some(standing)) => object(members(&standing.limit).into_iter().chain([
            ("paused_ms", standing.paused_ms.to_string()),
            ("slowed", string(&standing.slowed)),
            ("waiting", standing.waiting.to_string()),
            ("leases", standing.leases.to_string()),
            (
                "rules",
                array(standing.rules.iter().map(|rule| object(members(rule)))),
            ),
        ])),
        _ => "null".to_owned(),
    };
    object([
        ("kind", string(row.kind.name())),
        key,
        ("minute", row.minute.calls.to_string()),
        ("minute_error", row.minute.error.to_string()),
        ("ten_minutes", row.ten_minutes.calls.to_string()),
        ("ten_minutes_error", row.ten_minutes.error.to_string()),
        ("usage", standing),
    ])
}

fn members(limit: &Limit) -> [(&'static str, String); 9] {
    let text = |text: &Option<String>| text.as_ref().map_or("null".to_owned(), |text| string(text));
    let number = |value: Option<u64>| value.map_or("null".to_owned(), |value| value.to_string());
    [
        ("limit", text(&limit.kind)),
        ("capacity", number(limit.capacity)),
        ("rate", text(&limit.rate)),
        ("period_ms", number(limit.period_ms)),
        ("used", limit.used.to_string()),
        ("remaining", limit.remaining.to_string()),
        ("booked", limit.booked.to_string()),
        ("wait_ms", limit.wait_ms.to_string()),
        ("reset_after_ms", limit.reset_after_ms.to_string()),
    ]
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
