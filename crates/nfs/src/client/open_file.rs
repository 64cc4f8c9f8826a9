//! An open file of a session, and what the server promised about its writes.

use sharebench_model::{ErrorClass, IoPolicy, OpError, OpStep, Stability};

use crate::results::WriteVerifier;

/// A file that a session opened. `H` is what the protocol needs to refer to it: the handle in version 3, which has no
/// open files; the handle with the state of the open from version 4 on.
#[derive(Debug)]
pub(crate) struct OpenFile<H> {
    pub(crate) handle: H,
    /// Policy that the file was opened with.
    policy: IoPolicy,
    /// Verifier of the first unstable WRITE since the last COMMIT.
    verifier: Option<WriteVerifier>,
    /// A later WRITE had another verifier.
    changed: bool,
}

impl<H> OpenFile<H> {
    pub(crate) fn new(handle: H, policy: IoPolicy) -> Self {
        Self { handle, policy, verifier: None, changed: false }
    }

    /// The stability of a write to this file: as requested, and never less than the file's policy.
    #[inline]
    pub(crate) fn stability(&self, requested: Stability) -> Stability {
        if self.policy.writes_through() { Stability::Durable } else { requested }
    }

    /// Records the verifier of an unstable WRITE.
    #[inline]
    pub(crate) fn record_write(&mut self, verifier: WriteVerifier) {
        self.changed |= *self.verifier.get_or_insert(verifier) != verifier;
    }

    /// The outcome of a COMMIT that failed. A server without COMMIT stores each WRITE at once, so that nothing is left to commit.
    #[cold]
    pub(crate) fn without_commit(&self, error: OpError) -> Result<u32, OpError> {
        let stored = error.class == ErrorClass::Unsupported && self.verifier.is_none();
        if stored { Ok(0) } else { Err(error) }
    }

    /// Completes a COMMIT. A changed verifier is an error: the server restarted and may have lost writes since the last
    /// COMMIT (RFC 1813, 3.3.7).
    pub(crate) fn record_commit(&mut self, verifier: WriteVerifier) -> Result<(), OpError> {
        self.record_write(verifier);
        let changed = std::mem::take(&mut self.changed);
        self.verifier = None;
        if changed {
            return Err(OpError::new(
                ErrorClass::Io,
                OpStep::Request("COMMIT"),
                "write verifier changed: server restarted, unstable writes may be lost",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_commit_has_lost_nothing_if_it_has_stored_each_write() {
        let mut open = OpenFile::new((), IoPolicy::default());
        let error = |class| OpError::new(class, OpStep::Request("COMMIT"), "failed");
        assert_eq!(open.without_commit(error(ErrorClass::Unsupported)), Ok(0));
        assert!(open.without_commit(error(ErrorClass::Io)).is_err());
        open.record_write([1; 8]);
        assert!(open.without_commit(error(ErrorClass::Unsupported)).is_err(), "an unstable write");
    }

    #[test]
    fn a_restart_between_write_and_commit_is_reported_once() {
        let mut open = OpenFile::new((), IoPolicy::default());
        open.record_write([1; 8]);
        assert_eq!(open.record_commit([1; 8]), Ok(()));
        open.record_write([1; 8]);
        let error = open.record_commit([2; 8]).unwrap_err();
        assert_eq!(error.class, ErrorClass::Io);
        assert!(error.detail.contains("server restarted"));
        open.record_write([2; 8]);
        assert_eq!(open.record_commit([2; 8]), Ok(()));
    }
}
