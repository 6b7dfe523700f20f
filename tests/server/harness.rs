//! Starting the binary, and speaking to it byte by byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// The binary with these arguments and an environment without any `TOLLGATE_*`, but that it serves no metrics unless it
/// is told where: many servers run at once.
pub fn tollgate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(arguments).env_clear();
    command.env("TOLLGATE_METRICS_BIND", "no");
    command
}

/// Runs the binary to its end: what it printed, its exit code. In a directory of its own, since a server may be running in
/// this one, as the README has it.
pub fn run(arguments: &[&str]) -> Output {
    let directory = tempfile::tempdir().expect("a directory");
    tollgate(arguments)
        .current_dir(&directory)
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs")
}

/// The only line on standard error of a run that exited with code 1.
pub fn failure(arguments: &[&str]) -> String {
    let output = run(arguments);
    let text = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {text}");
    assert_eq!(text.lines().count(), 1, "{arguments:?}: {text}");
    text
}

/// A running server, killed when dropped.
pub struct Server {
    pub child: Child,
    /// The port of plain TCP, 0 if there is none.
    pub port: u16,
    /// The port of TLS, 0 if there is none.
    pub tls_port: u16,
    log: Receiver<String>,
    /// The line that said it was ready.
    pub ready: String,
}

impl Server {
    /// Starts one on a free port with a manual clock, its snapshot in `directory`.
    pub fn start(directory: &Path, arguments: &[&str]) -> Self {
        let directory = directory.to_str().expect("a path that is text");
        let fixed = ["--port", "0", "--clock", "manual", "--dir", directory];
        Self::spawn(tollgate(&[&fixed, arguments].concat()))
    }

    pub fn spawn(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let stderr = child.stderr.take().expect("is piped");
        let (sender, log) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(stderr).lines().map_while(Result::ok);
            lines
                .take_while(|line| sender.send(line.clone()).is_ok())
                .for_each(drop);
        });
        let mut server = Self {
            child,
            port: 0,
            tls_port: 0,
            log,
            ready: String::new(),
        };
        server.ready = server.wait_for_log("ready");
        server.port = server.port_behind(r#" addresses="127.0.0.1:"#);
        server.tls_port = server.port_behind(r#" tls="127.0.0.1:"#);
        server
    }

    fn port_behind(&self, name: &str) -> u16 {
        let behind = self.ready.split(name).nth(1);
        let digits = behind.and_then(|text| text.split(['"', ',']).next());
        digits.map_or(0, |digits| digits.parse().expect("a port"))
    }

    /// The next line of the log that holds `text`.
    pub fn wait_for_log(&self, text: &str) -> String {
        let mut seen = Vec::new();
        for line in self.log.iter() {
            if line.contains(text) {
                return line;
            }
            seen.push(line);
        }
        panic!("the log ended without {text:?}: {seen:#?}");
    }

    pub fn connect(&self) -> Wire {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("connects");
        stream.set_nodelay(true).expect("is a socket");
        Wire(stream)
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.expect("kill runs").success());
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("can be waited for")
    }

    /// What `tollgate cli` prints for `words`, for people.
    pub fn cli(&self, words: &[&str]) -> String {
        let port = self.port.to_string();
        let output = run(&[&["cli", "-p", &port, "--no-raw"], words].concat());
        String::from_utf8(output.stdout).expect("text")
    }

    /// Resident memory, in KiB.
    pub fn resident_kib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).expect("runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        number
            .and_then(|number| number.parse().ok())
            .expect("a number")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection that sends and expects exact bytes.
pub struct Wire<S = TcpStream>(pub S);

impl Wire {
    pub fn close_sending(&mut self) -> &mut Self {
        self.0.shutdown(Shutdown::Write).expect("is open");
        self
    }
}

impl<S: Read + Write> Wire<S> {
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.0.write_all(bytes.as_ref()).expect("sends");
        self
    }

    /// The next bytes must be `expected`.
    pub fn expect(&mut self, expected: impl AsRef<[u8]>) -> &mut Self {
        let expected = expected.as_ref();
        let mut got = vec![0; expected.len()];
        self.0.read_exact(&mut got).expect("a reply");
        assert_eq!(
            got.escape_ascii().to_string(),
            expected.escape_ascii().to_string()
        );
        self
    }

    /// The next line, without its end.
    pub fn line(&mut self) -> String {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            let mut byte = [0];
            self.0.read_exact(&mut byte).expect("a line");
            line.push(byte[0]);
        }
        line.truncate(line.len() - 2);
        String::from_utf8(line).expect("text")
    }

    /// The next lines.
    pub fn lines(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.line()).collect()
    }

    /// The next bytes, as a text.
    pub fn take(&mut self, length: usize) -> String {
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes).expect("a reply");
        String::from_utf8(bytes).expect("text")
    }

    /// All that still comes before the server closes.
    pub fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).expect("an orderly end");
        rest.escape_ascii().to_string()
    }

    pub fn ping(&mut self) -> &mut Self {
        self.send("PING\r\n").expect("+PONG\r\n")
    }
}
