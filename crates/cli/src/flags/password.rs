//! The option for passwords. A password itself is never an argument, because other users can read arguments.

use std::path::{Path, PathBuf};

use clap::Args;

/// Where the password of an SMB or NCP account comes from, if not from the environment, `~/.netrc` or a prompt.
#[derive(Debug, Args, Clone, Default)]
pub struct PasswordFlags {
    /// Read the password of SMB and NCP accounts from the first line of FILE.
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
}

impl PasswordFlags {
    /// The file, if one was given.
    pub fn file(&self) -> Option<&Path> {
        self.password_file.as_deref()
    }
}
