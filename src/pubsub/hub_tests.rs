use super::*;
use crate::clients::Clients;
use crate::core::units::Timestamp;

const BYTES_MAX: usize = 1024;

/// A connection as far as the hub knows it.
struct Peer {
    client: Arc<Client>,
    own: Subscriptions,
}

impl Peer {
    fn new(clients: &Clients) -> Self {
        let client = clients.register(
            String::new(),
            String::new(),
            Timestamp::ZERO,
            Box::new(|| {}),
        );
        Self {
            client,
            own: Subscriptions::default(),
        }
    }

    fn subscribe(&mut self, hub: &Hub, kind: Kind, name: &str) {
        hub.change()
            .subscribe(&self.client, &mut self.own, kind, name.as_bytes());
    }

    fn unsubscribe(&mut self, hub: &Hub, kind: Kind, name: &str) {
        hub.change()
            .unsubscribe(&self.client, &mut self.own, kind, name.as_bytes());
    }

    fn leave(&mut self, hub: &Hub) {
        hub.change().unsubscribe_all(&self.client, &mut self.own);
    }

    fn messages(&self) -> String {
        let mut output = Vec::new();
        self.client.take_messages(&mut output);
        String::from_utf8(output).unwrap().replace("\r\n", " ")
    }
}

fn publish(hub: &Hub, channel: &str) -> usize {
    hub.publish(Kind::Channel, channel.as_bytes(), b"x", BYTES_MAX)
}

#[test]
fn a_message_reaches_every_subscription_that_it_meets() {
    let (hub, clients) = (Hub::default(), Clients::default());
    let (mut one, mut two) = (Peer::new(&clients), Peer::new(&clients));
    assert_eq!(publish(&hub, "a"), 0);
    one.subscribe(&hub, Kind::Channel, "a");
    two.subscribe(&hub, Kind::Channel, "a");
    two.subscribe(&hub, Kind::Pattern, "a*");
    assert_eq!(publish(&hub, "a"), 3);
    assert_eq!(publish(&hub, "ab"), 1);
    assert_eq!(publish(&hub, "b"), 0);
    let message = "*3 $7 message $1 a $1 x ";
    assert_eq!(one.messages(), message);
    let pmessage = "*4 $8 pmessage $2 a* ";
    assert_eq!(
        two.messages(),
        format!("{message}{pmessage}$1 a $1 x {pmessage}$2 ab $1 x ")
    );
    assert_eq!(hub.subscribers(Kind::Channel, b"a"), 2);
}

#[test]
fn each_client_is_sent_its_own_protocol() {
    let (hub, clients) = (Hub::default(), Clients::default());
    let mut peers: Vec<Peer> = (0..4).map(|_| Peer::new(&clients)).collect();
    for (peer, protocol) in peers.iter_mut().zip([2, 3, 2, 3]) {
        peer.subscribe(&hub, Kind::Channel, "a");
        peer.client.protocol.store(protocol, Ordering::Relaxed);
    }
    publish(&hub, "a");
    let heads: Vec<String> = peers
        .iter()
        .map(|peer| peer.messages()[..2].into())
        .collect();
    assert_eq!(heads, ["*3", ">3", "*3", ">3"]);
}

#[test]
fn kinds_have_names_of_their_own() {
    let (hub, clients) = (Hub::default(), Clients::default());
    let mut peer = Peer::new(&clients);
    peer.subscribe(&hub, Kind::Shard, "a");
    peer.subscribe(&hub, Kind::Pattern, "b");
    assert_eq!(publish(&hub, "a"), 0);
    assert_eq!(hub.publish(Kind::Shard, b"b", b"x", BYTES_MAX), 0);
    assert_eq!(hub.publish(Kind::Shard, b"a", b"x", BYTES_MAX), 1);
    assert_eq!(peer.messages(), "*3 $8 smessage $1 a $1 x ");
    assert_eq!(
        (peer.own.told(Kind::Shard), peer.own.told(Kind::Channel)),
        (1, 1)
    );
}

