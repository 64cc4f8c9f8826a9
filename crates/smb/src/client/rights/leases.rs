//! Leases, oplocks and durable handles that opens request, and the breaks that the session acknowledges.

use std::future::poll_fn;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::task::Poll;

use sharebench_model::{CacheRight, FileRef, IoPolicy, MetaYield, OpError, OpenHow};
use sharebench_target::{CacheRights, CallResult};

use crate::client::channels::session_counts::LEASE_STATES;
use crate::client::exchange::Exchange;
use crate::client::names::policy::access_and_disposition;
use crate::client::negotiated::LEASING;
use crate::client::open_file::OpenFile;
use crate::client::rights::lease_choice::{CreateExtras, LeaseChoice, Opens};
use crate::client::session::SmbSession;
use crate::crypto::random;
use crate::wire::create::{CreateResponse, options};
use crate::wire::create_context::{CreateContext, contexts, name};
use crate::wire::durable::{self, DurableGrant, DurableRequest};
use crate::wire::lease::{HANDLE, LEVEL, LeaseContext, READ, WRITE};
use crate::wire::{FileId, oplock};

impl CacheRights for SmbSession {
    /// Opens a file with a request for a lease on everything (MS-SMB2 3.2.4.3.8), whatever the URL requests. A server without
    /// leases is requested a batch oplock, which permits the same. Its break is awaited from now on.
    async fn open_leased(&mut self, path: &str) -> CallResult {
        let dialect = self.negotiated.dialect;
        let oldest = LeaseChoice::File(READ).oldest_dialect();
        if dialect < oldest || self.negotiated.capabilities & LEASING == 0 {
            return self.open_with_oplock(path).await;
        }
        let key = self.lease_key(path);
        self.channels.expect_break_of(key);
        let mut extras = CreateExtras::default();
        extras.request_lease(key, READ | HANDLE | WRITE, dialect);
        let (id, response) = self.create_to_cache(extras, path).await?;
        let right = match self.granted_lease(&response) {
            state if state & WRITE != 0 => CacheRight::Writes,
            state if state & READ != 0 => CacheRight::Reads,
            _ => CacheRight::None,
        };
        self.hold(id, right).await
    }

    /// Waits for the break of the lease or oplock of [`Self::open_leased`]. The channel acknowledges it, as every break.
    async fn await_recall(&mut self, file: FileRef) -> CallResult {
        if self.leased != Some(file) {
            return Err(OpError::no_right());
        }
        poll_fn(|cx| {
            self.channels.listen(cx);
            if let Some(error) = self.channels.failure() {
                return Poll::Ready(Err(error));
            }
            if self.channels.is_broken() { Poll::Ready(Ok(())) } else { Poll::Pending }
        })
        .await?;
        Ok(MetaYield::Done)
    }

    /// The right of this file was taken back and the break acknowledged.
    async fn give_back(&mut self, file: FileRef) -> CallResult {
        match self.leased.take_if(|leased| *leased == file) {
            Some(_) => Ok(MetaYield::Done),
            None => Err(OpError::no_right()),
        }
    }
}

impl SmbSession {
    async fn open_with_oplock(&mut self, path: &str) -> CallResult {
        self.channels.oplock_requested();
        let extras = CreateExtras { oplock: oplock::BATCH, ..CreateExtras::default() };
        let (id, response) =
            self.create_to_cache(extras, path).await.inspect_err(|_| self.channels.forget_oplock())?;
        self.counts.oplock_granted(response.oplock);
        self.channels.oplock_granted(id, response.oplock);
        let right = match response.oplock {
            oplock::BATCH | oplock::EXCLUSIVE => CacheRight::Writes,
            oplock::LEVEL_II => CacheRight::Reads,
            _ => CacheRight::None,
        };
        self.hold(id, right).await
    }

