//! Durable and resilient opens: what a client finds again after it has lost its connection (MS-SMB2 3.3.5.9.6 to 3.3.5.9.12,
//! 3.3.5.15.9).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sharebench_smb::NtStatus;
use sharebench_smb::wire::create_context::{CreateContext, name};
use sharebench_smb::wire::durable::DurableContext;
use sharebench_smb::wire::lease::HANDLE;
use sharebench_smb::wire::{FileId, Reader};
use tokio::runtime::Handle;

use crate::smb::caching::cache_request::CacheRequest;
use crate::smb::files::durability::{Durability, ReconnectTarget};
use crate::smb::files::lost_opens::LostOpen;
use crate::smb::files::open_file::{File, OpenFile};
use crate::smb::session::deferred::DeferredRequests;
use crate::smb::session::established::Session;
use crate::smb::state::ServerState;
use crate::smb::status::Outcome;
use crate::volume::name::fold_case;

/// Maximum number of opens that wait for their clients.
const MAX_LOST: usize = 4096;
/// The usual and the longest time of a resilient open.
const KEPT_RESILIENT: Duration = Duration::from_secs(120);
const MAX_KEPT_RESILIENT: Duration = Duration::from_secs(300);

/// Time within which the server knows that a connection has ended.
const LOSS_NOTICED: Duration = Duration::from_millis(200);

