//! One thread of the generator: it sends the calls that may go and times their replies.
//!
//! A closed loop sends on each connection a pipeline of calls, and the next one when all of them are answered. An open
//! loop sends each call when it is due, on the first in a queue of connections with room. If none has room the call
//! waits here, and its latency counts from when it was due all the same.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use mio::{Events, Poll, Token};
use rustix::time::{ClockId, clock_gettime};

use super::alarm::Alarm;
use super::keys::Keys;
use super::peer::{Peer, READ_BYTES};
use super::record::Window;
use super::supply::Supply;
use super::template::Template;
use crate::client::dial::Stream;
use crate::clock::Clock;

/// How often a thread tells what it has seen, in nanoseconds.
pub const WINDOW_NS: u64 = 1_000_000_000;
/// Events taken from one poll.
const EVENTS_MAX: usize = 1024;
/// The token of the alarm; connections are numbered from 0.
const ALARM: Token = Token(usize::MAX);

/// What a thread tells.
pub enum Message {
    /// What it has seen since it last told, a second ago.
    Window(usize, Window),
    /// It has ended.
    Done {
        /// What it has seen since it last told.
        window: Window,
        /// Calls without an answer.
        unanswered: u64,
        /// Calls that were due and never sent.
        unsent: u64,
    },
    /// It has failed, and why.
    Failed(String),
}

/// What all threads do alike.
pub struct Plan {
    /// The commands; each call is one of them, by their weights.
    pub templates: Vec<Template>,
    /// Calls in flight on one connection, at most.
    pub pipeline: u64,
    /// How long nothing may come while calls are outstanding, in nanoseconds.
    pub patience_ns: u64,
    /// The generator's clock.
    pub clock: Clock,
}

/// One thread.
pub struct Worker {
    plan: Arc<Plan>,
    number: usize,
    supply: Supply,
    keys: Keys,
    total_weight: u64,
    poll: Poll,
    alarm: Alarm,
    peers: Vec<Peer>,
    /// Connections of an open loop with room for another call.
    free: VecDeque<usize>,
    in_flight: u64,
    window: Window,
    /// When it last told what it had seen.
    told_ns: u64,
    /// Processor time up to which it is in a window; `None` until calls count.
    cpu_ns: Option<u64>,
    buffer: Vec<u8>,
    sender: Sender<Message>,
}

impl Worker {
    /// A thread that sends `supply` over `streams`.
    pub fn new(
        plan: Arc<Plan>,
        number: usize,
        supply: Supply,
        keys: Keys,
        streams: Vec<Stream>,
        sender: Sender<Message>,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        let alarm = Alarm::new(poll.registry(), ALARM)?;
        let mut peers = Vec::with_capacity(streams.len());
        for stream in streams {
            peers.push(Peer::new(stream, poll.registry(), Token(peers.len()))?);
        }
        Ok(Self {
            number,
            supply,
            keys,
            total_weight: plan.templates.iter().map(|one| one.weight).sum(),
            poll,
            alarm,
            peers,
            free: VecDeque::new(),
            in_flight: 0,
            window: Window::new(plan.templates.len()),
            told_ns: 0,
            cpu_ns: None,
            buffer: vec![0; READ_BYTES],
            sender,
            plan,
        })
    }

    /// Runs to the end, and tells it.
    pub fn run(mut self) {
        let worked = self.work();
        self.count_cpu();
        let message = match worked {
            Ok(unsent) => Message::Done {
                unanswered: self.in_flight,
                unsent,
                window: self.window,
            },
            Err(error) => Message::Failed(self.explained(&error)),
        };
        // Nobody listens any more if another thread has failed.
        let _ = self.sender.send(message);
    }

