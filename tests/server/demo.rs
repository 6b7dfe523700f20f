//! `tollgate demo`, on the real clock: what it says that it sent is what every number of the server says.

use crate::harness::{Server, failure, tollgate};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Output, Stdio};

fn server() -> (Server, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().to_str().expect("text");
    let flags = [
        "--port",
        "0",
        "--metrics-bind",
        "127.0.0.1:0",
        "--dir",
        path,
    ];
    (Server::spawn(tollgate(&flags)), directory)
}

/// A demo that runs for a moment.
fn start(server: &Server) -> Child {
    let port = server.port.to_string();
    let arguments = [
        "demo",
        "-p",
        &port,
        "--duration",
        "1500ms",
        "--prefix",
        "x*",
    ];
    let mut demo = tollgate(&arguments);
    demo.stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    demo.spawn().expect("starts")
}

/// The rows of its table: key, kind, sent, counted.
fn rows(output: &Output) -> Vec<(String, String, u64, u64)> {
    let text = std::str::from_utf8(&output.stdout).expect("text");
    let table = text.lines().skip_while(|line| !line.starts_with("KEY"));
    let rows = table.skip(1).map_while(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [key, kind, sent, counted] = words[..] else {
            return None;
        };
        Some((
            key.to_owned(),
            kind.to_owned(),
            sent.parse().ok()?,
            counted.parse().ok()?,
        ))
    });
    rows.collect()
}

/// The value of a metric without labels.
fn metric(page: &str, name: &str) -> u64 {
    let line = page
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok())
        .unwrap_or_else(|| panic!("{name}: {page}"))
}

fn metrics(server: &Server) -> String {
    let port = server.ready.split(r#" metrics="127.0.0.1:"#).nth(1);
    let port = port
        .and_then(|text| text.split('"').next())
        .expect("a port");
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).expect("connects");
    let request = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    stream.write_all(request).expect("sends");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("a page");
    page
}

#[test]
fn what_was_sent_is_what_every_number_says() {
    let (server, _directory) = server();
    let output = start(&server).wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let rows = rows(&output);
    assert_eq!(rows.len(), 9, "{output:?}");
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (key, kind, sent, counted) in &rows {
        assert_eq!(sent, counted, "{key} {kind}");
        *sums.entry(kind).or_default() += sent;
    }
    let of = |name: &str, kind: &str| {
        let found = rows
            .iter()
            .find(|row| row.0.ends_with(name) && row.1 == kind);
        found.expect("a row").2
    };
    // Each of the workers shows what it is there for.
    assert!(
        of(":web", "denied") > 0 && of(":web", "granted") >= 40,
        "{rows:?}"
    );
    assert!(
        of(":mail", "waited") > 0 && of(":mail", "denied") == 0,
        "{rows:?}"
    );
    assert!(
        of(":reports", "granted") > 0 && of(":reports", "waited") == 0,
        "{rows:?}"
    );

    let info = server.cli(&["INFO", "ratelimit"]);
    let top = server.cli(&["RL.TOP", "MATCH", "x\\**"]);
    let page = metrics(&server);
    for kind in ["granted", "denied"] {
        assert!(
            info.contains(&format!("{kind}_total:{}\r\n", sums[kind])),
            "{info}"
        );
        assert_eq!(metric(&page, &format!("tollgate_{kind}_total")), sums[kind]);
    }
    let waited = metric(&page, "tollgate_wait_seconds_count");
    assert_eq!(waited, sums["granted"]);
    assert_eq!(metric(&page, "tollgate_pauses_total"), 1);
    // Both who waited for mail were held by the pause.
    assert!(top.contains("\"paused\""), "{top}");
    // Nothing is left of it.
    assert_eq!(server.cli(&["DBSIZE"]), "(integer) 0\n");
}

#[test]
fn a_server_that_counted_something_else_is_found_out() {
    let (server, _directory) = server();
    let mut demo = start(&server);
    let output = demo.stdout.take().expect("is piped");
    let mut lines = BufReader::new(output).lines();
    // Named before it begins.
    let named = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(":reports ")));
    assert!(named.is_some());
    while server.cli(&["RL.TOP"]) == "(empty array)\n" {}
    server.cli(&["CONFIG", "RESETSTAT"]);
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert_eq!(
        rest.last().map(String::as_str),
        Some("The server did NOT count what was sent.")
    );
    assert_eq!(demo.wait().expect("ends").code(), Some(1));
    assert_eq!(server.cli(&["DBSIZE"]), "(integer) 0\n");
}

#[test]
fn what_goes_wrong_is_one_line() {
    for (flag, value) in [
        ("--duration", "999ms"),
        ("--duration", "10m"),
        ("--duration", "x"),
    ] {
        assert!(failure(&["demo", flag, value]).contains(flag), "{value}");
    }
    let long = "p".repeat(401);
    assert!(failure(&["demo", "--prefix", &long]).contains("--prefix"));
    assert!(failure(&["demo", "-p", "1"]).contains("cannot connect"));
    let (server, _directory) = server();
    server.cli(&[
        "ACL", "SETUSER", "blind", "on", "nopass", "~*", "+@all", "-rl.top",
    ]);
    let port = server.port.to_string();
    let line = failure(&["demo", "-p", &port, "--user", "blind", "-a", "x"]);
    assert!(line.contains("RL.TOP: NOPERM"), "{line}");
    server.cli(&[
        "ACL",
        "SETUSER",
        "idle",
        "on",
        "nopass",
        "~*",
        "+@all",
        "-rl.acquire",
    ]);
    let line = failure(&[
        "demo",
        "-p",
        &port,
        "--user",
        "idle",
        "-a",
        "x",
        "--duration",
        "9m",
    ]);
    assert!(line.contains("RL.ACQUIRE: NOPERM"), "{line}");
    assert_eq!(server.cli(&["DBSIZE"]), "(integer) 0\n");
}
