//! Flags of `tollgate ping` and `tollgate cli`.

use std::ffi::OsString;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};

use crate::config::{self, BindAddresses, ConfigError, DEFAULT_PORT, Secret};
use crate::core::number;
use crate::password::Password;

/// The user that a password without a name belongs to.
pub const DEFAULT_USER: &str = "default";

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

    /// Unix socket, instead of host and port [default: TOLLGATE_UNIXSOCKET where TOLLGATE_PORT is 0]
    #[arg(short, long, value_name = "PATH")]
    pub socket: Option<PathBuf>,

    /// How to speak TLS.
    #[command(flatten)]
    pub tls: TlsOptions,
    /// User to log in as
    #[arg(long, env = "TOLLGATE_USER", value_name = "NAME", default_value = DEFAULT_USER)]
    pub user: String,

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

/// How to speak TLS, with redis-cli's names.
#[derive(Args, Clone, Debug, Default)]
pub struct TlsOptions {
    /// Speak TLS
    #[arg(long)]
    pub tls: bool,

    /// File of the authorities to trust, in PEM [default: those of this machine]
    #[arg(long, value_name = "PATH", requires = "tls")]
    pub cacert: Option<PathBuf>,

    /// File of the certificate to show, in PEM
    #[arg(long, value_name = "PATH", requires_all = ["tls", "key"])]
    pub cert: Option<PathBuf>,

    /// File of its private key, in PEM
    #[arg(long, value_name = "PATH", requires_all = ["tls", "cert"])]
    pub key: Option<PathBuf>,

    /// Name that the server's certificate must be for [default: the host]
    #[arg(long, value_name = "NAME", requires = "tls")]
    pub sni: Option<String>,
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A Unix socket.
    Socket(PathBuf),
    /// A host and a port.
    Address(String, u16),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => write!(f, "{}", path.display()),
            Self::Address(host, port) => write!(f, "{host}:{port}"),
        }
    }
}

impl Target {
    /// Where to dial.
    pub fn place(&self) -> Place {
        // A server without a port has a socket instead.
        let beside = || {
            let socket = std::env::var_os("TOLLGATE_UNIXSOCKET")?;
            Some(PathBuf::from(socket)).filter(|_| self.port == 0)
        };
        match self.socket.clone().or_else(beside) {
            Some(path) => Place::Socket(path),
            None => Place::Address(self.host(), self.port),
        }
    }

    /// The host to dial.
    pub fn host(&self) -> String {
        let bound = || {
            let list = std::env::var("TOLLGATE_BIND").ok()?;
            let first = BindAddresses::parse(&list).ok()?.0.into_iter().next();
            first.map(|address| address.name)
        };
        let named = self.host.clone().or_else(bound);
        dialable(named.unwrap_or_else(|| "127.0.0.1".to_owned()))
    }

    /// The password to give.
    ///
    /// # Errors
    /// As [`config::Config::password`].
    pub fn password(&self) -> Result<Password, ConfigError> {
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

fn timeout(value: &str) -> Result<Duration, String> {
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
