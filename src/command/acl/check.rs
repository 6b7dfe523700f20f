//! Whether a request may run.

use super::denials;
use crate::acl::{Acl, Denied, Login, Request, TouchedChannel, TouchedKey, User};
use crate::command::connection::Connection;
use crate::command::context::{Context, Shared};
use crate::command::dispatch;
use crate::command::error::Error;
use crate::command::spec::{Flags, KeyUse, Spec};
use crate::protocol::Arguments;
use smallvec::{SmallVec, smallvec};

/// Checks that the connection's user may make a request. Who may do everything costs one look.
///
/// # Errors
/// `NOPERM`; it is counted and logged.
pub fn check(
    shared: &Shared,
    connection: &mut Connection,
    spec: &'static Spec,
    arguments: Arguments<'_>,
) -> Result<(), Error> {
    if connection.login.is_unrestricted() {
        return Ok(());
    }
    let denied = of_user(&shared.acl, connection.login.user(), spec, arguments);
    denied.map_err(|denied| refuse(shared, connection, spec, arguments, denied))
}

/// As [`check`], for what was queued and is about to run.
///
/// # Errors
/// `NOPERM` in Redis's words for this case; it is counted and logged.
pub fn check_queued(
    shared: &Shared,
    connection: &mut Connection,
    spec: &'static Spec,
    arguments: Arguments<'_>,
) -> Result<(), Error> {
    if connection.login.is_unrestricted() {
        return Ok(());
    }
    let denied = of_user(&shared.acl, connection.login.user(), spec, arguments);
    denied.map_err(|denied| {
        let object = object(spec, arguments, denied);
        denials::request(shared, connection, spec, denied, object);
        let reason = match denied {
            Denied::Command => "no permission to execute the command or subcommand",
            Denied::Key(_) => "no permission to touch the specified keys",
            Denied::Channel(_) => {
                "no permission to access one of the channels used as arguments to the command"
            }
        };
        Error::redis(format!(
            "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is no longer allowed for the following reason: {reason}"
        ))
    })
}

/// Checks a request that runs once more: with `keys` that it touches without naming them, and with the user as it is
/// at this moment, so that under a lock it is known that whoever changes the user takes that lock afterwards.
///
/// # Errors
/// `NOPERM`; it is counted and logged.
pub fn check_again(
    context: &Context<'_>,
    arguments: Arguments<'_>,
    keys: &[&[u8]],
) -> Result<(), Error> {
    let (shared, login) = (context.shared, &context.connection.login);
    let Some(spec) = dispatch::named(arguments).filter(|_| !login.is_unrestricted()) else {
        return Ok(());
    };
    let user = login.current();
    let mut request = request(&shared.acl, &user, spec, arguments);
    let named = request.keys.first().map_or(1, |key| key.at);
    request.keys.extend(keys.iter().map(|name| TouchedKey {
        at: named,
        name,
        touch: KeyUse::CHANGE.touch(),
    }));
    let denied = user.check(&request);
    denied.map_err(|denied| refuse(shared, context.connection, spec, arguments, denied))
}

/// Whether a user may make a request that there is.
pub fn allows(acl: &Acl, user: &User, arguments: Arguments<'_>) -> bool {
    dispatch::named(arguments).is_some_and(|spec| of_user(acl, user, spec, arguments).is_ok())
}

/// Whether whoever is logged in so may learn by a command of a key that it does not name.
pub fn may_see(acl: &Acl, login: &mut Login, spec: &'static Spec, key: &[u8]) -> bool {
    if login.is_unrestricted() {
        return true;
    }
    let key = TouchedKey {
        at: 0,
        name: key,
        touch: KeyUse::READ.touch(),
    };
    let request = Request {
        command: acl.catalogue.id(spec.name),
        is_free: false,
        first_argument: None,
        keys: smallvec![key],
        channels: SmallVec::new(),
    };
    login.user().check(&request).is_ok()
}

/// Whether a user may make a request.
pub(super) fn of_user(
    acl: &Acl,
    user: &User,
    spec: &'static Spec,
    arguments: Arguments<'_>,
) -> Result<(), Denied> {
    user.check(&request(acl, user, spec, arguments))
}

/// What a request asks for, as far as anybody will ask.
fn request<'a>(
    acl: &Acl,
    user: &User,
    spec: &'static Spec,
    arguments: Arguments<'a>,
) -> Request<'a> {
    let mut request = Request {
        command: acl.catalogue.id(spec.name),
        is_free: spec.flags.has(Flags::NO_AUTH),
        first_argument: arguments.get(1),
        keys: Default::default(),
        channels: Default::default(),
    };
    if !user.sees_all_keys() {
        let positions = spec.keys.positions(arguments).into_iter().enumerate();
        request.keys.extend(positions.filter_map(|(nth, at)| {
            let name = arguments.get(at)?;
            let touch = spec.use_of(arguments, nth).touch();
            Some(TouchedKey { at, name, touch })
        }));
    }
    if !user.sees_all_channels() {
        let (positions, is_pattern) = spec.channels.positions(arguments);
        request.channels.extend(positions.filter_map(|at| {
            let name = arguments.get(at)?;
            Some(TouchedChannel {
                at,
                name,
                is_pattern,
            })
        }));
    }
    request
}

/// What was denied: the command's name, the key or the channel.
fn object(spec: &Spec, arguments: Arguments<'_>, denied: Denied) -> Vec<u8> {
    match denied {
        Denied::Command => spec.lower_name().into_bytes(),
        Denied::Key(at) | Denied::Channel(at) => arguments.get(at).unwrap_or_default().to_vec(),
    }
}

/// The error of a request that was denied, which is counted and logged.
fn refuse(
    shared: &Shared,
    connection: &Connection,
    spec: &'static Spec,
    arguments: Arguments<'_>,
    denied: Denied,
) -> Error {
    let object = object(spec, arguments, denied);
    denials::request(shared, connection, spec, denied, object);
    match denied {
        Denied::Command => {
            let name = connection.login.name();
            Error::redis(format!("NOPERM {}", no_command(name, spec)))
        }
        Denied::Key(_) => Error::redis("NOPERM No permissions to access a key"),
        Denied::Channel(_) => Error::redis("NOPERM No permissions to access a channel"),
    }
}

fn no_command(name: &[u8], spec: &Spec) -> String {
    format!(
        "User {} has no permissions to run the '{}' command",
        Error::quoted(name),
        spec.lower_name()
    )
}

/// What was denied, in the words of `ACL DRYRUN`, which tells all.
pub(super) fn told(name: &[u8], spec: &Spec, arguments: Arguments<'_>, denied: Denied) -> Vec<u8> {
    let kind: &[u8] = match denied {
        Denied::Command => return no_command(name, spec).into_bytes(),
        Denied::Key(_) => b"key",
        Denied::Channel(_) => b"channel",
    };
    let object = object(spec, arguments, denied);
    let pieces = [
        b"User ",
        name,
        b" has no permissions to access the '",
        &object,
        b"' ",
        kind,
    ];
    pieces.concat()
}
