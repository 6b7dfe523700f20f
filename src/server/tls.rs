//! TLS: the certificates in force, and the handshake.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::stream::Stream;
use crate::config::{AuthClients, ListenPort, TlsFlags};
use crate::pem;

/// How long a handshake may take. It is two round trips; a peer that needs longer only holds a place.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The first byte of a handshake, and the one behind it: the version's. No command begins so.
const CLIENT_HELLO: [u8; 2] = [0x16, 0x03];

/// The files that TLS needs, and what was last read out of them.
pub(super) struct Tls {
    files: Files,
    current: RwLock<Arc<ServerConfig>>,
}

struct Files {
    certificate: PathBuf,
    key: PathBuf,
    authorities: Option<PathBuf>,
    clients: AuthClients,
}

/// Why there is no connection.
pub(super) enum HandshakeError {
    /// The peer went without a word, as port scans and simple health checks do.
    Gone,
    /// It does not speak TLS.
    PlainText(TcpStream),
    /// It did not finish in time.
    Slow,
    /// Any other reason.
    Failed(io::Error),
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => f.write_str("the client went away"),
            Self::PlainText(_) => f.write_str("the client speaks plain text to the port of TLS"),
            Self::Slow => f.write_str("the client did not finish in time"),
            Self::Failed(error) => write!(f, "{error}"),
        }
    }
}

impl Tls {
    /// Reads the files that the flags name; `None` if TLS is off.
    ///
    /// # Errors
    /// One line that names the flag or the file.
    pub(super) fn from_flags(flags: &TlsFlags) -> Result<Option<Arc<Self>>, String> {
        if flags.tls_port == ListenPort::Off {
            return Ok(None);
        }
        let (Some(certificate), Some(key)) = (&flags.tls_cert_file, &flags.tls_key_file) else {
            return Err("--tls-port needs --tls-cert-file and --tls-key-file".to_owned());
        };
        let clients = flags.tls_auth_clients;
        if clients != AuthClients::No && flags.tls_ca_cert_file.is_none() {
            return Err(format!(
                "--tls-auth-clients {clients} needs --tls-ca-cert-file, to know whose certificates are good; \
                 with --tls-auth-clients no clients show none"
            ));
        }
        let files = Files {
            certificate: certificate.clone(),
            key: key.clone(),
            authorities: flags.tls_ca_cert_file.clone(),
            clients,
        };
        let current = RwLock::new(files.read()?);
        Ok(Some(Arc::new(Self { files, current })))
    }

    /// Reads the files again, for the handshakes from now on. If anything is wrong with them, nothing changes.
    ///
    /// # Errors
    /// One line that names the file.
    pub(super) fn reload(&self) -> Result<(), String> {
        *self.current.write() = self.files.read()?;
        Ok(())
    }

    /// Comes to terms with a peer, in [`HANDSHAKE`] at most. One that speaks plain text is handed back.
    pub(super) async fn accept(&self, stream: TcpStream) -> Result<Stream, HandshakeError> {
        let agreed = timeout(HANDSHAKE, self.shake_hands(stream)).await;
        agreed.unwrap_or(Err(HandshakeError::Slow))
    }

    async fn shake_hands(&self, stream: TcpStream) -> Result<Stream, HandshakeError> {
        let mut first = [0];
        match stream.peek(&mut first).await {
            Ok(0) | Err(_) => return Err(HandshakeError::Gone),
            Ok(_) if first[0] != CLIENT_HELLO[0] => return Err(HandshakeError::PlainText(stream)),
            Ok(_) => {}
        }
        let acceptor = TlsAcceptor::from(self.current.read().clone());
        let agreed = acceptor.accept(stream).await;
        let agreed = agreed.map_err(HandshakeError::Failed)?;
        Ok(Stream::Tls(Box::new(agreed)))
    }
}

impl Files {
    fn read(&self) -> Result<Arc<ServerConfig>, String> {
        let provider = pem::provider();
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = match &self.authorities {
            Some(file) if self.clients != AuthClients::No => {
                let roots = Arc::new(pem::roots(file)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
                let verifier = match self.clients {
                    AuthClients::Yes => verifier,
                    _ => verifier.allow_unauthenticated(),
                };
                let verifier = verifier
                    .build()
                    .map_err(|error| format!("{}: {error}", file.display()))?;
                builder.with_client_cert_verifier(verifier)
            }
            _ => builder.with_no_client_auth(),
        };
        let chain = pem::certificates(&self.certificate)?;
        let key = pem::private_key(&self.key)?;
        let config = builder.with_single_cert(chain, key).map_err(|error| {
            format!(
                "the certificate in {} and the key in {} cannot be used: {error}",
                self.certificate.display(),
                self.key.display()
            )
        })?;
        Ok(Arc::new(config))
    }
}

/// True if what a connection sends first is a TLS handshake.
pub(super) fn is_client_hello(first: &[u8]) -> bool {
    first.starts_with(&CLIENT_HELLO)
}
