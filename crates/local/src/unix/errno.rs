//! Error numbers of the system, as classes and names.

use libc::c_int;
use sharebench_model::{ErrorClass, OpError, OpStep};

/// An error number as a system call left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Errno(pub c_int);

impl Errno {
    /// The calling thread's last one.
    pub fn last() -> Self {
        Self(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
    }

    pub fn class(self) -> ErrorClass {
        KNOWN.iter().find(|(number, ..)| *number == self.0).map_or(ErrorClass::Io, |known| known.2)
    }

    /// `ENOSPC (28)`, or the number alone.
    pub fn name(self) -> String {
        match KNOWN.iter().find(|(number, ..)| *number == self.0) {
            Some((number, name, _)) => format!("{name} ({number})"),
            None => format!("errno {}", self.0),
        }
    }

    /// The error of a system call that left this number.
    #[cold]
    pub fn at(self, call: &'static str) -> OpError {
        OpError::new(self.class(), OpStep::SystemCall(call), self.name())
    }
}

macro_rules! known {
    ($($class:ident: $($name:ident)+;)+) => {
        &[$($((libc::$name, stringify!($name), ErrorClass::$class)),+),+]
    };
}

const KNOWN: &[(c_int, &str, ErrorClass)] = known! {
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

    #[test]
    fn numbers_have_classes_and_names() {
        let full = Errno(libc::ENOSPC).at("pwrite");
        assert_eq!(full.to_string(), "pwrite: no space (ENOSPC (28))");
        assert_eq!(Errno(libc::EACCES).class(), ErrorClass::Refused);
        assert_eq!((Errno(9999).class(), Errno(9999).name().as_str()), (ErrorClass::Io, "errno 9999"));
    }

    #[test]
    fn no_number_is_listed_twice() {
        for (index, (number, name, _)) in KNOWN.iter().enumerate() {
            let twice = KNOWN[index + 1..].iter().any(|(other, ..)| other == number);
            assert!(!twice, "{name} is listed twice");
        }
    }
}
