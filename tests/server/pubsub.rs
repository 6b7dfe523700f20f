//! Publish and subscribe between real connections.

use crate::harness::{Server, Wire};
use std::io::Read;
use std::sync::mpsc::channel;
use std::time::Duration;

fn server(arguments: &[&str]) -> (Server, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    (Server::start(directory.path(), arguments), directory)
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// A message as a connection gets it, `mark` being that of arrays or of pushes.
fn message(mark: char, channel: &str, text: &str) -> String {
    format!(
        "{mark}3\r\n{}{}{}",
        bulk("message"),
        bulk(channel),
        bulk(text)
    )
}

fn confirmation(mark: char, word: &str, name: &str, count: usize) -> String {
    format!("{mark}3\r\n{}{}:{count}\r\n", bulk(word), bulk(name))
}

/// A connection that is subscribed to a channel.
fn subscriber(server: &Server, channel: &str) -> Wire {
    let mut wire = server.connect();
    wire.send(format!("SUBSCRIBE {channel}\r\n"))
        .expect(confirmation('*', "subscribe", channel, 1));
    wire
}

/// The value of a line of INFO.
fn info(wire: &mut Wire, name: &str) -> u64 {
    wire.send("INFO\r\n");
    let length: usize = wire
        .line()
        .trim_start_matches('$')
        .parse()
        .expect("a length");
    let mut text = vec![0; length + 2];
    wire.0.read_exact(&mut text).expect("a text");
    let text = String::from_utf8(text).expect("text");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{name}:")));
    line.and_then(|line| line.parse().ok()).expect(name)
}

#[test]
fn a_message_is_delivered_at_once_in_both_protocols() {
    let (server, _directory) = server(&[]);
    let mut two = subscriber(&server, "a");
    // Subscribed in the same write that chose the protocol.
    let mut other = server.connect();
    other.send("HELLO 3\r\nPSUBSCRIBE [ab]\r\nPING\r\n");
    while other.line() != "+PONG" {}
    let mut publisher = server.connect();
    publisher
        .send("PUBLISH a hello\r\nPUBLISH b \"\\x00\\xff\"\r\n")
        .expect(":2\r\n:1\r\n");
    two.expect(message('*', "a", "hello"));
    let head = format!(">4\r\n{}{}", bulk("pmessage"), bulk("[ab]"));
    other
        .expect(format!("{head}{}{}", bulk("a"), bulk("hello")))
        .expect(format!("{head}{}$2\r\n", bulk("b")))
        .expect(b"\x00\xff\r\n");
    // A RESP3 connection goes on as before.
    other.send("ECHO x\r\n").expect(bulk("x"));
    two.send("ECHO x\r\n");
    assert!(two.line().starts_with("-ERR Can't execute 'echo'"));
}

#[test]
fn a_pause_reaches_who_listens_for_it() {
    let (server, _directory) = server(&[]);
    let mut listener = subscriber(&server, "__rl@0__:pause");
    let mut other = server.connect();
    other
        .send("RL.PAUSE rl:meta:123 30s\r\n")
        .expect(":30000\r\n");
    listener.expect(message('*', "__rl@0__:pause", "30000 rl:meta:123"));
}

#[test]
fn who_does_not_read_is_cut_off_and_the_others_go_on() {
    let (server, _directory) = server(&["--pubsub-output-limit", "2mb"]);
    let (mut deaf, mut reader) = (subscriber(&server, "a"), subscriber(&server, "a"));
    let text = "x".repeat(60_000);
    let expected = message('*', "a", &text);
    let (read, done) = channel();
    let reading = std::thread::spawn(move || {
        let mut got = vec![0; expected.len()];
        while reader.0.read_exact(&mut got).is_ok() {
            assert!(got == expected.as_bytes());
            read.send(()).expect("somebody counts");
        }
    });
    let mut publisher = server.connect();
    let mut published = 0;
    // Until the deaf one is gone: the kernel takes some megabytes for it, the mailbox two.
    loop {
        publisher.send(format!("PUBLISH a {text}\r\n"));
        published += 1;
        // The other has this one before the next is sent, so nothing ever piles up for it.
        done.recv().expect("a message");
        match publisher.line().as_str() {
            ":2" => assert!(published < 1_000, "60 MB were kept for it"),
            reply => break assert_eq!(reply, ":1"),
        }
    }
    server.wait_for_log("its messages were not read");
    let resident = server.resident_kib();
    assert!(resident < 64 * 1024, "{resident} KiB");
    let field = "client_output_buffer_limit_disconnections";
    assert_eq!(info(&mut publisher, field), 1);
    assert_eq!(info(&mut publisher, "pubsub_clients"), 1);
    // What was in the kernel comes, and then the end.
    let mut rest = Vec::new();
    let _ = deaf.0.read_to_end(&mut rest);
    assert!(rest.len() < published * text.len());
    publisher
        .send("CLIENT KILL TYPE pubsub\r\n")
        .expect(":1\r\n");
    reading.join().unwrap();
}

#[test]
fn messages_that_waited_come_by_themselves() {
    let (server, _directory) = server(&[]);
    let mut listener = subscriber(&server, "a");
    let mut publisher = server.connect();
    let text = "x".repeat(60_000);
    // 18 MB: more than the kernel takes, so the server waits in the middle of a write while messages come.
    for _ in 0..300 {
        publisher
            .send(format!("PUBLISH a {text}\r\n"))
            .expect(":1\r\n");
    }
    // A bound on despair: without it a message that is stuck would hang the test.
    let patience = Duration::from_secs(60);
    listener.0.set_read_timeout(Some(patience)).unwrap();
    for _ in 0..300 {
        listener.expect(message('*', "a", &text));
    }
}

#[test]
fn a_subscriber_may_be_idle() {
    let (server, _directory) = server(&["--timeout", "1"]);
    let mut listener = subscriber(&server, "a");
    // Came later, and is closed: so the time of the subscriber is over as well.
    assert_eq!(server.connect().ping().rest(), "");
    server.connect().send("PUBLISH a x\r\n").expect(":1\r\n");
    listener.expect(message('*', "a", "x"));
    listener
        .send("UNSUBSCRIBE\r\n")
        .expect(confirmation('*', "unsubscribe", "a", 0));
    assert_eq!(listener.rest(), "");
}

#[test]
fn who_goes_is_subscribed_no_longer() {
    let (server, _directory) = server(&[]);
    let crowd: Vec<Wire> = (0..50).map(|_| subscriber(&server, "a")).collect();
    let mut watcher = server.connect();
    watcher.send("PUBLISH a x\r\n").expect(":50\r\n");
    assert_eq!(info(&mut watcher, "pubsub_clients"), 50);
    drop(crowd);
    while watcher.send("PUBLISH a x\r\n").line() != ":0" {}
    assert_eq!(info(&mut watcher, "pubsub_clients"), 0);
    assert_eq!(info(&mut watcher, "pubsub_channels"), 0);
}

#[test]
fn ten_thousand_subscriptions_on_one_connection() {
    let (server, _directory) = server(&[]);
    let (mut listener, mut other) = (server.connect(), server.connect());
    let many = 10_000;
    let names: Vec<String> = (0..many)
        .map(|number| format!("channel:{number:04}"))
        .collect();
    let mut request = format!("*{}\r\n{}", many + 1, bulk("SUBSCRIBE"));
    names.iter().for_each(|name| request += &bulk(name));
    let mut expected = String::new();
    for (index, name) in names.iter().enumerate() {
        expected += &confirmation('*', "subscribe", name, index + 1);
    }
    listener.send(request).expect(expected);
    assert_eq!(info(&mut other, "pubsub_channels"), many as u64);
    let messages: String = names.iter().map(|name| message('*', name, "x")).collect();
    for names in names.chunks(100) {
        let requests: String = names
            .iter()
            .map(|name| format!("PUBLISH {name} x\r\n"))
            .collect();
        other.send(requests).expect(":1\r\n".repeat(names.len()));
    }
    listener.expect(messages);
    let mut expected = String::new();
    for (index, name) in names.iter().enumerate() {
        expected += &confirmation('*', "unsubscribe", name, many - 1 - index);
    }
    listener.send("UNSUBSCRIBE\r\n").expect(expected).ping();
    assert_eq!(info(&mut other, "pubsub_channels"), 0);
}

#[test]
fn a_subscriber_does_not_hold_the_stop_up() {
    let (mut server, _directory) = server(&[]);
    let mut listener = subscriber(&server, "a");
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
    assert_eq!(listener.rest(), "");
}
