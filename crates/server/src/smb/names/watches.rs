//! Directories that clients watch for changes (MS-SMB2 3.3.1.3, MS-FSA 2.1.5.11).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use sharebench_smb::NtStatus;
use sharebench_smb::wire::HEADER_LEN;
use sharebench_smb::wire::change_notify::{Action, put_changes};
use sharebench_smb::wire::info::InfoResponse;

use crate::NodeId;
use crate::front_ends::state_budget::StateCharge;
use crate::smb::files::open_file::OpenFile;
use crate::smb::names::file_locations::FileLocation;
use crate::smb::session::pending::{PendingCause, PendingReply};
use crate::smb::status::Outcome;
use crate::volume::name::fold_case;

/// Maximum number of changes that wait for a request; beyond it the client lists the directory again.
const MAX_CHANGES: usize = 512;
/// Maximum number of requests that wait at one open directory.
const MAX_REQUESTS: usize = 64;

/// A change of a name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameChange<'a> {
    pub(crate) directory: NodeId,
    /// Path below the share.
    pub(crate) path: &'a str,
    pub(crate) action: Action,
    /// The kinds of changes that it belongs to; a watch for one of them sees it.
    pub(crate) filter: u32,
}

struct WatchState {
    changes: VecDeque<(Action, String)>,
    /// That of the changes.
    charge: StateCharge,
    /// Changes were lost, so that the client must list the directory.
    overflowed: bool,
    requests: VecDeque<(PendingReply, usize)>,
    ended: Option<NtStatus>,
}

/// The watch of one open directory: it begins with the first request and collects changes between requests.
pub(crate) struct Watch {
    open: Weak<OpenFile>,
    /// Bytes of the first request, beyond which changes are lost.
    capacity: usize,
    filter: u32,
    tree: bool,
    state: Mutex<WatchState>,
}

impl WatchState {
    /// The reply to a request that accepts this many bytes, if there is anything to report.
    fn reply(&mut self, max: usize) -> Option<(NtStatus, Vec<u8>)> {
        if let Some(status) = self.ended {
            return Some((status, Vec::new()));
        }
        if self.changes.is_empty() && !self.overflowed {
            return None;
        }
        let mut information = Vec::new();
        put_changes(self.changes.iter().map(|(action, name)| (*action, &**name)), &mut information);
        self.forget_changes();
        let lost = std::mem::take(&mut self.overflowed) || information.len() > max;
        Some(if lost { (NtStatus::NOTIFY_ENUM_DIR, Vec::new()) } else { (NtStatus::SUCCESS, information) })
    }

    fn forget_changes(&mut self) {
        self.changes.clear();
        self.charge.resize(0);
    }

    /// Adds a change, unless there are too many or the budget has no memory for it: then all are lost.
    fn add(&mut self, action: Action, name: &str) {
        if self.overflowed {
            return;
        }
        let bytes = 2 * size_of::<(Action, String)>() + name.len();
        if self.changes.len() < MAX_CHANGES && self.charge.grow(bytes) {
            self.changes.push_back((action, name.to_owned()));
        } else {
            self.overflowed = true;
            self.forget_changes();
        }
    }

    fn answer(&mut self) {
        while let Some((_, max)) = self.requests.front() {
            let Some((status, information)) = self.reply(*max) else { return };
            let Some((pending, _)) = self.requests.pop_front() else { return };
            pending.send(status, encoded(status, &information).as_deref());
        }
    }
}

/// The body of a reply without errors.
pub(crate) fn encoded(status: NtStatus, information: &[u8]) -> Option<Vec<u8>> {
    if status != NtStatus::SUCCESS
        && status != NtStatus::NOTIFY_ENUM_DIR
        && status != NtStatus::NOTIFY_CLEANUP
    {
        return None;
    }
    let mut body = vec![0; HEADER_LEN];
    InfoResponse::encode(information, &mut body);
    Some(body.split_off(HEADER_LEN))
}

