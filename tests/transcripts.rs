//! Plays `tests/transcripts/*.txt` through sessions in process, in RESP2 and in RESP3.
//!
//! A file holds cases, each with a server of its own and the manual clock:
//!
//! ```text
//! # A comment.
//! == what the case shows (password=secret)
//! > CLIENT GETNAME
//! 2 $-1
//! 3 _
//! ```
//!
//! A line that begins with `> ` is sent as an inline request, with those behind `>>` in one write. Then one line
//! for each reply follows, for both protocols, or behind `2` and `3` for one of them. `...` stands for any text.
//! `(nothing)` is no reply, `(closed)` the end of the connection, `(waits for ...)` what the server has to do
//! first: `!done` or `!fail TEXT` ends it, and `!answer` ends `(waits for Answer)` with the answer that others have
//! given, or shows `(still waits)`. What is sent meanwhile is read behind it. `@2` goes on with the second connection. Messages that others have sent to a
//! connection stand behind the replies to its next step; the step `!messages` only shows them.
//! Behind the name in parentheses: `password=...`, `aclfile=...`, `clock=system`, `cluster=HOST`, and `only=2` for RESP2 alone.
//!
//! `UPDATE_TRANSCRIPTS=1` writes the replies that came; read what has changed before you commit it.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

use bytes::BytesMut;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::{env, fs, path::Path};
use tollgate::clients::Client;
use tollgate::clock::Clock;
use tollgate::cluster::Announced;
use tollgate::command::connection::Pending;
use tollgate::core::units::Timestamp;
use tollgate::engine::Engine;
use tollgate::memory::Counting;
use tollgate::password::Password;
use tollgate::session::{Completion, Flow, Session};
use tollgate::settings::{Initial, Settings};

/// As in the binary: `maxmemory` bounds what it has counted.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[path = "transcripts/rendering.rs"]
mod rendering;

/// A line of a case that does something, and the replies that belong to it.
#[derive(Default)]
struct Step {
    line: usize,
    /// The lines as they stand in the file.
    text: Vec<String>,
    expected: Vec<String>,
}

#[derive(Default)]
struct Case {
    name: String,
    options: BTreeMap<String, String>,
    steps: Vec<Step>,
}

/// A connection, and what it has received that was not looked at yet.
struct Peer {
    client: Arc<Client>,
    session: Session,
    input: BytesMut,
    /// A command waits for its answer: what is sent is only looked at.
    waits: bool,
}

struct Server {
    engine: Arc<Engine>,
    peers: BTreeMap<u8, Peer>,
    current: u8,
    protocol: u8,
}

impl Server {
    fn new(case: &Case, protocol: u8) -> Self {
        let clock = match case.options.get("clock").map(String::as_str) {
            Some("system") => Clock::system(Timestamp::ZERO),
            _ => Clock::manual(Timestamp::ZERO),
        };
        let password = case.options.get("password").map_or("", String::as_str);
        let settings = Settings::new(Initial {
            requirepass: Password::new(password.as_bytes()).unwrap(),
            aclfile: case.options.get("aclfile").cloned().unwrap_or_default(),
            cluster: case
                .options
                .get("cluster")
                .map(|host| Announced::parse(host).unwrap()),
            ..Initial::default()
        });
        Self {
            engine: Arc::new(Engine::new(clock, settings)),
            peers: BTreeMap::new(),
            current: 1,
            protocol,
        }
    }

    fn peer(&mut self) -> &mut Peer {
        let (engine, number, protocol) = (&self.engine, self.current, self.protocol);
        self.peers.entry(number).or_insert_with(|| {
            let (peer, local) = (
                format!("127.0.0.1:5000{number}"),
                "127.0.0.1:6379".to_owned(),
            );
            let now = engine.shared.clock.now();
            let client = engine
                .shared
                .clients
                .register(peer, local, now, Box::new(|| {}));
            engine.shared.metrics.connected();
            let mut session = Session::new(engine.clone(), client.clone());
            if protocol == 3 {
                let mut hello = BytesMut::from(&b"HELLO 3\r\n"[..]);
                session.receive(&mut hello, &mut Vec::new());
            }
            Peer {
                client,
                session,
                input: BytesMut::new(),
                waits: false,
            }
        })
    }

