//! Certificates and keys of TLS, from the files of an identity.

use std::path::Path;

use sharebench_nfs::Xprtsec;
use sharebench_target::TargetUrl;
use sharebench_tls::{ClientTls, FileError, ServerTls};

use crate::exit::Failure;
use crate::identity::IdentityFile;
use crate::run::accounts_file::check_readers;

/// The certificates of a client, for a URL with `xprtsec=tls` or `xprtsec=mtls`.
pub fn client(identity: &IdentityFile, requested: Xprtsec, url: &TargetUrl) -> Result<ClientTls, Failure> {
    let pair = identity.tls_cert.as_deref().zip(identity.tls_key.as_deref());
    if requested == Xprtsec::Mtls && pair.is_none() {
        return Err(Failure::usage(format!(
            "{url}: xprtsec=mtls needs tls_cert and tls_key of --identity FILE"
        )));
    }
    if let Some((_, key)) = pair {
        check_key(identity, key)?;
    }
    ClientTls::new(identity.tls_ca.as_deref(), pair).map_err(|error| failure(identity, &error))
}

/// The certificate of a server, and the authority of its clients.
pub fn server(identity: &IdentityFile, certificate: &Path, key: &Path) -> Result<ServerTls, Failure> {
    check_key(identity, key)?;
    let client_ca = identity.tls_client_ca.as_deref();
    ServerTls::new(certificate, key, client_ca).map_err(|error| failure(identity, &error))
}

/// Rejects a key that others can read.
fn check_key(identity: &IdentityFile, key: &Path) -> Result<(), Failure> {
    check_readers(key).map_err(|detail| identity.error(format!("tls_key {}: {detail}", key.display())))
}

/// Names the field whose file is at fault.
fn failure(identity: &IdentityFile, error: &FileError) -> Failure {
    let fields = [
        ("tls_ca", &identity.tls_ca),
        ("tls_cert", &identity.tls_cert),
        ("tls_key", &identity.tls_key),
        ("tls_client_ca", &identity.tls_client_ca),
    ];
    match error {
        FileError::NoAuthorities => Failure::usage(format!("{error}; name tls_ca in --identity FILE")),
        FileError::Pair { .. } => identity.error(format!("tls_cert and tls_key: {error}")),
        FileError::Read { path, .. } | FileError::Content { path, .. } => {
            match fields.iter().find(|(_, file)| file.as_ref() == Some(path)) {
                Some((field, _)) => identity.error(format!("{field} {error}")),
                // One of the lists of the system.
                None => Failure::usage(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_of_the_file_at_fault_is_named() {
        let identity = IdentityFile {
            tls_cert: Some("a.pem".into()),
            tls_client_ca: Some("b.pem".into()),
            ..IdentityFile::default()
        };
        let content = |path: &str| FileError::Content { path: path.into(), detail: "no certificate".into() };
        let shown = |error: FileError| failure(&identity, &error).to_string();
        assert!(shown(content("b.pem")).ends_with("tls_client_ca b.pem: no certificate"));
        assert_eq!(shown(content("c.pem")), "c.pem: no certificate");
        assert!(shown(FileError::Pair { detail: String::new() }).contains("tls_cert and tls_key: "));
    }
}
