//! `tollgate top`: one look, and the live view on a terminal of its own.

use crate::harness::{Server, failure, run, tollgate};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};

fn server(arguments: &[&str]) -> (Server, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    (Server::start(directory.path(), arguments), directory)
}

/// Nine calls on three keys: denied, made to wait, paused.
fn call(server: &Server) {
    let mut wire = server.connect();
    for _ in 0..5 {
        wire.send("RL.TAKE otp:alice 3 3/m\r\n").lines(6);
    }
    wire.send("RL.RESERVE 'two words' 1 1 10s\r\n")
        .expect(":0\r\n");
    wire.send("RL.RESERVE 'two words' 1 1 10s\r\n")
        .expect(":1000\r\n");
    wire.send("RL.PAUSE p\\ 30s\r\n").expect(":30000\r\n");
    wire.send("RL.TAKE p\\ 1 1\r\n").lines(6);
    wire.send("INCREX \"\\x1b[2J\" UBOUND 1\r\n").lines(3);
}

/// The lines of a table, their words parted by one blank.
fn table(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8(output.to_vec()).expect("text");
    let lines = text.lines().skip_while(|line| !line.starts_with("RANKED"));
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    lines.map(words).collect()
}

#[test]
fn one_look_agrees_with_what_was_sent() {
    let (server, _directory) = server(&[]);
    call(&server);
    let port = server.port.to_string();
    // There is no terminal.
    for arguments in [&["top", "-p", &port][..], &["top", "-p", &port, "--once"]] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(
            table(&output.stdout),
            [
                "RANKED 1MIN 10MIN LEFT CAPACITY BOOKED WAIT PAUSE QUEUE KEY",
                "denied 2 2 0 3 0 20.0s 0ms 0 otp:alice",
                r#"denied 1 1 - - 0 30.0s 30.0s 0 "p\\""#,
                r#"waited 1 1 0 1 1 2.0s 0ms 0 "two words""#,
                r#"paused 1 1 - - 0 30.0s 30.0s 0 "p\\""#,
                "granted 3 3 0 3 0 20.0s 0ms 0 otp:alice",
                r#"granted 2 2 0 1 1 2.0s 0ms 0 "two words""#,
                r#"granted 1 1 - - - - - - "\x1b[2J""#,
            ]
        );
        let text = String::from_utf8(output.stdout).expect("text");
        let totals =
            "since the start: granted 6, denied 3, held by a pause 1, let go by SHADOW 0\n";
        assert!(text.contains(totals), "{text}");
    }
    let chosen = ["--kind", "denied", "--match", "otp:*", "--count", "1"];
    let output = run(&[&["top", "-p", &port], &chosen[..]].concat());
    assert_eq!(table(&output.stdout).len(), 2);
    let output = run(&["top", "-p", &port, "--json", "--kind", "granted"]);
    let json = String::from_utf8(output.stdout).expect("text");
    let row = r#"{"kind":"granted","key":"otp:alice","minute":3,"minute_error":0,"ten_minutes":3,"ten_minutes_error":0,"usage":{"limit":"bucket","capacity":3,"rate":"0.05/s","#;
    assert!(json.contains(row), "{json}");
    assert!(
        json.contains(r#""key":"\u001b[2J","#) && json.ends_with("\"missing\":[]}\n"),
        "{json}"
    );
    assert_eq!(json.lines().count(), 1);
}

#[test]
fn a_database_has_its_own_keys() {
    let (server, _directory) = server(&[]);
    call(&server);
    let output = run(&["top", "-p", &server.port.to_string(), "-n", "3"]);
    assert_eq!(table(&output.stdout).len(), 1);
}

