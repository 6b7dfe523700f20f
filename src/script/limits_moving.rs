//! limits (PyPI): the moving window, a list of times, the latest first.

use super::answer::{Answer, Failure};
use super::{Call, Script, lua};
use crate::plain::PlainError;
use crate::plain::collection::ELEMENTS_MAX;
use std::cmp::Ordering;

/// The rows.
pub const SCRIPTS: &[Script] = &[
    Script {
        library: "limits 5",
        name: "acquire of the moving window",
        sha1: "741eab638ba93ed71020bb821c45c022d0fa02c4",
        sha1_without_indents: "ea09d0d6064452fe5647f87a5862960e04c0a6aa",
        run: acquire,
    },
    Script {
        library: "limits 3.6 to 4",
        name: "acquire of the moving window",
        sha1: "19c9778cd6391e2ee9f90aa518bf56256d15b4ae",
        sha1_without_indents: "08c2e1713738c732dc95e0ddffcc627b6682d0c6",
        run: acquire_3_6,
    },
    Script {
        library: "limits up to 3.7",
        name: "moving window",
        sha1: "3136f0028c572d2959b5cdc5ec15b287fab6a9ff",
        sha1_without_indents: "65445073eabcac31f9bf17169b048f5f1af7b26d",
        run: get_3_6,
    },
    Script {
        library: "limits 3.10 to 3.14",
        name: "moving window",
        sha1: "bf95c654b6be0a54713252ef2362a25546faf877",
        sha1_without_indents: "9b4a0ac5d01f671179a5ebcdcccf622ee4a78410",
        run: get_3_10,
    },
    Script {
        library: "limits 4",
        name: "moving window",
        sha1: "f2ef2962263bbe72f66f5bbd0da234e74d880068",
        sha1_without_indents: "ccf6903bcc66b49ddef8384e1290dd25dc35f5a3",
        run: get_4,
    },
    Script {
        library: "limits 5",
        name: "moving window",
        sha1: "ad795214f59fe26d6fdec07973836dd16586f5ec",
        sha1_without_indents: "6c36a4a0fcd84dcdbf33a7fa8772e46bc232fa40",
        run: get,
    },
];

/// Version 5. `KEYS`: the list. `ARGV`: now in seconds, limit, seconds, amount. Replies 1, or nothing if it does not
/// fit.
pub fn acquire(call: &mut Call<'_>) -> Result<Answer, Failure> {
    // It gathers what it pushes in a table first, and a table of nothing is empty.
    let has_time = call.number(0).is_some();
    acquire_and_push(call, has_time)
}

/// 3.6 to 4, the same one by one.
pub fn acquire_3_6(call: &mut Call<'_>) -> Result<Answer, Failure> {
    acquire_and_push(call, true)
}

fn acquire_and_push(call: &mut Call<'_>, pushes: bool) -> Result<Answer, Failure> {
    let (now, limit) = (call.number(0), call.number(1));
    let (length, amount) = (call.number(2), call.number(3));
    let (Some(limit), Some(amount)) = (limit, amount) else {
        return Err(Failure::Lua("attempt to compare nil with number"));
    };
    call.granted = Some(false);
    if amount > limit {
        return Ok(Answer::Nil);
    }
    if let Some(entry) = call.lindex(0, limit - amount)? {
        let (Some(now), Some(length)) = (now, length) else {
            return Err(Failure::Lua("attempt to perform arithmetic on a nil value"));
        };
        let entry =
            lua::number(&entry).ok_or(Failure::Lua("attempt to compare number with nil"))?;
        if entry >= now - length {
            return Ok(Answer::Nil);
        }
    }
    // What would not fit fails before anything is pushed, so that no key is left without an end.
    if pushes && amount > ELEMENTS_MAX as f64 {
        return Err(PlainError::TooLarge.into());
    }
    let mut pushed = 1.0;
    while pushes && pushed <= amount {
        let now = lua::argument(now.ok_or(Failure::NIL_ARGUMENT)?);
        call.lpush(0, &now)?;
        pushed += 1.0;
    }
    call.ltrim_to(0, limit - 1.0)?;
    let seconds = lua::argument(length.ok_or(Failure::NIL_ARGUMENT)?);
    call.expire(0, &seconds, 1000, "expire")?;
    call.granted = Some(true);
    Ok(Answer::Integer(1))
}

