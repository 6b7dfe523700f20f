//! The flags of TLS, named as in Redis.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::network::{ListenPort, tls_port};

/// How TLS is served.
#[derive(Args, Clone, Debug)]
pub struct TlsFlags {
    /// Port for TLS, beside --port; 0 for none, 'any' for a free one
    #[arg(long, env = "TOLLGATE_TLS_PORT", value_name = "PORT", default_value_t = ListenPort::Off, value_parser = tls_port, help_heading = "TLS")]
    pub tls_port: ListenPort,

    /// File of the server's certificate and those above it, in PEM; read again on SIGHUP
    #[arg(
        long,
        env = "TOLLGATE_TLS_CERT_FILE",
        value_name = "PATH",
        help_heading = "TLS"
    )]
    pub tls_cert_file: Option<PathBuf>,

    /// File of its private key, in PEM and not encrypted
    #[arg(
        long,
        env = "TOLLGATE_TLS_KEY_FILE",
        value_name = "PATH",
        help_heading = "TLS"
    )]
    pub tls_key_file: Option<PathBuf>,

    /// File of the authorities that sign the certificates of clients, in PEM
    #[arg(
        long,
        env = "TOLLGATE_TLS_CA_CERT_FILE",
        value_name = "PATH",
        help_heading = "TLS"
    )]
    pub tls_ca_cert_file: Option<PathBuf>,

    /// Whether clients must show a certificate
    #[arg(
        long,
        env = "TOLLGATE_TLS_AUTH_CLIENTS",
        value_name = "WHICH",
        default_value = "yes",
        help_heading = "TLS"
    )]
    pub tls_auth_clients: AuthClients,
}

/// Whether clients must show a certificate that an authority of ours has signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuthClients {
    /// None is asked for.
    No,
    /// One that is shown must be good.
    Optional,
    /// All must show one.
    Yes,
}

impl fmt::Display for AuthClients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::No => "no",
            Self::Optional => "optional",
            Self::Yes => "yes",
        })
    }
}
