//! One connection, without its socket: bytes in, bytes out.

use crate::acl::Login;
use crate::clients::Client;
use crate::command::connection::{Connection, Pending};
use crate::command::dispatch;
use crate::engine::Engine;
use crate::metrics::Tally;
use crate::protocol::{Batch, Reply, RequestLimits, Scan, Scanner};
use bytes::{Buf, BytesMut};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// What the owner of a session does next, after it has sent the output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Read more.
    Read,
    /// The output is over its bound: send it, then call [`Session::receive`] with what is left.
    Flush,
    /// Close the connection.
    Close,
    /// Do this, then call [`Session::resume`].
    Wait(Pending),
}

/// How what a session waited for has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Completion {
    /// Well: the reply is OK.
    Done,
    /// Badly: the reply is an error of this text, code first.
    Failed(String),
    /// With a whole reply.
    Answer(Vec<u8>),
}

/// Requests that do not wait for the answer to one that waits.
const ENDS_A_WAIT: [&[u8]; 2] = [b"RESET", b"QUIT"];

fn limits(authenticated: bool) -> &'static RequestLimits {
    match authenticated {
        true => &RequestLimits::AUTHENTICATED,
        false => &RequestLimits::UNAUTHENTICATED,
    }
}

/// The protocol side of one connection.
pub struct Session {
    engine: Arc<Engine>,
    connection: Connection,
    scanner: Scanner,
    /// What came while a command waits for its answer, as long as it may end the wait.
    ahead: Option<Ahead>,
}

/// How far the bytes have been looked at that came while a command waits.
#[derive(Default)]
struct Ahead {
    scanner: Scanner,
    skipped: usize,
}

impl Session {
    /// A session of a connection that has said nothing yet.
    pub fn new(engine: Arc<Engine>, client: Arc<Client>) -> Self {
        let acl = &engine.shared.acl;
        let (login, authenticated) = (acl.nobody(), !acl.requires_login());
        Self {
            engine,
            connection: Connection::new(client, login, authenticated),
            scanner: Scanner::new(),
            ahead: None,
        }
    }

    /// Who its client is.
    pub fn login(&mut self) -> &mut Login {
        &mut self.connection.login
    }

    /// True once the client may run commands.
    pub fn is_authenticated(&self) -> bool {
        self.connection.authenticated
    }

    /// Runs every complete request in `input`, taking it out, and appends the replies to `output`.
    pub fn receive(&mut self, input: &mut BytesMut, output: &mut Vec<u8>) -> Flow {
        let engine = self.engine.clone();
        // Also once the password has been taken away while the server runs.
        let asks = || engine.shared.acl.requires_login();
        self.connection.authenticated = self.connection.authenticated || !asks();
        let mut pass = engine.enter();
        let mut tally = Tally::default();
        let mut last = None;
        let mut consumed = 0;
        let (mut batch, mut base) = (Batch::default(), 0);
        let bound = output.len() + engine.shared.settings.client_output_limit();
        let flow = loop {
            if self.connection.client.is_killed() {
                break Flow::Close;
            }
            let limits = limits(self.connection.authenticated);
            if batch.is_served() && self.scanner.is_between_requests() {
                base = consumed;
                batch.fill(&input[base..], limits);
                if batch.len() > 1 {
                    let keys = batch.iter(&input[base..]).filter_map(|words| words.get(1));
                    engine.shared.store.fetch(self.connection.database, keys);
                }
            }
            let scan = match batch.next(&input[base..]) {
                Some((arguments, end)) => Ok(Scan::Request {
                    arguments,
                    consumed: base + end - consumed,
                }),
                None => self.scanner.scan(&input[consumed..], limits),
            };
            match scan {
                Ok(Scan::Incomplete { .. }) => break Flow::Read,
                Ok(Scan::Skip { consumed: skipped }) => consumed += skipped,
                Ok(Scan::Request {
                    arguments,
                    consumed: length,
                }) => {
                    last = Some(engine.serve(
                        &mut pass,
                        &mut self.connection,
                        arguments,
                        output,
                        &mut tally,
                    ));
                    consumed += length;
                }
                Err(error) => {
                    let mut reply = Reply::new(output, self.connection.protocol);
                    let error = format_args!("ERR {error}");
                    dispatch::write_error(&mut reply, &mut tally, error);
                    consumed = input.len();
                    break Flow::Close;
                }
            }
            if let Some(pending) = self.connection.pending.take() {
                self.ahead = (pending == Pending::Answer).then(Ahead::default);
                break Flow::Wait(pending);
            }
            if self.connection.closing {
                break Flow::Close;
            }
            if output.len() >= bound {
                break Flow::Flush;
            }
        };
        engine.end(&mut self.connection, &mut tally);
        drop(pass);
        input.advance(consumed);
        if let Some(name) = last {
            self.publish(name);
        }
        flow
    }

    /// What the session waited for has ended: writes its reply and goes on with what is left of `input`.
    pub fn resume(
        &mut self,
        completion: Completion,
        input: &mut BytesMut,
        output: &mut Vec<u8>,
    ) -> Flow {
        self.complete(completion, output);
        self.receive(input, output)
    }

    /// As [`Self::resume`], but nothing more is served.
    pub fn complete(&mut self, completion: Completion, output: &mut Vec<u8>) {
        self.ahead = None;
        self.connection.adopt_granted_lease();
        self.connection.reply_start = output.len();
        let mut reply = Reply::new(output, self.connection.protocol);
        match completion {
            Completion::Done => match self.connection.take_held_back() {
                Some(held_back) => reply.append(&held_back),
                None => reply.ok(),
            },
            Completion::Failed(text) => {
                let mut tally = Tally::default();
                dispatch::write_error(&mut reply, &mut tally, &text);
                self.engine.shared.metrics.add(&tally);
            }
            Completion::Answer(answer) => reply.append(&answer),
        }
        dispatch::apply_reply_mode(&mut self.connection, output);
    }

    /// Looks at what has come while a command waits for its answer: with RESET and QUIT, which are served next, the
    /// wait is over.
    pub fn look_ahead(&mut self, input: &[u8]) {
        let limits = limits(self.connection.authenticated);
        while let Some(Ahead { scanner, skipped }) = &mut self.ahead {
            let ends = match scanner.scan(&input[*skipped..], limits) {
                Ok(Scan::Incomplete { .. }) => return,
                Ok(Scan::Skip { consumed }) => {
                    *skipped += consumed;
                    continue;
                }
                Ok(Scan::Request { arguments, .. }) => {
                    let name = arguments.get(0).unwrap_or_default();
                    ENDS_A_WAIT
                        .iter()
                        .any(|ends| name.eq_ignore_ascii_case(ends))
                }
                // What cannot be read is told when its turn comes.
                Err(_) => false,
            };
            self.ahead = None;
            if ends {
                self.engine.unblock(&self.connection.client);
            }
        }
    }

    /// Shows others how the connection stands: once a batch, so that a command costs nothing.
    fn publish(&self, last_command: &'static str) {
        let (connection, client) = (&self.connection, &self.connection.client);
        *client.last_command.lock() = last_command;
        client
            .active_at_ns
            .store(connection.ran_until.as_ns(), Relaxed);
        client.database.store(connection.database, Relaxed);
        let queued = connection
            .transaction
            .as_ref()
            .map_or(0, |transaction| transaction.queue.len() as u64 + 1);
        client.queued_plus_one.store(queued, Relaxed);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.engine.leave(&mut self.connection);
    }
}
