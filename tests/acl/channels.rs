//! Channels, and what becomes of those who listen when a user may hear less.

use crate::server::Server;
use tollgate::command::spec::Channels;
use tollgate::command::table::COMMANDS;

const NO_CHANNEL: &str = "-NOPERM No permissions to access a channel\r\n";

fn server() -> Server {
    let server = Server::new();
    let set = server
        .connect()
        .line("ACL SETUSER tenant on nopass +@all ~* &own:* &__rl@0__:*");
    assert_eq!(set, "+OK\r\n");
    server
}

#[test]
fn a_channel_of_somebody_else_is_refused_in_every_place() {
    let mut asked = 0;
    for spec in COMMANDS.iter() {
        let (own, count) = match spec.channels {
            Channels::None => continue,
            Channels::First => ("own:a", 1),
            Channels::All => ("own:a", 3),
            Channels::Patterns => ("own:*", 3),
        };
        for foreign in 0..count {
            let server = server();
            let mut words = vec![own; count];
            words[foreign] = "other:a";
            words.insert(0, spec.name);
            if spec.channels == Channels::First {
                words.push("message");
            }
            let mut tenant = server.connect_as("tenant");
            assert_eq!(tenant.call(&words), NO_CHANNEL, "{words:?}");
            assert!(server.0.shared.hub.is_idle(), "{words:?}");
            words[foreign + 1] = own;
            let reply = tenant.call(&words);
            assert!(!reply.contains("NOPERM"), "{words:?}: {reply}");
            asked += 1;
        }
    }
    assert_eq!(asked, 2 + 3 * 3);
}

#[test]
fn events_are_channels_and_patterns_must_be_the_users_own() {
    let server = server();
    let mut tenant = server.connect_as("tenant");
    assert!(
        tenant
            .line("SUBSCRIBE __rl@0__:pause")
            .contains("subscribe")
    );
    let mut tenant = server.connect_as("tenant");
    assert_eq!(tenant.line("SUBSCRIBE __rl@1__:pause"), NO_CHANNEL);
    assert_eq!(tenant.line("PSUBSCRIBE __rl@0__:p*"), NO_CHANNEL);
    assert!(tenant.line("PSUBSCRIBE __rl@0__:*").contains("psubscribe"));
    // Nothing is refused that ends a subscription.
    assert!(tenant.line("UNSUBSCRIBE other:a").contains("unsubscribe"));
    assert!(tenant.line("PUNSUBSCRIBE *").contains("punsubscribe"));
}

#[test]
fn who_listens_to_what_it_may_no_longer_is_closed() {
    let server = server();
    let mut admin = server.connect();
    let (mut one, mut two, mut three) = (
        server.connect_as("tenant"),
        server.connect_as("tenant"),
        server.connect_as("tenant"),
    );
    one.line("SUBSCRIBE own:a");
    two.line("PSUBSCRIBE own:*");
    admin.line("SUBSCRIBE own:a");
    let mut admin = server.connect();
    admin.line("ACL SETUSER tenant &more");
    assert!(!one.client.is_killed() && !two.client.is_killed());
    admin.line("ACL SETUSER tenant resetchannels &own:a*");
    assert!(!one.client.is_killed() && two.client.is_killed());
    admin.line("ACL SETUSER tenant resetchannels");
    assert!(one.client.is_killed());
    // Who does not listen goes on, with what is left.
    assert!(!three.client.is_killed());
    assert_eq!(three.line("SUBSCRIBE own:a"), NO_CHANNEL);
    assert_eq!(three.line("PING"), "+PONG\r\n");
}

#[test]
fn new_users_have_the_channels_that_the_setting_says() {
    let server = Server::new();
    let mut admin = server.connect();
    admin.line("CONFIG SET acl-pubsub-default allchannels");
    admin.line("ACL SETUSER open on nopass +@all");
    admin.line("CONFIG SET acl-pubsub-default resetchannels");
    admin.line("ACL SETUSER closed on nopass +@all");
    assert_eq!(server.connect_as("open").line("PUBLISH a b"), ":0\r\n");
    assert_eq!(server.connect_as("closed").line("PUBLISH a b"), NO_CHANNEL);
}
