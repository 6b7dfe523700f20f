//! Reaching a server: over TCP, over TLS, through a Unix socket.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::arguments::{Place, Target, TlsOptions};
use super::connection::ClientError;
use crate::pem;

/// Both directions of a connection. Behind a pointer: a client's time goes into waiting for the server.
pub(super) type Stream = Box<dyn Duplex>;

/// What can be read and written.
pub(super) trait Duplex: Read + Write + Send {}

impl<T: Read + Write + Send> Duplex for T {}

/// Connects; `timeout` bounds the dialling of each address, and each later read and write.
///
/// # Errors
/// [`ClientError::Unreachable`] with the last address's reason, [`ClientError::Tls`].
pub(super) fn dial(target: &Target, timeout: Option<Duration>) -> Result<Stream, ClientError> {
    match target.place() {
        Place::Socket(path) if target.tls.tls => Err(ClientError::Tls(
            format!("{}", path.display()),
            "there is no TLS on a Unix socket".to_owned(),
        )),
        Place::Socket(path) => dial_socket(&path, timeout),
        Place::Address(host, port) => {
            let stream = dial_tcp(&host, port, timeout)?;
            if !target.tls.tls {
                return Ok(Box::new(stream));
            }
            let failed = |error| ClientError::Tls(format!("{host}:{port}"), error);
            Ok(Box::new(
                shake_hands(stream, &host, &target.tls).map_err(failed)?,
            ))
        }
    }
}

fn dial_socket(path: &Path, timeout: Option<Duration>) -> Result<Stream, ClientError> {
    let unreachable = |error| ClientError::Unreachable(format!("{}", path.display()), error);
    let stream = UnixStream::connect(path).map_err(unreachable)?;
    stream.set_read_timeout(timeout)?;
    stream.set_write_timeout(timeout)?;
    Ok(Box::new(stream))
}

fn dial_tcp(host: &str, port: u16, timeout: Option<Duration>) -> Result<TcpStream, ClientError> {
    let unreachable = |error| ClientError::Unreachable(format!("{host}:{port}"), error);
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs().map_err(unreachable)? {
        let stream = match timeout {
            Some(timeout) => TcpStream::connect_timeout(&address, timeout),
            None => TcpStream::connect(address),
        };
        match stream {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(timeout)?;
                stream.set_write_timeout(timeout)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(unreachable(last))
}

fn shake_hands(
    mut stream: TcpStream,
    host: &str,
    options: &TlsOptions,
) -> Result<StreamOwned<ClientConnection, TcpStream>, String> {
    let name = options.sni.as_deref().unwrap_or(host);
    let name = ServerName::try_from(name.to_owned())
        .map_err(|error| format!("'{name}' is no name of a server: {error}; see --sni"))?;
    let mut session =
        ClientConnection::new(config(options)?, name).map_err(|error| error.to_string())?;
    while session.is_handshaking() {
        let done = session.complete_io(&mut stream);
        done.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "no answer in time".to_owned(),
            _ => with_advice(&error),
        })?;
    }
    Ok(StreamOwned::new(session, stream))
}

fn config(options: &TlsOptions) -> Result<Arc<ClientConfig>, String> {
    let roots = match &options.cacert {
        Some(file) => pem::roots(file)?,
        None => machine_roots(),
    };
    let builder = ClientConfig::builder_with_provider(pem::provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots);
    let config = match (&options.cert, &options.key) {
        (Some(certificate), Some(key)) => builder
            .with_client_auth_cert(pem::certificates(certificate)?, pem::private_key(key)?)
            .map_err(|error| {
                format!(
                    "the certificate in {} cannot be used: {error}",
                    certificate.display()
                )
            })?,
        _ => builder.with_no_client_auth(),
    };
    Ok(Arc::new(config))
}

/// Those that this machine trusts. If some cannot be read, the others do.
fn machine_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn with_advice(error: &io::Error) -> String {
    use rustls::{CertificateError, Error, InvalidMessage};
    let reason = error.get_ref().and_then(|inner| inner.downcast_ref());
    let advice = match reason {
        Some(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            "; --cacert names the authorities to trust"
        }
        Some(Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => "; --sni says what name it must be for",
        Some(Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            "; does this port speak TLS?"
        }
        _ => "",
    };
    format!("{error}{advice}")
}
