//! One key, closely.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::chart::bars;
use super::palette::Palette;
use super::past;
use super::reading::{Limit, Past, Second, Standing};
use super::screen::{line, put};
use super::state::State;
use super::words::{name, short, span_ms};

/// What the charts show, in seconds: all that the server remembers.
const CHART_S: u64 = 600;
/// Lines that a long name is given.
const NAME_LINES_MAX: usize = 4;

/// A title, and what is shown of a second.
type Chart = (&'static str, fn(&Second) -> u64);

/// Draws the key, if the last answer is about it.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &State, key: &[u8], palette: Palette) {
    let mut lines = area.y..area.bottom();
    // All of it is ASCII.
    let shown = name(key);
    let width = usize::from(area.width.max(1));
    for part in shown.as_bytes().chunks(width).take(NAME_LINES_MAX) {
        if let Some(y) = lines.next() {
            put(
                buffer,
                line(area, y),
                &String::from_utf8_lossy(part),
                palette.strong(),
            );
        }
    }
    let found = state.reading.key.as_ref().filter(|found| found.name == key);
    let Some(found) = found else {
        if let Some(y) = lines.next() {
            put(buffer, line(area, y), "asking...", palette.faint());
        }
        return;
    };
    let standing = match &found.standing {
        Ok(Some(standing)) => of_standing(standing),
        Ok(None) => {
            vec!["no limit, or one that is full: nothing is used, booked or paused".to_owned()]
        }
        // Why stands among the notes.
        Err(_) => Vec::new(),
    };
    for text in standing {
        if let Some(y) = lines.next() {
            put(buffer, line(area, y), &text, palette.plain());
        }
    }
    let rest = Rect {
        y: lines.start,
        height: lines.len() as u16,
        ..area
    };
    let now_s = state.reading.now_s.as_ref().ok();
    match (&found.past, now_s) {
        (Ok(Some(past)), Some(now_s)) => draw_past(buffer, rest, past, *now_s, palette),
        (Ok(None), _) => {
            let text = "its past is not followed: it is not among the keys that were called most";
            put(buffer, rest, text, palette.faint());
        }
        _ => {}
    }
}

/// How a key stands, in lines.
fn of_standing(standing: &Standing) -> Vec<String> {
    let mut lines = Vec::new();
    let limits = match standing.rules.is_empty() {
        true => std::slice::from_ref(&standing.limit),
        false => &standing.rules[..],
    };
    for limit in limits {
        lines.extend(of_limit(limit));
    }
    let mut parts = Vec::new();
    if standing.paused_ms > 0 {
        parts.push(format!("PAUSED for {}", span_ms(standing.paused_ms)));
    }
    if standing.slowed != "1" {
        parts.push(format!("slowed to {} of its rate", standing.slowed));
    }
    if standing.leases > 0 {
        parts.push(format!("{} leases held", short(standing.leases)));
    }
    parts.push(format!("{} waiting on the server", short(standing.waiting)));
    lines.push(parts.join(", "));
    lines
}

fn of_limit(limit: &Limit) -> Option<String> {
    let kind = limit.kind.as_ref()?;
    let mut text = kind.clone();
    if let Some(rate) = &limit.rate {
        text += &format!(" {rate}");
    }
    if let Some(capacity) = limit.capacity {
        text += &format!(": {} of {} left", short(limit.remaining), short(capacity));
    }
    text += &format!(", {} used", short(limit.used));
    if limit.booked > 0 {
        text += &format!(", {} booked", short(limit.booked));
    }
    text += &match limit.wait_ms {
        0 => ", go now".to_owned(),
        ms => format!(", wait {}", span_ms(ms)),
    };
    if limit.reset_after_ms > 0 {
        text += &format!(", full in {}", span_ms(limit.reset_after_ms));
    }
    Some(text)
}

/// The last ten minutes, a chart below the other as far as there is room for two lines each.
fn draw_past(buffer: &mut Buffer, area: Rect, past: &Past, now_s: u64, palette: Palette) {
    let of: [Chart; 5] = [
        ("granted", |second| second.granted),
        ("denied", |second| second.denied),
        ("waited", |second| second.waited),
        ("held by a pause", |second| second.paused),
        ("let go by SHADOW", |second| second.shadowed),
    ];
    let width = u64::from(area.width.max(1));
    let each_s = CHART_S.div_ceil(width);
    // What never was is left out, but for the first two.
    let happened = |of: fn(&Second) -> u64| past.seconds.iter().any(|second| of(second) > 0);
    let shown = of.into_iter().enumerate();
    let shown = shown.filter(|(index, (_, of))| *index < 2 || happened(*of));
    let shown: Vec<_> = shown.map(|(_, chart)| chart).collect();
    let fit = usize::from(area.height / 2).min(shown.len());
    let Some(height) = area.height.checked_div(fit as u16) else {
        return;
    };
    for ((title, of), index) in shown.into_iter().take(fit).zip(0..) {
        let area = Rect {
            y: area.y + index * height,
            height,
            ..area
        };
        let columns = past::columns(past, of, now_s, usize::from(area.width), each_s);
        let max = columns.iter().flatten().copied().max().unwrap_or(0);
        let sum: u64 = past.seconds.iter().map(of).fold(0, u64::saturating_add);
        let mut text = format!(
            "{title}: {} in ten minutes, most in {each_s} s {}",
            short(sum),
            short(max)
        );
        if title == "waited" {
            let longest = past.seconds.iter().map(|second| second.wait_ms).max();
            text += &format!(", longest wait {}", span_ms(longest.unwrap_or(0)));
        }
        let style = match title {
            "granted" => palette.granted(),
            "denied" | "held by a pause" => palette.denied(),
            _ => palette.plain(),
        };
        put(
            buffer,
            line(area, area.y),
            &text,
            style.patch(palette.strong()),
        );
        let below = Rect {
            y: area.y + 1,
            height: height.saturating_sub(1),
            ..area
        };
        bars(buffer, below, &columns, max, style);
    }
}
