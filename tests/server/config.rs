//! The file of settings, against flags and the environment.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

use crate::harness::{Server, failure, run, tollgate};
use std::path::PathBuf;
use tempfile::TempDir;

fn file(text: &str) -> (PathBuf, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tollgate.toml");
    std::fs::write(&path, text).unwrap();
    (path, directory)
}

#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file() {
    let (path, directory) = file(
        "port = \"any\"\nbind = [\"127.0.0.1\", \"127.0.0.2\"]\nmaxclients = 50\ntimeout = 51\n\
         tcp-keepalive = 52\nclient-output-limit = \"8kb\"\nprotected-mode = false\nclock = 'manual'\n",
    );
    std::fs::write(
        &path,
        format!(
            "{}dir = '{}'\n",
            std::fs::read_to_string(&path).unwrap(),
            directory.path().display()
        ),
    )
    .unwrap();
    let mut command = tollgate(&["--maxclients", "70"]);
    command
        .env("TOLLGATE_CONFIG", &path)
        .env("TOLLGATE_MAXCLIENTS", "60")
        .env("TOLLGATE_TIMEOUT", "61");
    let server = Server::spawn(command);
    assert!(
        server.ready.contains(path.to_str().unwrap()),
        "{}",
        server.ready
    );
    let mut wire = server.connect();
    for (name, value) in [
        ("maxclients", "70"),
        ("timeout", "61"),
        ("tcp-keepalive", "52"),
        ("client-output-limit", "8192"),
        ("protected-mode", "no"),
        ("bind", "127.0.0.1 127.0.0.2"),
        ("save", "60 1"),
    ] {
        wire.send(format!("CONFIG GET {name}\r\n")).expect(format!(
            "*2\r\n${}\r\n{name}\r\n${}\r\n{value}\r\n",
            name.len(),
            value.len()
        ));
    }
    wire.send("CONFIG REWRITE\r\n");
    let line = wire.line();
    assert!(
        line.starts_with("-ERR Tollgate does not write its config file"),
        "{line}"
    );
    // Units, as everywhere.
    wire.send("CONFIG SET client-output-limit 4kb\r\n")
        .expect("+OK\r\n")
        .send("CONFIG GET client-output-limit\r\n")
        .expect("*2\r\n$19\r\nclient-output-limit\r\n$4\r\n4096\r\n");
}

#[test]
fn a_file_that_is_wrong_is_one_line() {
    let (path, _directory) = file("# ours\nmax-client = 5\n");
    let shown = path.to_str().unwrap();
    let line = failure(&["--config", shown]);
    assert!(line.contains(&format!("{shown}, line 2: ")), "{line}");
    assert!(line.contains("did you mean 'maxclients'?"), "{line}");
    assert!(failure(&["--config", "/no/such/file"]).contains("/no/such/file"));
}

#[test]
fn the_settings_can_be_looked_at_without_serving() {
    let (path, _directory) = file("maxclients = 50\n");
    let output = run(&[
        "--config",
        path.to_str().unwrap(),
        "--timeout",
        "5",
        "--print-config",
    ]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "maxclients = \"50\"  # line 1\n",
        "timeout = \"5\"  # --timeout\n",
        "save = \"60\"  # default\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
