//! The screen as a whole.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::chart::bars;
use super::palette::Palette;
use super::rates::Rate;
use super::reading::Kind;
use super::state::{State, View};
use super::words::{cut, fit, name, short, span_ms};
use super::{detail, head, table, words};

/// From this height on there is a chart, and from the second on a higher one.
const CHART_FROM: u16 = 16;
const HIGH_CHART_FROM: u16 = 32;
/// What a chart shows at the least, in microseconds.
const CHART_US: u64 = 180_000_000;

/// A title, what is shown of a rate, and how.
type Chart = (&'static str, fn(Rate) -> u64, Style);

/// What the keys do.
const HELP: [&str; 14] = [
    "arrows, j k       choose a key of the table",
    "PgUp PgDn g G     a page up or down, to the first, to the last",
    "Enter             look at it closely; Enter or Esc goes back",
    "Tab, left right   rank by: denied, waited, paused, shadowed, granted",
    "/                 show keys that match a pattern, such as tenant7:*",
    "Esc               show all keys again",
    "q, Ctrl-C         end",
    "",
    "1 MIN, 10 MIN     calls counted; ≤ before one that may be too high",
    "LEFT              permits that could go now / capacity",
    "BOOKED            permits promised and not refilled: the backlog",
    "WAIT, PAUSE       what a call would wait; what is left of a pause",
    "QUEUE             callers who wait on the server",
    "MINUTE            the last minute; _ is nothing",
];

/// Draws all of it.
pub(super) fn draw(buffer: &mut Buffer, state: &mut State, palette: Palette) {
    let area = buffer.area;
    let mut top = area.y;
    for (text, style) in head::lines(state, palette) {
        let text = fit(&text, ", ", usize::from(area.width));
        put(buffer, line(area, top), text, style);
        top = top.saturating_add(1);
    }
    let notes = head::missing(&state.reading);
    let notes_height = (notes.len() as u16).min(area.height.saturating_sub(top + 4));
    // The last line is the foot.
    let bottom = area.bottom().saturating_sub(1 + notes_height);
    let body = Rect::new(
        area.x,
        top.min(bottom),
        area.width,
        bottom.saturating_sub(top),
    );
    match (state.is_helping, state.view.clone()) {
        (true, _) => {
            for (text, y) in HELP.iter().zip(body.y..body.bottom()) {
                put(buffer, line(area, y), text, palette.plain());
            }
        }
        (false, View::Table) => draw_table(buffer, body, state, palette),
        (false, View::Key(key)) => detail::draw(buffer, body, state, &key, palette),
    }
    for (note, y) in notes.iter().zip(bottom..area.bottom().saturating_sub(1)) {
        put(buffer, line(area, y), note, palette.denied());
    }
    if area.height > top {
        draw_foot(buffer, line(area, area.bottom() - 1), state, palette);
    }
}

/// One line of an area.
pub(super) fn line(area: Rect, y: u16) -> Rect {
    Rect {
        y,
        height: 1,
        ..area
    }
}

/// A text on a line, as far as there is room; nothing below the screen.
pub(super) fn put(buffer: &mut Buffer, line: Rect, text: &str, style: Style) {
    if line.y < buffer.area.bottom() {
        buffer.set_stringn(line.x, line.y, text, usize::from(line.width), style);
    }
}

fn draw_table(buffer: &mut Buffer, area: Rect, state: &mut State, palette: Palette) {
    let mut rest = area;
    let chart_height = match buffer.area.height {
        HIGH_CHART_FROM.. => 7,
        CHART_FROM.. => 4,
        _ => 0,
    };
    if chart_height > 0 {
        let chart = Rect {
            height: chart_height.min(rest.height),
            ..rest
        };
        draw_rates(buffer, chart, state, palette);
        rest = below(rest, chart.height);
    }
    if rest.height > 0 {
        draw_tabs(buffer, line(rest, rest.y), state, palette);
        rest = below(rest, 1);
    }
    state.has_room(usize::from(rest.height.saturating_sub(1)));
    if rest.height == 0 {
        return;
    }
    let rows = match state.rows() {
        Some(Ok(rows)) if !rows.is_empty() => rows,
        other => {
            let text = match other {
                // Why stands among the notes.
                Some(Err(_)) => "no keys to show",
                Some(Ok(_)) => "no such calls in the last ten minutes",
                None => "asking...",
            };
            return put(buffer, line(rest, rest.y), text, palette.faint());
        }
    };
    let now_s = state.reading.now_s.as_ref().ok().copied();
    let place = (state.first, state.chosen);
    table::draw(buffer, rest, palette, rows, place, now_s);
}

fn below(area: Rect, height: u16) -> Rect {
    let height = height.min(area.height);
    Rect {
        y: area.y + height,
        height: area.height - height,
        ..area
    }
}

/// Grants and denials a second, side by side, each with its own scale.
fn draw_rates(buffer: &mut Buffer, area: Rect, state: &State, palette: Palette) {
    let half = area.width.saturating_sub(2) / 2;
    let each_us = CHART_US
        .div_ceil(u64::from(half.max(1)))
        .div_ceil(1_000_000)
        * 1_000_000;
    let columns = state.rates.columns(usize::from(half), each_us);
    let minutes = each_us * u64::from(half) / 60_000_000;
    let latest = state.rates.latest();
    let of: [Chart; 2] = [
        ("granted/s", |rate| rate.granted, palette.granted()),
        ("denied/s", |rate| rate.denied, palette.denied()),
    ];
    for (index, (title, value, style)) in of.into_iter().enumerate() {
        let area = Rect {
            x: area.x + index as u16 * (half + 2),
            width: half,
            ..area
        };
        let values: Vec<Option<u64>> = columns.iter().map(|rate| rate.map(value)).collect();
        let max = values.iter().flatten().copied().max().unwrap_or(0);
        let now = latest.map_or("-".to_owned(), |rate| thousandths(value(rate)));
        let most = thousandths(max);
        let long = format!("{title} {now} (most in {minutes} min {most})");
        let title = match long.len() <= usize::from(half) {
            true => long,
            false => format!("{title} {now}"),
        };
        put(
            buffer,
            line(area, area.y),
            &title,
            style.patch(palette.strong()),
        );
        bars(buffer, below(area, 1), &values, max, style);
    }
}

/// A rate in thousandths, with a decimal where that tells something.
fn thousandths(value: u64) -> String {
    match value {
        0 => "0".to_owned(),
        1..10_000 => format!("{}.{}", value.div_ceil(100) / 10, value.div_ceil(100) % 10),
        _ => short(value.div_ceil(1_000)),
    }
}

fn draw_tabs(buffer: &mut Buffer, line: Rect, state: &State, palette: Palette) {
    let tab = |kind: Kind| match kind == state.kind {
        true => (format!("[{}]", kind.name()), palette.strong()),
        false => (format!(" {} ", kind.name()), palette.faint()),
    };
    let mut tabs = Vec::from(Kind::ALL.map(tab));
    let all = tabs.iter().map(|(text, _)| text.len()).sum::<usize>();
    if all > usize::from(line.width) {
        tabs = vec![tab(state.kind)];
    }
    if let Some(pattern) = &state.pattern {
        tabs.push((
            format!("  match {}", name(pattern.as_bytes())),
            palette.strong(),
        ));
    }
    let mut rest = line;
    for (text, style) in tabs {
        let text = cut(&text, usize::from(rest.width));
        put(buffer, rest, &text, style);
        let taken = (text.chars().count() as u16).min(rest.width);
        rest = Rect {
            x: rest.x + taken,
            width: rest.width - taken,
            ..rest
        };
    }
}

fn draw_foot(buffer: &mut Buffer, line: Rect, state: &State, palette: Palette) {
    let width = usize::from(line.width);
    if let Some(typed) = &state.typed {
        let shown = words::text(typed.as_bytes());
        let text = format!("match: {shown}_   (Enter shows them, Esc leaves it)");
        return put(buffer, line, &text, palette.strong());
    }
    if let Some(lost) = &state.lost {
        let again = u64::try_from(lost.again_in.as_millis()).unwrap_or(u64::MAX);
        let text = format!("NO SERVER, next try in {}: {}", span_ms(again), lost.reason);
        return put(buffer, line, &format!("{text:width$}"), palette.alarm());
    }
    let text = match (state.is_helping, &state.view) {
        (true, _) => "q end  any other key: back",
        (false, View::Table) => {
            "q end  ? help  Tab rank by  / match  Enter look closely  arrows choose"
        }
        (false, View::Key(_)) => "q end  Esc back  ? help",
    };
    let text = fit(text, "  ", width);
    put(buffer, line, &format!("{text:width$}"), palette.faint());
}
