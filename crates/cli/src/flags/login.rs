//! The options for logins: passwords and Kerberos.

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
}

impl LoginFlags {
    /// The file of `--password-file`, if it was given.
    pub fn file(&self) -> Option<&Path> {
        self.password.file()
    }
}
