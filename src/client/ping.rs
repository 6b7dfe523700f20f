//! `tollgate ping`: is the server up? For health checks.

use super::arguments::PingArguments;
use super::connection::{ClientError, Connection};
use super::reply::{Reply, error_text};

/// Asks for a PONG.
///
/// # Errors
/// A line that says why none came.
pub fn run(arguments: &PingArguments) -> Result<(), String> {
    let password = arguments
        .target
        .password()
        .map_err(|error| error.to_string())?;
    let ask = || -> Result<Reply, ClientError> {
        let mut connection = Connection::open(&arguments.target, Some(arguments.timeout))?;
        connection.prepare(&arguments.target.user, &password, false, 0)?;
        connection.call(&[b"PING".to_vec()])
    };
    match ask().map_err(|error| error.to_string())? {
        Reply::SimpleString { data, .. } if data == b"PONG" => Ok(()),
        reply => Err(error_text(&reply).unwrap_or_else(|| format!("expected PONG, got {reply:?}"))),
    }
}
