//! Starting: what the first line says, and what is refused.

use crate::harness::{Server, failure, run, tollgate};
use std::net::TcpListener;

#[test]
fn help_and_version_are_no_errors() {
    let help = run(&["--help"]);
    let text = String::from_utf8(help.stdout).unwrap();
    assert_eq!(help.status.code(), Some(0));
    for word in [
        "TOLLGATE_MAX_PAUSE",
        "Examples:",
        "Snapshots:",
        "--protected-mode",
    ] {
        assert!(text.contains(word), "{word}");
    }
    let version = String::from_utf8(run(&["version"]).stdout).unwrap();
    assert_eq!(
        version,
        concat!("tollgate ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn bad_flags_are_one_line_and_exit_code_1() {
    assert!(failure(&["--no-such-flag"]).contains("--no-such-flag"));
    assert!(failure(&["--port", "70000"]).contains("65535"));
    assert!(failure(&["--databases", "17"]).contains("1..=16"));
    assert!(failure(&["--save", "often"]).contains("seconds"));
    assert!(failure(&["--pubsub-output-limit", "1mb"]).contains("from 2mb to 1gb"));
    assert!(failure(&["--bind", "192.0.2.1", "--port", "0"]).contains("--bind"));
    assert!(failure(&["nonsense"]).contains("nonsense"));
}

#[test]
fn flags_come_from_the_environment_too() {
    let bad = tollgate(&[])
        .env("TOLLGATE_MAXCLIENTS", "many")
        .output()
        .unwrap();
    assert_eq!(bad.status.code(), Some(1));
    let line = String::from_utf8(bad.stderr).unwrap();
    assert!(line.contains("TOLLGATE_MAXCLIENTS (--maxclients"), "{line}");

    let directory = tempfile::tempdir().unwrap();
    let mut command = tollgate(&["--port", "0"]);
    command
        .env("TOLLGATE_DIR", directory.path())
        .env("TOLLGATE_DATABASES", "3");
    let server = Server::spawn(command);
    assert!(server.ready.contains("databases=3"), "{}", server.ready);
}

#[test]
fn a_taken_port_is_said() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap().port().to_string();
    let line = failure(&["--port", &port]);
    assert!(
        line.contains(&format!("127.0.0.1:{port}")) && line.contains("--port"),
        "{line}"
    );
}

#[test]
fn all_addresses_are_bound_or_none() {
    let holder = TcpListener::bind("127.0.0.2:0").unwrap();
    let port = holder.local_addr().unwrap().port().to_string();
    let line = failure(&["--port", &port, "--bind", "127.0.0.1 127.0.0.2"]);
    assert!(line.contains(&format!("127.0.0.2:{port}")), "{line}");
}

#[test]
fn a_directory_that_cannot_be_used_is_said() {
    assert!(failure(&["--port", "0", "--dir", "/no/such/place"]).contains("--dir"));
    assert!(failure(&["--port", "0", "--dir", "/dev/null"]).contains("not a directory"));
    // Not even root can make a file there.
    assert!(failure(&["--port", "0", "--dir", "/proc"]).contains("--save 0"));
}

#[test]
fn a_damaged_snapshot_stops_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tollgate.snapshot");
    std::fs::write(&path, "not a snapshot").unwrap();
    let line = failure(&["--port", "0", "--dir", directory.path().to_str().unwrap()]);
    assert!(line.contains(path.to_str().unwrap()), "{line}");
    assert_eq!(std::fs::read(&path).unwrap(), b"not a snapshot");
}

#[test]
fn the_first_line_tells_how_it_stands() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &["--bind", "127.0.0.1,127.0.0.2"]);
    let port = server.port;
    let addresses = format!(r#"addresses="127.0.0.1:{port},127.0.0.2:{port}""#);
    let path = directory.path().join("tollgate.snapshot");
    let version = concat!("version=\"", env!("CARGO_PKG_VERSION"), '"');
    for part in [
        version,
        &addresses,
        "databases=16",
        path.to_str().unwrap(),
        "no password: loopback only",
    ] {
        assert!(server.ready.contains(part), "{part}: {}", server.ready);
    }
}

#[test]
fn json_logs_are_json() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = tollgate(&["--port", "0", "--log-format", "json"]);
    command
        .current_dir(directory.path())
        .stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut log = std::io::BufReader::new(child.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut log, &mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.starts_with('{') && line.ends_with("}\n"), "{line}");
    assert!(
        line.contains(r#""message":"ready""#) && line.contains(r#""databases":16"#),
        "{line}"
    );
}

#[test]
fn the_password_does_not_stay_on_the_command_line() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(
        directory.path(),
        &["--requirepass", "s3cret", "--databases", "4"],
    );
    assert!(
        server.ready.contains(r#"protection="password""#),
        "{}",
        server.ready
    );
    let line = std::fs::read(format!("/proc/{}/cmdline", server.child.id())).unwrap();
    let line = line.escape_ascii().to_string();
    assert!(
        line.contains("--databases") && !line.contains("s3cret"),
        "{line}"
    );
}
