//! Locks and semaphores that go by themselves: those of redis-py and redis-semaphore (npm).

use super::answer::{Answer, Failure};
use super::collections::scores;
use super::{Call, Script, lua};

/// The rows.
pub const SCRIPTS: &[Script] = &[
    Script {
        library: "Laravel",
        name: "concurrency release",
        sha1: "a50243715157b186c5162c69e02eff3bf0c7994a",
        sha1_without_indents: "8eddef8c3afc6383739b59f78db0a6d976726f2b",
        run: release,
    },
    Script {
        library: "Laravel",
        name: "release of a cache lock",
        sha1: "647c65a442733a1aa440f99908d249d13b4d6c4a",
        sha1_without_indents: "34342d67fd74141d4d1c625bf2711527ae2d13c2",
        run: release,
    },
    Script {
        library: "redis-py",
        name: "release of a lock",
        sha1: "c3f8721cbb97f72bc19e972846bd7aaf91901658",
        sha1_without_indents: "5124bc9d98c6bd8aae6906d7c4e8105ac828a5e5",
        run: release,
    },
    Script {
        library: "redis-py",
        name: "reacquire of a lock",
        sha1: "1cac51482acf5858da00f6d685d68f886cd6b6b2",
        sha1_without_indents: "ac7273a00f8c708aa5dfbd7f78dad820cb03b050",
        run: prolong,
    },
    Script {
        library: "redis-py",
        name: "extend of a lock",
        sha1: "a4e8783852e6b949f9ef3a97212805108459a890",
        sha1_without_indents: "0a74e976397b5a1d6c5aaf6cb5de0be1dee4ae6e",
        run: extend,
    },
    Script {
        library: "redis-semaphore",
        name: "release of a mutex",
        sha1: "7157921a7cc7cfba979acf6d63f073151df17d12",
        sha1_without_indents: "4eb53d4c93c9ea910c89af3cca0c9b9a7f77e8e2",
        run: release,
    },
    Script {
        library: "redis-semaphore",
        name: "refresh of a mutex",
        sha1: "594683e49a64ebaf975caf5f8079a1d097c438f1",
        sha1_without_indents: "cbbbd6be5ec0ae9ba477d7621e978eaa0592fb75",
        run: prolong,
    },
    Script {
        library: "redis-semaphore",
        name: "acquire of a semaphore",
        sha1: "43ebdb49120d170e08af560cb4e46e36f8585936",
        sha1_without_indents: "fb19a507a4c57a5929d46f41dc2ee7a0800f2439",
        run: acquire,
    },
    Script {
        library: "redis-semaphore",
        name: "refresh of a semaphore",
        sha1: "999a49a1d07671a8027165641001f5bad44608b3",
        sha1_without_indents: "4f68a9bb87523ebbc4aa1ed7268881034a3ce73d",
        run: refresh,
    },
];

/// Releases a lock. `KEYS`: the lock. `ARGV`: who must hold it. Replies 1, or 0 if it is another's.
pub fn release(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let is_ours = is_ours(call)?;
    Ok(Answer::one_or_zero(is_ours && call.delete(0)?))
}

/// Holds a lock for longer. `ARGV`: who must hold it, milliseconds from now. Replies 1, or 0 if it is another's.
pub fn prolong(call: &mut Call<'_>) -> Result<Answer, Failure> {
    if !is_ours(call)? {
        return Ok(Answer::Integer(0));
    }
    let ms = call.argument(1)?;
    call.expire(0, ms, 1, "pexpire")?;
    Ok(Answer::Integer(1))
}

/// redis-py's `extend`. `ARGV`: who must hold it, milliseconds, `0` to add them to those that are left. Replies 1, or
/// 0 if it is another's or has no end.
pub fn extend(call: &mut Call<'_>) -> Result<Answer, Failure> {
    if !is_ours(call)? {
        return Ok(Answer::Integer(0));
    }
    let left_ms = call.pttl(0)?;
    if left_ms < 0.0 {
        return Ok(Answer::Integer(0));
    }
    let adds = call.arguments.get(2).is_some_and(|word| *word == b"0");
    let ms = if adds {
        lua::argument(call.operand(1)? + left_ms)
    } else {
        call.argument(1)?.to_vec()
    };
    call.expire(0, &ms, 1, "pexpire")?;
    Ok(Answer::Integer(1))
}

/// Takes a place of redis-semaphore's semaphore. `KEYS`: the set. `ARGV`: places, who takes one, milliseconds to hold
/// it, now. Replies 1, or 0 if none is free.
pub fn acquire(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let limit = call.number(0);
    let (length, now) = drop_expired(call)?;
    let limit = limit.ok_or(Failure::Lua("attempt to compare number with nil"))?;
    call.granted = Some((call.zcard(0)? as f64) < limit);
    if call.granted == Some(false) {
        return Ok(Answer::Integer(0));
    }
    hold(call, length, now)
}

/// Holds a place for longer. Replies 1, or 0 if it has none.
pub fn refresh(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let (length, now) = drop_expired(call)?;
    let holder = call.argument(1)?;
    if !call.zhas(0, holder)? {
        return Ok(Answer::Integer(0));
    }
    hold(call, length, now)
}

fn drop_expired(call: &mut Call<'_>) -> Result<(f64, f64), Failure> {
    let (now, length) = (call.operand(3)?, call.operand(2)?);
    call.zremove(0, scores(b"-inf", &lua::argument(now - length))?)?;
    Ok((length, now))
}

fn hold(call: &mut Call<'_>, length: f64, now: f64) -> Result<Answer, Failure> {
    let holder = call.argument(1)?;
    call.zadd(0, &lua::argument(now), holder)?;
    call.expire(0, &lua::argument(length), 1, "pexpire")?;
    Ok(Answer::Integer(1))
}

fn is_ours(call: &mut Call<'_>) -> Result<bool, Failure> {
    let holder = call.get(0)?;
    Ok(holder.is_some_and(|holder| call.arguments.first() == Some(&&*holder)))
}
