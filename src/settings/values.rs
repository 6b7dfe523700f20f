//! How values are read and written, and how large they may be.

use std::net::IpAddr;

use crate::core::number;
use crate::core::units::Span;

/// Most `--maxclients` may ask for; a million descriptors is beyond what one process is given.
pub const MAXCLIENTS_MAX: u64 = 1_000_000;
/// Longest number of seconds a setting may name: ten years.
pub const SECONDS_MAX: u64 = 315_360_000;
/// Least bytes of `client-output-limit`: below it every large reply would be cut into shreds.
pub const OUTPUT_LIMIT_MIN: u64 = 4 * 1024;
/// Least bytes of `pubsub-output-limit`: one message of the longest kind (1 MiB) fits beside another.
pub const PUBSUB_OUTPUT_LIMIT_MIN: u64 = 2 * 1024 * 1024;
/// Most bytes of `client-output-limit` and of `pubsub-output-limit`, per connection.
pub const OUTPUT_LIMIT_MAX: u64 = 1024 * 1024 * 1024;
/// Most milliseconds and microseconds of the two thresholds of slowness: a day.
pub const MS_MAX: u64 = 86_400_000;
/// As [`MS_MAX`], in microseconds.
pub const US_MAX: u64 = MS_MAX * 1000;
/// Most entries of the slow log: with all words of each at their longest they take 50 MB.
pub const SLOWLOG_LEN_LIMIT: u64 = 10_000;

/// Most entries of the log of what was denied: some 20 MB, with the names in each at their longest.
pub const ACLLOG_LEN_LIMIT: u64 = 10_000;

pub(super) fn text(value: impl ToString) -> Vec<u8> {
    value.to_string().into_bytes()
}

pub(super) fn addresses(bind: &[IpAddr]) -> String {
    bind.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}

/// `0` seconds shows as Redis shows it: an empty text.
pub(super) fn save_text(seconds: u64) -> String {
    if seconds == 0 {
        String::new()
    } else {
        format!("{seconds} 1")
    }
}

/// A whole number from `least` to `most`.
pub(super) fn integer(value: &[u8], least: u64, most: u64) -> Result<u64, String> {
    std::str::from_utf8(value)
        .ok()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|text| text.parse().ok())
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("argument must be between {least} and {most} inclusive"))
}

/// A number of bytes from `least` to `most`, with or without a unit.
pub(super) fn memory(value: &[u8], least: u64, most: u64) -> Result<u64, String> {
    let bytes = bytes(value).ok_or("argument must be a memory value")?;
    if (least..=most).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(format!(
            "argument must be between {least} and {most} inclusive"
        ))
    }
}

/// A number of bytes with Redis's units: `k`, `m`, `g` are powers of 1000, `kb`, `mb`, `gb` of 1024.
pub(crate) fn bytes(value: &[u8]) -> Option<u64> {
    let value = std::str::from_utf8(value).ok()?;
    let digits = value
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(value.len());
    let (number, unit) = value.split_at(digits);
    let unit: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// Microseconds, or -1 for never.
pub(crate) fn slower_than(value: &[u8]) -> Result<i64, String> {
    if value == b"-1" {
        return Ok(-1);
    }
    let us = integer(value, 0, US_MAX).map(|us| us as i64);
    us.map_err(|_| format!("argument must be between -1 and {US_MAX} inclusive"))
}

pub(super) const fn yes_or_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

/// `yes` or `no`.
pub(crate) fn yes_no(value: &[u8]) -> Result<bool, String> {
    match value.to_ascii_lowercase().as_slice() {
        b"yes" => Ok(true),
        b"no" => Ok(false),
        _ => Err("argument must be 'yes' or 'no'".to_owned()),
    }
}

/// `allchannels`: true, or `resetchannels`.
pub(crate) fn channels(value: &[u8]) -> Result<bool, String> {
    match value.to_ascii_lowercase().as_slice() {
        b"allchannels" => Ok(true),
        b"resetchannels" => Ok(false),
        _ => Err("argument(s) must be one of the following: allchannels, resetchannels".to_owned()),
    }
}

/// Most bookings a key may be allowed: a million of them take tens of megabytes, and a call on such a key
/// under another rate tens of milliseconds.
pub(crate) const BOOKINGS_LIMIT: u64 = 1_000_000;

/// The longest pause: a duration above zero.
pub(crate) fn max_pause(value: &[u8]) -> Result<Span, String> {
    let span = number::duration(value).filter(|span| *span > Span::ZERO);
    span.ok_or_else(|| {
        "argument must be a duration from 1ns to 3650d, such as 30m or 24h".to_owned()
    })
}

/// Seconds between snapshots. Redis's pair `seconds changes` is understood if one change is enough.
pub(crate) fn save(value: &[u8]) -> Result<u64, String> {
    let trimmed = value.trim_ascii();
    if trimmed.is_empty() || trimmed.eq_ignore_ascii_case(b"no") {
        return Ok(0);
    }
    let seconds = trimmed
        .strip_suffix(b" 1")
        .unwrap_or(trimmed)
        .trim_ascii_end();
    integer(seconds, 0, SECONDS_MAX).map_err(|_| {
        format!("argument must be a number of seconds up to {SECONDS_MAX} ('60', or '60 1' as Redis writes it), or '' for off")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn save_takes_seconds_and_the_words_for_off() {
        let cases: [(&[u8], u64); 8] = [
            (b"60", 60),
            (b"60 1", 60),
            (b"0", 0),
            (b"", 0),
            (b"no", 0),
            (b"NO", 0),
            (b" 5 ", 5),
            (b"1", 1),
        ];
        for (value, seconds) in cases {
            assert_eq!(save(value), Ok(seconds), "{value:?}");
        }
        for wrong in [
            &b"60 10"[..],
            b"-1",
            b"1.5",
            b"yes",
            b"900 1 300 10",
            b"99999999999999999999",
        ] {
            assert!(save(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn memory_has_units() {
        let cases: [(&[u8], u64); 5] = [
            (b"4096", 4096),
            (b"4kb", 4096),
            (b"5K", 5000),
            (b"1Mb", 1 << 20),
            (b"4096b", 4096),
        ];
        for (value, bytes) in cases {
            assert_eq!(memory(value, 4096, 1 << 30), Ok(bytes), "{value:?}");
        }
        for wrong in [
            &b"kb"[..],
            b"4 kb",
            b"4kib",
            b"-1",
            b"",
            b"1e9",
            b"99999999999999999gb",
        ] {
            let error = memory(wrong, 0, 1 << 30).unwrap_err();
            assert_eq!(error, "argument must be a memory value", "{wrong:?}");
        }
        assert!(memory(b"2gb", 0, 1 << 30).unwrap_err().contains("between"));
    }

    #[test]
    fn integers_stay_in_their_range() {
        assert_eq!(integer(b"7", 1, 7), Ok(7));
        for wrong in [
            &b"8"[..],
            b"0",
            b"+1",
            b"",
            b" 1",
            b"\xff",
            b"18446744073709551616",
        ] {
            assert!(integer(wrong, 1, 7).is_err(), "{wrong:?}");
        }
    }
}
