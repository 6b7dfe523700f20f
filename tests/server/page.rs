//! The page: who gets it, and whose actions run.

use std::io::{Read, Write};

use crate::site::Site;

#[test]
fn the_page_is_served_with_a_policy_and_its_actions_are_off() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::start(directory.path(), &[]);
    let page = site.get("/");
    assert_eq!(page.status, 200);
    assert!(
        page.head
            .contains("content-security-policy: default-src 'none'"),
        "{}",
        page.head
    );
    assert!(page.body.contains("<title>Tollgate</title>"));
    assert_eq!(site.ask("GET", "/", &["Host: evil.example"]).status, 403);
    assert_eq!(
        site.ask("GET", "/events", &["Host: evil.example"]).status,
        403
    );
    assert_eq!(site.get("/action").status, 405);
    let headers = [
        "Host: localhost",
        "X-Tollgate-Action: 1",
        "Content-Length: 0",
    ];
    let off = site.ask("POST", "/action", &headers);
    assert_eq!(off.status, 403);
    assert!(off.body.contains("--ui-actions"), "{}", off.body);
    assert_eq!(site.ask("POST", "/", &headers).status, 405);
    for (query, status) in [
        ("", 400),
        ("?key=%zz", 400),
        ("?db=16&key=a", 400),
        ("?db=15&key=a%20b", 200),
    ] {
        assert_eq!(
            site.get(&format!("/usage{query}")).status,
            status,
            "{query}"
        );
    }
    let unused = site.get("/usage?key=a%20b%FF").body;
    assert_eq!(
        unused,
        r#"{"db":0,"id":"a%20b%FF","name":"a b\\xff","usage":null}"#
    );
}

#[test]
fn who_may_not_select_acts_in_the_database_that_it_is_in() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::start(directory.path(), &["--ui-actions", "--requirepass", "pw"]);
    let mut wire = site.server.connect();
    wire.send("AUTH pw\r\nACL SETUSER ops on >pw ~a:* +info +rl.pause +rl.resume +del\r\n")
        .expect("+OK\r\n+OK\r\n");
    for (database, act, answer) in [
        (0, "pause", r#"{"reply":"10000"}"#),
        (0, "resume", r#"{"reply":"1"}"#),
        (0, "reset", r#"{"reply":"1"}"#),
        (2, "pause", "'select'"),
    ] {
        let body = format!(r#"{{"do":"{act}","db":{database},"key":"a%3A1","for":"10s"}}"#);
        let request = format!(
            "POST /action HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Basic b3BzOnB3\r\n\
             X-Tollgate-Action: 1\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let said = site.raw(request.as_bytes());
        assert!(said.contains(answer), "{act} in {database}: {said}");
    }
}

#[test]
fn who_was_thrown_out_has_to_log_in_anew_on_the_same_connection() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::start(directory.path(), &["--requirepass", "pw"]);
    let mut wire = site.server.connect();
    let add = "ACL SETUSER ops on >pw ~* +info +rl.usage\r\n";
    wire.send("AUTH pw\r\n").expect("+OK\r\n");
    wire.send(add).expect("+OK\r\n");
    let mut kept = site.connect();
    let mut ask = |path: &str| {
        let request = format!(
            "HEAD {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic b3BzOnB3\r\n\r\n"
        );
        kept.write_all(request.as_bytes()).expect("sends");
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            kept.read_exact(&mut byte).expect("an answer");
            head.push(byte[0]);
        }
        let status = String::from_utf8_lossy(&head[9..12]).into_owned();
        status.parse::<u16>().expect("a status")
    };
    let places = ["/metrics", "/usage?key=a"];
    assert_eq!(places.map(&mut ask), [200, 200]);
    wire.send("CLIENT KILL USER ops\r\n").expect(":1\r\n");
    assert_eq!(places.map(&mut ask), [200, 200]);
    wire.send("ACL DELUSER ops\r\n").expect(":1\r\n");
    assert_eq!(places.map(&mut ask), [401, 401]);
    wire.send(add).expect("+OK\r\n");
    assert_eq!(places.map(&mut ask), [200, 200]);
}

#[test]
fn an_action_is_a_command_of_who_asks() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::start(directory.path(), &["--ui-actions", "--requirepass", "pw"]);
    let mut wire = site.server.connect();
    wire.send("AUTH pw\r\nACL SETUSER ops on >pw ~a:* +info +rl.pause +select\r\n")
        .expect("+OK\r\n+OK\r\n");
    let act = |credentials: &str, more: &str, body: &str| {
        let request = format!(
            "POST /action HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Basic {credentials}\r\n{more}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let answer = site.raw(request.as_bytes());
        let status = answer
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse::<u16>().ok());
        (
            status.expect(&answer),
            answer.rsplit("\r\n").next().unwrap_or_default().to_owned(),
        )
    };
    let own = "X-Tollgate-Action: 1\r\n";
    let pause = r#"{"do":"pause","db":2,"key":"a%3A1","for":"10s"}"#;
    assert_eq!(
        act("b3BzOnB3", own, pause),
        (200, r#"{"reply":"10000"}"#.to_owned())
    );
    wire.send("SELECT 2\r\nPTTL a:1\r\n")
        .expect("+OK\r\n:20000\r\n");
    let (status, said) = act("b3BzOnB3", own, &pause.replace("a%3A1", "b%3A1"));
    assert!(status == 409 && said.contains("NOPERM"), "{said}");
    let (status, said) = act("b3BzOnB3", own, r#"{"do":"reset","db":2,"key":"a%3A1"}"#);
    assert!(status == 409 && said.contains("NOPERM"), "{said}");
    assert_eq!(act("b3BzOnB3", "", pause).0, 403);
    assert_eq!(act("b3BzOndyb25n", own, pause).0, 401);
    for wrong in [
        "",
        "{",
        "[]",
        "{\"do\":\"flush\",\"db\":0,\"key\":\"a\"}",
        &"[".repeat(4_000),
        &" ".repeat(5_000),
    ] {
        let (status, said) = act("b3BzOnB3", own, wrong);
        assert!(
            status == 400 && (said.contains("the request ") || said.contains("it takes do")),
            "{wrong:.20}: {said}"
        );
    }
    let sites = format!("{own}Sec-Fetch-Site: cross-site\r\n");
    assert_eq!(act("b3BzOnB3", &sites, pause).0, 403);
    let origin = format!("{own}Origin: http://evil.example\r\n");
    assert_eq!(act("b3BzOnB3", &origin, pause).0, 403);
    wire.ping();
}
