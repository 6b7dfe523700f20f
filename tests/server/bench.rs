//! `tollgate bench`, against the server and against servers that behave badly.

use crate::authority::Authority;
use crate::harness::{Server, failure, run, tollgate};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::time::Duration;

fn server() -> (Server, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    (Server::start(directory.path(), &[]), directory)
}

/// Runs the generator against a port.
fn bench(port: u16, arguments: &[&str]) -> Output {
    let port = port.to_string();
    run(&[&["bench", "-p", &port, "-q", "--json"], arguments].concat())
}

/// The value of the first member of that name in a JSON object without spaces.
fn member<'a>(json: &'a str, name: &str) -> &'a str {
    let name = format!("\"{name}\":");
    let at = json.find(&name).unwrap_or_else(|| panic!("{name}: {json}"));
    let value = &json[at + name.len()..];
    &value[..value.find([',', '}', ']']).unwrap_or(value.len())]
}

/// `[all, fine, denied, errors]` of a whole run.
fn replies(output: &Output) -> [u64; 4] {
    let json = std::str::from_utf8(&output.stdout).expect("text");
    // Those of the commands come first.
    let whole = &json[json.rfind("\"replies\":").expect("is there")..];
    ["all", "fine", "denied", "errors"].map(|name| member(whole, name).parse().expect("a number"))
}

