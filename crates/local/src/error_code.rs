//! Error codes of system calls, as classes and names.

use std::io;

use sharebench_model::{ErrorClass, OpError, OpStep};

use crate::system::{Code, GENERAL, KNOWN, KnownCode, UNNAMED};

/// An error code as a system call left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ErrorCode(pub Code);

impl ErrorCode {
    /// The calling thread's last one.
    pub fn last() -> Self {
        Self::from_io_error(&io::Error::last_os_error())
    }

    /// The code of an error of the standard library.
    pub fn from_io_error(error: &io::Error) -> Self {
        Self(error.raw_os_error().map_or(GENERAL, |code| code as Code))
    }

    fn known(self) -> Option<&'static KnownCode> {
        KNOWN.iter().find(|known| known.code == self.0)
    }

    pub fn class(self) -> ErrorClass {
        self.known().map_or(ErrorClass::Io, |known| known.class)
    }

    /// `ENOSPC (28)`, or the number alone.
    pub fn name(self) -> String {
        match self.known() {
            Some(known) => format!("{} ({})", known.name, self.0),
            None => format!("{UNNAMED} {}", self.0),
        }
    }

    /// The error of a system call that left this code.
    #[cold]
    pub fn at(self, call: &'static str) -> OpError {
        OpError::new(self.class(), OpStep::SystemCall(call), self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::KNOWN;

    #[test]
    fn no_code_is_listed_twice() {
        for (index, known) in KNOWN.iter().enumerate() {
            let twice = KNOWN[index + 1..].iter().any(|other| other.code == known.code);
            assert!(!twice, "{} is listed twice", known.name);
        }
    }
}
