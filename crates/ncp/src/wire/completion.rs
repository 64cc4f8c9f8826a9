//! Completion codes: the result of a request (docs/protocols/ncp.md 3.6).

macro_rules! completions {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $meaning:literal;)*) => {
        /// The completion code of a reply, its seventh byte.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Completion {
            $(#[doc = concat!($meaning, ".")] $(#[$doc])* $variant,)*
            /// A code without a known meaning.
            Other(u8),
        }

        impl Completion {
            /// All codes with a known meaning, in ascending order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The code on the wire.
            pub const fn code(self) -> u8 {
                match self {
                    $(Self::$variant => $code,)*
                    Self::Other(code) => code,
                }
            }

            /// The completion of a code.
            pub const fn from_code(code: u8) -> Self {
                match code {
                    $($code => Self::$variant,)*
                    other => Self::Other(other),
                }
            }

            /// The meaning in the terms of the protocol documents.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)*
                    Self::Other(_) => "unknown completion code",
                }
            }
        }
    };
}

completions! {
    Success = 0x00, "done";
    /// In the calls of semaphores: the value would exceed 127.
    OutOfDiskSpace = 0x01, "out of disk space, or overflow of a semaphore";
    LockWait = 0x7F, "locked by another, or the wait for the lock timed out";
    FileInUse = 0x80, "file in use or locked";
    NoFileHandles = 0x81, "out of file handles";
    NoOpenRights = 0x82, "no rights to open";
    HardIoError = 0x83, "hard I/O error";
    NoCreateRights = 0x84, "no rights to create";
    FileExists = 0x85, "file exists, or no rights to delete or overwrite it";
    WildcardInCreateName = 0x87, "wildcard in the name of a new file";
    InvalidFileHandle = 0x88, "invalid file handle";
    NoSearchRights = 0x89, "no rights to search";
    NoDeleteRights = 0x8A, "no rights to delete";
    NoRenameRights = 0x8B, "no rights to rename";
    NoModifyRights = 0x8C, "no rights to modify";
    SomeFilesInUse = 0x8D, "some files in use";
    AllFilesInUse = 0x8E, "all files in use";
    SomeReadOnly = 0x8F, "some files read-only";
    AllReadOnly = 0x90, "all files read-only";
    SomeNamesExist = 0x91, "some names exist";
    AllNamesExist = 0x92, "name exists";
    NoReadRights = 0x93, "no rights to read";
    NoWriteRights = 0x94, "no rights to write, or read-only";
    FileDetached = 0x95, "file detached";
    ServerOutOfMemory = 0x96, "server out of memory";
    NoSuchVolume = 0x98, "no such volume";
    DirectoryFull = 0x99, "directory full";
    RenameAcrossVolumes = 0x9A, "rename across volumes";
    BadDirectoryHandle = 0x9B, "bad directory handle";
    InvalidPath = 0x9C, "invalid path";
    NoDirectoryHandles = 0x9D, "out of directory handles";
    BadFileName = 0x9E, "bad file name";
    DirectoryInUse = 0x9F, "directory in use";
    DirectoryNotEmpty = 0xA0, "directory not empty";
    DirectoryIoError = 0xA1, "I/O error of a directory";
    IoOnLockedRegion = 0xA2, "region locked by another";
    InvalidOpenMode = 0xA5, "invalid open mode";
    SignatureRequired = 0xAC, "packet signature required";
    InvalidNameSpace = 0xBF, "invalid name space";
    IntruderLockout = 0xC5, "locked out as an intruder";
    EncryptedLoginRequired = 0xD6, "login with a clear password refused";
    ConnectionLimit = 0xD9, "too many connections of this user";
    TimeRestriction = 0xDA, "login not allowed at this time";
    AddressRestriction = 0xDB, "login not allowed from this address";
    AccountDisabled = 0xDC, "account disabled or expired";
    BadPassword = 0xDE, "bad password, or expired without grace";
    /// The login succeeded nevertheless.
    PasswordExpired = 0xDF, "password expired";
    NoSuchMember = 0xEA, "no such member of the set";
    NotASet = 0xEB, "property is not a set";
    NoSuchSegment = 0xEC, "no such segment of the property";
    PropertyExists = 0xED, "property exists";
    ObjectExists = 0xEE, "object exists";
    InvalidName = 0xEF, "invalid name of an object or property";
    WildcardNotAllowed = 0xF0, "wildcard not allowed";
    BinderySecurity = 0xF1, "refused by the bindery's security";
    NoConnectionSlot = 0xF9, "no free slot for a connection or property";
    /// In the bindery also: no such property.
    UnknownFunction = 0xFB, "unknown function, or no such property";
    NoSuchObject = 0xFC, "no such object";
    BadConnectionNumber = 0xFD, "bad connection number, or lock collision";
    LockTimeout = 0xFE, "lock timed out, or bindery locked";
    /// Also the regular end of every search.
    Failure = 0xFF, "failure, or none found";
}

impl Completion {
    /// True when the reply carries data.
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Success)
    }
}

impl std::fmt::Display for Completion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (0x{:02X})", self.meaning(), self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_completion_code_survives_the_round_trip() {
        for code in 0..=255 {
            assert_eq!(Completion::from_code(code).code(), code);
        }
        assert!(Completion::ALL.windows(2).all(|pair| pair[0].code() < pair[1].code()));
    }

    /// docs/protocols/ncp.md 3.6.
    #[test]
    fn completion_code_has_its_meaning() {
        assert_eq!(Completion::from_code(0x9c), Completion::InvalidPath);
        assert_eq!(Completion::InvalidPath.to_string(), "invalid path (0x9C)");
        assert_eq!(Completion::from_code(0x33).to_string(), "unknown completion code (0x33)");
        assert!(Completion::Success.is_success() && !Completion::PasswordExpired.is_success());
    }
}
