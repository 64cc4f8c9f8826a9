//! The open files of a session, and what the server promised about its writes.

use std::ops::{Deref, DerefMut};

use sharebench_client_core::{OpenFileTable, submit_error};
use sharebench_model::{
    ErrorClass, Fact, FileRef, IoPolicy, OpError, OpStep, PolicyCount, Stability, TargetFacts,
};

use crate::client::rpc::calls::ExpectedReply;
use crate::client::rpc::replies::ReplyContent;
use crate::protocol::StableHow;
use crate::results::WriteVerifier;

/// What a WRITE has to request.
pub(crate) const fn stable_how(stability: Stability) -> StableHow {
    match stability {
        Stability::Unstable => StableHow::Unstable,
        Stability::Durable => StableHow::FileSync,
    }
}

/// The open files of a session, with the checks of the replies to their READs, WRITEs and COMMITs.
#[derive(Debug)]
pub(crate) struct OpenFiles<H> {
    table: OpenFileTable<OpenFile<H>>,
    /// The server's last write verifier, which identifies its boot.
    verifier: Option<WriteVerifier>,
    policy: PolicyCount,
}

impl<H> Default for OpenFiles<H> {
    fn default() -> Self {
        Self { table: OpenFileTable::default(), verifier: None, policy: PolicyCount::default() }
    }
}

impl<H> Deref for OpenFiles<H> {
    type Target = OpenFileTable<OpenFile<H>>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.table
    }
}

impl<H> DerefMut for OpenFiles<H> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.table
    }
}

impl<H> OpenFiles<H> {
    /// Requests that carried a policy, and replies that stated more than they had to.
    pub(crate) fn policy_count(&self) -> PolicyCount {
        self.policy
    }

    /// The last write verifier, if there was one.
    pub(crate) fn add_fact(&self, facts: &mut TargetFacts) {
        if let Some(verifier) = self.verifier {
            facts.state(Fact::WriteVerifier, format!("{:016x}", u64::from_be_bytes(verifier)));
        }
    }

    /// Counts a WRITE by what it carries, not by the plan, so that the check `write-through` compares what was sent.
    #[inline]
    pub(crate) fn count_write(&mut self, stability: Stability) {
        self.policy.through += u64::from(stability == Stability::Durable);
    }

    /// The result of a READ, WRITE or COMMIT: how many bytes it transferred.
    #[inline]
    pub(crate) fn check_reply(
        &mut self,
        expected: ExpectedReply,
        result: Result<ReplyContent, OpError>,
    ) -> Result<u32, OpError> {
        let content = match (expected, result) {
            (_, Ok(content)) => content,
            (ExpectedReply::Flush { file }, Err(error)) => {
                return self.table.get(FileRef(file))?.without_commit(error);
            }
            (_, Err(error)) => return Err(error),
        };
        match (expected, content) {
            (_, ReplyContent::Read(count)) => Ok(count),
            (ExpectedReply::Write { file, len, stability }, ReplyContent::Written(written)) => {
                self.verifier = Some(written.verifier);
                if written.count != len {
                    return Err(submit_error::short_write(written.count, len));
                }
                if written.committed < stable_how(stability) {
                    let committed = written.committed.name();
                    let detail =
                        format!("FILE_SYNC was requested, the server answers {committed}: no write-through");
                    return Err(OpError::new(ErrorClass::Protocol, OpStep::Request("WRITE"), detail));
                }
                // Servers may write more durably than requested; the count shows what was measured.
                self.policy.stable += u64::from(written.committed == StableHow::FileSync);
                if written.committed == StableHow::Unstable
                    && let Ok(open) = self.table.get_mut(FileRef(file))
                {
                    open.record_write(written.verifier);
                }
                Ok(len)
            }
            (ExpectedReply::Flush { file }, ReplyContent::Committed(verifier)) => {
                self.verifier = Some(verifier);
                self.table.get_mut(FileRef(file))?.record_commit(verifier).map(|()| 0)
            }
            _ => Err(OpError::new(ErrorClass::Protocol, OpStep::Reply, "the result of another procedure")),
        }
    }
}

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
