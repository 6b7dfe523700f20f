//! Who asks over HTTP.
//!
//! A visitor that gives a password is a client of the engine like any other: it logs in by `AUTH`, so that a wrong password
//! is answered late, counted and logged, and what it may do is what that user may do.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::Started;
use crate::acl::DEFAULT_USER;
use crate::command::connection::Pending;
use crate::server::gate::Passage;
use crate::server::served::Registered;
use crate::session::{Completion, Flow, Session};

/// Why somebody is not let in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refused {
    /// A password is asked for, or the one given is wrong.
    Unknown,
    /// That user may not see this.
    NotAllowed,
    /// The server stops.
    Stopping,
}

/// Whoever is at the other end of a connection of HTTP.
pub(super) struct Visitor {
    pub(super) peer: SocketAddr,
    local: Option<SocketAddr>,
    session: Option<Open>,
}

/// A visitor that has given a password.
struct Open {
    session: Session,
    /// What it gave and was let in with.
    credentials: Option<Vec<u8>>,
    _registered: Registered,
}

impl Visitor {
    pub(super) fn new(peer: SocketAddr, local: Option<SocketAddr>) -> Self {
        Self {
            peer,
            local,
            session: None,
        }
    }

    /// Lets those in who may run a command; `authorization` is the header of that name.
    pub(super) async fn enter(
        &mut self,
        started: &Started,
        authorization: Option<&[u8]>,
        words: &[&[u8]],
    ) -> Result<(), Refused> {
        let acl = &started.engine.shared.acl;
        let allowed = match authorization {
            Some(authorization) => {
                let session = self.log_in(started, authorization).await?;
                started.engine.allows(session.login(), words)
            }
            None if acl.requires_login() => return Err(Refused::Unknown),
            None => started.engine.allows(&mut acl.nobody(), words),
        };
        allowed.then_some(()).ok_or(Refused::NotAllowed)
    }

    /// The session of who has given these credentials.
    async fn log_in(
        &mut self,
        started: &Started,
        authorization: &[u8],
    ) -> Result<&mut Session, Refused> {
        let (user, password) = basic(authorization).ok_or(Refused::Unknown)?;
        let open = self.session.get_or_insert_with(|| {
            let local = self.local.map_or(String::new(), |local| local.to_string());
            let (engine, wake) = (&started.engine, Arc::new(Notify::new()));
            let registered = Registered::new(engine, self.peer.to_string(), local, wake);
            let session = Session::new(engine.clone(), registered.client.clone());
            Open {
                session,
                credentials: None,
                _registered: registered,
            }
        });
        if open.credentials.as_deref() != Some(authorization) {
            open.credentials = None;
            let user = if user.is_empty() { DEFAULT_USER } else { &user };
            let reply = open.call(started, &[b"AUTH", user, &password]).await?;
            if reply != b"+OK\r\n" {
                return Err(Refused::Unknown);
            }
            open.credentials = Some(authorization.to_vec());
        }
        Ok(&mut open.session)
    }
}

impl Open {
    /// The reply to a request, as it goes over the wire.
    async fn call(&mut self, started: &Started, words: &[&[u8]]) -> Result<Vec<u8>, Refused> {
        let (mut input, mut output) = (request(words), Vec::new());
        let flow = started
            .gate
            .pass(|| self.session.receive(&mut input, &mut output));
        match flow {
            Passage::Ran(Flow::Wait(Pending::Delay { ms })) => {
                sleep(Duration::from_millis(ms)).await;
                self.session.complete(Completion::Done, &mut output);
            }
            Passage::Ran(Flow::Read | Flow::Flush) => {}
            Passage::Ran(Flow::Close | Flow::Wait(_)) | Passage::Held | Passage::Closed => {
                return Err(Refused::Stopping);
            }
        }
        Ok(output)
    }
}

/// A request as clients send it.
fn request(words: &[&[u8]]) -> BytesMut {
    let mut request = BytesMut::from(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        request.extend_from_slice(word);
        request.extend_from_slice(b"\r\n");
    }
    request
}

/// User and password of an `Authorization: Basic`.
fn basic(header: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let (scheme, rest) = header.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    let pair = base64(rest.trim_ascii())?;
    let colon = pair.iter().position(|byte| *byte == b':')?;
    Some((pair[..colon].to_vec(), pair[colon + 1..].to_vec()))
}

/// The bytes of a text in base64 (RFC 4648), with or without its padding.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let end = text
        .iter()
        .rposition(|byte| *byte != b'=')
        .map_or(0, |at| at + 1);
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0_u32, 0);
    for byte in &text[..end] {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = (held << 6 | u32::from(digit)) & 0xfff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYmFy", "foobar"),
            ("Zm9vYg", "foob"),
        ] {
            assert_eq!(base64(text.as_bytes()).unwrap(), bytes.as_bytes(), "{text}");
        }
        let all: Vec<u8> = (0..=255).collect();
        let text = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0BBQkNERUZHSElKS0xNTk9QUVJTVFVWV1hZWltcXV5fYGFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6e3x9fn+AgYKDhIWGh4iJiouMjY6PkJGSk5SVlpeYmZqbnJ2en6ChoqOkpaanqKmqq6ytrq+wsbKztLW2t7i5uru8vb6/wMHCw8TFxsfIycrLzM3Oz9DR0tPU1dbX2Nna29zd3t/g4eLj5OXm5+jp6uvs7e7v8PHy8/T19vf4+fr7/P3+/w==";
        assert_eq!(base64(text.as_bytes()).unwrap(), all);
        assert_eq!(base64(b"Zm 9v"), None);
    }

    #[test]
    fn a_name_ends_at_the_first_colon() {
        let pair = |user: &str, password: &str| Some((user.into(), password.into()));
        assert_eq!(basic(b"Basic YTpiOmM="), pair("a", "b:c"));
        assert_eq!(basic(b"basic OnB3"), pair("", "pw"));
        for wrong in [
            &b""[..],
            b"Basic",
            b"Basic ",
            b"Basic YWJj",
            b"Bearer YTpi",
            b"Basic !",
        ] {
            assert_eq!(basic(wrong), None, "{}", wrong.escape_ascii());
        }
    }

    #[test]
    fn a_request_is_an_array_of_bulk_strings() {
        let bytes = request(&[b"AUTH", b"", b"a\r\nb"]);
        assert_eq!(
            &bytes[..],
            b"*3\r\n$4\r\nAUTH\r\n$0\r\n\r\n$4\r\na\r\nb\r\n"
        );
    }
}
