//! `tollgate ping` and `tollgate cli`.

use crate::harness::{Server, failure, run, tollgate};
use std::io::Write;
use std::net::TcpListener;
use std::process::Stdio;

fn server(arguments: &[&str]) -> (Server, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    (Server::start(directory.path(), arguments), directory)
}

#[test]
fn ping_exits_by_the_answer() {
    let (server, _directory) = server(&[]);
    let port = server.port.to_string();
    let up = run(&["ping", "--port", &port]);
    assert_eq!((up.status.code(), up.stdout), (Some(0), b"PONG\n".to_vec()));
    let by_environment = tollgate(&["ping"])
        .env("TOLLGATE_PORT", &port)
        .env("TOLLGATE_BIND", "0.0.0.0")
        .output();
    assert_eq!(by_environment.unwrap().status.code(), Some(0));
}

#[test]
fn ping_fails_where_nobody_listens() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
        .to_string();
    assert!(failure(&["ping", "--port", &port]).contains("is the server running there?"));
}

#[test]
fn ping_fails_where_nobody_answers() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    assert!(failure(&["ping", "--port", &port, "--timeout", "50ms"]).contains("in time"));
}

#[test]
fn ping_gives_the_password() {
    let (server, _directory) = server(&["--requirepass", "s3cret"]);
    let port = server.port.to_string();
    assert!(failure(&["ping", "--port", &port]).contains("NOAUTH"));
    assert!(failure(&["ping", "--port", &port, "-a", "wrong"]).contains("WRONGPASS"));
    for variable in ["TOLLGATE_REQUIREPASS", "REDISCLI_AUTH"] {
        let up = tollgate(&["ping", "--port", &port])
            .env(variable, "s3cret")
            .output()
            .unwrap();
        assert_eq!(up.status.code(), Some(0), "{variable}");
    }
}

#[test]
fn cli_prints_one_reply() {
    let (server, _directory) = server(&[]);
    assert_eq!(
        server.cli(&["RL.RESERVE", "rl:meta:123", "80", "80", "30000"]),
        "(integer) 0\n"
    );
    assert_eq!(server.cli(&["PING", "a \"b\"\n"]), "\"a \\\"b\\\"\\n\"\n");
    let take =
        "1) (integer) 0\n2) (integer) 5\n3) (integer) 4\n4) (integer) -1\n5) (integer) 200\n";
    assert_eq!(server.cli(&["RL.TAKE", "k", "5", "5"]), take);
}

#[test]
fn cli_prints_bare_values_to_a_pipe() {
    let (server, _directory) = server(&[]);
    let output = run(&[
        "cli",
        "-p",
        &server.port.to_string(),
        "RL.TAKE",
        "k",
        "5",
        "5",
    ]);
    assert_eq!(output.stdout, b"0\n5\n4\n-1\n200\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn cli_fails_on_an_error_reply() {
    let (server, _directory) = server(&[]);
    let output = run(&["cli", "-p", &server.port.to_string(), "--no-raw", "NOPE"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        output
            .stdout
            .starts_with(b"(error) ERR unknown command 'NOPE'")
    );
}

#[test]
fn cli_reads_commands_from_standard_input() {
    let (server, _directory) = server(&[]);
    let port = server.port.to_string();
    let mut child = tollgate(&["cli", "-p", &port, "-n", "3"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(b"PING\n\nNOPE\nRL.TAKE 'a key' 2 2\r\nPING \"open\nDBSIZE")
        .unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("ERR unknown"))
        .collect();
    assert_eq!(lines.len(), 8, "{text}");
    assert_eq!((lines[0], lines[7]), ("PONG", "1"), "{text}");
    assert!(lines[6].starts_with("(error) invalid arguments"), "{text}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn cli_takes_a_confirmation_for_each_name() {
    let (server, _directory) = server(&[]);
    let port = server.port.to_string();
    for protocol in [&[][..], &["-3"]] {
        let words = ["cli", "-p", &port, "UNSUBSCRIBE", "a", "b"];
        let output = run(&[&words[..3], protocol, &words[3..]].concat());
        assert_eq!(output.stdout, b"unsubscribe\na\n0\nunsubscribe\nb\n0\n");
    }
    let output = run(&["cli", "-p", &port, "-3", "UNSUBSCRIBE"]);
    assert_eq!(output.stdout, b"unsubscribe\n\n0\n");
}

#[test]
fn cli_speaks_resp3() {
    let (server, _directory) = server(&["--requirepass", "s3cret"]);
    let port = server.port.to_string();
    let output = tollgate(&[
        "cli", "-p", &port, "-3", "--no-raw", "RL.TAKE", "k", "5", "5", "INFO",
    ])
    .env("TOLLGATE_REQUIREPASS", "s3cret")
    .output()
    .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.starts_with("1# \"granted\" => (integer) 1\n"),
        "{text}"
    );
    assert!(text.contains("# \"limited_by\" => (nil)\n"), "{text}");
}
