//! One connection: bytes from the socket to the session, replies back.
//!
//! Memory is bounded because the two directions take turns. Nothing is read while replies wait to be
//! taken, so a connection holds at most one request ([`crate::protocol::limits`]) and one read of
//! input, and at most `client-output-limit` and one reply of output. Messages that others send it wait in its
//! mailbox, at most `pubsub-output-limit` of them, and leave a piece at a time.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, BytesMut};
use tokio::io::AsyncReadExt;
use tokio::sync::{Notify, oneshot};
use tokio::time::{sleep, timeout};

use super::end::End;
use super::gate::Passage;
use super::stream::Stream;
use super::tls::is_client_hello;
use super::workers::Place;
use super::{Server, ShutdownRequest, users};
use crate::clients::Client;
use crate::command::connection::Pending;
use crate::session::{Completion, Flow, Session};

/// Bytes asked for in one read; about what an idle connection's buffer keeps.
pub(super) const READ_BYTES: usize = 16 * 1024;
/// Bytes asked for while the peer sends more than [`READ_BYTES`] at a time (a deep pipeline).
const READ_BYTES_BUSY: usize = 64 * 1024;
/// Bytes of messages taken out of the mailbox at a time, so that what is under way hardly adds to their bound.
const MESSAGES_BYTES: usize = 64 * 1024;
/// Bytes read ahead while a command waits for its answer. A peer that sends more is not read, and if it goes then
/// that is seen when the answer comes.
const WAITING_BYTES_MAX: usize = 64 * 1024;
/// How long a peer may leave its replies unread before it is cut off. A link that loses packets
/// recovers in seconds; a minute without taking a single byte is a peer that is stuck, and its replies
/// would be held for as long as it likes.
const STALL: Duration = Duration::from_secs(60);
/// What a peer gets that speaks TLS to a plain port. It cannot read it, and tools know what that means.
const NO_TLS: &[u8] = b"-ERR this port does not speak TLS\r\n";

/// Why a connection is no longer served at its place.
pub(super) enum Ended {
    For(End),
    /// It goes on there.
    Moves(Place),
}

/// A connection at its place.
pub(super) struct Connection {
    pub(super) server: Arc<Server>,
    pub(super) stream: Stream,
    /// Where it is served.
    pub(super) place: Place,
    pub(super) client: Arc<Client>,
    /// Told when [`Connection::is_over`] may have changed, or the gate has opened.
    pub(super) wake: Arc<Notify>,
    pub(super) session: Session,
    pub(super) input: BytesMut,
    pub(super) output: Vec<u8>,
    pub(super) read_bytes: usize,
    /// It has not said anything yet.
    pub(super) is_new: bool,
}

impl Connection {
    pub(super) async fn serve(&mut self) -> Ended {
        match self.converse().await {
            Ok(place) => Ended::Moves(place),
            Err(end) => Ended::For(end),
        }
    }

    /// Answers until it is to move.
    async fn converse(&mut self) -> Result<Place, End> {
        if std::mem::take(&mut self.is_new) {
            self.read().await?;
            if is_client_hello(&self.input) {
                self.output.extend_from_slice(NO_TLS);
                self.flush().await?;
                return Err(End::SpokeTls);
            }
            self.answer().await?;
        }
        loop {
            if self.stream.can_move()
                && let Some(place) = self.place.next()
            {
                return Ok(place);
            }
            self.read().await?;
            self.answer().await?;
        }
    }

    /// All commands that a read has completed, and their replies.
    async fn answer(&mut self) -> Result<(), End> {
        let mut completion = None;
        loop {
            let flow = self.run(completion.take()).await?;
            self.flush().await?;
            match flow {
                Flow::Read => break,
                // Between two floods of replies the other connections of this thread get their turn.
                Flow::Flush => tokio::task::yield_now().await,
                Flow::Close if self.client.is_overrun() => return Err(End::Overrun),
                Flow::Close => return Err(End::SessionClosed),
                Flow::Wait(pending) => completion = Some(self.finish(pending).await?),
            }
        }
        if self.input.is_empty() && self.input.capacity() > READ_BYTES_BUSY {
            self.input = BytesMut::new();
        }
        Ok(())
    }

    /// `Err` if there is a reason to end that does not come from the peer.
    fn is_over(&self) -> Result<(), End> {
        if self.client.is_killed() {
            Err(self.cut_off())
        } else if self.server.gate.is_closed() {
            Err(End::Stopping)
        } else {
            Ok(())
        }
    }

    /// Why it ends, once it was killed.
    fn cut_off(&self) -> End {
        if self.client.is_overrun() {
            End::Overrun
        } else {
            End::Killed
        }
    }

    async fn read(&mut self) -> Result<(), End> {
        self.input.reserve(self.read_bytes);
        let mut allowed = self.idle_allowed();
        let mut idle = pin!(rest(allowed));
        loop {
            let mut room = (&mut self.input).limit(self.read_bytes);
            let received = tokio::select! {
                biased;
                received = self.stream.read_buf(&mut room) => received?,
                () = self.wake.notified() => {
                    self.is_over()?;
                    self.flush().await?;
                    let now_allowed = self.idle_allowed();
                    if now_allowed != allowed {
                        allowed = now_allowed;
                        idle.set(rest(allowed));
                    }
                    continue;
                }
                () = &mut idle => return Err(End::Idle),
            };
            // Zero also when the peer only closed its sending side: all it asked has been answered.
            if received == 0 {
                return Err(End::PeerClosed);
            }
            self.server.engine.shared.metrics.received(received);
            let was_full = received == self.read_bytes;
            self.read_bytes = if was_full {
                READ_BYTES_BUSY
            } else {
                READ_BYTES
            };
            return Ok(());
        }
    }

