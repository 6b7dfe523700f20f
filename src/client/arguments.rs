//! Flags of `tollgate ping` and `tollgate cli`, and what `tollgate bench` has in common with them.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};

use super::connection::Login;
use super::stream::Address;
use crate::config::{self, BindAddresses, ConfigError, DEFAULT_PORT, Secret};
use crate::core::number;
use crate::password::Password;

/// Which server to speak to. The same environment variables as the server's, so that a health check
/// beside it needs no flags.
#[derive(Args, Clone, Debug)]
#[command(disable_help_flag = true)]
pub struct Target {
    /// Host name or address [default: the first address of TOLLGATE_BIND, or 127.0.0.1]
    #[arg(short = 'h', long, env = "TOLLGATE_HOST")]
    pub host: Option<String>,

    /// TCP port
    #[arg(short, long, env = "TOLLGATE_PORT", default_value_t = DEFAULT_PORT, value_parser = config::port)]
    pub port: u16,

    /// Unix socket of the server, instead of a host and a port
    #[arg(short, long, env = "TOLLGATE_SOCKET", value_name = "PATH")]
    pub socket: Option<PathBuf>,

    /// User who logs in, if not the default one
    #[arg(long, env = "TOLLGATE_USER", value_name = "NAME")]
    pub user: Option<String>,

    /// Password. Other users of this machine may see flags: prefer TOLLGATE_REQUIREPASS or REDISCLI_AUTH
    #[arg(short = 'a', long = "password", visible_aliases = ["pass", "requirepass"], env = "TOLLGATE_REQUIREPASS", value_name = "PASSWORD", default_value = "", hide_default_value = true, hide_env_values = true, value_parser = config::secret)]
    pub password: Secret,

    /// File whose first line is the password
    #[arg(long, env = "TOLLGATE_REQUIREPASS_FILE", value_name = "PATH")]
    pub requirepass_file: Option<PathBuf>,

    /// Print this help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
}

impl Target {
    /// Where to connect to.
    pub fn address(&self) -> Address {
        match &self.socket {
            Some(path) => Address::Unix(path.clone()),
            None => Address::Tcp(self.host(), self.port),
        }
    }

    fn host(&self) -> String {
        let bound = || {
            std::env::var("TOLLGATE_BIND")
                .ok()
                .and_then(|list| BindAddresses::parse(&list).ok())
        };
        let named = self.host.clone().or_else(|| bound()?.0.into_iter().next());
        dialable(named.unwrap_or_else(|| "127.0.0.1".to_owned()))
    }

    /// The name and password to give.
    ///
    /// # Errors
    /// As [`config::Config::password`].
    pub fn login(&self) -> Result<Login, ConfigError> {
        Ok(Login {
            user: self.user.clone(),
            password: self.password()?,
        })
    }

    fn password(&self) -> Result<Password, ConfigError> {
        let from_redis = || {
            std::env::var("REDISCLI_AUTH")
                .map(Secret)
                .unwrap_or_default()
        };
        let given = if self.password.0.is_empty() && self.requirepass_file.is_none() {
            from_redis()
        } else {
            self.password.clone()
        };
        config::password(&given, self.requirepass_file.as_deref())
    }
}

/// A server that listens everywhere also listens on loopback.
fn dialable(host: String) -> String {
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) if address.is_unspecified() => "127.0.0.1".to_owned(),
        Ok(IpAddr::V6(address)) if address.is_unspecified() => "::1".to_owned(),
        _ => host,
    }
}

/// Flags of `tollgate ping`.
#[derive(Args, Clone, Debug)]
#[command(disable_help_flag = true)]
pub struct PingArguments {
    /// Which server.
    #[command(flatten)]
    pub target: Target,
    /// How long to wait for the answer in all, such as 500ms or 2s
    #[arg(long, env = "TOLLGATE_PING_TIMEOUT", value_name = "DURATION", default_value = "2s", value_parser = timeout)]
    pub timeout: Duration,
}

/// Flags of `tollgate cli`.
#[derive(Args, Clone, Debug)]
#[command(disable_help_flag = true)]
pub struct CliArguments {
    /// Which server.
    #[command(flatten)]
    pub target: Target,
    /// Database
    #[arg(short = 'n', long = "db", value_name = "DB", default_value_t = 0)]
    pub database: u64,
    /// Speak RESP3
    #[arg(short = '3', long = "resp3")]
    pub resp3: bool,
    /// Print replies as they are, as is the default when the output is no terminal
    #[arg(long, overrides_with = "no_raw")]
    pub raw: bool,
    /// Print replies for people even when the output is no terminal
    #[arg(long, overrides_with = "raw")]
    pub no_raw: bool,
    /// The command and its arguments; without one they are typed, or read from standard input, one a line
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub words: Vec<OsString>,
}

pub(crate) fn timeout(value: &str) -> Result<Duration, String> {
    let span = number::duration(value.as_bytes()).filter(|span| span.as_ns() > 0);
    let span = span.ok_or_else(|| "a duration above zero, such as 500ms or 2s".to_owned())?;
    Ok(Duration::from_nanos(span.as_ns()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_means_everywhere_is_dialled_on_loopback() {
        assert_eq!(dialable("0.0.0.0".to_owned()), "127.0.0.1");
        assert_eq!(dialable("::".to_owned()), "::1");
        assert_eq!(dialable("example.test".to_owned()), "example.test");
    }
}
