//! Who asks over HTTP.
//!
//! A visitor that gives a password, or has something done, is a client of the engine like any other: it logs in by `AUTH`,
//! so that a wrong password is answered late, counted and logged, and what it may do is what that user may do.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::BytesMut;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::Started;
use crate::acl::{DEFAULT_USER, Login};
use crate::base64;
use crate::command::connection::Pending;
use crate::page::Viewer;
use crate::server::gate::Passage;
use crate::server::served::Registered;
use crate::session::{Completion, Flow, Session};

/// Why somebody is not let in, or nothing was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refused {
    /// A password is asked for, or the one given is wrong.
    Unknown,
    /// That user may not see this.
    NotAllowed,
    /// The server stops, or somebody has ended the visitor's connection.
    Stopping,
}

/// Commands that whoever may see the numbers must be allowed to run.
pub(super) const NUMBERS: &[&[&[u8]]] = &[&[b"INFO"]];

/// Whoever is at the other end of a connection of HTTP.
pub(super) struct Visitor {
    pub(super) peer: SocketAddr,
    local: Option<SocketAddr>,
    /// That of whoever asked last, if it has one.
    open: Option<Open>,
}

/// A visitor that is a client.
struct Open {
    session: Session,
    registered: Registered,
    /// What it gave and was let in with; `None` for nobody in particular.
    credentials: Option<Vec<u8>>,
}

impl Visitor {
    pub(super) fn new(peer: SocketAddr, local: Option<SocketAddr>) -> Self {
        Self {
            peer,
            local,
            open: None,
        }
    }

    /// Lets those in who may run these commands; `authorization` is the header of that name.
    pub(super) async fn enter(
        &mut self,
        started: &Started,
        authorization: Option<&[u8]>,
        commands: &[&[&[u8]]],
    ) -> Result<(), Refused> {
        match authorization {
            Some(authorization) => self.log_in(started, authorization).await?,
            None if started.engine.shared.acl.requires_login() => return Err(Refused::Unknown),
            None => self.open = None,
        }
        let allowed = self.with_login(started, |login| {
            let mut commands = commands.iter();
            commands.all(|words| started.engine.allows(login, words))
        });
        allowed.then_some(()).ok_or(Refused::NotAllowed)
    }

    /// Calls `f` with who it is, which [`Self::enter`] has found.
    fn with_login<R>(&mut self, started: &Started, f: impl FnOnce(&mut Login) -> R) -> R {
        match &mut self.open {
            Some(open) => f(open.session.login()),
            None => f(&mut started.engine.shared.acl.nobody()),
        }
    }

    /// Calls `f` as long as it may still look: nobody has ended its connection, taken a right away or set a password.
    pub(super) fn look<R>(
        &mut self,
        started: &Started,
        f: impl FnOnce(&mut Viewer<'_>) -> R,
    ) -> Option<R> {
        let is_over = match &self.open {
            Some(open) => open.registered.client.is_killed(),
            None => started.engine.shared.acl.requires_login(),
        };
        if is_over {
            return None;
        }
        let engine = &*started.engine;
        self.with_login(started, |login| {
            let mut commands = NUMBERS.iter();
            let may_look = commands.all(|words| engine.allows(login, words));
            may_look.then(|| f(&mut Viewer { engine, login }))
        })
    }

    /// Logs in with these credentials.
    async fn log_in(&mut self, started: &Started, authorization: &[u8]) -> Result<(), Refused> {
        let (user, password) = basic(authorization).ok_or(Refused::Unknown)?;
        // Ended by somebody, or its user is no more: it comes anew, as over the wire it would have to.
        self.open = self
            .open
            .take()
            .filter(|open| !open.registered.client.is_killed());
        let open = self.open(started);
        if open.credentials.as_deref() != Some(authorization) {
            open.credentials = None;
            let user = if user.is_empty() { DEFAULT_USER } else { &user };
            let reply = open.call(started, &[b"AUTH", user, &password]).await?;
            if reply != b"+OK\r\n" {
                return Err(Refused::Unknown);
            }
            open.credentials = Some(authorization.to_vec());
        }
        Ok(())
    }

    fn open(&mut self, started: &Started) -> &mut Open {
        self.open.get_or_insert_with(|| {
            let local = self.local.map_or(String::new(), |local| local.to_string());
            let (engine, wake) = (&started.engine, Arc::new(Notify::new()));
            let registered = Registered::new(engine, self.peer.to_string(), local, wake);
            registered.client.labels.write().library = b"http".to_vec();
            Open {
                session: Session::new(engine.clone(), registered.client.clone()),
                registered,
                credentials: None,
            }
        })
    }

    /// The reply to a command in a database, as it goes over the wire.
    pub(super) async fn run(
        &mut self,
        started: &Started,
        database: u8,
        words: &[&[u8]],
    ) -> Result<Vec<u8>, Refused> {
        let open = self.open(started);
        // Who may not SELECT may act in the database that it is in, as over the wire.
        if open.registered.client.database.load(Relaxed) != database {
            let number = database.to_string();
            let selected = open.call(started, &[b"SELECT", number.as_bytes()]).await?;
            if selected != b"+OK\r\n" {
                return Ok(selected);
            }
        }
        open.call(started, words).await
    }
}

impl Open {
    /// The reply to a request.
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
    let pair = base64::decode(rest.trim_ascii())?;
    let colon = pair.iter().position(|byte| *byte == b':')?;
    Some((pair[..colon].to_vec(), pair[colon + 1..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let expected = b"*3\r\n$4\r\nAUTH\r\n$0\r\n\r\n$4\r\na\r\nb\r\n";
        assert_eq!(&bytes[..], expected);
    }
}