    /// How long nothing may come; `None` is for ever.
    fn idle_allowed(&self) -> Option<Duration> {
        let seconds = self.server.settings().timeout_seconds();
        // Who listens has nothing to say.
        let may_idle = seconds == 0 || self.client.listens();
        (!may_idle).then(|| Duration::from_secs(seconds))
    }

    /// Lets the session go on, once the gate is open.
    async fn run(&mut self, mut completion: Option<Completion>) -> Result<Flow, End> {
        loop {
            let Self {
                server,
                session,
                input,
                output,
                ..
            } = self;
            let passage = server.gate.pass(|| match completion.take() {
                Some(result) => session.resume(result, input, output),
                None => session.receive(input, output),
            });
            match passage {
                Passage::Ran(flow) => return Ok(flow),
                Passage::Held => {
                    self.wake.notified().await;
                    if self.client.is_killed() {
                        return Err(End::Killed);
                    }
                }
                Passage::Closed => {
                    // A last reply goes out; nothing more is served.
                    if let Some(result) = completion {
                        self.session.complete(result, &mut self.output);
                        self.flush().await?;
                    }
                    return Err(End::Stopping);
                }
            }
        }
    }

    /// Sends what the session wrote and what others sent to the client. Usually one write that does not wait.
    async fn flush(&mut self) -> Result<(), End> {
        let more = self
            .client
            .take_some_messages(&mut self.output, MESSAGES_BYTES);
        let mut sent = 0;
        while sent < self.output.len() || self.stream.holds_back() {
            match self.stream.try_write(&self.output[sent..]) {
                Ok(length) => sent += length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.until_writable().await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        if sent > 0 {
            self.server.engine.shared.metrics.sent(sent);
        }
        self.output.clear();
        if self.output.capacity() > READ_BYTES_BUSY {
            self.output = Vec::new();
        }
        if more {
            // The rest follows when the others of this thread have had their turn, and what has come was read.
            self.wake.notify_one();
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    async fn until_writable(&self) -> Result<(), End> {
        let mut woken = false;
        let result = tokio::select! {
            writable = timeout(STALL, self.stream.writable()) => match writable {
                Ok(result) => Ok(result?),
                Err(_) => Err(End::Stalled),
            },
            // A stop does not cut off replies that are being taken; how long that may last is for
            // `serve` to say.
            () = self.killed(&mut woken) => Err(self.cut_off()),
        };
        if woken {
            // Not for this: there are messages, or an answer, or the gate has opened.
            self.wake.notify_one();
        }
        result
    }

    async fn killed(&self, woken: &mut bool) {
        while !self.client.is_killed() {
            self.wake.notified().await;
            *woken = true;
        }
    }

    /// Does what a command asked for that takes time.
    async fn finish(&mut self, pending: Pending) -> Result<Completion, End> {
        match pending {
            Pending::Answer => self.answered().await,
            Pending::Delay { ms } => self.delayed(ms).await,
            Pending::LoadUsers => Ok(users::reload(self.server.engine.clone()).await),
            Pending::SaveUsers => Ok(users::store(self.server.engine.clone()).await),
            Pending::Save => Ok(match self.server.saver.save().await {
                Ok(()) => Completion::Done,
                Err(error) => Completion::Failed(format!("ERR {error}")),
            }),
            Pending::Shutdown { save, force } => {
                let (answer, answered) = oneshot::channel();
                let request = ShutdownRequest {
                    save,
                    force,
                    answer,
                };
                // Without an answer the server stops, and as with Redis that is the answer.
                let sent = self.server.shutdown_requests.send(request).await;
                sent.map_err(|_| End::Stopping)?;
                answered.await.map_err(|_| End::Stopping)
            }
        }
    }

    /// Lets time pass, unless the connection ends.
    async fn delayed(&self, ms: u64) -> Result<Completion, End> {
        let over = sleep(Duration::from_millis(ms));
        tokio::pin!(over);
        loop {
            tokio::select! {
                () = &mut over => return Ok(Completion::Done),
                // Messages are sent with the reply.
                () = self.wake.notified() => self.is_over()?,
            }
        }
    }

    /// Waits for the answer to a command, and meanwhile reads, so that it is seen when the peer goes. What it
    /// sends stays for later.
    async fn answered(&mut self) -> Result<Completion, End> {
        loop {
            if let Some(answer) = self.client.take_answer() {
                return Ok(Completion::Answer(answer));
            }
            self.is_over()?;
            self.flush().await?;
            let Self {
                server,
                session,
                input,
                ..
            } = self;
            // While commands are held nobody goes and nobody leaves.
            server.gate.pass(|| session.look_ahead(input));
            let has_room = self.input.len() < WAITING_BYTES_MAX;
            if has_room {
                self.input.reserve(READ_BYTES);
            }
            let mut room = (&mut self.input).limit(READ_BYTES);
            tokio::select! {
                biased;
                () = self.wake.notified() => {}
                received = self.stream.read_buf(&mut room), if has_room => match received? {
                    0 => return Err(End::PeerClosed),
                    received => self.server.engine.shared.metrics.received(received),
                },
            }
        }
    }
}

/// Sleeps, for ever if there is no time.
async fn rest(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => std::future::pending().await,
    }
}
