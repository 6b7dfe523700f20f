//! The table of ranked keys.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::chart::spark;
use super::palette::Palette;
use super::past;
use super::reading::{Count, Row, Standing};
use super::words::{cut, name, short, span_ms};

/// A column, in the order in which they stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Column {
    Key,
    Minute,
    TenMinutes,
    Left,
    Booked,
    Wait,
    Pause,
    Queue,
    Spark,
}

use Column::{Booked, Key, Left, Minute, Pause, Queue, Spark, TenMinutes, Wait};

const IN_ORDER: [Column; 9] = [
    Key, Minute, TenMinutes, Left, Booked, Wait, Pause, Queue, Spark,
];
/// Which are left out last where there is little room.
const BY_NEED: [Column; 9] = [
    Key, Minute, Wait, Pause, Left, TenMinutes, Queue, Booked, Spark,
];

/// What a name is given before a spark line grows, and after that.
const KEY_WIDTH: usize = 32;
const KEY_WIDTH_MAX: usize = 64;
/// How wide a spark line may be: each column of it a whole part of a minute.
const SPARK_WIDTHS: [usize; 5] = [30, 20, 15, 12, 10];
/// What a spark line shows.
const SPARK_S: u64 = 60;

impl Column {
    const fn title(self) -> &'static str {
        match self {
            Key => "KEY",
            Minute => "1 MIN",
            TenMinutes => "10 MIN",
            Left => "LEFT",
            Booked => "BOOKED",
            Wait => "WAIT",
            Pause => "PAUSE",
            Queue => "QUEUE",
            Spark => "MINUTE",
        }
    }

    /// The least room that it needs.
    const fn width(self) -> usize {
        match self {
            Key => 16,
            Left => 11,
            Queue => 5,
            Minute | TenMinutes | Booked | Wait | Pause | Spark => 6,
        }
    }
}

/// Which columns there is room for, and how wide they are.
fn lay_out(width: usize) -> Vec<(Column, usize)> {
    let mut chosen = Vec::new();
    let mut left = width + 1;
    for column in BY_NEED {
        match left.checked_sub(column.width() + 1) {
            Some(rest) => (left, chosen) = (rest, [chosen, vec![column]].concat()),
            None if chosen.is_empty() => return vec![(Key, width)],
            None => break,
        }
    }
    let in_order = IN_ORDER
        .into_iter()
        .filter(|column| chosen.contains(column));
    let mut widths: Vec<(Column, usize)> =
        in_order.map(|column| (column, column.width())).collect();
    let for_key = left.min(KEY_WIDTH - Key.width());
    left -= for_key;
    if let Some((Spark, width)) = widths.last_mut() {
        let wider = SPARK_WIDTHS
            .into_iter()
            .find(|wider| *wider <= *width + left);
        let wider = wider.unwrap_or(*width);
        left -= wider - *width;
        *width = wider;
    }
    widths[0].1 = (Key.width() + for_key + left).min(KEY_WIDTH_MAX);
    widths
}

/// Draws the title and as many rows as there is room for, from the `first` on; the `chosen` one is marked.
pub(super) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    palette: Palette,
    rows: &[Row],
    (first, chosen): (usize, usize),
    now_s: Option<u64>,
) {
    // Two for the mark.
    let columns = lay_out(usize::from(area.width).saturating_sub(2));
    let titles = columns
        .iter()
        .map(|(column, width)| (column.title().to_owned(), *width));
    let title = line(&columns, titles.map(|(title, width)| cut(&title, width)));
    let width = usize::from(area.width);
    buffer.set_stringn(area.x + 2, area.y, title, width, palette.strong());
    let shown = rows.iter().enumerate().skip(first);
    for ((index, row), y) in shown.zip(area.y + 1..area.bottom()) {
        let cells = columns
            .iter()
            .map(|(column, width)| cell(*column, *width, row, now_s));
        let mark = if index == chosen { "> " } else { "  " };
        let text = format!(
            "{mark}{:width$}",
            line(&columns, cells),
            width = width.saturating_sub(2)
        );
        let style = match (index == chosen, is_held(row)) {
            (true, _) => palette.chosen(),
            (false, true) => palette.denied(),
            (false, false) => palette.plain(),
        };
        buffer.set_stringn(area.x, y, text, width, style);
    }
}

/// True for a key at which nobody goes for now, since it is paused.
fn is_held(row: &Row) -> bool {
    matches!(&row.standing, Ok(Some(standing)) if standing.paused_ms > 0)
}

/// Cells side by side: the key to the left, the rest to the right.
fn line(columns: &[(Column, usize)], cells: impl Iterator<Item = String>) -> String {
    let cells = columns
        .iter()
        .zip(cells)
        .map(|((column, width), cell)| match column {
            Key => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
    cells.collect::<Vec<_>>().join(" ")
}

fn cell(column: Column, width: usize, row: &Row, now_s: Option<u64>) -> String {
    let of_standing = |text: &dyn Fn(&Standing) -> String| match &row.standing {
        Ok(Some(standing)) => text(standing),
        Ok(None) => "-".to_owned(),
        Err(_) => "?".to_owned(),
    };
    // What is zero is passed over by the eye more easily as a dash.
    let some = |value: u64, shown: fn(u64) -> String| match value {
        0 => "-".to_owned(),
        value => shown(value),
    };
    match column {
        Key => cut(&name(&row.key), width),
        Minute => count(row.minute),
        TenMinutes => count(row.ten_minutes),
        Left => of_standing(&|standing| match standing.limit.capacity {
            Some(capacity) => format!("{}/{}", short(standing.limit.remaining), short(capacity)),
            None => "-".to_owned(),
        }),
        Booked => of_standing(&|standing| some(standing.limit.booked, short)),
        Wait => of_standing(&|standing| some(standing.limit.wait_ms, span_ms)),
        Pause => of_standing(&|standing| some(standing.paused_ms, span_ms)),
        Queue => of_standing(&|standing| some(standing.waiting, short)),
        Spark => match (&row.past, now_s) {
            (Ok(Some(past)), Some(now_s)) => {
                let each_s = SPARK_S / width as u64;
                spark(&past::columns(
                    past,
                    |second| second.of(row.kind),
                    now_s,
                    width,
                    each_s,
                ))
            }
            (Err(_), _) => "?".to_owned(),
            _ => String::new(),
        },
    }
}

/// A count, with a sign before one that may be too high.
pub(super) fn count(count: Count) -> String {
    let mark = if count.error > 0 { "≤" } else { "" };
    format!("{mark}{}", short(count.calls))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fill_the_width_and_the_most_needed_stay() {
        for width in 1..300 {
            let columns = lay_out(width);
            let taken = columns.iter().map(|(_, width)| width + 1).sum::<usize>() - 1;
            let fills = taken == width || columns[0].1 == KEY_WIDTH_MAX;
            assert!(taken <= width && fills, "{width}: {columns:?}");
            for pair in BY_NEED.windows(2) {
                let has = |column| columns.iter().any(|(other, _)| *other == column);
                assert!(has(pair[0]) || !has(pair[1]), "{width}: {columns:?}");
            }
            if let Some((Spark, width)) = columns.last() {
                assert_eq!(60 % width, 0);
            }
        }
        assert_eq!(lay_out(78).len(), IN_ORDER.len());
        assert_eq!(lay_out(38).len(), 4);
    }
}
