//! What a session serves in one go, and what it answers.

use super::frame::{self, Dialect, Frame};
use super::play::Peer;
use std::collections::VecDeque;
use tollgate::command::connection::Pending;
use tollgate::engine::Engine;
use tollgate::protocol::{Arguments, OwnedArguments, RequestLimits, Scan, Scanner};
use tollgate::session::{Completion, Flow};

/// Numbers from here on are remembered: tickets and leases begin at the time in microseconds.
const LARGE: i64 = 1_000_000_000_000_000;

/// What a request is answered with.
enum Expected {
    /// One reply.
    Reply,
    /// A confirmation for each of so many names, or one reply if it is refused or queued.
    Confirmations(usize),
    /// One, several or none: no longer counted in this batch.
    Any,
    /// `CLIENT REPLY`: no longer counted on this connection.
    Unknown,
}

/// The requests that a session serves in one go, and what it answers.
pub struct Batch {
    expected: VecDeque<Expected>,
    frames: VecDeque<Frame>,
    /// Large numbers among the replies.
    pub numbers: Vec<i64>,
    /// One of several is above the bounds of who has not logged in.
    pub oversized: bool,
    /// One of them subscribes.
    subscribes: bool,
    /// One of them may change the protocol.
    says_hello: bool,
    /// One of them may run several.
    executes: bool,
}

impl Batch {
    /// Those that are complete in what the peer has sent.
    pub fn of(peer: &Peer, engine: &Engine, resumes: bool) -> Self {
        let mut batch = Self {
            expected: VecDeque::new(),
            frames: VecDeque::new(),
            numbers: Vec::new(),
            oversized: false,
            subscribes: false,
            says_hello: false,
            executes: false,
        };
        if resumes {
            batch.expected.push_back(Expected::Reply);
        }
        let asks = engine.shared.acl.requires_login();
        let limits = match peer.session.is_authenticated() || !asks {
            true => RequestLimits::AUTHENTICATED,
            false => RequestLimits::UNAUTHENTICATED,
        };
        let (mut scanner, mut start) = (Scanner::new(), 0);
        let mut requests: Vec<OwnedArguments> = Vec::new();
        loop {
            match scanner.scan(&peer.input[start..], &limits) {
                Ok(Scan::Incomplete { .. }) => break,
                Ok(Scan::Skip { consumed }) => start += consumed,
                Ok(Scan::Request {
                    arguments,
                    consumed,
                }) => {
                    requests.push(OwnedArguments::from(arguments));
                    start += consumed;
                }
                // Told as a last reply.
                Err(_) => {
                    requests.push(OwnedArguments::from_slices(&[b"an error"]));
                    break;
                }
            }
        }
        for request in &requests {
            let arguments = request.as_arguments();
            let most = RequestLimits::UNAUTHENTICATED;
            batch.oversized |= requests.len() > 1
                && (arguments.len() > most.arguments_max || request.bytes() > most.bulk_bytes_max);
            let expected = batch.expected_of(arguments, peer);
            batch.expected.push_back(expected);
        }
        batch
    }

    fn expected_of(&mut self, arguments: Arguments<'_>, peer: &Peer) -> Expected {
        let word = |index: usize| {
            let word = arguments.get(index).unwrap_or_default();
            String::from_utf8_lossy(word).to_ascii_uppercase()
        };
        let name = word(0);
        if name.ends_with("SUBSCRIBE") {
            self.subscribes = true;
        }
        match (name.as_str(), arguments.len()) {
            ("SUBSCRIBE" | "PSUBSCRIBE" | "SSUBSCRIBE", count @ 2..) => {
                Expected::Confirmations(count - 1)
            }
            ("UNSUBSCRIBE" | "PUNSUBSCRIBE" | "SUNSUBSCRIBE", 1) => Expected::Any,
            ("UNSUBSCRIBE" | "PUNSUBSCRIBE" | "SUNSUBSCRIBE", count) => {
                Expected::Confirmations(count - 1)
            }
            ("CLIENT", 2..) if word(1) == "REPLY" => Expected::Unknown,
            ("EXEC", _) => {
                self.executes = true;
                match self.subscribes || peer.queues_subscriptions {
                    true => Expected::Any,
                    false => Expected::Reply,
                }
            }
            ("HELLO" | "RESET", _) => {
                self.says_hello = true;
                Expected::Reply
            }
            _ => Expected::Reply,
        }
    }