/// The times of the window that a list begins with.
struct Times {
    latest: Option<f64>,
    earliest: Option<f64>,
    count: f64,
}

/// What the versions before 5 look at. `KEYS`: the list. `ARGV`: the time that the window begins at, limit.
fn times(call: &mut Call<'_>) -> Result<Times, Failure> {
    let last = call.number(1).ok_or(Failure::NIL_ARGUMENT)?;
    let entries = call.lrange_to(0, last)?;
    let begin = call.number(0);
    let mut times = Times {
        latest: None,
        earliest: None,
        count: 0.0,
    };
    for entry in entries {
        let (Some(time), Some(begin)) = (lua::number(&entry), begin) else {
            return Err(Failure::Lua("attempt to compare number with nil"));
        };
        // Not what is earlier, and not NaN.
        if !matches!(
            time.partial_cmp(&begin),
            Some(Ordering::Greater | Ordering::Equal)
        ) {
            break;
        }
        times.count += 1.0;
        times.latest = times.latest.or(Some(time));
        times.earliest = Some(
            times
                .earliest
                .map_or(time, |earliest| lua::min(earliest, time)),
        );
    }
    Ok(times)
}

/// A time and a count as numbers. A table ends before its first nil.
fn numbers(time: Option<f64>, count: f64) -> Answer {
    match time {
        Some(time) => Answer::numbers([time, count]),
        None => Answer::Array(Vec::new()),
    }
}

/// Up to 3.7. Replies the latest time of the window and how many there are, or an empty table.
pub fn get_3_6(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let times = times(call)?;
    Ok(numbers(times.latest, times.count))
}

/// 3.10 to 3.14, the same with the earliest time.
pub fn get_3_10(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let times = times(call)?;
    Ok(numbers(times.earliest, times.count))
}

/// 4, the same with its decimals, or nothing.
pub fn get_4(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let times = times(call)?;
    Ok(match times.earliest {
        Some(earliest) => Answer::Array(vec![
            Answer::Bulk(lua::text(earliest)),
            Answer::number(times.count),
        ]),
        None => Answer::Nil,
    })
}

/// Version 5. `KEYS`: the list. `ARGV`: the time that the window begins at, limit. Replies the oldest time in it and how many
/// there are, or nothing.
pub fn get(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let begin = call.number(0);
    let limit = call.operand(1)?;
    let begin = begin.ok_or(Failure::Lua("attempt to compare nil with number"));
    // The times fall from place to place: halves the places until the last that is late enough is found.
    let (mut low, mut high, mut found) = (0.0, limit - 1.0, None);
    while low <= high {
        let middle = ((low + high) / 2.0_f64).floor();
        let time = call.lindex(0, middle)?.and_then(|time| lua::number(&time));
        match time {
            Some(time) if time >= begin.clone()? => {
                found = Some(middle);
                low = middle + 1.0;
            }
            // Half of infinity is infinite: it would never end.
            _ if middle.is_infinite() => return Err(PlainError::NotAnInteger.into()),
            _ => high = middle - 1.0,
        }
    }
    let Some(place) = found else {
        return Ok(Answer::Nil);
    };
    let oldest = call.lindex(0, place)?.and_then(|time| lua::number(&time));
    let oldest = oldest.map_or(b"nil".to_vec(), lua::text);
    Ok(Answer::Array(vec![
        Answer::Bulk(oldest),
        Answer::number(place + 1.0),
    ]))
}
