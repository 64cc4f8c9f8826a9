//! Oplocks and leases: what clients may cache of a file (MS-SMB2 3.3.1.4, 3.3.1.12).
//!
//! An oplock is treated as a lease of one open: level II caches reads, exclusive also writes, batch also the handle.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sharebench_smb::wire::FileId;
use sharebench_smb::wire::lease::{HANDLE, READ, WRITE};
use sharebench_smb::wire::oplock;

use crate::smb::caching::cache_request::{
    CacheRequest, GrantedCache, LeaseRequest, Owner, level_of_state, state_of_level,
};
use crate::smb::caching::grants::{Grant, Holder};
use crate::smb::files::open_entries::ByOpen;
use crate::smb::files::open_file::{File, FileState};
use crate::smb::session::deferred::DeferredRequests;

/// What limits a grant besides the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GrantLimits {
    /// The open replaced the content.
    pub(crate) overwritten: bool,
    /// Nothing but this server changes files, so that clients may cache what they write.
    pub(crate) writes: bool,
    /// Maximum number of oplocks and leases of the file.
    pub(crate) leases: usize,
}

impl FileState {
    /// Grants what a new open requests as far as the other opens allow it. The open is in the table already.
    pub(crate) fn grant(
        &mut self,
        id: FileId,
        request: &CacheRequest,
        limits: GrantLimits,
        holder: Arc<Holder>,
    ) -> GrantedCache {
        let granted = self.grantable(id, request, limits);
        match request {
            CacheRequest::Nothing => GrantedCache::Nothing,
            CacheRequest::Oplock(_) => {
                let level = match level_of_state(granted) {
                    oplock::LEVEL_II if !holder.knows_level_2() => oplock::NONE,
                    level => level,
                };
                let level = if self.grants.len() < limits.leases { level } else { oplock::NONE };
                if level != oplock::NONE {
                    let state = state_of_level(level);
                    let opens = ByOpen::new(id.volatile, (id, holder));
                    self.grants.push(Grant {
                        owner: Owner::Oplock,
                        state,
                        breaking: None,
                        epoch: None,
                        opens,
                    });
                }
                GrantedCache::Oplock(level)
            }
            CacheRequest::Lease(LeaseRequest { context: wanted, .. }) => {
                let known = self.grants.iter_mut().find(|grant| grant.is_of(request));
                if let Some(grant) = known {
                    grant.opens.insert(id.volatile, (id, holder));
                    let upgrades = grant.state & wanted.state == grant.state
                        && granted == wanted.state
                        && granted != grant.state;
                    if upgrades && grant.breaking.is_none() && limits.leases > 0 {
                        grant.state = granted;
                        grant.advance();
                    }
                    return GrantedCache::Lease(grant.shown(wanted));
                }
                let Some(lease) = request.lease().filter(|_| self.grants.len() < limits.leases) else {
                    return GrantedCache::Nothing;
                };
                let epoch = wanted.version_2.map(|(_, epoch)| epoch);
                let owner = Owner::Lease(lease);
                let opens = ByOpen::new(id.volatile, (id, holder));
                let mut grant = Grant { owner, state: granted, breaking: None, epoch, opens };
                if granted != 0 {
                    grant.advance();
                }
                let shown = grant.shown(wanted);
                self.grants.push(grant);
                GrantedCache::Lease(shown)
            }
        }
    }

    /// The state that may be granted (MS-FSA 2.1.5.18).
    fn grantable(&self, id: FileId, request: &CacheRequest, limits: GrantLimits) -> u32 {
        let mut granted = request.state();
        if !limits.writes {
            granted &= !WRITE;
        }
        let lease = matches!(request, CacheRequest::Lease(..));
        if lease && granted & READ == 0 {
            // Caching of writes or handles alone makes no sense.
            granted = 0;
        }
        if !self.locks.is_empty() && !limits.overwritten {
            granted &= !(READ | HANDLE);
        }
        let other = |grant: &&Grant| !grant.is_of(request) && !grant.has(id.volatile);
        let mut others = self.grants.iter().filter(other);
        if lease && others.clone().any(|grant| grant.owner == Owner::Oplock && grant.state != 0) {
            granted &= !HANDLE;
        }
        if others.clone().any(|grant| grant.state & WRITE != 0) {
            granted = 0;
        }
        if !lease && others.clone().any(|grant| grant.state & HANDLE != 0) {
            granted = 0;
        }
        let of_lease = self.grants.iter().filter(|grant| grant.is_of(request));
        let of_lease = of_lease.flat_map(|grant| grant.opens.values());
        let of_lease = of_lease.map(|(open, _)| open.volatile).filter(|open| *open != id.volatile);
        // Only for a right that it can end, because it examines the opens of the lease.
        if granted & WRITE != 0
            && (others.next().is_some() || self.opens.others_use(of_lease.chain([id.volatile])))
        {
            granted &= !WRITE;
        }
        granted
    }

    /// Gives an open that a client has found again to its new connection, and returns what it may cache.
    pub(crate) fn rebind(&mut self, open: u64, request: &CacheRequest, holder: &Arc<Holder>) -> GrantedCache {
        let Some(grant) = self.grants.iter_mut().find(|grant| grant.has(open)) else {
            return GrantedCache::Nothing;
        };
        if let Some((_, known)) = grant.opens.get_mut(open) {
            *known = Arc::clone(holder);
        }
        match request {
            CacheRequest::Lease(lease) => GrantedCache::Lease(grant.shown(&lease.context)),
            _ => GrantedCache::Oplock(level_of_state(grant.state)),
        }
    }

    /// Removes an open that is closed from its grant. Requests that wait for the last open of a grant continue.
    pub(crate) fn leave_grants(&mut self, open: u64) -> Vec<Arc<DeferredRequests>> {
        let mut released = Vec::new();
        for grant in &mut self.grants {
            grant.opens.remove(open);
            if grant.opens.is_empty() {
                released.extend(grant.breaking.take().map(|known| known.deferred));
            }
        }
        self.grants.retain(|grant| !grant.opens.is_empty());
        released
    }

    /// True if a change must look for clients that cache what they read.
    fn is_shared_cache(&self) -> bool {
        self.grants.iter().any(|grant| grant.state & READ != 0 && grant.state & WRITE == 0)
    }
}

impl File {
    /// Updates the flag with which READ and WRITE avoid the lock.
    pub(crate) fn note_grants(&self, state: &mut FileState) {
        // A broken oplock is no oplock, while a broken lease is still a lease.
        state
            .grants
            .retain(|grant| grant.owner != Owner::Oplock || grant.state != 0 || grant.breaking.is_some());
        let shared = state.is_shared_cache();
        // Under the lock of the state, so that the number follows the flag.
        if self.cached.swap(shared, Ordering::AcqRel) != shared
            && let Some(listings) = &self.listings
        {
            listings.note(shared);
        }
    }
}