    /// Lets the session serve them; true if it closes the connection.
    pub fn run(&mut self, peer: &mut Peer, mut completion: Option<Completion>) -> bool {
        loop {
            let (before, heard) = (peer.version(), peer.listens());
            let mut output = Vec::new();
            let (session, input) = (&mut peer.session, &mut peer.input);
            let flow = match completion.take() {
                Some(completion) => session.resume(completion, input, &mut output),
                None => session.receive(input, &mut output),
            };
            let changes = self.says_hello || peer.queues_hello || before != peer.version();
            let dialect = match changes {
                true => Dialect::Either,
                false => Dialect::of(before),
            };
            match frame::all(&output, dialect) {
                Some(frames) => {
                    let hears = peer.listens();
                    let is_reply =
                        |frame: &Frame| !frame.is_message(heard.0 || hears.0, heard.1 || hears.1);
                    self.frames.extend(frames.into_iter().filter(is_reply));
                }
                // Two protocols in one EXEC are read by no reader.
                None if self.executes && changes => peer.counted = false,
                None => panic!("not {dialect:?}: {}", output.escape_ascii()),
            }
            match flow {
                Flow::Read => return false,
                Flow::Close => return true,
                Flow::Flush => {}
                Flow::Wait(Pending::Answer) => {
                    peer.waits = true;
                    peer.session.look_ahead(&peer.input);
                    return false;
                }
                Flow::Wait(Pending::Delay { .. }) => completion = Some(Completion::Done),
                Flow::Wait(Pending::Save | Pending::LoadUsers | Pending::SaveUsers) => {
                    peer.saves = !peer.saves;
                    completion = Some(match peer.saves {
                        true => Completion::Done,
                        false => Completion::Failed("ERR the disk is full".to_owned()),
                    });
                }
                Flow::Wait(Pending::Shutdown { .. }) => {
                    completion = Some(Completion::Failed("ERR it goes on".to_owned()));
                }
            }
        }
    }

    /// What comes of it is not known.
    pub fn forget(&mut self) {
        self.expected.clear();
        self.frames.clear();
    }

    /// True if its one reply is an error.
    pub fn is_refused(&self) -> bool {
        self.frames.len() == 1 && self.frames[0].is_error()
    }

    /// Exactly one reply a request, in order.
    pub fn compare(&mut self, peer: &mut Peer, closed: bool) {
        for frame in &self.frames {
            frame.integers(&mut self.numbers);
        }
        self.numbers.retain(|number| *number >= LARGE);
        peer.queues_subscriptions |= self.subscribes;
        peer.queues_hello |= self.says_hello;
        while let Some(expected) = self.expected.pop_front() {
            if !peer.counted {
                return;
            }
            let more = match expected {
                Expected::Reply => 0,
                Expected::Confirmations(count) => count - 1,
                Expected::Any => return,
                Expected::Unknown => {
                    peer.counted = false;
                    return;
                }
            };
            let Some(first) = self.frames.pop_front() else {
                assert!(closed || peer.waits, "a request without a reply");
                return;
            };
            // Refused or queued it is one reply.
            for _ in 0..if first.is_confirmation() { more } else { 0 } {
                let next = self.frames.pop_front();
                assert!(next.is_some_and(|next| next.is_confirmation()));
            }
        }
        assert!(
            !peer.counted || self.frames.is_empty(),
            "replies to nothing: {:?}",
            self.frames
        );
    }
}