impl Watch {
    fn state(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replies to a request, or keeps it until a change.
    pub(crate) fn request(
        &self,
        open: &Arc<OpenFile>,
        max: usize,
        pending: PendingReply,
    ) -> Outcome<Option<(NtStatus, Vec<u8>)>> {
        let mut state = self.state();
        if let Some(reply) = state.reply(max.min(self.capacity)) {
            return Ok(Some(reply));
        }
        if state.requests.len() >= MAX_REQUESTS {
            return Err(NtStatus::INSUFFICIENT_RESOURCES);
        }
        pending.pending_requests.add(&pending, 0, PendingCause::Changes(Arc::clone(open)))?;
        // Under the lock, so that the last reply cannot overtake it.
        pending.send_interim();
        state.requests.push_back((pending, max.min(self.capacity)));
        Ok(None)
    }

    /// Removes a request.
    pub(crate) fn withdraw(&self, id: u64) -> Option<PendingReply> {
        let mut state = self.state();
        let at = state.requests.iter().position(|(pending, _)| pending.id == id)?;
        state.requests.remove(at).map(|(pending, _)| pending)
    }

    /// Answers all requests, also later ones, with a status.
    pub(crate) fn end(&self, status: NtStatus) {
        let mut state = self.state();
        state.ended = Some(status);
        state.answer();
    }

    /// The name of a change relative to the watched directory, if the watch covers it.
    fn relative<'a>(&self, open: &OpenFile, change: &NameChange<'a>) -> Option<&'a str> {
        if open.node == change.directory {
            return change.path.rsplit('\\').next();
        }
        if !self.tree {
            return None;
        }
        let above = open.location().path;
        if above.is_empty() {
            return Some(change.path);
        }
        let rest = change.path.get(above.len()..)?.strip_prefix('\\')?;
        let start = change.path.get(..above.len())?;
        (fold_case(start) == fold_case(&above)).then_some(rest)
    }

    fn note(&self, change: &NameChange<'_>) {
        let Some(open) = self.open.upgrade() else { return };
        if self.filter & change.filter == 0 {
            return;
        }
        let Some(name) = self.relative(&open, change) else { return };
        let mut state = self.state();
        let repeated = change.action == Action::Modified
            && state.changes.back().is_some_and(|(action, last)| *action == change.action && last == name);
        if repeated {
            return;
        }
        state.add(change.action, name);
        state.answer();
    }

    /// Notes changes that are not known in detail.
    fn note_unknown(&self) {
        let mut state = self.state();
        state.overflowed = true;
        state.forget_changes();
        state.answer();
    }
}

/// The watches of all clients.
#[derive(Default)]
pub(crate) struct Watches {
    /// Number of watches, so that nothing else is done for a change while there are none.
    count: AtomicUsize,
    all: Mutex<Vec<Arc<Watch>>>,
}

impl Watches {
    fn all(&self) -> MutexGuard<'_, Vec<Arc<Watch>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The watch of an open directory, which begins with the first call. What the first call requests stays.
    pub(crate) fn watch_of(
        &self,
        open: &Arc<OpenFile>,
        filter: u32,
        tree: bool,
        capacity: usize,
    ) -> Arc<Watch> {
        let watch = open.watch.get_or_init(|| {
            let count = open.count.lock().unwrap_or_else(PoisonError::into_inner);
            let state = Mutex::new(WatchState {
                changes: VecDeque::new(),
                charge: count.further_charge(),
                overflowed: false,
                requests: VecDeque::new(),
                ended: None,
            });
            drop(count);
            let watch = Arc::new(Watch { open: Arc::downgrade(open), capacity, filter, tree, state });
            self.all().push(Arc::clone(&watch));
            self.count.fetch_add(1, Ordering::AcqRel);
            watch
        });
        Arc::clone(watch)
    }

    /// Ends the watch of a directory that is closed.
    pub(crate) fn close(&self, open: &OpenFile) {
        let Some(watch) = open.watch.get() else { return };
        let mut all = self.all();
        let before = all.len();
        all.retain(|other| !Arc::ptr_eq(other, watch));
        self.count.fetch_sub(before - all.len(), Ordering::AcqRel);
        drop(all);
        watch.end(NtStatus::NOTIFY_CLEANUP);
    }

    /// True if nobody watches anything.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Reports a change to those who watch its directory.
    pub(crate) fn note(&self, change: &NameChange<'_>) {
        if self.is_empty() {
            return;
        }
        let all = self.all().clone();
        for watch in all {
            watch.note(change);
        }
    }

    /// Reports a change of a name at a place.
    pub(crate) fn note_location(&self, location: &FileLocation, action: Action, filter: u32) {
        self.note(&NameChange { directory: location.directory, path: &location.path, action, filter });
    }

    /// Reports the removal of a directory to those who watch it.
    pub(crate) fn end_of(&self, node: NodeId, status: NtStatus) {
        if self.is_empty() {
            return;
        }
        let all = self.all().clone();
        for watch in all {
            if watch.open.upgrade().is_some_and(|open| open.node == node) {
                watch.end(status);
            }
        }
    }

    /// Reports a change that another protocol has made in a directory.
    pub(crate) fn note_external(&self, directory: NodeId) {
        if self.is_empty() {
            return;
        }
        let all = self.all().clone();
        for watch in all {
            if watch.tree || watch.open.upgrade().is_some_and(|open| open.node == directory) {
                watch.note_unknown();
            }
        }
    }
}
