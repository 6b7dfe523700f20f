//! The text of `LATENCY GRAPH`: a column for each second that had a moment, in four lines, as in Redis.

use crate::metrics::Series;
use std::fmt::Write as _;

/// Most columns: as many as a usual terminal has.
const COLUMNS_MAX: usize = 80;
const LINES: u64 = 4;
/// How far up in its line a column ends.
const TOPS: [char; 3] = ['_', 'o', '#'];

/// The graph of an event, the newest second last; below each how long ago it was at `now_s`, to be read downwards.
pub(super) fn text(event: &str, series: &Series, now_s: u64) -> String {
    let skipped = series.samples.len().saturating_sub(COLUMNS_MAX);
    let samples = || series.samples.iter().skip(skipped);
    let high = samples().map(|sample| sample.took_ms).max().unwrap_or(0);
    let low = samples().map(|sample| sample.took_ms).min().unwrap_or(0);
    let mut text = String::new();
    // Writing to a text cannot fail.
    let _ = writeln!(
        text,
        "{event} - high {high} ms, low {low} ms (all time high {} ms)",
        series.longest_ms
    );
    text += &"-".repeat(COLUMNS_MAX);
    text.push('\n');
    let steps = TOPS.len() as u64;
    let height = |took_ms: u64| {
        let above = u128::from(took_ms - low) * u128::from(LINES * steps - 1);
        (above / u128::from((high - low).max(1))) as u64
    };
    for line in (0..LINES).rev() {
        let cells = samples().map(|sample| height(sample.took_ms));
        let cells = cells.map(|height| match height / steps {
            top if top == line => TOPS[(height % steps) as usize],
            top if top > line => '|',
            _ => ' ',
        });
        end_line(&mut text, cells.collect());
    }
    text.push('\n');
    let ages: Vec<String> = samples()
        .map(|sample| age(now_s.saturating_sub(sample.at_s)))
        .collect();
    let lines = ages.iter().map(String::len).max().unwrap_or(0);
    for line in 0..lines {
        let cells = ages.iter().map(|age| age.chars().nth(line).unwrap_or(' '));
        end_line(&mut text, cells.collect());
    }
    text
}

fn end_line(text: &mut String, cells: String) {
    text.push_str(cells.trim_end());
    text.push('\n');
}

fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Sample;

    fn series(samples: impl Iterator<Item = (u64, u64)>) -> Series {
        let samples = samples.map(|(at_s, took_ms)| Sample { at_s, took_ms });
        Series {
            samples: samples.collect(),
            longest_ms: 1_500,
        }
    }

    #[test]
    fn columns_stand_beside_each_other() {
        let samples = [
            (0, 10),
            (86_400, 65),
            (90_000, 120),
            (93_540, 40),
            (93_590, 10),
        ];
        let text = text("command", &series(samples.into_iter()), 93_600);
        let expected = "command - high 120 ms, low 10 ms (all time high 1500 ms)\n\
            --------------------------------------------------------------------------------\n\
            \x20 #\n\
            \x20 |\n\
            \x20#|_\n\
            _|||_\n\
            \n\
            12111\n\
            dhhm0\n\
            \x20   s\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn only_as_many_as_fit() {
        let text = text("e", &series((0..160).map(|at_s| (at_s, at_s))), 160);
        assert!(text.starts_with("e - high 159 ms, low 80 ms"), "{text}");
        assert!(text.lines().all(|line| line.len() <= COLUMNS_MAX), "{text}");
        let empty = super::text("e", &Series::default(), 0);
        assert_eq!(empty.lines().count(), 2 + LINES as usize + 1);
    }
}
