//! Status codes of NFSv3 and MOUNT (RFC 1813, 2.6 and 5.1.5), and the error class of each.

use sharebench_model::{ErrorClass, OpError, OpStep};

macro_rules! statuses {
    (
        $(#[$status_doc:meta])* $status:ident, $other:literal;
        $($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal, $class:ident;)*
    ) => {
        $(#[$status_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $status {
            $($(#[$doc])* $variant,)*
            /// A code that the specification does not define.
            Other(u32),
        }

        impl $status {
            /// The code on the wire.
            pub const fn code(self) -> u32 {
                match self {
                    $(Self::$variant => $code,)*
                    Self::Other(code) => code,
                }
            }

            /// The status with this code; none for success.
            pub const fn from_code(code: u32) -> Option<Self> {
                match code {
                    0 => None,
                    $($code => Some(Self::$variant),)*
                    other => Some(Self::Other(other)),
                }
            }

            /// Class of the failure.
            pub const fn class(self) -> sharebench_model::ErrorClass {
                match self {
                    $(Self::$variant => sharebench_model::ErrorClass::$class,)*
                    Self::Other(_) => sharebench_model::ErrorClass::Protocol,
                }
            }
        }

        impl std::fmt::Display for $status {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$variant => f.write_str($name),)*
                    Self::Other(code) => write!(f, concat!($other, " {}"), code),
                }
            }
        }
    };
}

pub(crate) use statuses;

statuses! {
    /// The failure of an NFSv3 procedure (RFC 1813, 2.6: `nfsstat3`).
    NfsStatus, "NFS3 status";
    /// Not the owner.
    Perm = 1, "NFS3ERR_PERM", Refused;
    /// No such file or directory.
    NoEnt = 2, "NFS3ERR_NOENT", NotFound;
    /// Hard error of the device.
    Io = 5, "NFS3ERR_IO", Io;
    /// No such device.
    NxIo = 6, "NFS3ERR_NXIO", Io;
    /// Permission denied.
    Acces = 13, "NFS3ERR_ACCES", Refused;
    /// The name already exists.
    Exist = 17, "NFS3ERR_EXIST", Exists;
    /// A hard link across devices.
    XDev = 18, "NFS3ERR_XDEV", Unsupported;
    /// No such device.
    NoDev = 19, "NFS3ERR_NODEV", Io;
    /// Not a directory.
    NotDir = 20, "NFS3ERR_NOTDIR", NotFound;
    /// Is a directory.
    IsDir = 21, "NFS3ERR_ISDIR", Unsupported;
    /// Invalid or unsupported argument.
    Inval = 22, "NFS3ERR_INVAL", Unsupported;
    /// File too large.
    FBig = 27, "NFS3ERR_FBIG", NoSpace;
    /// No space left.
    NoSpc = 28, "NFS3ERR_NOSPC", NoSpace;
    /// Read-only file system.
    RoFs = 30, "NFS3ERR_ROFS", ReadOnly;
    /// Too many hard links.
    MLink = 31, "NFS3ERR_MLINK", NoSpace;
    /// The name is too long.
    NameTooLong = 63, "NFS3ERR_NAMETOOLONG", Unsupported;
    /// The directory is not empty.
    NotEmpty = 66, "NFS3ERR_NOTEMPTY", NotEmpty;
    /// Quota exceeded.
    DQuot = 69, "NFS3ERR_DQUOT", NoSpace;
    /// The file of the handle no longer exists.
    Stale = 70, "NFS3ERR_STALE", Stale;
    /// Too many levels of remote in the path.
    Remote = 71, "NFS3ERR_REMOTE", Io;
    /// The handle is malformed.
    BadHandle = 10_001, "NFS3ERR_BADHANDLE", Stale;
    /// The guard of a SETATTR did not match.
    NotSync = 10_002, "NFS3ERR_NOT_SYNC", Busy;
    /// The directory cookie is stale.
    BadCookie = 10_003, "NFS3ERR_BAD_COOKIE", Io;
    /// Not supported.
    NotSupp = 10_004, "NFS3ERR_NOTSUPP", Unsupported;
    /// The buffer or request is too small.
    TooSmall = 10_005, "NFS3ERR_TOOSMALL", Protocol;
    /// The server failed for a reason that has no code.
    ServerFault = 10_006, "NFS3ERR_SERVERFAULT", Io;
    /// The server cannot create an object of this type.
    BadType = 10_007, "NFS3ERR_BADTYPE", Unsupported;
    /// The server has started the operation; repeat it later.
    Jukebox = 10_008, "NFS3ERR_JUKEBOX", Busy;
}

impl NfsStatus {
    /// The error of `request` if the server answers with this status.
    #[cold]
    pub fn failure(self, request: &'static str) -> OpError {
        OpError::new(self.class(), OpStep::Request(request), self.to_string())
    }
}

/// The failure of a MOUNT procedure (RFC 1813, 5.1.5: `mountstat3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MountStatus(pub u32);

impl MountStatus {
    /// `MNT3ERR_NOENT`.
    pub const NOENT: Self = Self(2);
    /// `MNT3ERR_ACCES`.
    pub const ACCES: Self = Self(13);
    /// `MNT3ERR_NOTDIR`.
    pub const NOTDIR: Self = Self(20);

    /// Class of the failure.
    pub const fn class(self) -> ErrorClass {
        match self.0 {
            1 | 13 => ErrorClass::Refused,
            2 | 20 => ErrorClass::NotFound,
            22 | 63 | 10_004 => ErrorClass::Unsupported,
            _ => ErrorClass::Io,
        }
    }
}

impl std::fmt::Display for MountStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self.0 {
            1 => "MNT3ERR_PERM",
            2 => "MNT3ERR_NOENT",
            5 => "MNT3ERR_IO",
            13 => "MNT3ERR_ACCES",
            20 => "MNT3ERR_NOTDIR",
            22 => "MNT3ERR_INVAL",
            63 => "MNT3ERR_NAMETOOLONG",
            10_004 => "MNT3ERR_NOTSUPP",
            10_006 => "MNT3ERR_SERVERFAULT",
            other => return write!(f, "MNT3 status {other}"),
        };
        f.write_str(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_statuses_are_one_to_one() {
        assert_eq!(NfsStatus::from_code(0), None);
        for code in (1..100).chain(10_000..10_020) {
            assert_eq!(NfsStatus::from_code(code).map(NfsStatus::code), Some(code));
        }
    }

    #[test]
    fn a_failure_keeps_the_servers_status() {
        let error = NfsStatus::Jukebox.failure("READ");
        assert_eq!((error.class, error.detail.as_str()), (ErrorClass::Busy, "NFS3ERR_JUKEBOX"));
        assert_eq!(NfsStatus::Stale.class(), ErrorClass::Stale);
    }
}
