//! NTSTATUS: the status codes of SMB servers (MS-ERREF 2.3).

use sharebench_model::{ErrorClass, OpError, OpStep};

/// A status code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NtStatus(pub u32);

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $code:literal => $class:ident,)*) => {
        impl NtStatus {
            $(#[doc = concat!("`STATUS_", stringify!($name), "`.")] pub const $name: Self = Self($code);)*

            /// Name of the status, if it is a common one.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some(concat!("STATUS_", stringify!($name))),)*
                    _ => None,
                }
            }

            /// Class of the failure.
            pub const fn class(self) -> ErrorClass {
                match self.0 {
                    $($code => ErrorClass::$class,)*
                    _ => ErrorClass::Io,
                }
            }
        }
    };
}

statuses! {
    SUCCESS = 0 => Io,
    PENDING = 0x0000_0103 => Busy,
    BUFFER_OVERFLOW = 0x8000_0005 => Io,
    NO_MORE_FILES = 0x8000_0006 => NotFound,
    UNSUCCESSFUL = 0xC000_0001 => Io,
    NOT_IMPLEMENTED = 0xC000_0002 => Unsupported,
    INVALID_INFO_CLASS = 0xC000_0003 => Unsupported,
    INFO_LENGTH_MISMATCH = 0xC000_0004 => Unsupported,
    INVALID_HANDLE = 0xC000_0008 => Stale,
    INVALID_PARAMETER = 0xC000_000D => Unsupported,
    NO_SUCH_DEVICE = 0xC000_000E => NotFound,
    NO_SUCH_FILE = 0xC000_000F => NotFound,
    INVALID_DEVICE_REQUEST = 0xC000_0010 => Unsupported,
    END_OF_FILE = 0xC000_0011 => Io,
    MORE_PROCESSING_REQUIRED = 0xC000_0016 => Protocol,
    NO_MEMORY = 0xC000_0017 => Io,
    ACCESS_DENIED = 0xC000_0022 => Refused,
    BUFFER_TOO_SMALL = 0xC000_0023 => Io,
    OBJECT_NAME_INVALID = 0xC000_0033 => Unsupported,
    OBJECT_NAME_NOT_FOUND = 0xC000_0034 => NotFound,
    OBJECT_NAME_COLLISION = 0xC000_0035 => Exists,
    OBJECT_PATH_INVALID = 0xC000_0039 => NotFound,
    OBJECT_PATH_NOT_FOUND = 0xC000_003A => NotFound,
    OBJECT_PATH_SYNTAX_BAD = 0xC000_003B => Unsupported,
    INVALID_VIEW_SIZE = 0xC000_001F => Unsupported,
    SHARING_VIOLATION = 0xC000_0043 => Busy,
    EAS_NOT_SUPPORTED = 0xC000_004F => Unsupported,
    NO_EAS_ON_FILE = 0xC000_0052 => NotFound,
    QUOTA_EXCEEDED = 0xC000_0044 => NoSpace,
    FILE_LOCK_CONFLICT = 0xC000_0054 => Busy,
    LOCK_NOT_GRANTED = 0xC000_0055 => Busy,
    DELETE_PENDING = 0xC000_0056 => Busy,
    NO_SUCH_USER = 0xC000_0064 => Refused,
    WRONG_PASSWORD = 0xC000_006A => Refused,
    LOGON_FAILURE = 0xC000_006D => Refused,
    ACCOUNT_RESTRICTION = 0xC000_006E => Refused,
    INVALID_LOGON_HOURS = 0xC000_006F => Refused,
    PASSWORD_EXPIRED = 0xC000_0071 => Refused,
    ACCOUNT_DISABLED = 0xC000_0072 => Refused,
    RANGE_NOT_LOCKED = 0xC000_007E => Io,
    DISK_FULL = 0xC000_007F => NoSpace,
    INSUFFICIENT_RESOURCES = 0xC000_009A => Io,
    MEDIA_WRITE_PROTECTED = 0xC000_00A2 => ReadOnly,
    IO_TIMEOUT = 0xC000_00B5 => Timeout,
    FILE_IS_A_DIRECTORY = 0xC000_00BA => Unsupported,
    NOT_SUPPORTED = 0xC000_00BB => Unsupported,
    BAD_NETWORK_PATH = 0xC000_00BE => NotFound,
    NETWORK_NAME_DELETED = 0xC000_00C9 => Disconnected,
    NETWORK_ACCESS_DENIED = 0xC000_00CA => Refused,
    BAD_DEVICE_TYPE = 0xC000_00CB => Unsupported,
    BAD_NETWORK_NAME = 0xC000_00CC => NotFound,
    REQUEST_NOT_ACCEPTED = 0xC000_00D0 => Busy,
    DIRECTORY_NOT_EMPTY = 0xC000_0101 => NotEmpty,
    NOT_A_DIRECTORY = 0xC000_0103 => NotFound,
    TOO_MANY_OPENED_FILES = 0xC000_011F => Busy,
    CANCELLED = 0xC000_0120 => Io,
    CANNOT_DELETE = 0xC000_0121 => Refused,
    FILE_CLOSED = 0xC000_0128 => Stale,
    INTERNAL_ERROR = 0xC000_00E5 => Io,
    LOGON_TYPE_NOT_GRANTED = 0xC000_015B => Refused,
    TRUST_FAILURE = 0xC000_0190 => Refused,
    BAD_IMPERSONATION_LEVEL = 0xC000_00A5 => Unsupported,
    FS_DRIVER_REQUIRED = 0xC000_019C => Unsupported,
    INVALID_LOCK_RANGE = 0xC000_01A1 => Unsupported,
    INVALID_OPLOCK_PROTOCOL = 0xC000_00E3 => Protocol,
    INVALID_DEVICE_STATE = 0xC000_0184 => Unsupported,
    DUPLICATE_OBJECTID = 0xC000_022A => Exists,
    PRIVILEGE_NOT_HELD = 0xC000_0061 => Refused,
    NOTIFY_CLEANUP = 0x0000_010B => Io,
    NOTIFY_ENUM_DIR = 0x0000_010C => Io,
    STOPPED_ON_SYMLINK = 0x8000_002D => Unsupported,
    REQUEST_OUT_OF_SEQUENCE = 0xC000_042A => Protocol,
    USER_SESSION_DELETED = 0xC000_0203 => Disconnected,
    PASSWORD_MUST_CHANGE = 0xC000_0224 => Refused,
    ACCOUNT_LOCKED_OUT = 0xC000_0234 => Refused,
    PATH_NOT_COVERED = 0xC000_0257 => Unsupported,
    NOT_A_REPARSE_POINT = 0xC000_0275 => Unsupported,
    NETWORK_SESSION_EXPIRED = 0xC000_035C => Disconnected,
    FILE_NOT_AVAILABLE = 0xC000_0467 => Busy,
    NTLM_BLOCKED = 0xC000_0418 => Unsupported,
    INVALID_LEVEL = 0xC000_0148 => Unsupported,
    OS2_CANCEL_VIOLATION = 0x00AD_0001 => Unsupported,
    OS2_ATOMIC_LOCKS_NOT_SUPPORTED = 0x00AE_0001 => Unsupported,
    SMB_BAD_TID = 0x0005_0002 => Disconnected,
    SMB_BAD_COMMAND = 0x0016_0002 => Unsupported,
    SMB_TOO_MANY_UIDS_OR_BAD_UID = 0x005B_0002 => Disconnected,
}

