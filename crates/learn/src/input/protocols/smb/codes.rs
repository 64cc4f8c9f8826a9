//! What rights and statuses of SMB mean.

use sharebench_smb::NtStatus;
use sharebench_smb::wire::create::access;

use crate::operation::{Access, Outcome};

/// Rights to change what a file holds.
const WRITES: u32 = access::WRITE_DATA | access::APPEND_DATA | access::GENERIC_ALL | access::GENERIC_WRITE;
/// Rights to read, run or remove it, and the maximum, which may include them.
const READS: u32 = access::READ_DATA
    | access::EXECUTE
    | access::DELETE
    | access::GENERIC_EXECUTE
    | access::GENERIC_READ
    | access::MAXIMUM_ALLOWED;

/// What an open is for, by the rights that it requests (MS-SMB2 2.2.13.1.1, MS-CIFS 2.2.4.64.1).
pub(crate) const fn access_of(rights: u32) -> Access {
    if rights & WRITES != 0 {
        Access::Write
    } else if rights & READS != 0 {
        Access::Read
    } else {
        Access::Attributes
    }
}

/// How an operation with this status ended.
pub(crate) const fn outcome_of(status: NtStatus) -> Outcome {
    match status {
        NtStatus::SUCCESS | NtStatus::BUFFER_OVERFLOW | NtStatus::NO_MORE_FILES | NtStatus::END_OF_FILE => {
            Outcome::Done
        }
        NtStatus::NO_SUCH_FILE | NtStatus::OBJECT_NAME_NOT_FOUND | NtStatus::OBJECT_PATH_NOT_FOUND => {
            Outcome::NotFound
        }
        NtStatus(status) => Outcome::Failed(status),
    }
}