impl OpenFile {
    /// Keeps the open after a loss, whatever other clients need (`NETWORK_RESILIENCY_REQUEST`, MS-SMB2 2.2.31.3).
    ///
    /// # Errors
    /// `STATUS_INVALID_PARAMETER` for a request that is cut, or a longer time than 5 minutes.
    pub(crate) fn make_resilient(&self, request: &[u8]) -> Outcome<()> {
        let mut reader = Reader::new(request, "NETWORK_RESILIENCY_REQUEST");
        let words = (reader.get::<u32>(), reader.get::<u32>());
        let (Ok(milliseconds), Ok(_)) = words else { return Err(NtStatus::INVALID_PARAMETER) };
        let wanted = Duration::from_millis(u64::from(milliseconds));
        if wanted > MAX_KEPT_RESILIENT {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let time = if wanted.is_zero() { KEPT_RESILIENT } else { wanted };
        self.resilience.store(time.as_millis() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn is_resilient(&self) -> bool {
        self.resilience.load(Ordering::Relaxed) != 0
    }

    /// How the open outlives its connection.
    fn durability(&self) -> Option<Durability> {
        let time = Duration::from_millis(self.resilience.load(Ordering::Relaxed));
        if time.is_zero() {
            return self.durable;
        }
        Some(Durability { guid: self.durable.and_then(|durable| durable.guid), time })
    }
}

impl File {
    /// True if the client of an open caches its handle.
    fn keeps_handle(&self, open: u64) -> bool {
        let state = self.state();
        !state.delete_pending
            && state.grants.iter().any(|grant| {
                // Somebody waits for a break that nobody will acknowledge.
                grant.has(open) && grant.state & HANDLE != 0 && grant.breaking.is_none()
            })
    }
}

impl ServerState {
    /// Keeps an open for its client, or closes it after the changes that are in progress.
    pub(crate) fn lose_open(self: &Arc<Self>, session: &Session, open: &Arc<OpenFile>) {
        let keeps = || open.is_resilient() || open.file.keeps_handle(open.id.volatile);
        let durable = open.durability().filter(|_| !open.deletes() && keeps());
        let Some(durability) = durable else { return self.close_unkept(open) };
        let number = self.new_id();
        let id = open.id.volatile;
        {
            let mut all = self.lost.all();
            if all.len() < MAX_LOST {
                all.insert(id, LostOpen { open: Arc::clone(open), account: session.account.clone(), number });
            } else {
                drop(all);
                return self.close_unkept(open);
            }
        }
        let awaited = self.lost.awaited().remove(&id);
        if let Some(deferred) = awaited {
            deferred.release();
        }
        if let Some(runtime) = &open.file.runtime {
            let server = Arc::clone(self);
            runtime.spawn(async move {
                tokio::time::sleep(durability.time).await;
                let late = server.lost.all().get(&id).is_some_and(|lost| lost.number == number);
                let expired = late.then(|| server.lost.all().remove(&id)).flatten();
                if let Some(lost) = expired {
                    server.files.close(&lost.open, server.volume.as_ref());
                }
            });
        }
    }

    /// Closes an open that the client may open again by its name.
    fn close_unkept(&self, open: &OpenFile) {
        open.changes.wait();
        self.files.close(open, self.volume.as_ref());
    }

    /// What to wait for until an open is lost, for a short time: a new connection may be faster than the end of the old one.
    pub(crate) fn await_lost(
        self: &Arc<Self>,
        file: FileId,
        runtime: &Handle,
    ) -> Option<Arc<DeferredRequests>> {
        let mut awaited = self.lost.awaited();
        if awaited.len() >= MAX_LOST || self.lost.all().contains_key(&file.persistent) {
            return None;
        }
        let deferred = Arc::clone(awaited.entry(file.persistent).or_default());
        let server = Arc::clone(self);
        runtime.spawn(async move {
            tokio::time::sleep(LOSS_NOTICED).await;
            let overdue = server.lost.awaited().remove(&file.persistent);
            if let Some(deferred) = overdue {
                deferred.release();
            }
        });
        Some(deferred)
    }

    /// Closes opens of clients that have lost their connections, because another client needs their files. Resilient opens
    /// stay, and only what their clients may cache ends.
    pub(crate) fn close_lost(&self, opens: &[u64]) {
        for id in opens {
            let resilient = self.lost.all().get(id).map(|lost| Arc::clone(&lost.open));
            if let Some(open) = resilient.filter(|open| open.is_resilient()) {
                open.file.end_grants(*id);
                continue;
            }
            let lost = self.lost.all().remove(id);
            match lost {
                Some(lost) => self.files.close(&lost.open, self.volume.as_ref()),
                // Another thread closes it at the moment.
                None => std::thread::yield_now(),
            }
        }
    }

    /// Takes an open that a client reconnects to, after the checks of MS-SMB2 3.3.5.9.7 and 3.3.5.9.12. Requests of the lost
    /// connection that change its content have ended then.
    pub(crate) fn find_lost(
        &self,
        session: &Session,
        ReconnectTarget { file, guid }: ReconnectTarget,
        path: &str,
        cache: &CacheRequest,
    ) -> Outcome<Arc<OpenFile>> {
        let mut all = self.lost.all();
        let found = all.get(&file.persistent).ok_or(NtStatus::OBJECT_NAME_NOT_FOUND)?;
        let open = &found.open;
        // A reconnect of version 1 gives no name.
        let right = |durable: Durability| guid.is_none_or(|guid| durable.guid.unwrap_or_default() == guid);
        if !open.durability().is_some_and(right) {
            return Err(NtStatus::OBJECT_NAME_NOT_FOUND);
        }
        if found.account != session.account {
            return Err(NtStatus::ACCESS_DENIED);
        }
        if open.lease != cache.lease() {
            return Err(NtStatus::OBJECT_NAME_NOT_FOUND);
        }
        let known = open.location().path;
        if open.lease.is_some() && fold_case(&known) != fold_case(path) {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let lost = all.remove(&file.persistent).ok_or(NtStatus::OBJECT_NAME_NOT_FOUND)?;
        drop(all);
        lost.open.changes.wait();
        Ok(lost.open)
    }
}

/// True if a reconnect has contexts that it must not have. Samba accepts none but leases; the clients of Linux also query the
/// id on disk, which changes nothing.
pub(crate) fn has_other_contexts(contexts: &[CreateContext]) -> bool {
    let allowed = [name::REQUEST_LEASE, name::QUERY_ON_DISK_ID, name::QUERY_MAXIMAL_ACCESS];
    contexts.iter().any(|context| !DurableContext::is_named(context) && !allowed.contains(&&*context.name))
}
