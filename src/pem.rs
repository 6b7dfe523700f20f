//! Certificates and keys out of PEM files, for both ends of TLS.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Largest file that is read: the bundles of all public authorities take a quarter of it.
const BYTES_MAX: u64 = 1024 * 1024;

/// The cryptography behind TLS.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// All certificates of a file, in their order; at least one.
///
/// # Errors
/// One line that names the file.
pub fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = read(file)?;
    let found: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(format!("{} holds no certificate in PEM", file.display())),
        Err(error) => Err(format!("{} is no PEM file: {error}", file.display())),
    }
}

/// The first private key of a file.
///
/// # Errors
/// One line that names the file.
pub fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let text = read(file)?;
    let is_encrypted = || memchr::memmem::find(&text, b"ENCRYPTED").is_some();
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        pem::Error::NoItemsFound if is_encrypted() => format!(
            "the key in {} is encrypted; store it without a pass phrase (openssl pkey), readable for the server only",
            file.display()
        ),
        pem::Error::NoItemsFound => format!("{} holds no private key in PEM", file.display()),
        error => format!("{} is no PEM file: {error}", file.display()),
    })
}

/// The certificates of a file as those that are trusted.
///
/// # Errors
/// One line that names the file.
pub fn roots(file: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|error| {
            format!(
                "{} holds a certificate that cannot be used: {error}",
                file.display()
            )
        })?;
    }
    Ok(roots)
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let failed = |error| format!("{} cannot be read: {error}", file.display());
    let mut text = Vec::new();
    let read = File::open(file)
        .and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut text))
        .map_err(failed)?;
    if read as u64 > BYTES_MAX {
        return Err(format!("{} is longer than 1 MiB", file.display()));
    }
    Ok(text)
}
