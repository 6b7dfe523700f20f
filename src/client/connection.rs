//! A blocking connection: sends commands, reads replies.

use std::fmt;
use std::io::{self, Read, Write};
use std::time::Duration;

use redis_protocol::resp2;
use redis_protocol::resp2::types::{OwnedFrame, Resp2Frame};

use super::arguments::{DEFAULT_USER, Target};
use super::dial::{Stream, dial};
use super::reply::{Reply, Scanner, error_text};
use crate::password::Password;

/// Why there is no reply.
#[derive(Debug)]
pub enum ClientError {
    /// No connection could be made.
    Unreachable(String, io::Error),
    /// The server, and why no TLS was agreed on with it.
    Tls(String, String),
    /// The connection broke, or nothing came in time.
    Io(io::Error),
    /// The server closed the connection.
    Closed,
    /// What came is no RESP, or beyond the client's bounds.
    BadReply(String),
    /// The server refused to let the client in.
    Refused(String),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(address, error) => write!(
                f,
                "cannot connect to {address}: {error}; is the server running there?"
            ),
            Self::Tls(address, reason) => write!(f, "no TLS with {address}: {reason}"),
            Self::Io(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                f.write_str("no answer in time")
            }
            Self::Io(error) => write!(f, "the connection broke: {error}"),
            Self::Closed => f.write_str("the server closed the connection"),
            Self::BadReply(reason) => write!(
                f,
                "this is not a reply of a Redis-compatible server: {reason}"
            ),
            Self::Refused(text) => write!(f, "refused: {text}"),
        }
    }
}

impl std::error::Error for ClientError {}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A connection to a server.
pub struct Connection {
    stream: Stream,
    input: Vec<u8>,
    scanner: Scanner,
}

impl Connection {
    /// Connects; `timeout` bounds the dialling of each address, and each later read and write.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`] with the last address's reason, [`ClientError::Tls`].
    pub fn open(target: &Target, timeout: Option<Duration>) -> Result<Self, ClientError> {
        Ok(Self {
            stream: dial(target, timeout)?,
            input: Vec::new(),
            scanner: Scanner::default(),
        })
    }

    /// The socket, for whoever speaks over it in another way. Nothing may be on its way from the server.
    pub(super) fn into_stream(self) -> Stream {
        self.stream
    }

    /// Logs in, chooses protocol and database, as far as they are not the defaults.
    ///
    /// # Errors
    /// [`ClientError::Refused`] with the server's text, besides what [`Self::call`] may say.
    pub fn prepare(
        &mut self,
        user: &str,
        password: &Password,
        resp3: bool,
        database: u64,
    ) -> Result<(), ClientError> {
        let mut steps: Vec<Vec<Vec<u8>>> = Vec::new();
        if resp3 {
            steps.push(vec![b"HELLO".to_vec(), b"3".to_vec()]);
        }
        if password.is_set() || user != DEFAULT_USER {
            let (user, secret) = (user.as_bytes().to_vec(), password.reveal().to_vec());
            match steps.last_mut() {
                Some(hello) => hello.extend([b"AUTH".to_vec(), user, secret]),
                // As redis-cli: a password for a server without one is told.
                None if user == DEFAULT_USER.as_bytes() => {
                    steps.push(vec![b"AUTH".to_vec(), secret]);
                }
                None => steps.push(vec![b"AUTH".to_vec(), user, secret]),
            }
        }
        if database != 0 {
            steps.push(vec![b"SELECT".to_vec(), database.to_string().into_bytes()]);
        }
        for step in steps {
            if let Some(text) = error_text(&self.call(&step)?) {
                return Err(ClientError::Refused(text));
            }
        }
        Ok(())
    }

    /// Sends a command and waits for its reply; messages pushed in between are dropped.
    ///
    /// # Errors
    /// Any but [`ClientError::Unreachable`] and [`ClientError::Refused`]. The command may have been run.
    pub fn call(&mut self, words: &[Vec<u8>]) -> Result<Reply, ClientError> {
        self.send(words)?;
        loop {
            let reply = self.receive()?;
            if !matches!(reply, Reply::Push { .. }) {
                return Ok(reply);
            }
        }
    }

    /// Sends commands together and waits for the reply of each. Their bytes should fit into a socket: none of the replies
    /// is read before the last one is sent.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub(super) fn calls(&mut self, commands: &[Vec<Vec<u8>>]) -> Result<Vec<Reply>, ClientError> {
        for words in commands {
            self.send(words)?;
        }
        let mut replies = Vec::with_capacity(commands.len());
        while replies.len() < commands.len() {
            match self.receive()? {
                Reply::Push { .. } => {}
                reply => replies.push(reply),
            }
        }
        Ok(replies)
    }

    /// Sends a command.
    ///
    /// # Errors
    /// The connection broke.
    pub fn send(&mut self, words: &[Vec<u8>]) -> Result<(), ClientError> {
        let frame = OwnedFrame::Array(words.iter().cloned().map(OwnedFrame::BulkString).collect());
        let mut bytes = vec![0; frame.encode_len(false)];
        let length = resp2::encode::encode(&mut bytes, &frame, false)
            .map_err(|error| ClientError::Io(io::Error::other(error.to_string())))?;
        self.stream.write_all(&bytes[..length])?;
        self.stream.flush()?;
        Ok(())
    }

    /// Waits for the next reply or pushed message.
    ///
    /// # Errors
    /// The connection broke or was closed, or what came is no reply.
    pub fn receive(&mut self) -> Result<Reply, ClientError> {
        let mut chunk = [0; 16 * 1024];
        loop {
            if let Some(reply) = self
                .scanner
                .take(&mut self.input)
                .map_err(ClientError::BadReply)?
            {
                return Ok(reply);
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(ClientError::Closed),
                Ok(length) => self.input.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