#[test]
fn every_call_is_made_once_and_counted_once() {
    let (server, _directory) = server();
    for (number, arguments) in [
        &["-c", "7", "-P", "3"][..],
        &["-c", "3", "--threads", "3", "-P", "16"],
        &["--threads", "2", "--rate", "100000"],
        &["--draw", "zipf", "-3"],
    ]
    .iter()
    .enumerate()
    {
        let words = ["-n", "1000", "SETNX", "__key__", "1"];
        let output = bench(server.port, &[arguments, &words[..]].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(replies(&output), [1000, 1000, 0, 0], "{arguments:?}");
        let calls = format!("cmdstat_setnx:calls={},", 1000 * (number + 1));
        let info = server.cli(&["INFO", "commandstats"]);
        assert!(info.contains(&calls), "{calls} {info}");
    }
}

/// Requests and replies far longer than what a socket takes at once.
fn play_long_values(target: &[&str]) {
    let value = "v".repeat(60_000);
    for words in [&["SET", "__key__", &value][..], &["GET", "__key__"]] {
        let options = [
            "-n", "300", "-c", "3", "-P", "20", "-r", "50", "--draw", "sequence",
        ];
        let quiet = ["-q", "--json"];
        let output = run(&[&["bench"], target, &quiet, &options, words].concat());
        assert_eq!(replies(&output), [300, 300, 0, 0], "{target:?}: {output:?}");
    }
}

#[test]
fn it_goes_over_tcp_tls_and_a_unix_socket() {
    let directory = tempfile::tempdir().expect("a directory");
    let authority = Authority::new(directory.path(), "authority");
    let identity = authority.issue("127.0.0.1");
    let text = |path: &std::path::Path| path.to_str().expect("text").to_owned();
    let socket = text(&directory.path().join("socket"));
    let (certificate, key) = (text(&identity.certificate), text(&identity.key));
    let tls = [
        "--tls-port",
        "any",
        "--tls-cert-file",
        &certificate,
        "--tls-key-file",
        &key,
    ];
    let beside = [
        "--port",
        "any",
        "--unixsocket",
        &socket,
        "--tls-auth-clients",
        "no",
    ];
    let dir = text(directory.path());
    let server = Server::spawn(tollgate(&[&tls[..], &beside, &["--dir", &dir]].concat()));
    play_long_values(&["-p", &server.port.to_string()]);
    play_long_values(&["-s", &socket]);
    let port = server.tls_port.to_string();
    play_long_values(&["-p", &port, "--tls", "--cacert", &text(&authority.file)]);
}

#[test]
fn a_sequence_fills_as_many_keys() {
    let (server, _directory) = server();
    let words = [
        "-n",
        "2000",
        "-r",
        "2000",
        "--draw",
        "sequence",
        "--threads",
        "2",
        "SET",
        "__key__",
        "1",
    ];
    assert_eq!(replies(&bench(server.port, &words))[1], 2000);
    assert_eq!(server.cli(&["DBSIZE"]), "(integer) 2000\n");
    assert_eq!(
        server.cli(&["EXISTS", "key:0000000000", "key:0000001999"]),
        "(integer) 2\n"
    );
}

#[test]
fn denials_are_told_from_errors() {
    let (server, _directory) = server();
    let one_key = |words: &[&str]| bench(server.port, &[&["-n", "100", "-r", "1"], words].concat());
    // The clock stands still.
    for words in [
        &["RL.TAKE", "a__key__", "5", "5"][..],
        &["RL.RESERVE", "b__key__", "5", "5", "0"],
        &["CL.THROTTLE", "c__key__", "4", "5", "1"],
        &["RL.TAKE", "d__key__", "5", "5", "INFO"],
        &["RL.LEASE", "e__key__", "5", "1s"],
    ] {
        let output = one_key(words);
        assert_eq!(replies(&output), [100, 5, 95, 0], "{words:?}");
        assert_eq!(output.status.code(), Some(0));
    }
    let mixed = one_key(&["--mix", "RL.TAKE f__key__ 5 5", "--mix", "GET 'a b' c"]);
    let [all, fine, denied, errors] = replies(&mixed);
    assert_eq!((all, fine), (100, 5));
    assert!(denied > 0 && errors > 0, "{denied} {errors}");
    let json = String::from_utf8(mixed.stdout).expect("text");
    assert_eq!(member(&json, "code"), "\"ERR\"");
    assert!(json.contains("wrong number of arguments"), "{json}");
    assert_eq!(mixed.status.code(), Some(0));
}

#[test]
fn nothing_but_errors_is_a_failure() {
    let (server, _directory) = server();
    let output = bench(server.port, &["-n", "10", "NOPE", "__key__"]);
    assert_eq!(replies(&output), [10, 0, 0, 10]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn what_cannot_be_run_is_said_in_a_line() {
    assert!(failure(&["bench"]).contains("name a command"));
    assert!(failure(&["bench", "--draw", "x", "PING"]).contains("--draw"));
    assert!(failure(&["bench", "-n", "1", "--duration", "1s", "PING"]).contains("--duration"));
    assert!(failure(&["bench", "--mix", "0: PING"]).contains("weight"));
    let free = TcpListener::bind("127.0.0.1:0").expect("binds");
    let port = free.local_addr().expect("is bound").port().to_string();
    drop(free);
    assert!(failure(&["bench", "-p", &port, "PING"]).contains("is the server running there?"));
}

/// A server of one connection that is served by `f`; its port.
fn peer(f: impl FnOnce(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
    let port = listener.local_addr().expect("is bound").port();
    std::thread::spawn(move || f(listener.accept().expect("connects").0));
    port
}

/// Answers each `PING` until the peer has gone.
fn answer(mut stream: TcpStream) {
    let mut request = [0; 14];
    while stream.read_exact(&mut request).is_ok() && stream.write_all(b"+PONG\r\n").is_ok() {}
}

const STALL_MS: u64 = 200;

/// Answers nothing for a while, then everything.
fn stall(stream: TcpStream) {
    let timeout = Duration::from_millis(STALL_MS);
    stream.set_read_timeout(Some(timeout)).expect("is a socket");
    let mut first = [0; 14];
    (&stream).read_exact(&mut first).expect("a request");
    // One call is in flight at most, so nothing comes.
    assert!((&stream).read(&mut [0]).is_err());
    stream.set_read_timeout(None).expect("is a socket");
    (&stream).write_all(b"+PONG\r\n").expect("is read");
    answer(stream);
}

#[test]
fn an_open_loop_counts_a_stall_for_every_call_that_came_due_in_it() {
    // Two hundred calls, one a millisecond, and none answered before the last is due.
    let open = ["-c", "1", "--rate", "1000", "-n", "200", "PING"];
    let output = bench(peer(stall), &open);
    let json = String::from_utf8(output.stdout).expect("text");
    let median: f64 = member(&json, "p50").parse().expect("a number");
    assert!(median > 90_000.0, "{json}");
    assert_eq!(member(&json, "loop"), "\"open\"");
    let closed = ["-c", "1", "-n", "200", "PING"];
    let output = bench(peer(stall), &closed);
    let json = String::from_utf8(output.stdout).expect("text");
    let most: f64 = member(&json, "max").parse().expect("a number");
    assert!(most > 190_000.0, "{json}");
    assert_eq!(member(&json, "loop"), "\"closed\"");
}

/// Reads and never answers.
fn silent(mut stream: TcpStream) {
    while stream.read(&mut [0; 64]).is_ok_and(|length| length > 0) {}
}

#[test]
fn calls_that_could_not_be_sent_in_time_are_a_failure() {
    let open = ["-c", "1", "--rate", "1000", "--duration", "50ms", "PING"];
    let output = bench(peer(silent), &open);
    assert_eq!(output.status.code(), Some(1));
    let json = String::from_utf8(output.stdout).expect("text");
    let left = (member(&json, "unanswered"), member(&json, "unsent"));
    assert_eq!(left, ("1", "49"));
    assert!(json.contains("does not keep up"), "{json}");
}

#[test]
fn a_server_that_falls_silent_is_given_up() {
    let arguments = [
        "-c",
        "1",
        "-n",
        "3",
        "-P",
        "2",
        "--patience",
        "50ms",
        "PING",
    ];
    let output = bench(peer(silent), &arguments);
    assert_eq!(output.status.code(), Some(1));
    let json = String::from_utf8(output.stdout).expect("text");
    assert_eq!(member(&json, "unanswered"), "2");
}

#[test]
fn a_connection_that_is_closed_ends_the_run() {
    let refuse = |mut stream: TcpStream| {
        stream.write_all(b"-ERR full\r\n").expect("is read");
        // It may come before the first call or behind it.
        let _ = stream.read_exact(&mut [0; 14]);
    };
    let line = |port: u16| failure(&["bench", "-p", &port.to_string(), "-q", "-c", "1", "PING"]);
    assert!(line(peer(refuse)).contains("ERR full"));
    let babble = |mut stream: TcpStream| {
        stream.read_exact(&mut [0; 14]).expect("a request");
        stream.write_all(b"HTTP/1.1 400\r\n").expect("is read");
        answer(stream);
    };
    assert!(line(peer(babble)).contains("not a reply"));
}
