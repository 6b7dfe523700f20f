//! One connection of the generator: its socket, what is to be sent, and what has not been answered.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};

use super::replies::Skimmer;
use crate::client::dial::Stream;

/// Calls that were sent one after the other and are not answered: of one command, with one instant.
pub struct Flight {
    /// The instant from which their latency counts, in nanoseconds.
    pub at_ns: u64,
    /// Which command.
    pub command: usize,
    /// How many.
    pub calls: u64,
}

/// One connection.
pub struct Peer {
    stream: Stream,
    /// Requests; those before `sent` are on their way.
    pub output: Vec<u8>,
    sent: usize,
    /// The beginning of a reply whose end has not come.
    rest: Vec<u8>,
    /// How far `rest` has been looked at.
    pub skimmer: Skimmer,
    flights: VecDeque<Flight>,
    /// Calls that are not answered.
    pub in_flight: u64,
    /// It stands in the list of those with room for another call.
    pub listed: bool,
}

impl Peer {
    /// Takes over a socket.
    pub fn new(stream: Stream, registry: &Registry, token: Token) -> io::Result<Self> {
        stream.set_nonblocking()?;
        registry.register(
            &mut SourceFd(&stream.as_raw_fd()),
            token,
            Interest::READABLE | Interest::WRITABLE,
        )?;
        Ok(Self {
            stream,
            output: Vec::new(),
            sent: 0,
            rest: Vec::new(),
            skimmer: Skimmer::default(),
            flights: VecDeque::new(),
            in_flight: 0,
            listed: false,
        })
    }

    /// Notes that so many calls have been written to the output.
    pub fn launch(&mut self, at_ns: u64, command: usize, calls: u64) {
        self.in_flight += calls;
        match self.flights.back_mut() {
            Some(last) if last.at_ns == at_ns && last.command == command => last.calls += calls,
            _ => self.flights.push_back(Flight {
                at_ns,
                command,
                calls,
            }),
        }
    }

    /// The call that the next reply answers: its instant and command. `None` if nothing was asked.
    pub fn land(&mut self) -> Option<(u64, usize)> {
        let first = self.flights.front_mut()?;
        let call = (first.at_ns, first.command);
        first.calls -= 1;
        if first.calls == 0 {
            self.flights.pop_front();
        }
        self.in_flight -= 1;
        Some(call)
    }

    /// Sends what the socket takes; the rest goes when it is writable again.
    ///
    /// # Errors
    /// The connection broke.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.sent < self.output.len() {
            match self.stream.write(&self.output[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(length) => self.sent += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.output.clear();
        self.sent = 0;
        match self.stream.flush() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            other => other,
        }
    }

    /// Reads once, into `buffer` behind what is left of the last time: how many bytes of it are to be looked at,
    /// and whether more may wait. `None` if nothing came.
    ///
    /// # Errors
    /// The connection broke, or was closed (`UnexpectedEof`).
    pub fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<(usize, bool)>> {
        let kept = self.rest.len();
        if buffer.len() < kept + READ_BYTES {
            buffer.resize(kept + READ_BYTES, 0);
        }
        let length = loop {
            match self.stream.read(&mut buffer[kept..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => break length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        buffer[..kept].copy_from_slice(&self.rest);
        self.rest.clear();
        // A short read has emptied the socket; what comes later is another event.
        let more = kept + length == buffer.len() || self.stream.is_buffered();
        Ok(Some((kept + length, more)))
    }

    /// True if reading may have to wait for writing, as in TLS.
    pub fn is_buffered(&self) -> bool {
        self.stream.is_buffered()
    }

    /// Keeps bytes that are no whole reply for the next [`Self::read`].
    pub fn keep(&mut self, rest: &[u8]) {
        self.rest.extend_from_slice(rest);
    }
}

/// Least room for one read: what a pipeline of a thousand integers takes, twice.
pub const READ_BYTES: usize = 16 * 1024;
