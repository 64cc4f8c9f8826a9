//! The error numbers of Unix.

use sharebench_model::ErrorClass;

use crate::error_code::{KnownCode, known_codes};

pub(crate) type Code = libc::c_int;

/// For errors that have no number.
pub(crate) const GENERAL: Code = libc::EIO;
/// There is not enough memory.
pub(crate) const NO_MEMORY: Code = libc::ENOMEM;
/// What a number without a name is called.
pub(crate) const UNNAMED: &str = "errno";

pub(crate) const KNOWN: &[KnownCode] = known_codes! {
    libc:
    Refused: EACCES EPERM EISDIR ELOOP ENAMETOOLONG EMFILE ENFILE EXDEV;
    NotFound: ENOENT ENOTDIR ENODEV ENXIO;
    Exists: EEXIST;
    NotEmpty: ENOTEMPTY;
    NoSpace: ENOSPC EDQUOT ENOMEM;
    ReadOnly: EROFS;
    Stale: ESTALE EBADF;
    Busy: EBUSY ETXTBSY EAGAIN EDEADLK ENOLCK EINTR;
    Timeout: ETIMEDOUT;
    Disconnected: ECONNRESET ECONNABORTED ECONNREFUSED EPIPE ENOTCONN ESHUTDOWN EHOSTDOWN EHOSTUNREACH
        ENETDOWN ENETUNREACH;
    Protocol: EPROTO EBADMSG;
    Unsupported: EOPNOTSUPP ENOSYS EFBIG EINVAL;
    Io: EIO ECANCELED;
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_code::ErrorCode;

    #[test]
    fn numbers_have_classes_and_names() {
        let full = ErrorCode(libc::ENOSPC).at("pwrite");
        assert_eq!(full.to_string(), "pwrite: no space (ENOSPC (28))");
        assert_eq!(ErrorCode(libc::EACCES).class(), ErrorClass::Refused);
        assert_eq!(
            (ErrorCode(9999).class(), ErrorCode(9999).name().as_str()),
            (ErrorClass::Io, "errno 9999")
        );
    }
}
