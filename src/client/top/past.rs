//! The last minutes of a key in columns.

use super::reading::{Past, Second};

/// What `of` says of each second, added up in `width` columns of `each_s` seconds, the newest last; `None` for those that
/// ended before the key was followed. Columns begin at multiples of their length, so that what stands in one only grows.
pub(super) fn columns(
    past: &Past,
    of: impl Fn(&Second) -> u64,
    now_s: u64,
    width: usize,
    each_s: u64,
) -> Vec<Option<u64>> {
    let newest = now_s / each_s;
    let back = |second: u64| {
        let back = newest.saturating_sub(second / each_s);
        usize::try_from(back).unwrap_or(usize::MAX)
    };
    let known = back(past.since_s).saturating_add(1).min(width);
    let mut columns = vec![None; width - known];
    columns.resize(width, Some(0_u64));
    for second in &past.seconds {
        let column = width
            .checked_sub(1)
            .and_then(|last| last.checked_sub(back(second.at_s)));
        if let Some(value) = column.and_then(|column| columns[column].as_mut()) {
            *value = value.saturating_add(of(second));
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_added_up_in_columns() {
        let second = |at_s, denied| Second {
            at_s,
            denied,
            ..Second::default()
        };
        let past = Past {
            since_s: 103,
            seconds: vec![
                second(103, 1),
                second(104, 2),
                second(110, 4),
                second(114, 8),
            ],
        };
        let denied = |second: &Second| second.denied;
        // 95 to 99, 100 to 104, 105 to 109, 110 to 114.
        assert_eq!(
            columns(&past, denied, 112, 4, 5),
            [None, Some(3), Some(0), Some(12)]
        );
        assert_eq!(columns(&past, denied, 112, 2, 5), [Some(0), Some(12)]);
        assert_eq!(columns(&past, denied, 112, 0, 5), []);
    }
}
