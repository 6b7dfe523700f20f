//! Certificates, made anew for each test.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tollgate::pem;

/// Signs certificates; all files lie in one directory.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: PathBuf,
    /// The file of its own certificate.
    pub file: PathBuf,
}

/// A certificate and its key.
#[derive(Clone)]
pub struct Identity {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Authority {
    pub fn new(directory: &Path, name: &str) -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.distinguished_name = DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let issuer = CertifiedIssuer::self_signed(parameters, key).unwrap();
        let file = directory.join(format!("{name}.pem"));
        std::fs::write(&file, issuer.pem()).unwrap();
        Self {
            issuer,
            directory: directory.to_owned(),
            file,
        }
    }

    /// A new certificate for `name`, in the place of the one of that name.
    pub fn issue(&self, name: &str) -> Identity {
        let key = KeyPair::generate().unwrap();
        let parameters = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        let identity = Identity {
            certificate: self.directory.join(format!("{name}.crt")),
            key: self.directory.join(format!("{name}.key")),
        };
        std::fs::write(&identity.certificate, certificate.pem()).unwrap();
        std::fs::write(&identity.key, key.serialize_pem()).unwrap();
        identity
    }

    /// How a client speaks that trusts this authority and shows `identity`.
    pub fn client(&self, identity: Option<&Identity>) -> Arc<ClientConfig> {
        let builder = ClientConfig::builder_with_provider(pem::provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(pem::roots(&self.file).unwrap());
        Arc::new(match identity {
            None => builder.with_no_client_auth(),
            Some(Identity { certificate, key }) => builder
                .with_client_auth_cert(
                    pem::certificates(certificate).unwrap(),
                    pem::private_key(key).unwrap(),
                )
                .unwrap(),
        })
    }
}

pub type TlsStream = StreamOwned<ClientConnection, TcpStream>;

/// A connection to 127.0.0.1; hands are shaken when something is sent.
pub fn connect(port: u16, config: Arc<ClientConfig>) -> TlsStream {
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let session = ClientConnection::new(config, name).unwrap();
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_nodelay(true).unwrap();
    StreamOwned::new(session, stream)
}
