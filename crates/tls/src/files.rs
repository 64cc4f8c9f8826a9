//! Certificates and keys from PEM files.

use std::path::Path;
use std::{fs, io};

use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::FileError;

/// Largest file. The bundle of a system has 200 to 300 KiB.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Where systems keep the certificates that they trust: Debian and Alpine, Fedora, SUSE, FreeBSD and macOS.
const SYSTEM_BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    let failed = |source: io::Error| FileError::Read { path: path.to_owned(), source };
    let len = fs::metadata(path).map_err(failed)?.len();
    if len > MAX_FILE_BYTES {
        return Err(FileError::Content {
            path: path.to_owned(),
            detail: format!("{len} bytes are too many"),
        });
    }
    fs::read(path).map_err(failed)
}

fn content(path: &Path, detail: impl Into<String>) -> FileError {
    FileError::Content { path: path.to_owned(), detail: detail.into() }
}

/// The certificates of a file, at least one.
pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let text = read(path)?;
    let parsed: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&text).collect();
    match parsed {
        Ok(certificates) if certificates.is_empty() => Err(content(path, "no certificate in PEM format")),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(content(path, error.to_string())),
    }
}

/// The private key of a file.
pub(crate) fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, FileError> {
    let mut text = read(path)?;
    let parsed = PrivateKeyDer::from_pem_slice(&text);
    text.fill(0);
    // Keeps the compiler from removing the fill as a dead store.
    std::hint::black_box(&text);
    parsed.map_err(|error| match error {
        pem::Error::NoItemsFound => content(path, "no private key in PEM format"),
        error => content(path, error.to_string()),
    })
}

/// The authorities of a file, or those that the system trusts.
pub(crate) fn authorities(path: Option<&Path>) -> Result<RootCertStore, FileError> {
    let found = SYSTEM_BUNDLES.iter().map(Path::new).find(|bundle| bundle.exists());
    let Some(bundle) = path.or(found) else { return Err(FileError::NoAuthorities) };
    let mut store = RootCertStore::empty();
    for certificate in certificates(bundle)? {
        let added = store.add(certificate);
        // A bundle of a system may contain certificates that nothing here can use; a file of the user must not.
        if let (Some(path), Err(error)) = (path, added) {
            return Err(content(path, error.to_string()));
        }
    }
    Ok(store)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_cannot_be_used_are_named_with_the_reason() {
        let directory = std::env::temp_dir().join(format!("sharebench-tls-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join("file.pem");
        let missing = certificates(&path).unwrap_err().to_string();
        assert!(missing.contains("file.pem"), "{missing}");
        for text in
            ["", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA", "-----BEGIN X-----\nAAAA\n-----END X-----\n"]
        {
            fs::write(&path, text).unwrap();
            for error in [certificates(&path).unwrap_err(), private_key(&path).unwrap_err()] {
                assert!(error.to_string().contains("file.pem: "), "{error}");
            }
            assert!(authorities(Some(&path)).is_err());
        }
        // It has the form of a certificate, and is none.
        fs::write(&path, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
        assert!(authorities(Some(&path)).unwrap_err().to_string().contains("file.pem: "));
        fs::remove_dir_all(&directory).unwrap();
    }
}
