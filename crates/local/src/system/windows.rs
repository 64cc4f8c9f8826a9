//! Error codes and committed memory of Windows.

use std::ptr::{self, NonNull};

use sharebench_model::ErrorClass;
use windows_sys::Win32::Foundation as codes;
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc, VirtualFree,
};

use super::known_code::{KnownCode, known_codes};

pub(crate) type Code = codes::WIN32_ERROR;

/// For errors that have no code.
pub(crate) const GENERAL: Code = codes::ERROR_GEN_FAILURE;
/// There is not enough memory.
pub(crate) const NO_MEMORY: Code = codes::ERROR_NOT_ENOUGH_MEMORY;
/// What a code without a name is called.
pub(crate) const UNNAMED: &str = "Windows error";

pub(crate) const KNOWN: &[KnownCode] = known_codes! {
    codes:
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

/// Allocates whole pages. [`std::io::Error::last_os_error`] has the error.
pub(crate) fn allocate(len: usize) -> Option<NonNull<u8>> {
    // SAFETY: a fresh allocation touches no memory of ours.
    let base = unsafe { VirtualAlloc(ptr::null(), len, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE) };
    NonNull::new(base.cast())
}

/// # Safety
/// [`allocate`] returned the memory, and nothing refers to it any more.
pub(crate) unsafe fn free(base: NonNull<u8>, _len: usize) {
    // SAFETY: as the caller promises.
    unsafe { VirtualFree(base.as_ptr().cast(), 0, MEM_RELEASE) };
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::error_code::ErrorCode;

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
        assert_eq!(ErrorCode::from_io_error(&missing).class(), ErrorClass::NotFound);
    }
}