    /// Does what a step says; the lines that answer it.
    fn play(&mut self, step: &Step) -> Vec<String> {
        let mut output = Vec::new();
        let first = step.text[0].as_str();
        let flow = if let Some(number) = first.strip_prefix('@') {
            self.current = number.parse().expect("a number of a connection");
            self.peer();
            return Vec::new();
        } else if first == "!done" {
            let peer = self.peer();
            peer.session
                .resume(Completion::Done, &mut peer.input, &mut output)
        } else if let Some(text) = first.strip_prefix("!fail ") {
            let peer = self.peer();
            let failed = Completion::Failed(text.to_owned());
            peer.session.resume(failed, &mut peer.input, &mut output)
        } else if first == "!messages" {
            Flow::Read
        } else if first == "!answer" {
            let peer = self.peer();
            assert!(peer.waits, "!answer where nobody waits: {}", step.text[0]);
            let Some(answer) = peer.client.take_answer() else {
                return vec!["(still waits)".to_owned()];
            };
            peer.waits = false;
            let answer = Completion::Answer(answer);
            peer.session.resume(answer, &mut peer.input, &mut output)
        } else {
            let lines = step
                .text
                .iter()
                .map(|line| line.trim_start_matches('>').trim_start());
            let request: String = lines.map(|line| format!("{line}\r\n")).collect();
            self.send(request.as_bytes(), &mut output)
        };
        if flow == Flow::Wait(Pending::Answer) {
            let peer = self.peer();
            peer.waits = true;
            peer.session.look_ahead(&peer.input);
        }
        // What the server does by itself when something may have fallen due.
        self.engine.fire();
        self.peer().client.take_messages(&mut output);
        let mut replies = rendering::replies(&output);
        match flow {
            Flow::Read | Flow::Flush => {}
            Flow::Close => {
                if let Some(peer) = self.peers.remove(&self.current) {
                    self.engine.shared.clients.remove(peer.client.id);
                }
                replies.push("(closed)".to_owned());
            }
            Flow::Wait(pending) => replies.push(format!("(waits for {pending:?})")),
        }
        if replies.is_empty() {
            replies.push("(nothing)".to_owned());
        }
        replies
    }

    /// At once in RESP2 and byte by byte in RESP3: it must make no difference.
    fn send(&mut self, request: &[u8], output: &mut Vec<u8>) -> Flow {
        let piece = if self.protocol == 2 { request.len() } else { 1 };
        let peer = self.peer();
        let mut flow = Flow::Read;
        for bytes in request.chunks(piece) {
            peer.input.extend_from_slice(bytes);
            if peer.waits || flow == Flow::Wait(Pending::Answer) {
                peer.session.look_ahead(&peer.input);
            } else if matches!(flow, Flow::Read | Flow::Flush) {
                flow = peer.session.receive(&mut peer.input, output);
            }
        }
        flow
    }
}

/// The lines that a step expects in one protocol.
fn expected_in(step: &Step, protocol: u8) -> Vec<&str> {
    let lines = step.expected.iter();
    lines
        .filter_map(|line| match line.split_once(' ') {
            Some(("2", text)) => (protocol == 2).then_some(text),
            Some(("3", text)) => (protocol == 3).then_some(text),
            _ => Some(line.as_str()),
        })
        .collect()
}