#[test]
fn what_a_user_may_not_see_is_said() {
    let (server, _directory) = server(&[]);
    call(&server);
    let rules = ["~*", "+rl.top", "+rl.usage", "+time", "+info"];
    for (name, denied) in [
        ("untimed", "time"),
        ("blind", "rl.top"),
        ("outside", "info"),
        ("near", "rl.usage"),
    ] {
        let rules: Vec<&str> = rules
            .iter()
            .filter(|rule| rule[1..] != *denied)
            .copied()
            .collect();
        server.cli(&[&["ACL", "SETUSER", name, "on", ">pw"], &rules[..]].concat());
        let port = server.port.to_string();
        let output = run(&["top", "-p", &port, "--user", name, "-a", "pw"]);
        let text = String::from_utf8(output.stdout).expect("text");
        let command = denied.to_uppercase();
        let line = format!(
            "no {command}: NOPERM User {name} has no permissions to run the '{denied}' command\n"
        );
        assert!(text.contains(&line), "{text}");
        assert_eq!(text.contains("RANKED"), denied != "rl.top", "{text}");
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn what_goes_wrong_is_one_line() {
    let (server, _directory) = server(&["--requirepass", "pw"]);
    let port = server.port.to_string();
    assert!(failure(&["top", "-p", "1"]).contains("cannot connect to 127.0.0.1:1"));
    assert!(failure(&["top", "-p", &port, "-a", "no"]).contains("WRONGPASS"));
    for (arguments, named) in [
        (["--interval", "1ms"], "--interval"),
        (["--kind", "loudest"], "--kind"),
        (["--count", "0"], "--count"),
    ] {
        assert!(failure(&[&["top"], &arguments[..]].concat()).contains(named));
    }
}

/// A server that answers whatever it likes.
#[test]
fn what_a_stranger_answers_does_not_reach_the_terminal() {
    for (answers, exit) in [
        (&b"-ERR \x1b[2J\r\n"[..], 1),
        (b"*3\r\n:1\r\n:2\r\n:3\r\n", 1),
        (b"$24\r\nredis_version:\x1b]0;x\r\n:1\r\n", 1),
        (b"\x1b[2J\r\n", 1),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port().to_string();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            // For each of what comes some answers; more than are waited for do no harm.
            let mut read = [0; 1024];
            while stream.read(&mut read).is_ok_and(|length| length > 0) {
                if stream.write_all(&answers.repeat(4)).is_err() {
                    break;
                }
            }
        });
        let output = run(&["top", "-p", &port]);
        assert_eq!(output.status.code(), Some(exit), "{output:?}");
        let all = [output.stdout, output.stderr].concat();
        assert!(!all.contains(&0x1b), "{}", all.escape_ascii());
    }
}

/// What stands on a terminal, as far as `tollgate top` writes: it goes to a place and writes some characters.
struct Screen(Vec<Vec<char>>, usize, usize);

impl Screen {
    fn of(written: &[u8]) -> Self {
        let mut screen = Self(vec![vec![' '; 80]; 24], 0, 0);
        let text = String::from_utf8_lossy(written);
        let mut pieces = text.split("\x1b[");
        screen.write(pieces.next().unwrap_or_default());
        for piece in pieces {
            let end = piece
                .find(|c: char| c.is_ascii_alphabetic())
                .unwrap_or(piece.len());
            let (numbers, rest) = piece.split_at(end);
            if rest.starts_with('H') {
                let mut places = numbers.split(';').map(|number| number.parse().unwrap_or(1));
                let mut next = || places.next().unwrap_or(1) - 1;
                (screen.1, screen.2) = (next(), next());
            }
            screen.write(rest.get(1..).unwrap_or_default());
        }
        screen
    }

    fn write(&mut self, text: &str) {
        for character in text.chars() {
            self.0[self.1][self.2.min(79)] = character;
            self.2 += 1;
        }
    }

    fn contains(&self, text: &str) -> bool {
        let mut lines = self.0.iter().map(|line| line.iter().collect::<String>());
        lines.any(|line| line.contains(text))
    }
}

/// A terminal with `tollgate top` in it.
struct Live {
    child: Child,
    keyboard: File,
    /// The other end, which keeps the terminal there.
    inside: File,
    before: Termios,
    /// All that was written to it.
    written: Vec<u8>,
}

