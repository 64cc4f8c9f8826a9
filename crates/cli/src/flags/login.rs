//! The options for logins: passwords, and the file with Kerberos identities and certificates.

use std::path::PathBuf;

use clap::Args;

use super::password::PasswordFlags;
use crate::exit::Failure;
use crate::identity::{IdentityFile, Role};

/// How the accounts of targets log in.
#[derive(Debug, Args, Clone, Default)]
pub struct LoginFlags {
    #[command(flatten)]
    pub password: PasswordFlags,
    /// Log in with the Kerberos principals and the TLS certificates that FILE names (docs/protocols/identity.md).
    #[arg(long, value_name = "FILE.toml")]
    pub identity: Option<PathBuf>,
}

/// What the options for logins mean.
#[derive(Debug, Clone, Default)]
pub struct Login {
    /// The file of `--password-file`.
    pub password_file: Option<PathBuf>,
    /// The content of the file of `--identity`.
    pub identity: IdentityFile,
}

impl LoginFlags {
    /// True if one of them was given.
    pub fn any(&self) -> bool {
        self.password.password_file.is_some() || self.identity.is_some()
    }

    /// Reads the file of `--identity`.
    pub fn read(&self) -> Result<Login, Failure> {
        let identity = self.identity.as_deref().map(|path| IdentityFile::read(path, Role::Client));
        Ok(Login {
            password_file: self.password.password_file.clone(),
            identity: identity.transpose()?.unwrap_or_default(),
        })
    }
}

impl Login {
    /// The same without what only Kerberos uses.
    pub fn without_tickets(&self) -> Self {
        Self { identity: self.identity.without_tickets(), ..self.clone() }
    }
}
