//! What is counted of a decision: that there was one, how long its caller waits, at which keys and under which policies.

use super::context::{Context, Shared};
use super::outcome::Outcome;
use super::rules::Call;
use crate::core::decision::Earliest;
use crate::core::units::Wait;
use crate::hot::Told;
use crate::metrics::{Tally, Verdict};
use crate::store::Value;

/// Counts the decision on one key.
pub fn one(context: &mut Context<'_>, key: &[u8], told: Told) {
    decision(context.tally, told);
    at_key(context, key, None, told);
}

/// Counts the decision of a call: a grant at all its keys, a denial at the one that binds. Of a grant for later only the
/// key makes the caller wait that could go last.
pub fn call(context: &mut Context<'_>, call: &Call<'_>, outcome: &Outcome) {
    let is_paused = |rule| {
        let mut rows = outcome.rows.iter();
        rows.any(|row| row.rule == rule && row.paused)
    };
    if !outcome.granted {
        let rule = outcome.bound().rule;
        let paused = is_paused(rule);
        let told = match call.options.shadow {
            true => Told::Shadowed { paused },
            false => Told::Denied { paused },
        };
        decision(context.tally, told);
        return at_key(context, call.rules[rule].key, call.rules[rule].policy, told);
    }
    let wait_ms = match outcome.earliest {
        Earliest::After(wait) => ms(wait),
        Earliest::Never => 0,
    };
    let slowest = match wait_ms {
        0 => None,
        _ => outcome.last_to_go(),
    };
    let paused = slowest.is_some_and(is_paused);
    decision(context.tally, Told::Granted { wait_ms, paused });
    for (rule, asked) in call.rules.iter().enumerate() {
        let told = match slowest == Some(rule) {
            true => Told::Granted { wait_ms, paused },
            false => Told::AT_ONCE,
        };
        at_key(context, asked.key, asked.policy, told);
    }
}

/// Counts a call that has begun to wait at those of its keys that are paused.
pub fn waits(context: &mut Context<'_>, keys: &[&[u8]]) {
    let (database, now) = (context.connection.database, context.now);
    let store = &context.shared.store;
    let is_paused = |key: &[u8]| {
        store.read(database, key, now, |value| match value {
            Some(Value::Limit(entry)) => !entry.paused(now).is_zero(),
            _ => false,
        })
    };
    let mut any = false;
    for key in keys.iter().filter(|key| is_paused(key)) {
        at_key(context, key, None, Told::PutOff);
        any = true;
    }
    context.tally.paused += u64::from(any);
}

/// Counts a decision, but not its keys.
pub fn decision(tally: &mut Tally, told: Told) {
    let paused = match told {
        Told::AT_ONCE => {
            tally.granted += 1;
            return;
        }
        Told::Granted { wait_ms, paused } => {
            tally.granted += 1;
            if wait_ms > 0 {
                tally.waits(wait_ms.into());
            }
            paused
        }
        Told::Denied { paused } => {
            tally.denied += 1;
            paused
        }
        Told::Shadowed { paused } => {
            tally.shadow_limited += 1;
            paused
        }
        Told::PutOff => true,
    };
    tally.paused += u64::from(paused);
}

/// A wait as it is counted: milliseconds, rounded up.
pub fn ms(wait: Wait) -> u32 {
    u32::try_from(wait.ceil_ms()).unwrap_or(u32::MAX)
}

/// Counts what a call was told at one of its keys, by how that begins and by the policy of its limits there.
pub fn in_groups(shared: &Shared, key: &[u8], policy: Option<&[u8]>, told: Told) {
    let verdict = match told {
        Told::Granted { .. } => Verdict::Granted,
        Told::Denied { .. } => Verdict::Denied,
        Told::Shadowed { .. } => Verdict::Shadowed,
        Told::PutOff => return,
    };
    shared.metrics.by_prefix.count(key, verdict);
    if let Some(policy) = policy {
        shared.metrics.by_policy.count(policy, verdict);
    }
}

fn at_key(context: &Context<'_>, key: &[u8], policy: Option<&[u8]>, told: Told) {
    let (hot, database) = (&context.shared.hot, context.connection.database);
    hot.count(database, key, told, 1, context.now);
    in_groups(context.shared, key, policy, told);
}
