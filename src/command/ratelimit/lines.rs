//! The lines of the log about pauses: one for each that was set, changed or ended early.

use crate::command::context::Context;
use crate::core::units::SECOND;
use crate::seldom::Seldom;

/// What of pauses goes into the log: some at once, as when one provider says 429 for many keys, and then one a second. A
/// client that sets more has the rest counted.
pub const fn pauses() -> Seldom {
    Seldom::some_each(20, SECOND)
}

/// A key is paused for `left_ms` from now.
pub(super) fn paused(context: &Context<'_>, key: &[u8], left_ms: i64) {
    let Some(left_out) = context.shared.pause_lines.due(context.now.as_ns()) else {
        return;
    };
    tracing::info!(
        key = %key.escape_ascii(),
        db = context.connection.database,
        left_ms,
        peer = context.connection.client.peer,
        left_out = Some(left_out).filter(|left_out| *left_out > 0),
        "paused"
    );
}

/// The pause or slow-down of a key was ended.
pub(super) fn resumed(context: &Context<'_>, key: &[u8]) {
    let Some(left_out) = context.shared.pause_lines.due(context.now.as_ns()) else {
        return;
    };
    tracing::info!(
        key = %key.escape_ascii(),
        db = context.connection.database,
        peer = context.connection.client.peer,
        left_out = Some(left_out).filter(|left_out| *left_out > 0),
        "resumed"
    );
}
