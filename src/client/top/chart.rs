//! Bars, of eighths of a cell.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// A bar for each value, from the left, the highest as high as `max` is; nothing for what is not known. A value above
/// zero is seen, however small.
pub(super) fn bars(
    buffer: &mut Buffer,
    area: Rect,
    values: &[Option<u64>],
    max: u64,
    style: Style,
) {
    for (x, value) in (area.left()..area.right()).zip(values) {
        let Some(value) = value else {
            continue;
        };
        let full = u128::from(area.height) * 8;
        let eighths = (u128::from(*value) * full).div_ceil(u128::from(max.max(1)));
        let mut left = eighths.min(full) as usize;
        for y in (area.top()..area.bottom()).rev() {
            let part = left.min(8);
            left -= part;
            // The ground is drawn where a value is known and zero.
            let cell = match part == 0 && y + 1 == area.bottom() {
                true => "_",
                false => EIGHTHS[part],
            };
            buffer.set_string(x, y, cell, style);
        }
    }
}

/// The same in one line, as a text: the highest value is as high as the line; `_` is zero.
pub(super) fn spark(values: &[Option<u64>]) -> String {
    let max = values.iter().flatten().copied().max().unwrap_or(0);
    let part = |value: &Option<u64>| match value {
        None => " ",
        Some(0) => "_",
        Some(value) => {
            let eighths = (u128::from(*value) * 8).div_ceil(u128::from(max));
            EIGHTHS[eighths as usize]
        }
    };
    values.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spark_shows_zero_little_and_nothing_apart() {
        let values = [None, Some(0), Some(1), Some(50), Some(100)];
        assert_eq!(spark(&values), " _▁▄█");
        assert_eq!(spark(&[Some(u64::MAX), Some(1)]), "█▁");
        assert_eq!(spark(&[None]), " ");
    }

    #[test]
    fn bars_stand_on_the_ground() {
        let area = Rect::new(0, 0, 6, 2);
        let mut buffer = Buffer::empty(area);
        let values = [None, Some(0), Some(1), Some(50), Some(75), Some(200)];
        bars(&mut buffer, area, &values, 100, Style::new());
        assert_eq!(buffer, Buffer::with_lines(["    ▄█", " _▁███"]));
    }
}
