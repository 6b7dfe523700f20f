//! The port for metrics: what it answers, to whom, and what it does not put up with.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use crate::harness::{Server, Wire, failure, run, tollgate};
use crate::site::Site;

#[test]
fn numbers_agree_with_what_was_sent() {
    let directory = tempfile::tempdir().unwrap();
    let prefixes = [
        "--metrics-key-prefix",
        "acct:",
        "--metrics-key-prefix",
        "acct:vip:",
    ];
    let site = Site::start(directory.path(), &prefixes);
    let mut wire = site.server.connect();
    wire.send("RL.POLICY SET meta 7 7/2s AND 150 150/60s\r\n")
        .expect("+OK\r\n");
    for _ in 0..9 {
        wire.send("RL.TAKE acct:1 POLICY meta\r\n").lines(6);
    }
    // Two at once, then slots 100, 200, ... ms ahead; the last is too far.
    for wait in ["0", "0", "100", "200", "300", "-1"] {
        wire.send("RL.RESERVE acct:vip:1 2 10 300\r\n")
            .expect(format!(":{wait}\r\n"));
    }
    wire.send("RL.TAKE other 1 1 AND acct:2 POLICY meta\r\n")
        .lines(6);
    wire.send("RL.TAKE other 1 1 AND acct:2 POLICY meta\r\n")
        .lines(6);
    wire.send("CL.THROTTLE acct:3 4 1 60\r\n").lines(6);
    wire.send("RL.PEEK acct:9 1 1\r\n").lines(6);
    wire.send("RL.PAUSE p 10s\r\nRL.PAUSE p 5s\r\nRL.RESUME p\r\nRL.RESUME p\r\n")
        .expect(":10000\r\n:10000\r\n:1\r\n:0\r\n");
    let ticket = wire.send("RL.RESERVE t 1 1 0 TICKET\r\n").lines(3)[2][1..].to_owned();
    for back in [":1\r\n", ":0\r\n"] {
        wire.send(format!("RL.CANCEL t {ticket}\r\n")).expect(back);
    }
    wire.send("RL.RESERVE t2 1 1 0 TICKET\r\n").lines(3);
    wire.send("RL.LEASE l 1 1s\r\n").lines(3);
    wire.send("RL.LEASE l 1 1s\r\n").expect("$-1\r\n");
    wire.send("RL.TAKE acct:1 no number\r\n").lines(1);
    let mut waiter = site.server.connect();
    waiter.send("RL.ACQUIRE acct:vip:1 2 10 10s\r\n");
    while site.numbers()["tollgate_waiters"] != 1.0 {}
    wire.send("DEBUG CLOCK ADVANCE 450ms\r\n").expect("+OK\r\n");
    waiter.expect(":400\r\n");
    wire.send("DEBUG CLOCK ADVANCE 1s\r\n").expect("+OK\r\n");
    wire.ping();

    let numbers = site.numbers();
    let is = |name: &str, expected: f64| assert_eq!(numbers.get(name), Some(&expected), "{name}");
    // 7 and 5 and 1 and 1 and 1 (the ticket) and 1 and 1 (the lease) and 1 (that waited).
    is("tollgate_granted_total", 18.0);
    is("tollgate_denied_total", 5.0);
    is(r#"tollgate_policy_granted_total{policy="meta"}"#, 8.0);
    is(r#"tollgate_policy_denied_total{policy="meta"}"#, 2.0);
    is(r#"tollgate_prefix_granted_total{prefix="acct:"}"#, 9.0);
    is(r#"tollgate_prefix_denied_total{prefix="acct:"}"#, 2.0);
    is(r#"tollgate_prefix_granted_total{prefix="acct:vip:"}"#, 6.0);
    is(r#"tollgate_prefix_denied_total{prefix="acct:vip:"}"#, 1.0);
    is(r#"tollgate_wait_seconds_bucket{le="0"}"#, 14.0);
    is(r#"tollgate_wait_seconds_bucket{le="0.1"}"#, 15.0);
    is(r#"tollgate_wait_seconds_bucket{le="0.2"}"#, 16.0);
    is(r#"tollgate_wait_seconds_bucket{le="0.5"}"#, 18.0);
    is("tollgate_wait_seconds_count", 18.0);
    is("tollgate_wait_seconds_sum", 1.0);
    is("tollgate_pauses_total", 1.0);
    is("tollgate_resumes_total", 1.0);
    is("tollgate_cancellations_total", 1.0);
    is("tollgate_tickets", 1.0);
    is("tollgate_leases_lapsed_total", 1.0);
    is("tollgate_waiters", 0.0);
    is("tollgate_connections", 2.0);
    is("tollgate_connections_accepted_total", 2.0);
    is(r#"tollgate_errors_total{code="ERR"}"#, 1.0);
    is(r#"tollgate_commands_failed_total{command="rl.take"}"#, 1.0);
    is(
        r#"tollgate_command_duration_seconds_count{command="rl.take"}"#,
        12.0,
    );
    is("tollgate_policies", 1.0);
    let bound = numbers["tollgate_memory_used_bytes"];
    assert!(bound > 1e6 && bound <= numbers["tollgate_memory_peak_bytes"]);

    wire.send("CONFIG RESETSTAT\r\n").expect("+OK\r\n");
    let numbers = site.numbers();
    let is = |name: &str, expected: f64| assert_eq!(numbers.get(name), Some(&expected), "{name}");
    is("tollgate_granted_total", 0.0);
    is("tollgate_wait_seconds_count", 0.0);
    is("tollgate_pauses_total", 0.0);
    is(r#"tollgate_prefix_granted_total{prefix="acct:"}"#, 0.0);
    assert!(!numbers.contains_key(r#"tollgate_policy_granted_total{policy="meta"}"#));
}

#[test]
fn keys_are_counted_by_kind() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::start(directory.path(), &[]);
    let mut wire = site.server.connect();
    for key in 0..300 {
        wire.send(format!("RL.TAKE b{key} 5 1/h\r\n")).lines(6);
    }
    wire.send("CL.THROTTLE g 4 1 60\r\n").lines(6);
    wire.send("RL.TAKE w WINDOW 5 1h\r\n").lines(6);
    wire.send("SET s 1\r\nRPUSH l a\r\nHSET h a b\r\n")
        .expect("+OK\r\n:1\r\n:1\r\n");
    wire.send("RL.PAUSE b1 1h\r\nRL.PAUSE p 1h\r\n").lines(2);
    let expected = [
        ("bucket", 300.0),
        ("gcra", 1.0),
        ("window", 1.0),
        ("pause", 1.0),
        ("string", 1.0),
        ("list", 1.0),
        ("hash", 1.0),
        ("zset", 0.0),
    ];
    // The sweep comes by several times a second.
    let numbers = loop {
        let numbers = site.numbers();
        if numbers["tollgate_paused_keys"] == 2.0 {
            break numbers;
        }
    };
    for (kind, count) in expected {
        let name = format!(r#"tollgate_keys{{kind="{kind}"}}"#);
        assert_eq!(numbers[&name], count, "{kind}");
    }
    assert_eq!(numbers[r#"tollgate_database_keys{db="0"}"#], 306.0);
}

#[test]
fn labels_are_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::start(directory.path(), &["--metrics-key-prefix", "k"]);
    let mut wire = site.server.connect();
    wire.send("RL.TAKE k 5 1/h\r\nRL.POLICY SET p 5 1/h\r\nRL.TAKE k2 POLICY p\r\n")
        .lines(13);
    wire.send("nonsense\r\n").lines(1);
    site.get("/metrics");
    let before = site.numbers().len();
    for key in 0..5_000 {
        wire.send(format!("RL.TAKE k{key} 5 1/h\r\n")).lines(6);
    }
    assert_eq!(site.numbers().len(), before);
    for policy in 0..300 {
        wire.send(format!("RL.POLICY SET p{policy} 5 1/h\r\n"))
            .expect("+OK\r\n");
        wire.send(format!("RL.TAKE k{policy} POLICY p{policy}\r\n"))
            .lines(6);
    }
    let numbers = site.numbers();
    let policies = numbers
        .keys()
        .filter(|name| name.starts_with("tollgate_policy_granted"));
    assert_eq!(policies.count(), 101);
    let other = numbers[r#"tollgate_policy_granted_total{policy="other"}"#];
    assert_eq!(other, 201.0);
}

#[test]
fn the_format_is_what_the_client_asks_for() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::start(directory.path(), &[]);
    let plain = site.get("/metrics");
    assert!(
        plain
            .head
            .contains("content-type: text/plain; version=0.0.4"),
        "{}",
        plain.head
    );
    assert!(!plain.body.contains("# EOF"));
    assert!(
        plain
            .body
            .contains("# TYPE tollgate_granted_total counter\n")
    );
    let accept = "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
    let open = site.ask("GET", "/metrics", &["Host: localhost", accept]);
    assert!(
        open.head
            .contains("application/openmetrics-text; version=1.0.0"),
        "{}",
        open.head
    );
    assert!(open.body.ends_with("# EOF\n"));
    assert!(open.body.contains("# TYPE tollgate_granted counter\n"));
}

#[test]
fn health_is_told_to_anybody() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::start(directory.path(), &["--requirepass", "pw"]);
    for (path, body) in [
        ("/healthz", "ok\n"),
        ("/readyz", "ready\n"),
        ("/readyz?x=1", "ready\n"),
    ] {
        let answer = site.ask("GET", path, &["Host: anything.example"]);
        assert_eq!((answer.status, answer.body.as_str()), (200, body));
        let answer = site.ask("HEAD", path, &["Host: 10.0.0.1"]);
        assert_eq!((answer.status, answer.body.as_str()), (200, ""));
    }
}

#[test]
fn what_is_not_there_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::start(directory.path(), &[]);
    for path in [
        "/nothing",
        "/metrics/",
        "//",
        "/%2e%2e/etc/passwd",
        "/metrics%00",
    ] {
        assert_eq!(site.get(path).status, 404, "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"] {
        let answer = site.ask(
            method,
            "/metrics",
            &["Host: 127.0.0.1", "Content-Length: 0"],
        );
        assert_eq!(answer.status, 405, "{method}");
        assert!(answer.head.contains("allow: get, head"), "{}", answer.head);
    }
    let head = site.ask("HEAD", "/metrics", &["Host: 127.0.0.1"]);
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[test]
fn a_page_under_another_name_gets_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::start(directory.path(), &[]);
    let status = |headers: &[&str]| site.ask("GET", "/metrics", headers).status;
    assert_eq!(status(&["Host: localhost:9121"]), 200);
    assert_eq!(status(&["Host: [::1]:9121"]), 200);
    for name in [
        "evil.example",
        "evil.example:9121",
        "localhost.evil.example",
        "",
        "\u{e9}",
    ] {
        assert_eq!(status(&[&format!("Host: {name}")]), 403, "{name}");
    }
    // A password that nobody asks for does not open it.
    let guess = "Authorization: Basic ZGVmYXVsdDp4";
    assert_eq!(status(&["Host: evil.example", guess]), 403);
    assert_eq!(status(&["Host: localhost", "Host: evil.example"]), 403);
    let target =
        "GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert!(site.raw(target.as_bytes()).starts_with("HTTP/1.1 403 "));
    assert!(
        site.raw(b"GET /metrics HTTP/1.0\r\n\r\n")
            .starts_with("HTTP/1.0 200 ")
    );
}

#[test]
fn a_password_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::start(directory.path(), &["--requirepass", "s3cret"]);
    let mut wire = site.server.connect();
    wire.send("AUTH s3cret\r\n").expect("+OK\r\n");
    wire.send("ACL SETUSER ops on >p:w +info\r\nACL SETUSER app on >pw +@all -info\r\n")
        .expect("+OK\r\n+OK\r\n");
    let nobody = site.get("/metrics");
    assert_eq!(nobody.status, 401);
    assert!(
        nobody.head.contains("www-authenticate: basic realm="),
        "{}",
        nobody.head
    );
    let status = |credentials: &str| {
        let header = format!("Authorization: Basic {credentials}");
        site.ask("GET", "/metrics", &["Host: metrics.example", &header])
            .status
    };
    // default:s3cret, :s3cret, ops:p:w
    for right in ["ZGVmYXVsdDpzM2NyZXQ=", "OnMzY3JldA==", "b3BzOnA6dw=="] {
        assert_eq!(status(right), 200, "{right}");
    }
    // app:pw may not run INFO.
    assert_eq!(status("YXBwOnB3"), 403);
    // default:wrong, nobody:x, and what is no pair
    for wrong in ["ZGVmYXVsdDp3cm9uZw==", "bm9ib2R5Ong=", "eA==", "%%%"] {
        assert_eq!(status(wrong), 401, "{wrong}");
    }
    site.server.wait_for_log("a login failed");
    let denied = wire.send("ACL LOG 1\r\n").lines(1);
    assert_eq!(denied, ["*1"]);
}

#[test]
fn a_login_that_fails_is_answered_late() {
    let directory = tempfile::tempdir().unwrap();
    // Under the manual clock nothing is late.
    let mut command = tollgate(&[
        "--port",
        "0",
        "--save",
        "0",
        "--metrics-bind",
        "127.0.0.1:0",
    ]);
    command.arg("--dir").arg(directory.path());
    command.env("TOLLGATE_REQUIREPASS", "pw");
    let site = Site::of(Server::spawn(command));
    let mut stream = site.connect();
    let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic Ong=\r\n\r\n";
    let began = tollgate::clock::Clock::system(tollgate::core::units::Timestamp::ZERO);
    let start = began.now();
    for _ in 0..3 {
        stream.write_all(request).unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 401");
        // The rest of it.
        let mut rest = vec![0; 4096];
        let length = stream.read(&mut rest).unwrap();
        assert!(String::from_utf8_lossy(&rest[..length]).contains("please\n"));
    }
    // 50, 100 and 200 ms: guesses on one connection are no quicker than over RESP.
    assert!(began.now().since(start) >= 350_000_000);
}

#[test]
fn requests_are_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::start(directory.path(), &[]);
    let long = "a".repeat(9_000);
    for (request, expected) in [
        (
            format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            "HTTP/1.1 4",
        ),
        (
            format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n"),
            "HTTP/1.1 431",
        ),
        (
            format!(
                "GET /metrics HTTP/1.1\r\nHost: localhost\r\n{}\r\n",
                "X: y\r\n".repeat(100)
            ),
            "HTTP/1.1 431",
        ),
        ("nonsense\r\n\r\n".to_owned(), "HTTP/1.1 400"),
        ("PING\r\n".to_owned() + "\r\n", "HTTP/1.1 400"),
        (
            "GET /metrics HTTP/1.1\r\nHost localhost\r\n\r\n".to_owned(),
            "HTTP/1.1 400",
        ),
        ("GET /metrics HTTP/9.9\r\n\r\n".to_owned(), "HTTP/1.1 400"),
        ("\0\0\0\0\r\n\r\n".to_owned(), "HTTP/1.1 400"),
    ] {
        let answer = site.raw(request.as_bytes());
        let shown = &request[..request.len().min(40)];
        assert!(answer.starts_with(expected), "{shown:?}: {answer}");
    }
    // A body that nobody asked for is not read, however long it says it is.
    let body = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n";
    let mut stream = site.connect();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    assert_eq!(site.get("/healthz").status, 200);
}

#[test]
fn who_is_slow_is_cut_off_and_others_are_served() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::start(directory.path(), &[]);
    let mut slow: Vec<TcpStream> = (0..32).map(|_| site.connect()).collect();
    for stream in &mut slow {
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: loc")
            .unwrap();
    }
    // There is no place for one more until those have had their time; it is told.
    let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut answer = String::new();
    for _ in 0..20 {
        answer = site.raw(request);
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer:?}");
    }
    for mut stream in slow {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"));
    }
    while !answer.starts_with("HTTP/1.1 200 ") {
        answer = site.raw(request);
    }
    site.server.connect().ping();
}

#[test]
fn one_connection_serves_many_requests() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::start(directory.path(), &[]);
    let mut wire = Wire(site.connect());
    for _ in 0..100 {
        wire.send("GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let head: Vec<String> = std::iter::repeat_with(|| wire.line())
            .take_while(|line| !line.is_empty())
            .collect();
        assert_eq!(head[0], "HTTP/1.1 200 OK");
        wire.expect("ready\n");
    }
}

#[test]
fn a_taken_default_is_a_warning_and_a_taken_choice_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::start(directory.path(), &[]);
    let taken = format!("127.0.0.1:{}", site.port);
    let line = failure(&["--port", "0", "--metrics-bind", &taken]);
    assert!(
        line.contains(&taken) && line.contains("choose another --metrics-bind"),
        "{line}"
    );
    let other = tempfile::tempdir().unwrap();
    let optional = format!("-{taken}");
    let server = Server::start(other.path(), &["--metrics-bind", &optional]);
    assert!(!server.ready.contains("metrics="), "{}", server.ready);
    let warning = server.wait_for_log("no metrics");
    assert!(warning.contains(&taken), "{warning}");
    assert!(
        server
            .cli(&["CONFIG", "GET", "metrics-bind"])
            .contains("\"no\"")
    );
    let shown = site.server.cli(&["CONFIG", "GET", "metrics-bind"]);
    assert!(shown.contains(&taken), "{shown}");
    let mut plain = tollgate(&["--print-config"]);
    let plain = plain.env_remove("TOLLGATE_METRICS_BIND").output().unwrap();
    let plain = String::from_utf8(plain.stdout).unwrap();
    assert!(
        plain.contains("metrics-bind = \"-127.0.0.1:9121\"  # default"),
        "{plain}"
    );
}

#[test]
fn flags_that_are_wrong_end_the_start() {
    for (flags, what) in [
        (&["--metrics-bind", "9121"][..], "such as 127.0.0.1:9121"),
        (&["--metrics-bind", "192.0.2.1:0"], "no such address"),
        (
            &["--metrics-key-prefix", &"x".repeat(129)],
            "at most 128 bytes",
        ),
    ] {
        let line = failure(&[&["--port", "0"], flags].concat());
        assert!(line.contains(what), "{line}");
    }
    let many: Vec<String> = (0..65).map(|number| format!("p{number}")).collect();
    let line = failure(&["--port", "0", "--metrics-key-prefix", &many.join(" ")]);
    assert!(line.contains("65 prefixes are more than 64"), "{line}");
    let shown = run(&[
        "--print-config",
        "--metrics-key-prefix",
        "a b",
        "--metrics-key-prefix",
        "c",
    ]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("metrics-key-prefix = \"a b c\""), "{shown}");
}

/// The names of metrics in a text, without the endings of a histogram's series.
fn named(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c| !is_part(c));
    let names = words.filter(|word| word.starts_with("tollgate_") || word.starts_with("process_"));
    names
        .map(|name| {
            let mut endings = ["_bucket", "_count", "_sum"].iter();
            let plain = endings.find_map(|ending| name.strip_suffix(ending));
            plain.unwrap_or(name).to_owned()
        })
        .collect()
}

#[test]
fn what_is_documented_is_there_and_what_is_there_is_documented() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::start(directory.path(), &[]);
    let page = site.get("/metrics").body;
    let families = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let there: BTreeSet<String> = families
        .filter_map(|line| line.split(' ').next())
        .map(str::to_owned)
        .collect();
    assert!(there.len() > 50, "{there:?}");
    let read = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("docs")
            .join(name);
        std::fs::read_to_string(path).unwrap()
    };
    for file in ["grafana-dashboard.json", "alerts.yml"] {
        let named = named(&read(file));
        let unknown: Vec<_> = named.difference(&there).collect();
        assert!(
            named.len() > 10 && unknown.is_empty(),
            "{file}: {unknown:?}"
        );
    }
    let page = read("operations.md");
    let (_, behind) = page.split_once("\n## What each number means\n").unwrap();
    let documented = named(behind.split("\n## ").next().unwrap());
    assert_eq!(documented, there);
}
