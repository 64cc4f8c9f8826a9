//! Certificates and keys of TLS, from the files that options name.

use std::path::Path;

use sharebench_nfs::Xprtsec;
use sharebench_target::TargetUrl;
use sharebench_tls::{ClientTls, FileError, ServerTls};

use crate::exit::Failure;
use crate::flags::login::TlsFlags;
use crate::run::accounts_file::check_readers;

/// The certificates of a client, for a URL with `xprtsec=tls` or `xprtsec=mtls`.
pub fn client(flags: &TlsFlags, requested: Xprtsec, url: &TargetUrl) -> Result<ClientTls, Failure> {
    let identity = flags.certificate.as_deref().zip(flags.key.as_deref());
    if requested == Xprtsec::Mtls && identity.is_none() {
        return Err(Failure::usage(format!("{url}: xprtsec=mtls needs --tls-cert FILE and --tls-key FILE")));
    }
    if let Some((_, key)) = identity {
        check_key(key)?;
    }
    ClientTls::new(flags.ca.as_deref(), identity).map_err(|error| failure(&error))
}

/// The certificate of a server, and the authority of its clients.
pub fn server(certificate: &Path, key: &Path, client_ca: Option<&Path>) -> Result<ServerTls, Failure> {
    check_key(key)?;
    ServerTls::new(certificate, key, client_ca).map_err(|error| failure(&error))
}

/// Rejects a key that others can read.
fn check_key(key: &Path) -> Result<(), Failure> {
    check_readers(key).map_err(|detail| Failure::usage(format!("--tls-key {}: {detail}", key.display())))
}

fn failure(error: &FileError) -> Failure {
    match error {
        FileError::NoAuthorities => Failure::usage(format!("{error}; give --tls-ca FILE")),
        error => Failure::usage(format!("--tls-ca, --tls-cert, --tls-key: {error}")),
    }
}
