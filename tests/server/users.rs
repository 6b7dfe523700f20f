//! Users over the wire: their file, and logins that fail.

use crate::harness::{Server, failure, run, tollgate};
use std::fs;

const OK: &str = "+OK\r\n";

#[test]
fn users_are_read_saved_and_loaded_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("users.acl");
    let path = file.to_str().expect("text");
    fs::write(&file, "# ours\nuser t7 on >pw ~t7:* +@ratelimit\n").expect("writes");
    let server = Server::start(directory.path(), &["--aclfile", path]);
    server.wait_for_log("users read from the file");
    let mut tenant = server.connect();
    tenant.send("AUTH t7 pw\r\n").expect(OK);
    tenant
        .send("RL.PEEK t8:a 5 1\r\nRL.RESERVE t7:a 5 1 0\r\n")
        .expect("-NOPERM No permissions to access a key\r\n:0\r\n");

    let mut admin = server.connect();
    admin
        .send("ACL SETUSER t8 on >pw ~t8:* +ping\r\n")
        .expect(OK);
    admin.send("ACL SAVE\r\n").expect(OK);
    let saved = fs::read_to_string(&file).expect("is there");
    let names: Vec<&str> = saved
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    assert_eq!(names, ["default", "t7", "t8"]);
    assert!(!saved.contains("pw"), "{saved}");

    // A bad line changes nothing; without it t7 is no more.
    let mut other = server.connect();
    other.send("AUTH t8 pw\r\n").expect(OK);
    fs::write(&file, format!("{saved}user t9 +nosuch\n")).expect("writes");
    let refused = admin.send("ACL LOAD\r\n").line();
    let named = format!("{path}:4: Error in applying operation '+nosuch'");
    assert!(
        refused.starts_with("-ERR ") && refused.contains(&named),
        "{refused}"
    );
    tenant.send("RL.RESERVE t7:a 5 1 0\r\n").expect(":0\r\n");
    let kept: String = saved
        .lines()
        .filter(|line| !line.contains("t7"))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(&file, kept).expect("writes");
    admin.send("ACL LOAD\r\n").expect(OK);
    assert_eq!(tenant.rest(), "");
    other.ping();
    fs::remove_file(&file).expect("is there");
    let missing = admin.send("ACL LOAD\r\n").line();
    assert!(missing.contains("No such file"), "{missing}");
    other.ping();
}

#[test]
fn a_file_of_users_that_is_wrong_ends_the_start() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("users.acl");
    let path = file.to_str().expect("text");
    let start = || failure(&["--port", "0", "--save", "0", "--aclfile", path]);
    assert!(start().contains("No such file"));
    fs::write(&file, "user a on\nuser b #s3cret\n").expect("writes");
    let line = start();
    assert!(
        line.contains(&format!("{path}:2: The password hash must be")),
        "{line}"
    );
    assert!(!line.contains("s3cret"), "{line}");
}

#[test]
fn the_password_of_the_flag_holds_unless_the_file_has_the_default_user() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("users.acl");
    let path = file.to_str().expect("text");
    fs::write(&file, "user a on nopass +ping\n").expect("writes");
    let arguments = ["--aclfile", path, "--requirepass", "pw"];
    let server = Server::start(directory.path(), &arguments);
    let mut peer = server.connect();
    peer.send("PING\r\n")
        .expect("-NOAUTH Authentication required.\r\n");
    peer.send("AUTH pw\r\n").expect(OK);
    fs::write(&file, "user default on >other ~* +@all\n").expect("writes");
    peer.send("ACL LOAD\r\n").expect(OK);
    server.connect().send("AUTH other\r\n").expect(OK);
}

#[test]
fn the_tools_log_in_as_whom_they_are_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("users.acl");
    let path = file.to_str().expect("text");
    fs::write(
        &file,
        "user default off\nuser probe on >pw +ping +acl|whoami\n",
    )
    .expect("writes");
    let server = Server::start(directory.path(), &["--aclfile", path]);
    let port = server.port.to_string();
    let given = ["-p", &port, "--user", "probe", "-a", "pw"];
    let ping = run(&[&["ping"], &given[..]].concat());
    assert_eq!(ping.stdout, b"PONG\n");
    assert!(!run(&["ping", "-p", &port]).status.success());
    for resp3 in [&[][..], &["-3"]] {
        let who = run(&[&["cli"], &given[..], resp3, &["ACL", "WHOAMI"]].concat());
        assert_eq!(who.stdout, b"probe\n");
    }
}

#[test]
fn a_login_that_fails_is_logged_without_its_password() {
    let directory = tempfile::tempdir().expect("a directory");
    let directory = directory.path().to_str().expect("text");
    let server = Server::spawn(tollgate(&[
        "--port", "0", "--save", "0", "--dir", directory,
    ]));
    let mut peer = server.connect();
    peer.send("ACL SETUSER alice on >pw +ping\r\n").expect(OK);
    // All in one write: the second is looked at when the first is answered.
    peer.send("AUTH alice s3cret\r\nPING\r\n")
        .expect("-WRONGPASS invalid username-password pair or user is disabled.\r\n+PONG\r\n");
    let line = server.wait_for_log("a login failed");
    assert!(
        line.contains("127.0.0.1:") && line.contains("alice"),
        "{line}"
    );
    assert!(!line.contains("s3cret"), "{line}");
    // Whoever goes meanwhile is not waited for.
    let mut gone = server.connect();
    gone.send("AUTH alice s3cret\r\n");
    drop(gone);
    peer.ping();
}
