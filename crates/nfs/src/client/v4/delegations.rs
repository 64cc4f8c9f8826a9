//! Delegations of versions 4.1 and 4.2: files that are opened with one, and its return when the server recalls it.

use std::future::poll_fn;
use std::task::Poll;

use sharebench_model::{CacheRight, FileRef, IoPolicy, MetaYield, OpError, OpenHow};
use sharebench_target::{CacheRights, CallResult};

use crate::client::v4::names::{OpenedAs, Wish};
use crate::client::v4::session::Nfs4Session;
use crate::client::v4::states::HeldDelegation;
use crate::v4::open::{DENY_NONE, WANT_READ_DELEGATION};

impl CacheRights for Nfs4Session {
    /// OPEN for reading with the wish for a delegation (RFC 8881, 18.16.3). Callbacks of version 4.0 need a connection from the
    /// server to the client, which this client does not accept.
    async fn open_delegated(&mut self, path: &str) -> CallResult {
        if !self.is_sequenced() {
            return Err(OpError::unsupported("this client takes no delegations of NFS 4.0"));
        }
        self.callback_slot.forget_recalls();
        let wish = Wish { how: OpenHow::Read, deny: DENY_NONE, delegation: WANT_READ_DELEGATION };
        let OpenedAs { file, handle, delegation, .. } =
            self.open_wishing(path, wish, IoPolicy::default()).await?;
        self.options.delegations.wanted(delegation.is_some());
        let Some(state) = delegation else {
            return Ok(MetaYield::OpenedToCache { file, right: CacheRight::None });
        };
        self.delegation = Some(HeldDelegation { file, handle, state });
        Ok(MetaYield::OpenedToCache { file, right: CacheRight::Reads })
    }

    /// Waits for `CB_RECALL` (RFC 8881, 20.2).
    async fn await_recall(&mut self, file: FileRef) -> CallResult {
        let Some(held) = self.delegation.filter(|held| held.file == file) else {
            return Err(OpError::no_right());
        };
        poll_fn(|cx| {
            self.renew_while_idle(cx);
            if let Some(error) = self.channel.failure() {
                return Poll::Ready(Err(error));
            }
            if self.callback_slot.is_recalled(held.state) { Poll::Ready(Ok(())) } else { Poll::Pending }
        })
        .await?;
        Ok(MetaYield::Done)
    }

    async fn give_back(&mut self, file: FileRef) -> CallResult {
        let had_one = self.end_delegation_of(file).await?;
        had_one.then_some(MetaYield::Done).ok_or_else(OpError::no_right)
    }
}

impl Nfs4Session {
    /// Returns the delegation of a file, recalled or not; false if it has none.
    pub(crate) async fn end_delegation_of(&mut self, file: FileRef) -> Result<bool, OpError> {
        let Some(held) = self.delegation.take_if(|held| held.file == file) else { return Ok(false) };
        if self.callback_slot.is_recalled(held.state) {
            self.options.delegations.recalled();
        }
        self.return_delegation(held.handle, held.state).await?;
        Ok(true)
    }
}
