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
    let files = [("--tls-ca", &flags.ca), ("--tls-cert", &flags.certificate), ("--tls-key", &flags.key)]
        .map(|(flag, file)| (flag, file.as_deref()));
    ClientTls::new(flags.ca.as_deref(), identity).map_err(|error| failure(&error, &files))
}

/// The certificate of a server, and the authority of its clients.
pub fn server(certificate: &Path, key: &Path, client_ca: Option<&Path>) -> Result<ServerTls, Failure> {
    check_key(key)?;
    let files = [("--tls-cert", Some(certificate)), ("--tls-key", Some(key)), ("--tls-client-ca", client_ca)];
    ServerTls::new(certificate, key, client_ca).map_err(|error| failure(&error, &files))
}

/// Rejects a key that others can read.
fn check_key(key: &Path) -> Result<(), Failure> {
    check_readers(key).map_err(|detail| Failure::usage(format!("--tls-key {}: {detail}", key.display())))
}

/// Names the flag whose file is at fault.
fn failure(error: &FileError, files: &[(&str, Option<&Path>)]) -> Failure {
    let of_file = |path: &Path| files.iter().find(|(_, file)| *file == Some(path)).map(|(flag, _)| *flag);
    match error {
        FileError::NoAuthorities => Failure::usage(format!("{error}; give --tls-ca FILE")),
        FileError::Pair { .. } => Failure::usage(format!("--tls-cert and --tls-key: {error}")),
        FileError::Read { path, .. } | FileError::Content { path, .. } => {
            let flag = of_file(path).map_or_else(String::new, |flag| format!("{flag} "));
            Failure::usage(format!("{flag}{error}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_of_the_file_at_fault_is_named() {
        let files = [("--tls-cert", Some(Path::new("a.pem"))), ("--tls-client-ca", Some(Path::new("b.pem")))];
        let content = |path: &str| FileError::Content { path: path.into(), detail: "no certificate".into() };
        let shown = |error: FileError| failure(&error, &files).to_string();
        assert_eq!(shown(content("b.pem")), "--tls-client-ca b.pem: no certificate");
        // One of the lists of the system.
        assert_eq!(shown(content("c.pem")), "c.pem: no certificate");
        assert!(shown(FileError::Pair { detail: String::new() }).starts_with("--tls-cert and --tls-key: "));
    }
}
