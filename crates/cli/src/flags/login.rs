//! The options for logins: passwords, Kerberos and certificates.

use std::path::{Path, PathBuf};

use clap::Args;

use super::password::PasswordFlags;

/// How the accounts of targets log in.
#[derive(Debug, Args, Clone, Default)]
pub struct LoginFlags {
    #[command(flatten)]
    pub password: PasswordFlags,
    /// Log in with Kerberos and the keys of FILE, instead of the tickets of the user's cache.
    #[arg(long, value_name = "FILE")]
    pub keytab: Option<PathBuf>,
    /// Kerberos principal whose key is in --keytab, or whose ticket is in the user's cache.
    #[arg(long, value_name = "NAME", conflicts_with = "credentials")]
    pub principal: Option<String>,
    /// Log in with Kerberos as the principals of FILE in turn, one per session. Write one per line: PRINCIPAL:PASSWORD, or
    /// PRINCIPAL with its key in --keytab. Only the owner may read FILE.
    #[arg(long, value_name = "FILE")]
    pub credentials: Option<PathBuf>,
    #[command(flatten)]
    pub tls: TlsFlags,
}

/// Certificates for NFS targets with `xprtsec=tls` or `xprtsec=mtls`.
#[derive(Debug, Args, Clone, Default)]
pub struct TlsFlags {
    /// For xprtsec=tls and xprtsec=mtls: trust the certificate authorities of FILE (PEM), instead of those of the system.
    #[arg(id = "tls_ca", long = "tls-ca", value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// For xprtsec=mtls: the certificate of this client with its chain (PEM).
    #[arg(id = "tls_cert", long = "tls-cert", value_name = "FILE", requires = "tls_key")]
    pub certificate: Option<PathBuf>,
    /// The private key of --tls-cert (PEM). Only the owner may read FILE.
    #[arg(id = "tls_key", long = "tls-key", value_name = "FILE", requires = "tls_cert")]
    pub key: Option<PathBuf>,
}

impl TlsFlags {
    /// True if one of them was given.
    pub fn any(&self) -> bool {
        self.ca.is_some() || self.certificate.is_some()
    }
}

impl LoginFlags {
    /// The file of `--password-file`, if it was given.
    pub fn file(&self) -> Option<&Path> {
        self.password.file()
    }

    /// The same without what only Kerberos uses.
    pub fn without_tickets(&self) -> Self {
        Self { keytab: None, principal: None, credentials: None, ..self.clone() }
    }
}