/// True if `text` is `pattern`, in which `...` stands for anything.
fn agrees(pattern: &str, text: &str) -> bool {
    let pieces: Vec<&str> = pattern.split("...").collect();
    let [first, middle @ .., last] = pieces.as_slice() else {
        return pattern == text;
    };
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    for piece in middle {
        let Some(at) = rest.find(piece) else {
            return false;
        };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

fn parse(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(title) = line.strip_prefix("== ") {
            let (name, options) = title.split_once(" (").unwrap_or((title, ""));
            let options = options.trim_end_matches(')').split_ascii_whitespace();
            let options = options.filter_map(|option| option.split_once('='));
            cases.push(Case {
                name: name.to_owned(),
                options: options
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .collect(),
                steps: Vec::new(),
            });
        }
        if line.is_empty() || line.starts_with('#') || line.starts_with("== ") {
            continue;
        }
        let steps = &mut cases.last_mut().expect("a case begins with `== `").steps;
        // A push among the replies begins with `>[`.
        if ["> ", ">>", "!", "@"]
            .iter()
            .any(|mark| line.starts_with(mark))
        {
            match steps.last_mut() {
                Some(step) if line.starts_with(">>") => step.text.push(line.to_owned()),
                _ => steps.push(Step {
                    line: index + 1,
                    text: vec![line.to_owned()],
                    expected: Vec::new(),
                }),
            }
        } else {
            let step = steps.last_mut().expect("a reply follows what it answers");
            step.expected.push(line.to_owned());
        }
    }
    cases
}

/// The lines for the file: common ones once.
fn merged(two: &[String], three: &[String]) -> Vec<String> {
    if two == three {
        return two.to_vec();
    }
    let twos = two.iter().map(|line| format!("2 {line}"));
    twos.chain(three.iter().map(|line| format!("3 {line}")))
        .collect()
}

/// Plays a file; what differs, and the file with the replies that came.
fn play(name: &str, text: &str) -> (Vec<String>, String) {
    let mut differences = Vec::new();
    let mut corrections: BTreeMap<usize, (usize, Vec<String>)> = BTreeMap::new();
    for case in parse(text) {
        let protocols: &[u8] = if case.options.contains_key("only") {
            &[2]
        } else {
            &[2, 3]
        };
        let mut servers: Vec<Server> = protocols.iter().map(|&p| Server::new(&case, p)).collect();
        for step in &case.steps {
            let found: Vec<Vec<String>> =
                servers.iter_mut().map(|server| server.play(step)).collect();
            let mut right = true;
            for (found, &protocol) in found.iter().zip(protocols) {
                let expected = expected_in(step, protocol);
                let same = expected.len() == found.len()
                    && expected
                        .iter()
                        .zip(found)
                        .all(|(expected, found)| agrees(expected, found));
                if !same {
                    right = false;
                    differences.push(format!(
                        "{name}:{}: {} (RESP{protocol})\n  {}\n  expected {expected:#?}\n  found    {found:#?}",
                        step.line, case.name, step.text.join("\n  ")
                    ));
                }
            }
            if !right {
                let lines = merged(&found[0], found.last().unwrap());
                let at = step.line + step.text.len();
                corrections.insert(at, (step.expected.len(), lines));
            }
        }
    }
    let mut corrected = String::new();
    let mut skip = 0;
    // A correction stands in front of the line behind its step, also behind the last.
    for (index, line) in text.lines().chain([""]).enumerate() {
        if let Some((old, new)) = corrections.get(&(index + 1)) {
            new.iter()
                .for_each(|line| corrected += &format!("{line}\n"));
            skip = *old;
        }
        if skip > 0 {
            skip -= 1;
        } else {
            corrected += &format!("{line}\n");
        }
    }
    (differences, format!("{}\n", corrected.trim_end()))
}

#[test]
fn every_transcript_plays_as_written() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut differences = Vec::new();
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    assert!(!files.is_empty());
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (found, corrected) = play(&name, &text);
        if env::var_os("UPDATE_TRANSCRIPTS").is_some() && !found.is_empty() {
            fs::write(&path, corrected).unwrap();
        }
        differences.extend(found);
    }
    assert!(
        differences.is_empty() || env::var_os("UPDATE_TRANSCRIPTS").is_some(),
        "{}",
        differences.join("\n\n")
    );
}