    /// Sends and receives; how many calls were due and not sent.
    fn work(&mut self) -> io::Result<u64> {
        let mut events = Events::with_capacity(EVENTS_MAX);
        let (mut begun, mut now) = (false, self.now());
        let mut heard_ns = now;
        self.told_ns = now;
        loop {
            if !begun && now >= self.supply.start_ns() {
                begun = true;
                self.begin(now)?;
            }
            self.account(now)?;
            if self.in_flight == 0 {
                heard_ns = now;
            }
            let gives_up = self.supply.gives_up(now) || now - heard_ns >= self.plan.patience_ns;
            if gives_up || self.supply.is_over(now) && self.in_flight == 0 {
                return Ok(self.supply.overdue(now));
            }
            let next = match begun {
                true => self.supply.due_ns().filter(|_| !self.free.is_empty()),
                false => Some(self.supply.start_ns()),
            };
            let wait = self.wait(now, next)?;
            match self.poll.poll(&mut events, Some(wait)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => other?,
            }
            for event in events.iter().filter(|event| event.token() != ALARM) {
                let peer = event.token().0;
                if event.is_writable() {
                    self.peers[peer].flush()?;
                }
                let closed = event.is_read_closed() || event.is_error();
                if event.is_readable() || closed || self.peers[peer].is_buffered() {
                    heard_ns = self.receive(peer, closed)?.unwrap_or(heard_ns);
                }
            }
            now = self.now();
            self.send_due(now)?;
        }
    }

