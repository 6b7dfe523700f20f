//! The log: what it says, in which form, and that no client can flood it.

use crate::harness::{Server, tollgate};
use std::io::Read;
use std::process::Stdio;

/// All lines of a server's log, behind the one that it is ready, that came while `play` played.
fn lines_of(arguments: &[&str], play: impl Fn(&Server)) -> Vec<String> {
    let directory = tempfile::tempdir().expect("a directory");
    let mut server = Server::start(directory.path(), arguments);
    play(&server);
    server.signal("TERM");
    server.wait();
    let mut lines = Vec::new();
    // The last line that a server writes.
    while !lines
        .last()
        .is_some_and(|line: &String| line.contains("stopped"))
    {
        lines.push(server.wait_for_log(""));
    }
    lines
}

/// Lines about a thing.
fn about<'a>(lines: &'a [String], what: &str) -> Vec<&'a str> {
    let lines = lines.iter().map(String::as_str);
    lines.filter(|line| line.contains(what)).collect()
}

#[test]
fn the_first_line_says_what_is_on_and_where() {
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("socket");
    let socket = socket.to_str().expect("text");
    let flags = [
        "--port",
        "any",
        "--unixsocket",
        socket,
        "--maxmemory",
        "64mb",
        "--metrics-bind",
        "127.0.0.1:0",
    ];
    let path = directory.path().to_str().expect("text");
    let server = Server::spawn(tollgate(&[&flags[..], &["--dir", path]].concat()));
    for part in [
        " INFO ready ",
        " addresses=\"127.0.0.1:",
        " metrics=\"127.0.0.1:",
        &format!(" unixsocket=\"{socket}\""),
        " maxmemory=67108864 ",
        "tollgate.snapshot ",
        " journal=true ",
        " protection=\"no password: loopback only\"",
    ] {
        assert!(server.ready.contains(part), "{part}: {}", server.ready);
    }
}

#[test]
fn for_machines_each_line_is_an_object() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().to_str().expect("text");
    let mut child = tollgate(&[
        "--port",
        "any",
        "--dir",
        path,
        "--journal",
        "no",
        "--log-format",
        "json",
    ])
    .stderr(Stdio::piped())
    .spawn()
    .expect("starts");
    let mut stderr = child.stderr.take().expect("is piped");
    let mut text = String::new();
    let mut read = [0; 4096];
    while !text.contains("\"message\":\"ready\"") || !text.ends_with('\n') {
        let length = stderr.read(&mut read).expect("a log");
        text += std::str::from_utf8(&read[..length]).expect("text");
    }
    child.kill().expect("runs");
    child.wait().expect("ends");
    for line in text.lines() {
        assert!(
            line.starts_with("{\"timestamp\":\"") && line.ends_with('}'),
            "{line}"
        );
    }
    let ready = text.lines().next().expect("a line");
    assert!(
        ready.contains("\"level\":\"INFO\",\"message\":\"ready\",\"version\":\""),
        "{ready}"
    );
    assert!(ready.contains("\"addresses\":\"127.0.0.1:"), "{ready}");
    assert!(ready.contains("\"journal\":false"), "{ready}");
}

#[test]
fn for_machines_the_reason_of_a_failed_start_is_an_object_too() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = Server::start(directory.path(), &[]);
    let taken = server.port.to_string();
    for (level, begin) in [("notice", "{\"timestamp\":\""), ("nothing", "tollgate: ")] {
        let flags = [
            "--port",
            &taken,
            "--metrics-bind",
            "no",
            "--log-format",
            "json",
            "--loglevel",
            level,
        ];
        let ended = tollgate(&flags).output().expect("runs");
        assert_eq!(ended.status.code(), Some(1));
        let said = String::from_utf8(ended.stderr).expect("text");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(
            said.starts_with(begin) && said.contains("Address already in use"),
            "{said}"
        );
    }
}

#[test]
fn a_pause_and_a_resume_are_a_line_each_and_calls_are_none() {
    let lines = lines_of(&[], |server| {
        let mut wire = server.connect();
        wire.send("SELECT 3\r\n").expect("+OK\r\n");
        wire.send("RL.PAUSE \"k \\x1b[2J\\r\\n\" 30s\r\n")
            .expect(":30000\r\n");
        // This one changes nothing, and nor do those that come behind.
        wire.send("RL.PAUSE \"k \\x1b[2J\\r\\n\" 10s\r\n")
            .expect(":30000\r\n");
        for _ in 0..100 {
            wire.send("RL.TAKE \"k \\x1b[2J\\r\\n\" 1 1\r\n").lines(6);
        }
        wire.send("RL.RESUME \"k \\x1b[2J\\r\\n\"\r\n")
            .expect(":1\r\n");
        wire.send("RL.RESUME \"k \\x1b[2J\\r\\n\"\r\n")
            .expect(":0\r\n");
    });
    let [paused] = about(&lines, " paused ")[..] else {
        panic!("{lines:#?}");
    };
    assert!(
        paused.contains(r" INFO paused key=k \x1b[2J\r\n db=3 left_ms=30000 peer="),
        "{paused}"
    );
    let [resumed] = about(&lines, " resumed ")[..] else {
        panic!("{lines:#?}");
    };
    assert!(
        resumed.contains(r" INFO resumed key=k \x1b[2J\r\n db=3 peer="),
        "{resumed}"
    );
    // Beside these: asked to stop, stopping, a snapshot, stopped.
    assert!(lines.len() < 10, "{lines:#?}");
    assert!(!lines.concat().contains('\x1b'), "{lines:#?}");
}

#[test]
fn a_flood_of_pauses_is_some_lines_and_a_count() {
    let lines = lines_of(&[], |server| {
        let mut wire = server.connect();
        for key in 0..100 {
            wire.send(format!("RL.PAUSE k{key} 1h\r\n"))
                .expect(":3600000\r\n");
        }
        wire.send("DEBUG CLOCK ADVANCE 1s\r\n").expect("+OK\r\n");
        wire.send("RL.RESUME k7\r\n").expect(":1\r\n");
        wire.send("RL.RESUME k8\r\n").expect(":1\r\n");
    });
    assert_eq!(about(&lines, " paused ").len(), 20, "{lines:#?}");
    let [resumed] = about(&lines, " resumed ")[..] else {
        panic!("{lines:#?}");
    };
    assert!(resumed.ends_with(" left_out=80"), "{resumed}");
}
