//! Replies, read by a reader that shares no code with the writer.

use redis_protocol::resp2::types::OwnedFrame as Resp2Frame;
use redis_protocol::resp3::types::OwnedFrame as Resp3Frame;

/// One reply or message, as far as is looked at.
#[derive(Debug)]
pub enum Frame {
    Error,
    Text(Vec<u8>),
    Integer(i64),
    Array(Vec<Frame>),
    Push(Vec<Frame>),
    Other,
}

/// Which protocol bytes are in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    Resp2,
    Resp3,
    /// It changes on the way.
    Either,
}

impl Dialect {
    /// That of a connection whose protocol is `version`.
    pub const fn of(version: u8) -> Self {
        match version {
            3 => Self::Resp3,
            _ => Self::Resp2,
        }
    }
}

/// Reads all of `bytes`; `None` if they are not whole frames of the dialect.
pub fn all(mut bytes: &[u8], dialect: Dialect) -> Option<Vec<Frame>> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let (frame, length) = match dialect {
            Dialect::Resp2 => resp2(bytes),
            Dialect::Resp3 => resp3(bytes),
            Dialect::Either => resp3(bytes).or_else(|| resp2(bytes)),
        }?;
        frames.push(frame);
        bytes = &bytes[length..];
    }
    Some(frames)
}

fn resp2(bytes: &[u8]) -> Option<(Frame, usize)> {
    let (frame, length) = redis_protocol::resp2::decode::decode(bytes).ok()??;
    Some((from_resp2(frame), length))
}

fn resp3(bytes: &[u8]) -> Option<(Frame, usize)> {
    let (frame, length) = redis_protocol::resp3::decode::complete::decode(bytes).ok()??;
    Some((from_resp3(frame), length))
}

fn from_resp2(frame: Resp2Frame) -> Frame {
    match frame {
        Resp2Frame::SimpleString(text) | Resp2Frame::BulkString(text) => Frame::Text(text),
        Resp2Frame::Integer(number) => Frame::Integer(number),
        Resp2Frame::Array(frames) => Frame::Array(frames.into_iter().map(from_resp2).collect()),
        Resp2Frame::Error(_) => Frame::Error,
        Resp2Frame::Null => Frame::Other,
    }
}

fn from_resp3(frame: Resp3Frame) -> Frame {
    let list = |frames: Vec<Resp3Frame>| frames.into_iter().map(from_resp3).collect();
    match frame {
        Resp3Frame::SimpleString { data, .. } | Resp3Frame::BlobString { data, .. } => {
            Frame::Text(data)
        }
        Resp3Frame::Number { data, .. } => Frame::Integer(data),
        Resp3Frame::SimpleError { .. } => Frame::Error,
        Resp3Frame::Array { data, .. } => Frame::Array(list(data)),
        Resp3Frame::Push { data, .. } => Frame::Push(list(data)),
        Resp3Frame::Map { data, .. } => {
            let pairs = data.into_iter();
            Frame::Array(
                pairs
                    .flat_map(|(key, value)| [from_resp3(key), from_resp3(value)])
                    .collect(),
            )
        }
        _ => Frame::Other,
    }
}

impl Frame {
    /// All integers in it, in order.
    pub fn integers(&self, into: &mut Vec<i64>) {
        match self {
            Self::Integer(number) => into.push(*number),
            Self::Array(frames) | Self::Push(frames) => {
                frames.iter().for_each(|frame| frame.integers(into));
            }
            _ => {}
        }
    }

    fn first_word(&self) -> &[u8] {
        match self {
            Self::Array(frames) | Self::Push(frames) => match frames.first() {
                Some(Self::Text(word)) => word,
                _ => b"",
            },
            _ => b"",
        }
    }

    /// True for an error.
    pub const fn is_error(&self) -> bool {
        matches!(self, Self::Error)
    }

    /// True for what others have sent to a connection that subscribes, or monitors.
    pub fn is_message(&self, subscribes: bool, monitors: bool) -> bool {
        match self {
            Self::Array(_) if !subscribes => false,
            Self::Array(_) | Self::Push(_) => {
                let words: [&[u8]; 4] = [b"message", b"pmessage", b"smessage", b"invalidate"];
                words.contains(&self.first_word())
            }
            // 1700000000.000000 [0 127.0.0.1:50000] "PING"
            Self::Text(line) => {
                monitors && line.first().is_some_and(u8::is_ascii_digit) && line.contains(&b'[')
            }
            _ => false,
        }
    }

    /// True for the confirmation of one subscription, or of one that ended.
    pub fn is_confirmation(&self) -> bool {
        self.first_word().ends_with(b"subscribe")
    }
}
