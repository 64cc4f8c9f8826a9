//! Breaks of oplocks and leases (MS-SMB2 3.3.4.6, 3.3.4.7, 3.3.5.22): when they are sent, and what ends them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sharebench_smb::NtStatus;
use sharebench_smb::wire::create::access;
use sharebench_smb::wire::lease::{HANDLE, READ, WRITE};
use sharebench_smb::wire::oplock;

use crate::smb::caching::cache_request::{CacheRequest, Owner};
use crate::smb::caching::grants::{Break, BreakTimer, Grant};
use crate::smb::files::open_file::{File, FileState};
use crate::smb::session::deferred::DeferredRequests;
use crate::smb::status::Outcome;

/// Time after which a client that has not acknowledged a break loses its oplock or lease (MS-SMB2 3.3.2.1).
const BREAK_TIMEOUT: Duration = Duration::from_secs(35);
/// Access that needs no more than attributes, which breaks no lease.
const LEASE_STAT: u32 =
    access::SYNCHRONIZE | access::READ_ATTRIBUTES | access::WRITE_ATTRIBUTES | access::READ_CONTROL;

/// An open that other clients' caches may have to make way for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contender<'a> {
    pub(crate) request: &'a CacheRequest,
    pub(crate) access: u32,
    /// The share modes of other opens exclude it.
    pub(crate) violates: bool,
    pub(crate) overwrites: bool,
    /// It has not waited yet.
    pub(crate) first: bool,
}

/// What prevents an open at the moment.
#[derive(Default)]
pub(crate) struct Obstacles {
    /// A break that is not acknowledged.
    pub(crate) deferred: Option<Arc<DeferredRequests>>,
    /// Opens of clients that have lost their connections, which cannot acknowledge anything.
    pub(crate) lost: Vec<u64>,
}

impl FileState {
    /// Sends the breaks that an open needs, and returns what it has to wait for. A sharing violation breaks handles, so
    /// that clients close files that their users have closed; any other open breaks cached writes.
    pub(crate) fn contend(&mut self, file: &Arc<File>, contender: &Contender<'_>) -> Obstacles {
        let mut obstacles = Obstacles::default();
        let mask = if contender.violates { HANDLE } else { WRITE };
        let overwrites = contender.overwrites && !contender.violates;
        for grant in &mut self.grants {
            let lease = grant.owner != Owner::Oplock;
            if grant.is_of(contender.request) || lease && contender.access & !LEASE_STAT == 0 {
                continue;
            }
            let mut to = grant.state & !mask;
            if overwrites {
                to &= !(HANDLE | READ);
            }
            if grant.state & !to == 0 {
                if let Some(known) = &grant.breaking {
                    obstacles.deferred = Some(Arc::clone(&known.deferred));
                }
                continue;
            }
            if contender.violates || grant.is_lost() {
                obstacles.lost.extend(grant.lost_opens());
            }
            if grant.is_lost() {
                continue;
            }
            if overwrites {
                to = 0;
            }
            if !lease {
                // Oplocks have no other levels.
                to &= READ;
            }
            let delays = grant.state & mask != 0 || grant.breaking.is_some() && !contender.first;
            grant.start_break(file, to);
            if delays && let Some(known) = &grant.breaking {
                obstacles.deferred = Some(Arc::clone(&known.deferred));
            }
        }
        file.note_grants(self);
        obstacles
    }

    /// Sends the breaks of handles that a rename or a removal needs, except of the open that requests it.
    pub(crate) fn break_handles(&mut self, file: &Arc<File>, open: Option<u64>) -> Obstacles {
        let mut obstacles = Obstacles::default();
        for grant in &mut self.grants {
            // Also those of a client that has opened the file again, and does not know that the server has kept them.
            obstacles.lost.extend(grant.lost_opens());
            let own = open.is_some_and(|open| grant.has(open));
            if own || grant.is_lost() || !grant.keeps_handle() {
                continue;
            }
            grant.start_break(file, grant.state & !HANDLE);
            obstacles.deferred =
                grant.breaking.as_ref().map(|known| Arc::clone(&known.deferred)).or(obstacles.deferred);
        }
        file.note_grants(self);
        obstacles
    }
}

impl Grant {
    /// True for a lease on handles.
    pub(crate) fn keeps_handle(&self) -> bool {
        self.state & HANDLE != 0 && self.owner != Owner::Oplock
    }

    /// Begins a break, or adds to the one in progress. A client that caches only reads has nothing to acknowledge.
    pub(crate) fn start_break(&mut self, file: &Arc<File>, to: u32) {
        let to = to & self.state;
        if let Some(known) = &mut self.breaking {
            known.required &= to;
            return;
        }
        if to == self.state {
            return;
        }
        self.advance();
        self.notify(to);
        if self.state == READ {
            self.state = 0;
            return;
        }
        self.breaking = Some(Break::new(file, to, to));
    }