    async fn create_to_cache(
        &mut self,
        extras: CreateExtras,
        path: &str,
    ) -> Result<(FileId, CreateResponse), OpError> {
        let (rights, disposition) = access_and_disposition(OpenHow::ReadWrite);
        self.create_with(extras, path, rights, disposition, options::NON_DIRECTORY_FILE).await
    }

    /// Keeps an open file with the right that was granted.
    async fn hold(&mut self, id: FileId, right: CacheRight) -> CallResult {
        match self.files.open(OpenFile { id, policy: IoPolicy::default() }) {
            Ok(file) => {
                self.leased = (right != CacheRight::None).then_some(file);
                Ok(MetaYield::OpenedToCache { file, right })
            }
            Err(error) => {
                self.close_file(id).await?;
                Err(error)
            }
        }
    }

    /// The contexts of a CREATE: the lease, the durable handle, and the identity of a CREATE that may be repeated.
    ///
    /// A session with several channels always sends the GUID of `DH2Q`: without it a server would perform a CREATE that is
    /// repeated after the loss of a channel twice (MS-SMB2 3.3.5.9.10). Without an oplock or a lease the handle is not
    /// durable.
    pub(crate) fn create_extras(&self, path: &str, opens: Opens) -> CreateExtras {
        let mut extras = CreateExtras::default();
        let dialect = self.negotiated.dialect;
        let state = match opens {
            Opens::File => self.lease.state(false),
            Opens::Directory => self.lease.state(true),
            Opens::Attributes => 0,
        };
        if state != 0 && dialect >= self.lease.oldest_dialect() {
            extras.request_lease(self.lease_key(path), state, dialect);
        }
        extras.durable = self.durable && opens == Opens::File;
        if dialect >= 0x0300 && (extras.durable || self.channels.count() > 1) {
            let request = DurableRequest { guid: random(), ..DurableRequest::default() };
            extras.contexts.push(CreateContext::new(durable::REQUEST, &request.encode()));
        }
        extras
    }

    /// The key of the lease of a file. All opens of a file in a session have the same key, because an open with another key
    /// would break the lease of the first (MS-SMB2 3.3.5.9.11).
    fn lease_key(&self, path: &str) -> [u8; 16] {
        let mut key = [0; 16];
        for (half, bytes) in key.chunks_exact_mut(8).enumerate() {
            let mut hasher = DefaultHasher::new();
            (half, self.negotiated.offer.guid, path).hash(&mut hasher);
            bytes.copy_from_slice(&hasher.finish().to_le_bytes());
        }
        key
    }

    /// Counts what a server granted. Contexts that cannot be read grant nothing.
    pub(crate) fn count_grants(&self, extras: &CreateExtras, response: &CreateResponse) {
        if !extras.lease && !extras.durable {
            return;
        }
        if extras.lease {
            self.counts.lease_granted(self.granted_lease(response) as usize % LEASE_STATES);
        }
        if extras.durable {
            let context = self.granted_context(response, durable::REQUEST);
            let granted = context.is_some_and(|context| DurableGrant::decode(&context.data).is_ok());
            self.counts.durable_requested(granted);
        }
    }

    /// A context of the response to the last CREATE, which can be read.
    fn granted_context(&self, response: &CreateResponse, name: &[u8]) -> Option<CreateContext> {
        let offset = response.contexts_offset as usize;
        let len = response.contexts_len as usize;
        let list = offset.checked_add(len).and_then(|end| self.last_reply().get(offset..end))?;
        contexts(list).ok()?.into_iter().find(|context| context.name == name)
    }

    /// The state of the lease that the response to the last CREATE grants; 0 for none.
    fn granted_lease(&self, response: &CreateResponse) -> u32 {
        let context = self.granted_context(response, name::REQUEST_LEASE);
        let lease = context.and_then(|context| LeaseContext::decode(&context.data).ok());
        lease.filter(|_| response.oplock == LEVEL).map_or(0, |lease| lease.state)
    }
}
