//! Expected outcomes in loadfiles: names and numbers of NT status codes (MS-ERREF 2.3.1).

use sharebench_model::ErrorClass;

use super::Expected;

/// Name, number, and the class that an operation failing so has over every protocol here; none for success.
const STATUSES: [(&str, u32, Option<ErrorClass>); 19] = [
    ("NT_STATUS_OK", 0, None),
    ("NT_STATUS_NO_MORE_FILES", 0x8000_0006, Some(ErrorClass::NotFound)),
    ("NT_STATUS_NO_SUCH_FILE", 0xC000_000F, Some(ErrorClass::NotFound)),
    ("NT_STATUS_END_OF_FILE", 0xC000_0011, None),
    ("NT_STATUS_ACCESS_DENIED", 0xC000_0022, Some(ErrorClass::Refused)),
    ("NT_STATUS_OBJECT_NAME_INVALID", 0xC000_0033, Some(ErrorClass::NotFound)),
    ("NT_STATUS_OBJECT_NAME_NOT_FOUND", 0xC000_0034, Some(ErrorClass::NotFound)),
    ("NT_STATUS_OBJECT_NAME_COLLISION", 0xC000_0035, Some(ErrorClass::Exists)),
    ("NT_STATUS_OBJECT_PATH_NOT_FOUND", 0xC000_003A, Some(ErrorClass::NotFound)),
    ("NT_STATUS_SHARING_VIOLATION", 0xC000_0043, Some(ErrorClass::Busy)),
    ("NT_STATUS_FILE_LOCK_CONFLICT", 0xC000_0054, Some(ErrorClass::Busy)),
    ("NT_STATUS_LOCK_NOT_GRANTED", 0xC000_0055, Some(ErrorClass::Busy)),
    ("NT_STATUS_DELETE_PENDING", 0xC000_0056, Some(ErrorClass::Busy)),
    ("NT_STATUS_RANGE_NOT_LOCKED", 0xC000_007E, Some(ErrorClass::Busy)),
    ("NT_STATUS_DISK_FULL", 0xC000_007F, Some(ErrorClass::NoSpace)),
    ("NT_STATUS_MEDIA_WRITE_PROTECTED", 0xC000_00A2, Some(ErrorClass::ReadOnly)),
    ("NT_STATUS_FILE_IS_A_DIRECTORY", 0xC000_00BA, Some(ErrorClass::Refused)),
    ("NT_STATUS_DIRECTORY_NOT_EMPTY", 0xC000_0101, Some(ErrorClass::NotEmpty)),
    ("NT_STATUS_CANNOT_DELETE", 0xC000_0121, Some(ErrorClass::Refused)),
];

/// The outcome that the last word of a line names; none where it is no status.
pub(super) fn expected(word: &str) -> Option<Expected> {
    if word == "*" {
        return Some(Expected::Any);
    }
    let number = word.strip_prefix("0x").and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let known = STATUSES.iter().find(|(name, code, _)| *name == word || number == Some(*code));
    known.map(|(name, _, class)| class.map_or(Expected::Success, |class| Expected::Failure(class, name)))
}