    /// Ends a break with the state that the client keeps. A further break follows if other opens need more.
    fn acknowledge(&mut self, file: &Arc<File>, state: u32) -> Outcome<Option<Arc<DeferredRequests>>> {
        let Some(known) = &mut self.breaking else { return Err(NtStatus::UNSUCCESSFUL) };
        if state & known.requested != state {
            return Err(NtStatus::REQUEST_NOT_ACCEPTED);
        }
        self.state = state;
        let deferred = std::mem::take(&mut known.deferred);
        let required = known.required;
        if state & !required == 0 {
            self.breaking = None;
            return Ok(Some(deferred));
        }
        // In steps, as Windows does: reading is the last that ends.
        let waits = state & (WRITE | HANDLE) != 0;
        let to = if waits { required | READ } else { required };
        // The number of changes stays, as on Windows.
        self.notify(to);
        if waits {
            self.breaking = Some(Break::new(file, to, required));
        } else {
            self.state = 0;
            self.breaking = None;
        }
        Ok(Some(deferred))
    }
}

impl File {
    /// Ends the caches of other clients after a change and before its reply: what a client reads under a lease that is
    /// granted later has the change. An oplock of the own open ends as well (MS-FSA 2.1.5.4).
    #[inline]
    pub(crate) fn end_caches(self: &Arc<Self>, changed_by: u64) {
        if self.cached.load(Ordering::Acquire) {
            self.end_read_caches(|grant| grant.owner != Owner::Oplock && grant.has(changed_by));
        }
    }

    /// Ends the caches of reads of all clients, except the grants that the change spares.
    #[cold]
    pub(crate) fn end_read_caches(self: &Arc<Self>, spares: impl Fn(&Grant) -> bool) {
        let mut state = self.state();
        for grant in &mut state.grants {
            if grant.state & READ != 0 && grant.state & WRITE == 0 && !spares(grant) {
                grant.start_break(self, 0);
            }
        }
        self.note_grants(&mut state);
    }

    /// The acknowledgment of a lease break (MS-SMB2 3.3.5.22.2).
    pub(crate) fn acknowledge_lease(self: &Arc<Self>, owner: Owner, new: u32) -> Outcome<()> {
        let deferred = {
            let mut state = self.state();
            let found = state.grants.iter_mut().find(|grant| grant.owner == owner);
            let deferred = found.ok_or(NtStatus::OBJECT_NAME_NOT_FOUND)?.acknowledge(self, new)?;
            self.note_grants(&mut state);
            deferred
        };
        if let Some(deferred) = deferred {
            deferred.release();
        }
        Ok(())
    }

    /// The acknowledgment of an oplock break (MS-SMB2 3.3.5.22.1).
    pub(crate) fn acknowledge_oplock(self: &Arc<Self>, open: u64, level: u8) -> Outcome<u8> {
        let (deferred, level) = {
            let mut state = self.state();
            let mut all = state.grants.iter_mut();
            let found = all.find(|grant| grant.owner == Owner::Oplock && grant.has(open));
            let grant = found.ok_or(NtStatus::INVALID_OPLOCK_PROTOCOL)?;
            let known = grant.breaking.take().ok_or(NtStatus::INVALID_OPLOCK_PROTOCOL)?;
            let keeps = level == oplock::LEVEL_II && known.required & READ != 0;
            grant.state = if keeps { READ } else { 0 };
            self.note_grants(&mut state);
            (known.deferred, if keeps { oplock::LEVEL_II } else { oplock::NONE })
        };
        deferred.release();
        Ok(level)
    }

    /// Takes an oplock or lease from a client that has not acknowledged its break in time.
    fn break_timed_out(self: &Arc<Self>, number: u64) {
        let deferred = {
            let mut state = self.state();
            let late =
                |grant: &&mut Grant| grant.breaking.as_ref().is_some_and(|known| known.number == number);
            let deferred = state.grants.iter_mut().find(late).and_then(|grant| {
                grant.state = 0;
                grant.breaking.take().map(|known| known.deferred)
            });
            self.note_grants(&mut state);
            deferred
        };
        if let Some(deferred) = deferred {
            tracing::debug!("SMB client did not acknowledge a break in time");
            deferred.release();
        }
    }

    fn time_out_break(self: &Arc<Self>, number: u64) -> BreakTimer {
        let timer = self.runtime.as_ref().map(|runtime| {
            let file = Arc::downgrade(self);
            let task = runtime.spawn(async move {
                tokio::time::sleep(BREAK_TIMEOUT).await;
                if let Some(file) = file.upgrade() {
                    file.break_timed_out(number);
                }
            });
            task.abort_handle()
        });
        BreakTimer(timer)
    }
}

impl Break {
    /// A break that has been sent, with the state in the notification and the one that other opens need.
    fn new(file: &Arc<File>, requested: u32, required: u32) -> Self {
        let number = file.next_break();
        let timer = file.time_out_break(number);
        Self { requested, required, deferred: Arc::default(), number, _timer: timer }
    }
}