impl Live {
    fn start(port: u16, environment: &[(&str, &str)]) -> Self {
        let outside = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a terminal");
        grantpt(&outside).expect("is ours");
        unlockpt(&outside).expect("is ours");
        let name = ptsname(&outside, Vec::new()).expect("has a name");
        let name = std::ffi::OsStr::from_bytes(name.as_bytes());
        let inside = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name)
            .expect("opens");
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&inside, size).expect("takes a size");
        let before = tcgetattr(&inside).expect("is a terminal");
        let end = || Stdio::from(inside.try_clone().expect("clones"));
        let port = port.to_string();
        let child = tollgate(&["top", "-p", &port, "--interval", "100ms"])
            .env("TERM", "xterm-256color")
            .envs(environment.iter().copied())
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("starts");
        Self {
            child,
            keyboard: File::from(outside),
            inside,
            before,
            written: Vec::new(),
        }
    }

    fn has_written(&self, bytes: &str) -> bool {
        let mut windows = self.written.windows(bytes.len());
        windows.any(|window| window == bytes.as_bytes())
    }

    fn read(&mut self) {
        let mut read = [0; 4096];
        let length = self.keyboard.read(&mut read).expect("is open");
        self.written.extend(&read[..length]);
    }

    /// Waits until a text stands on it.
    fn wait_for(&mut self, text: &str) -> &mut Self {
        while !Screen::of(&self.written).contains(text) {
            self.read();
        }
        self
    }

    /// Types keys.
    fn press(&mut self, keys: &str) -> &mut Self {
        self.keyboard.write_all(keys.as_bytes()).expect("is open");
        self
    }

    /// Waits for its end, which must leave the terminal as it was.
    fn end(mut self) -> ExitStatus {
        let status = self.child.wait().expect("can be waited for");
        while !(self.has_written("\x1b[?1049l") && self.has_written("\x1b[?25h")) {
            self.read();
        }
        let after = tcgetattr(&self.inside).expect("is a terminal");
        assert_eq!(format!("{after:?}"), format!("{:?}", self.before));
        status
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_live_view_shows_what_goes_on_and_gives_the_terminal_back() {
    let (server, _directory) = server(&[]);
    let mut live = Live::start(server.port, &[]);
    live.wait_for("no such calls in the last ten minutes");
    assert!(live.has_written("\x1b[?1049h"));
    call(&server);
    live.wait_for("> otp:alice").wait_for("\"p\\\\\"");
    live.press("\t")
        .wait_for("[waited]")
        .wait_for("> \"two words\"");
    live.press("\r")
        .wait_for("bucket 1/s: 0 of 1 left")
        .wait_for("longest wait 1.0s");
    live.press("\x7f").wait_for("> \"two words\"");
    live.press("/otp\r")
        .wait_for("match *otp*")
        .wait_for("no such calls");
    live.press("q");
    assert_eq!(live.end().code(), Some(0));
}

#[test]
fn a_signal_ends_it_as_it_should_and_gives_the_terminal_back() {
    let (server, _directory) = server(&[]);
    for (name, number) in [("TERM", 15), ("INT", 2), ("HUP", 1)] {
        let mut live = Live::start(server.port, &[]);
        live.wait_for("no such calls in the last ten minutes");
        let pid = live.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.expect("kill runs").success());
        assert_eq!(live.end().signal(), Some(number));
    }
}

/// Without a signal, as behind `nohup`.
#[test]
fn a_terminal_that_goes_away_ends_it() {
    let (server, _directory) = server(&[]);
    let mut live = Live::start(server.port, &[]);
    live.wait_for("no such calls in the last ten minutes");
    let nowhere = || File::open("/dev/null").expect("opens");
    (live.keyboard, live.inside) = (nowhere(), nowhere());
    assert_eq!(live.child.wait().expect("ends").code(), Some(1));
}

#[test]
fn a_server_that_goes_away_is_waited_for() {
    let (mut server, directory) = server(&[]);
    let port = server.port.to_string();
    let mut live = Live::start(server.port, &[("NO_COLOR", "1")]);
    live.wait_for("no such calls in the last ten minutes");
    server.signal("TERM");
    server.wait();
    live.wait_for("NO SERVER, next try in");
    let path = directory.path().to_str().expect("text");
    let _again = Server::spawn(tollgate(&["--port", &port, "--dir", path]));
    live.wait_for("arrows choose");
    assert!(!live.has_written("\x1b[38;5;"));
    live.press("q");
    assert_eq!(live.end().code(), Some(0));
}
