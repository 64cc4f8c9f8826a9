//! Error codes of the system, as classes and names.

use std::io;

use sharebench_model::{ErrorClass, OpError, OpStep};
use windows_sys::Win32::Foundation::{self as codes, RtlNtStatusToDosError, WIN32_ERROR};

/// An error code of the Win32 interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ErrorCode(pub WIN32_ERROR);

impl ErrorCode {
    /// The calling thread's last one.
    pub fn last() -> Self {
        Self::of(&io::Error::last_os_error())
    }

    /// The code of an error of the standard library.
    pub fn of(error: &io::Error) -> Self {
        Self(error.raw_os_error().map_or(codes::ERROR_GEN_FAILURE, i32::cast_unsigned))
    }

    /// The code of a status of the native interface, with which overlapped operations end; none for success.
    pub fn of_status(status: i32) -> Option<Self> {
        // SAFETY: the call translates a number.
        (status < 0).then(|| Self(unsafe { RtlNtStatusToDosError(status) }))
    }

    pub fn class(self) -> ErrorClass {
        KNOWN.iter().find(|(code, ..)| *code == self.0).map_or(ErrorClass::Io, |known| known.2)
    }

    /// `ERROR_DISK_FULL (112)`, or the number alone.
    pub fn name(self) -> String {
        match KNOWN.iter().find(|(code, ..)| *code == self.0) {
            Some((code, name, _)) => format!("{name} ({code})"),
            None => format!("Windows error {}", self.0),
        }
    }

    /// The error of a call that failed with this code.
    #[cold]
    pub fn at(self, call: &'static str) -> OpError {
        OpError::new(self.class(), OpStep::SystemCall(call), self.name())
    }
}

macro_rules! known {
    ($($class:ident: $($name:ident)+;)+) => {
        &[$($((codes::$name, stringify!($name), ErrorClass::$class)),+),+]
    };
}

const KNOWN: &[(WIN32_ERROR, &str, ErrorClass)] = known! {
    Refused: ERROR_ACCESS_DENIED ERROR_PRIVILEGE_NOT_HELD ERROR_TOO_MANY_OPEN_FILES ERROR_FILENAME_EXCED_RANGE
        ERROR_INVALID_NAME ERROR_LOGON_FAILURE ERROR_CANT_ACCESS_FILE;
    NotFound: ERROR_FILE_NOT_FOUND ERROR_PATH_NOT_FOUND ERROR_BAD_NETPATH ERROR_BAD_NET_NAME ERROR_INVALID_DRIVE
        ERROR_NOT_READY ERROR_DIRECTORY;
    Exists: ERROR_FILE_EXISTS ERROR_ALREADY_EXISTS;
    NotEmpty: ERROR_DIR_NOT_EMPTY;
    NoSpace: ERROR_DISK_FULL ERROR_HANDLE_DISK_FULL ERROR_NOT_ENOUGH_MEMORY ERROR_NO_SYSTEM_RESOURCES
        ERROR_DISK_QUOTA_EXCEEDED;
    ReadOnly: ERROR_WRITE_PROTECT;
    Stale: ERROR_INVALID_HANDLE;
    Busy: ERROR_SHARING_VIOLATION ERROR_LOCK_VIOLATION ERROR_BUSY ERROR_DELETE_PENDING;
    Timeout: ERROR_SEM_TIMEOUT WAIT_TIMEOUT;
    Disconnected: ERROR_NETNAME_DELETED ERROR_UNEXP_NET_ERR ERROR_CONNECTION_ABORTED ERROR_NETWORK_UNREACHABLE
        ERROR_HOST_UNREACHABLE ERROR_DEV_NOT_EXIST;
    Unsupported: ERROR_NOT_SUPPORTED ERROR_INVALID_FUNCTION ERROR_INVALID_PARAMETER ERROR_FILE_TOO_LARGE;
    Io: ERROR_CRC ERROR_IO_DEVICE ERROR_OPERATION_ABORTED ERROR_GEN_FAILURE;
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_classes_and_names() {
        let full = ErrorCode(codes::ERROR_DISK_FULL).at("WriteFile");
        assert_eq!(full.to_string(), "WriteFile: no space (ERROR_DISK_FULL (112))");
        assert_eq!(ErrorCode(codes::ERROR_ACCESS_DENIED).class(), ErrorClass::Refused);
        assert_eq!(
            (ErrorCode(99_999).class(), ErrorCode(99_999).name().as_str()),
            (ErrorClass::Io, "Windows error 99999")
        );
        let missing = io::Error::from_raw_os_error(codes::ERROR_FILE_NOT_FOUND.cast_signed());
        assert_eq!(ErrorCode::of(&missing).class(), ErrorClass::NotFound);
    }

    #[test]
    fn status_of_an_overlapped_operation_becomes_a_code() {
        assert_eq!(ErrorCode::of_status(codes::STATUS_SUCCESS), None);
        assert_eq!(ErrorCode::of_status(codes::STATUS_END_OF_FILE), Some(ErrorCode(codes::ERROR_HANDLE_EOF)));
    }

    #[test]
    fn no_code_is_listed_twice() {
        for (index, (code, name, _)) in KNOWN.iter().enumerate() {
            assert!(!KNOWN[index + 1..].iter().any(|(other, ..)| other == code), "{name} is listed twice");
        }
    }
}
