//! The kinds of programs that a release contains.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A build of the program, with the packages that contain it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Static, for every Linux system of this processor.
    X86_64,
    /// The same for 64-bit ARM.
    Aarch64,
    /// With MPI, which only a dynamic program can use: a package for Debian.
    Mpi,
}

impl Kind {
    /// All kinds, in the order of the output.
    pub const ALL: [Self; 3] = [Self::X86_64, Self::Aarch64, Self::Mpi];

    /// Finds a kind by its name on the command line.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
            Self::Mpi => "mpi",
        }
    }

    /// Target of the compiler.
    pub fn target(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-musl",
            Self::Aarch64 => "aarch64-unknown-linux-musl",
            Self::Mpi => "x86_64-unknown-linux-gnu",
        }
    }

    /// Name of the package.
    pub fn package(self) -> &'static str {
        if self == Self::Mpi { "sharebench-mpi" } else { "sharebench" }
    }

    /// Architecture of a Debian package.
    pub fn debian(self) -> &'static str {
        if self == Self::Aarch64 { "arm64" } else { "amd64" }
    }

    /// Architecture of an RPM package.
    pub fn rpm(self) -> &'static str {
        if self == Self::Aarch64 { "aarch64" } else { "x86_64" }
    }

    /// Program that runs programs of this kind on the machine that makes the release, unless it runs them itself.
    pub fn runner(self) -> Option<&'static str> {
        (self == Self::Aarch64 && !cfg!(target_arch = "aarch64")).then_some("qemu-aarch64-static")
    }
}

/// A built program.
#[derive(Debug, Clone)]
pub struct Program {
    pub kind: Kind,
    pub path: PathBuf,
    /// Runs the program, if this machine does not.
    pub runner: Option<&'static str>,
    /// Packages of Debian that it needs, or nothing.
    pub depends: String,
}

impl Program {
    /// Returns a command that runs the program.
    pub fn command(&self) -> Command {
        match self.runner {
            Some(runner) => {
                let mut command = Command::new(runner);
                command.arg(&self.path);
                command
            }
            None => Command::new(&self.path),
        }
    }

    /// Path of the program.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