impl NtStatus {
    /// The meaning of a status that states what this client and the server do not have in common.
    pub const fn incompatibility(self) -> Option<&'static str> {
        match self {
            Self::NTLM_BLOCKED => {
                Some("Kerberos only: the server blocks NTLM (run kinit, or give auth=kerberos)")
            }
            Self::PATH_NOT_COVERED => Some(
                "the directory is a DFS link to another server, and sharebench follows no DFS referrals; \
                 give the URL of that server",
            ),
            _ => None,
        }
    }

    /// The error of `request` if the server answers with this status.
    #[cold]
    pub fn failure(self, request: &'static str) -> OpError {
        OpError::new(self.class(), OpStep::Request(request), self.explained())
    }

    /// The status, after its meaning if that needs words.
    pub(crate) fn explained(self) -> String {
        match self.incompatibility() {
            Some(meaning) => format!("{meaning} ({self})"),
            None => self.to_string(),
        }
    }
}

impl std::fmt::Display for NtStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} (0x{:08X})", self.0),
            None => write!(f, "NTSTATUS 0x{:08X}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_name_code_and_class() {
        let error = NtStatus(0xC000_007F).failure("WRITE");
        assert_eq!(error.to_string(), "WRITE: no space (STATUS_DISK_FULL (0xC000007F))");
        assert_eq!(NtStatus(0xC0FF_EE00).to_string(), "NTSTATUS 0xC0FFEE00");
        assert_eq!(NtStatus::DIRECTORY_NOT_EMPTY.class(), ErrorClass::NotEmpty);
    }

    #[test]
    fn a_status_about_missing_support_is_explained() {
        let blocked = NtStatus(0xC000_0418).failure("SESSION_SETUP").to_string();
        assert!(blocked.contains("Kerberos only") && blocked.contains("STATUS_NTLM_BLOCKED"), "{blocked}");
        let link = NtStatus::PATH_NOT_COVERED.failure("CREATE").to_string();
        assert!(link.contains("DFS link") && link.contains("STATUS_PATH_NOT_COVERED"), "{link}");
    }
}
