//! Keys of encrypted SMB sessions: the file that has them, and which of them fit.

mod candidate;
mod file;
mod keyring;
mod notes;

#[cfg(test)]
mod captured_session;
#[cfg(test)]
mod file_tests;
#[cfg(test)]
mod session_tests;

pub use file::{KeyFileError, KeyProblem, SessionKeyTable};

pub(crate) use candidate::{Derivation, Sealed};
pub(crate) use keyring::Keyring;
pub(super) use notes::ADVICE;
