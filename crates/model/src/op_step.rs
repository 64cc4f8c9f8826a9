//! The step of an operation that failed.

use std::fmt;

/// Where an operation failed: the request or system call, or the part of the client that rejected it.
///
/// One operation of the engine can take several steps: opening a file over NFS is a check of the path, a LOOKUP for
/// each directory, and an entry in the table of open files. [`OpError`](crate::OpError) has the step, because the class
/// and the text of the peer alone do not show which of them to investigate. The steps are an enum, so that the same
/// failure has the same name in every protocol, and code can distinguish a failure that a server reported from one that
/// the client found itself. The two variants for requests and system calls carry a name, because each protocol has its
/// own requests; the text is the one by which the protocol's specification or the manual page lists it.
///
/// The [`Display`](fmt::Display) form begins every message of an error, as in `READ: stale handle (NFS3ERR_STALE)`. A
/// request or system call is shown by its name alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpStep {
    /// A request of the protocol, by its name in the specification: `READ`, `SET_INFO`, `LOOKUP`. NCP numbers its
    /// requests, and targets in memory have none; they use the name of the client's call: `set size`.
    Request(&'static str),
    /// A system call: `pread`, `openat`, `mmap`.
    SystemCall(&'static str),
    /// The session could not be opened: connecting, logging in, mounting.
    Connect,
    /// The session is not open, or an open one was lost: its connection failed, or carried bytes that are no reply.
    Session,
    /// The client rejected a name before it sent anything.
    Path,
    /// The client's own open files: the reference is not open, the table is full, or the policy cannot be kept.
    OpenFile,
    /// The client rejected the operation before it sent anything: the slot is in use, or there is no such operation.
    Submit,
    /// No reply came within the deadline, or it is not the reply to this operation.
    Reply,
    /// A cache of the client: it does not exist, could not be dropped, or could not be written back.
    ClientCache,
    /// The data differ from those that were written, or there are fewer of them.
    Verify,
    /// The operation of a loadfile had another outcome than the recorded one.
    Replay,
    /// A fault that a test injected.
    Injected,
}

impl OpStep {
    /// The text that begins a message.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Request(name) | Self::SystemCall(name) => name,
            Self::Connect => "connect",
            Self::Session => "session",
            Self::Path => "path",
            Self::OpenFile => "open file",
            Self::Submit => "submit",
            Self::Reply => "reply",
            Self::ClientCache => "client cache",
            Self::Verify => "verify",
            Self::Replay => "replay",
            Self::Injected => "injected fault",
        }
    }
}

impl fmt::Display for OpStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorClass, OpError};

    #[test]
    fn an_error_begins_with_the_name_of_its_step() {
        let stale = OpError::new(ErrorClass::Stale, OpStep::Request("READ"), "NFS3ERR_STALE");
        assert_eq!(stale.to_string(), "READ: stale handle (NFS3ERR_STALE)");
        assert_eq!(OpError::no_session().to_string(), "session: disconnected (no session)");
        assert_ne!(OpStep::Request("read"), OpStep::SystemCall("read"));
    }
}