#[test]
fn what_ends_leaves_nothing_behind() {
    let (hub, clients) = (Hub::default(), Clients::default());
    let (mut one, mut two) = (Peer::new(&clients), Peer::new(&clients));
    for peer in [&mut one, &mut two] {
        for name in ["a", "b", "a"] {
            peer.subscribe(&hub, Kind::Channel, name);
            peer.subscribe(&hub, Kind::Pattern, name);
            peer.subscribe(&hub, Kind::Shard, name);
        }
    }
    assert_eq!((one.own.len(), hub.count(Kind::Channel)), (6, 2));
    assert!(one.client.is_subscribed());
    one.unsubscribe(&hub, Kind::Channel, "a");
    one.unsubscribe(&hub, Kind::Channel, "a");
    one.unsubscribe(&hub, Kind::Channel, "never");
    assert_eq!(one.client.channels.load(Ordering::Relaxed), 1);
    assert_eq!(publish(&hub, "a"), 3);
    one.leave(&hub);
    assert!(one.own.is_empty() && !one.client.is_subscribed() && !hub.is_idle());
    two.leave(&hub);
    assert!(hub.is_idle());
    for kind in [Kind::Channel, Kind::Pattern, Kind::Shard] {
        assert_eq!(hub.count(kind), 0);
    }
}

#[test]
fn subscriptions_are_bounded() {
    let (hub, clients) = (Hub::default(), Clients::default());
    let mut peer = Peer::new(&clients);
    let names: Vec<String> = (0..SUBSCRIPTIONS_MAX).map(|n| n.to_string()).collect();
    let check = |own: &Subscriptions, kind, names: &[String]| {
        let names = names.iter().map(String::as_bytes);
        hub.change().check(own, kind, names)
    };
    let long = ["x".repeat(NAME_BYTES_MAX), "x".repeat(NAME_BYTES_MAX + 1)];
    assert_eq!(check(&peer.own, Kind::Channel, &long[..1]), Ok(()));
    assert_eq!(
        check(&peer.own, Kind::Pattern, &long),
        Err(Refused::TooLong)
    );

    let (first, last) = names.split_at(PATTERNS_MAX);
    assert_eq!(check(&peer.own, Kind::Pattern, first), Ok(()));
    first
        .iter()
        .for_each(|name| peer.subscribe(&hub, Kind::Pattern, name));
    let refused = Err(Refused::TooManyPatterns);
    assert_eq!(check(&peer.own, Kind::Pattern, &last[..1]), refused);
    // A pattern that somebody has costs no more comparisons.
    let other = Subscriptions::default();
    assert_eq!(check(&other, Kind::Pattern, first), Ok(()));
    peer.leave(&hub);

    assert_eq!(check(&peer.own, Kind::Channel, &names), Ok(()));
    names
        .iter()
        .for_each(|name| peer.subscribe(&hub, Kind::Channel, name));
    assert_eq!(check(&peer.own, Kind::Channel, &names), Ok(()));
    assert_eq!(
        check(&peer.own, Kind::Shard, &names[..1]),
        Err(Refused::TooMany)
    );

    peer.leave(&hub);

    // A million of them take a while.
    hub.subscriptions
        .store(SUBSCRIPTIONS_MAX_IN_ALL - 1, Ordering::Relaxed);
    assert_eq!(check(&peer.own, Kind::Channel, &names[..1]), Ok(()));
    let refused = Err(Refused::TooManyInAll);
    assert_eq!(check(&peer.own, Kind::Channel, &names[..2]), refused);
}

#[test]
fn who_does_not_read_is_cut_off() {
    let (hub, clients) = (Hub::default(), Clients::default());
    let (mut slow, mut quick) = (Peer::new(&clients), Peer::new(&clients));
    slow.subscribe(&hub, Kind::Channel, "a");
    quick.subscribe(&hub, Kind::Channel, "a");
    let message = "*3 $7 message $1 a $1 x ".len() + 7;
    for _ in 0..BYTES_MAX / message {
        publish(&hub, "a");
        quick.messages();
    }
    assert!(!slow.client.is_killed());
    publish(&hub, "a");
    assert!(slow.client.is_overrun() && slow.client.is_killed() && !quick.client.is_killed());
    // What it will not get any more is not kept.
    assert_eq!(slow.messages(), "");
}

#[test]
fn what_was_noted_goes_out_in_its_order() {
    let (hub, clients) = (Hub::default(), Clients::default());
    let mut peer = Peer::new(&clients);
    peer.subscribe(&hub, Kind::Channel, "a");
    for message in ["1", "2", "3"] {
        hub.note(b"a".to_vec(), message.as_bytes().to_vec());
    }
    hub.note(b"nobody".to_vec(), Vec::new());
    assert!(hub.has_noted());
    assert_eq!(peer.messages(), "");
    hub.deliver(BYTES_MAX);
    assert!(!hub.has_noted());
    let head = "*3 $7 message $1 a $1 ";
    assert_eq!(peer.messages(), format!("{head}1 {head}2 {head}3 "));
    hub.deliver(BYTES_MAX);
    assert_eq!(peer.messages(), "");
}
