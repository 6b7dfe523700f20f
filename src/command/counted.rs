//! What is counted of a decision: that there was one, how long its caller waits, under which policy it was made, and on
//! a key of which prefix.

use super::context::Shared;
use super::outcome::Outcome;
use super::rules::Call;
use crate::core::decision::Earliest;
use crate::core::units::Wait;
use crate::metrics::Tally;

/// Counts a decision on one key, under no policy: a grant with its wait, or a denial.
pub fn one(shared: &Shared, tally: &mut Tally, key: &[u8], granted: Option<Wait>) {
    decision(tally, granted);
    shared.metrics.by_prefix.count(key, granted.is_some());
}

/// Counts the decision of a call: a grant at all its rules, a denial at the one that binds.
pub fn call(shared: &Shared, tally: &mut Tally, call: &Call<'_>, outcome: &Outcome) {
    let wait = match outcome.earliest {
        Earliest::After(wait) if outcome.granted => Some(wait),
        _ => None,
    };
    decision(tally, wait);
    let rules = match outcome.granted {
        true => &call.rules[..],
        false => std::slice::from_ref(&call.rules[outcome.bound().rule]),
    };
    for rule in rules {
        at_rule(shared, rule.key, rule.policy, outcome.granted);
    }
}

/// Counts at one rule what was decided.
pub fn at_rule(shared: &Shared, key: &[u8], policy: Option<&[u8]>, granted: bool) {
    shared.metrics.by_prefix.count(key, granted);
    if let Some(policy) = policy {
        shared.metrics.by_policy.count(policy, granted);
    }
}

/// Counts a grant with its wait, or a denial.
pub fn decision(tally: &mut Tally, granted: Option<Wait>) {
    match granted {
        None => tally.denied += 1,
        Some(wait) => {
            tally.granted += 1;
            if !wait.is_zero() {
                tally.waits(wait.ceil_ms().unsigned_abs());
            }
        }
    }
}