    /// Counts the processor time since calls began to count, and tells what there is once a second.
    fn account(&mut self, now: u64) -> io::Result<()> {
        if self.cpu_ns.is_none() && now >= self.supply.counts_from_ns() {
            self.cpu_ns = Some(cpu_ns());
        }
        if now - self.told_ns < WINDOW_NS {
            return Ok(());
        }
        self.told_ns = now;
        self.count_cpu();
        let empty = Window::new(self.plan.templates.len());
        let window = std::mem::replace(&mut self.window, empty);
        let told = self.sender.send(Message::Window(self.number, window));
        // Nobody listens any more if another thread has failed.
        told.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn count_cpu(&mut self) {
        if let Some(before) = &mut self.cpu_ns {
            let used = cpu_ns();
            self.window.cpu_ns += used - std::mem::replace(before, used);
        }
    }

    fn now(&self) -> u64 {
        self.plan.clock.now().as_ns()
    }

    /// Sends the first calls.
    fn begin(&mut self, now: u64) -> io::Result<()> {
        if self.supply.is_closed() {
            for peer in 0..self.peers.len() {
                self.send_pipeline(peer, now)?;
            }
            return Ok(());
        }
        for (number, peer) in self.peers.iter_mut().enumerate() {
            peer.listed = true;
            self.free.push_back(number);
        }
        self.send_due(now)
    }

    /// How long the next poll may take, with something to do at `next`.
    fn wait(&self, now: u64, next: Option<u64>) -> io::Result<Duration> {
        let until_told = Duration::from_nanos((self.told_ns + WINDOW_NS).saturating_sub(now));
        let patience = Duration::from_nanos(self.plan.patience_ns);
        let wait = until_told.min(patience) + Duration::from_millis(1);
        let until_next = match next {
            Some(next) => Duration::from_nanos(next.saturating_sub(now)),
            None => return Ok(wait),
        };
        match until_next.is_zero() || until_next >= wait {
            true => Ok(until_next.min(wait)),
            false => self.alarm.set(until_next),
        }
    }

    /// Sends the calls of an open loop that are due and have room.
    fn send_due(&mut self, now: u64) -> io::Result<()> {
        while let Some(&peer) = self.free.front() {
            let Some((at_ns, calls)) = self.supply.take(now, 1) else {
                return Ok(());
            };
            self.launch(peer, at_ns, calls);
            self.free.pop_front();
            let one = &mut self.peers[peer];
            one.listed = one.in_flight < self.plan.pipeline;
            if one.listed {
                self.free.push_back(peer);
            }
            one.flush()?;
        }
        Ok(())
    }

    /// Sends the next pipeline of a closed loop.
    fn send_pipeline(&mut self, peer: usize, now: u64) -> io::Result<()> {
        match self.supply.take(now, self.plan.pipeline) {
            Some((at_ns, calls)) => {
                self.launch(peer, at_ns, calls);
                self.peers[peer].flush()
            }
            None => Ok(()),
        }
    }

    /// Writes calls to a connection's output.
    fn launch(&mut self, peer: usize, at_ns: u64, calls: u64) {
        let peer = &mut self.peers[peer];
        self.in_flight += calls;
        if let [template] = &self.plan.templates[..] {
            for _ in 0..calls {
                template.write(&mut peer.output, &mut self.keys);
            }
            peer.launch(at_ns, 0, calls);
            return;
        }
        for _ in 0..calls {
            let mut at = self.keys.random().below(self.total_weight);
            let mut command = 0;
            while at >= self.plan.templates[command].weight {
                at -= self.plan.templates[command].weight;
                command += 1;
            }
            self.plan.templates[command].write(&mut peer.output, &mut self.keys);
            peer.launch(at_ns, command, 1);
        }
    }

    /// Reads what has come on a connection and sends what may follow; when it came, if anything did. There may be
    /// more behind a short read only if the peer has `closed` the connection.
    fn receive(&mut self, number: usize, closed: bool) -> io::Result<Option<u64>> {
        let mut heard = None;
        while let Some((length, more)) = self.peers[number].read(&mut self.buffer)? {
            let now = self.now();
            heard = Some(now);
            self.answer(number, length, now)?;
            if !more && !closed {
                break;
            }
        }
        let peer = &mut self.peers[number];
        if let Some(now) = heard {
            if self.supply.is_closed() {
                if peer.in_flight == 0 {
                    self.send_pipeline(number, now)?;
                }
            } else if !peer.listed && peer.in_flight < self.plan.pipeline {
                peer.listed = true;
                self.free.push_back(number);
            }
        }
        Ok(heard)
    }

    /// Goes through the replies in the first `length` bytes of the buffer.
    fn answer(&mut self, number: usize, length: usize, now: u64) -> io::Result<()> {
        let peer = &mut self.peers[number];
        let counts_from_ns = self.supply.counts_from_ns();
        let mut input = &self.buffer[..length];
        // Replies that came together to calls that went together took equally long.
        let (mut run, mut run_calls) = ((0, 0), 0);
        while let Some(reply) = peer.skimmer.next(input).map_err(io::Error::other)? {
            input = &input[reply.length()..];
            if reply.is_push() {
                continue;
            }
            let Some(call) = peer.land() else {
                // What a server says that takes no more connections.
                return Err(match reply.is_error() {
                    true => {
                        let text = String::from_utf8_lossy(reply.text());
                        io::Error::new(io::ErrorKind::ConnectionRefused, text)
                    }
                    false => io::Error::other("it answers what nobody has asked"),
                });
            };
            self.in_flight -= 1;
            if call.0 < counts_from_ns {
                continue;
            }
            let denial = self.plan.templates[call.1].denial;
            self.window.judge(call.1, denial, &reply);
            if call != run && run_calls > 0 {
                let (at_ns, command) = run;
                self.window
                    .took(command, now.saturating_sub(at_ns), run_calls);
                run_calls = 0;
            }
            run = call;
            run_calls += 1;
        }
        if run_calls > 0 {
            let (at_ns, command) = run;
            self.window
                .took(command, now.saturating_sub(at_ns), run_calls);
            self.window.last_reply_ns = now;
        }
        peer.keep(input);
        Ok(())
    }

    /// Why the thread cannot go on, in a line.
    fn explained(&self, error: &io::Error) -> String {
        let last = self.window.errors.0.values().next();
        let said = last.map_or(String::new(), |(_, text)| format!("; it had said: {text}"));
        match error.kind() {
            io::ErrorKind::ConnectionRefused => format!("the server refuses a connection: {error}"),
            io::ErrorKind::UnexpectedEof => format!("the server closed a connection{said}"),
            io::ErrorKind::Other => {
                format!("this is not a reply of a Redis-compatible server: {error}")
            }
            _ => format!("a connection broke: {error}{said}"),
        }
    }
}

/// Processor time of this thread, in nanoseconds.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // Neither is negative: it counts from the thread's start.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
