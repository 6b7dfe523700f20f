//! The connections of users that may no longer do what they did.

use crate::acl::User;
use crate::command::connection::client::kill;
use crate::command::context::Shared;
use crate::core::units::Timestamp;
use crate::pubsub::Kind;

/// Ends the connections of a user that is no more.
pub fn of_user(shared: &Shared, name: &[u8], now: Timestamp) {
    for client in shared.clients.all() {
        if **client.user.read() == *name {
            kill::end(shared, &client, now);
        }
    }
}

/// Ends those of a user's connections that listen to what it may no longer.
pub fn that_hear_too_much(shared: &Shared, name: &[u8], user: &User, now: Timestamp) {
    let hears_too_much = shared.hub.subscribers_that(|client, kind, channel| {
        **client.user.read() == *name && !user.may_listen(channel, kind == Kind::Pattern)
    });
    for client in hears_too_much {
        kill::end(shared, &client, now);
    }
}
