//! A correct target in memory: the reference for the conformance suite and the engine's tests.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use sharebench_model::{
    CachePolicy, CacheRight, DataOp, Entry, ErrorClass, Fact, FileRef, IoPolicy, ListedPage, MetaOp,
    MetaReply, MetaYield, OpError, OpenHow, PolicyCount, Reply, SessionOp, Slot, Space, TargetFacts,
    WireCount,
};

use crate::memory_content::{Content, fails, lock};
use crate::memory_leases::Leases;
use crate::memory_names::{Tree, below_after, check_parent, is_directory, names};
use crate::memory_semaphores::Semaphores;
use crate::memory_sharing::Opener;
use crate::memory_watches::{Watches, changed_names};
use sharebench_target::{
    CacheRights, CallDepth, CallReply, CallResult, Capabilities, ClientCache, Connecting, Extensions,
    LocalBoxFuture, Locks, Operations, OverlappingCalls, Readings, ServerSide, Session, SessionSpec, Target,
    Watch, perform, whole_transfer,
};
use sharebench_target::{PolicyRefusal, PolicyTerms};

/// Entries of one page of a listing: few, so that a test needs no large directory for several pages.
const LISTED_ENTRIES: usize = 100;

/// Keeps names and content in memory, shared by all its sessions, and replies to a burst in reverse order.
#[derive(Debug, Clone, Default)]
pub struct MemoryTarget(Arc<Mutex<Tree>>, Arc<Between>);

/// What sessions have to do with each other besides the content of files.
#[derive(Debug, Default)]
struct Between {
    watches: Mutex<Watches>,
    leases: Mutex<Leases>,
    semaphores: Mutex<Semaphores>,
}

impl MemoryTarget {
    /// An empty target.
    pub fn new() -> Self {
        Self::default()
    }

    /// All names, sorted; directories end with `/`.
    pub fn names(&self) -> Vec<String> {
        let shown = |(name, content): (&String, &Option<_>)| {
            if content.is_none() { format!("{name}/") } else { name.clone() }
        };
        lock(&self.0).iter().map(shown).collect()
    }
}

impl Target for MemoryTarget {
    fn url(&self) -> String {
        "memory://".into()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            protocol: "memory",
            max_queue_depth: 1024,
            max_record: 64 << 20,
            wire_counted: true,
            drop_cache: false,
            mapping: true,
            blocking: false,
        }
    }

    /// The content exists only in the target, so every policy is satisfied.
    fn policy(&self, _: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        Ok(PolicyTerms::ANY)
    }

    fn descriptors(&self) -> u32 {
        0
    }

    fn call_depth(&self) -> CallDepth {
        CallDepth { max: 1024, reason: "this is the limit of the test double" }
    }

    fn connect<'a>(&'a self, spec: &'a SessionSpec) -> Connecting<'a> {
        let session = MemorySession {
            number: SESSIONS.fetch_add(1, Ordering::Relaxed),
            tree: self.0.clone(),
            between: self.1.clone(),
            semaphore: None,
            buffers: vec![vec![0; spec.slot_bytes as usize]; spec.slots as usize],
            files: BTreeMap::new(),
            policy: PolicyCount::default(),
            opened: 0,
            answered: Vec::new(),
            called: Vec::new(),
            wire: WireCount::default(),
            listing: None,
        };
        Box::pin(async move { Ok(Box::new(session) as Box<dyn Session>) })
    }
}

/// Number of the next session.
static SESSIONS: AtomicU64 = AtomicU64::new(0);

struct MemorySession {
    number: u64,
    tree: Arc<Mutex<Tree>>,
    between: Arc<Between>,
    /// The name of the open semaphore.
    semaphore: Option<String>,
    buffers: Vec<Vec<u8>>,
    files: BTreeMap<FileRef, (Arc<Mutex<Content>>, IoPolicy)>,
    policy: PolicyCount,
    opened: u32,
    answered: Vec<Reply>,
    called: Vec<CallReply>,
    wire: WireCount,
    /// The listing in progress: its directory and the last name returned.
    listing: Option<(String, String)>,
}

impl MemorySession {
    fn file(&self, file: FileRef) -> Result<&Arc<Mutex<Content>>, OpError> {
        self.files.get(&file).map(|(content, _)| content).ok_or_else(OpError::not_open)
    }

    fn perform(&mut self, slot: Slot, op: DataOp) -> Result<u32, OpError> {
        match op {
            DataOp::Read { file, offset, len } => {
                let content = self.file(file)?.clone();
                let read = lock(&content).read(offset, &mut self.buffers[slot.0 as usize][..len as usize]);
                self.wire.payload_received += read as u64;
                self.wire.received += read as u64;
                Ok(read as u32)
            }
            DataOp::Write { file, offset, len, .. } => {
                let content = self.file(file)?;
                lock(content).write(offset, &self.buffers[slot.0 as usize][..len as usize]);
                self.wire.payload_sent += u64::from(len);
                self.wire.sent += u64::from(len);
                Ok(len)
            }
            DataOp::Flush { file } => self.file(file).map(|_| 0),
        }
    }

    /// Performs a basic operation, and reports what it has changed.
    fn meta(&mut self, op: &MetaOp) -> Result<MetaYield, OpError> {
        let result = self.change(op)?;
        lock(&self.between.watches).note(changed_names(op));
        Ok(result)
    }

    fn change(&mut self, op: &MetaOp) -> Result<MetaYield, OpError> {
        match op {
            MetaOp::Open { path, how, policy } => return self.open(path, *how, *policy, false),
            MetaOp::Close { file } if lock(&self.between.watches).close(self.opener(*file)) => {}
            MetaOp::Close { file } => {
                lock(self.file(*file)?).sharing.leave(self.opener(*file));
                lock(&self.between.leases).leave(self.opener(*file));
                self.files.remove(file);
            }
            MetaOp::SetSize { file, size } => lock(self.file(*file)?).resize(*size),
            MetaOp::Space => {
                return Ok(MetaYield::Space(Space { total: 1 << 40, available: 1 << 40 }));
            }
            MetaOp::ListPage { path, restart } => return self.list_page(path, *restart),
            named => return names(&mut lock(&self.tree), named),
        }
        Ok(MetaYield::Done)
    }

    /// Waits until the holder of the right to cache a file has given it back.
    async fn take_back(&self, path: &str) {
        if lock(&self.between.leases).is_held(path) {
            poll_fn(|cx| lock(&self.between.leases).poll_take_back(path, cx)).await;
        }
    }

    /// Copies up to a mebibyte, as a server copies a part of a large file by one request.
    fn copy(&self, from: FileRef, to: FileRef, offset: u64, bytes: u64) -> Result<u64, OpError> {
        let mut piece = vec![0; bytes.min(1 << 20) as usize];
        let read = lock(self.file(from)?).read(offset, &mut piece);
        lock(self.file(to)?).write(offset, &piece[..read]);
        Ok(read as u64)
    }

    fn list_page(&mut self, path: &str, restart: bool) -> Result<MetaYield, OpError> {
        let last = self.listing.take().filter(|(listed, _)| !restart && listed == path);
        let after = last.map_or_else(String::new, |(_, name)| name);
        let tree = lock(&self.tree);
        if !is_directory(&tree, path)? {
            return fails(ErrorClass::Refused, "list", "not a directory");
        }
        let mut entries: Vec<Entry> = below_after(&tree, path, &after).take(LISTED_ENTRIES + 1).collect();
        let end = entries.len() <= LISTED_ENTRIES;
        entries.truncate(LISTED_ENTRIES);
        if let Some(last) = entries.last().filter(|_| !end) {
            self.listing = Some((path.to_owned(), last.name.clone()));
        }
        Ok(MetaYield::Page(ListedPage { entries, unnamed: 0, end }))
    }

    fn semaphore_name(&self) -> Result<&str, OpError> {
        self.semaphore.as_deref().ok_or_else(OpError::no_open_semaphore)
    }

    /// Opens a file, and grants the right to cache it if nobody else has it open.
    fn open_to_cache(&mut self, path: &str, how: OpenHow, right: CacheRight) -> Result<MetaYield, OpError> {
        let (file, _) = self.open(path, how, IoPolicy::default(), false)?.into_opened()?;
        if !lock(self.file(file)?).sharing.is_alone() {
            return Ok(MetaYield::OpenedToCache { file, right: CacheRight::None });
        }
        lock(&self.between.leases).grant(path.to_owned(), self.opener(file));
        Ok(MetaYield::OpenedToCache { file, right })
    }

    /// The identity of an open file among those of all sessions.
    fn opener(&self, file: FileRef) -> Opener {
        (self.number, file)
    }

    fn open(
        &mut self,
        path: &str,
        how: OpenHow,
        policy: IoPolicy,
        denies: bool,
    ) -> Result<MetaYield, OpError> {
        let mut tree = lock(&self.tree);
        let content = match (tree.get(path), how) {
            (Some(_), OpenHow::CreateNew) => return fails(ErrorClass::Exists, "open", "name exists"),
            (Some(Some(content)), _) => content.clone(),
            (Some(None), _) => return fails(ErrorClass::Refused, "open", "a directory"),
            (None, OpenHow::CreateNew) => {
                check_parent(&tree, path, "open")?;
                let content = Arc::<Mutex<Content>>::default();
                tree.insert(path.to_owned(), Some(content.clone()));
                content
            }
            (None, _) => return fails(ErrorClass::NotFound, "open", "no such name"),
        };
        let size = {
            let mut content = lock(&content);
            content.sharing.enter(self.opener(FileRef(self.opened + 1)), denies)?;
            content.size
        };
        self.opened += 1;
        self.files.insert(FileRef(self.opened), (content, policy));
        Ok(MetaYield::Opened { file: FileRef(self.opened), size })
    }
}

impl Operations for MemorySession {
    const CLIENT: &'static str = "the memory target";

    async fn perform_basic(&mut self, op: &MetaOp) -> CallResult {
        if let MetaOp::Open { path, how: OpenHow::ReadWrite, .. } = op {
            self.take_back(path).await;
        }
        self.meta(op)
    }
}

impl Locks for MemorySession {
    async fn lock(&mut self, file: FileRef, offset: u64, bytes: u64, _: bool) -> CallResult {
        let locked = lock(self.file(file)?).sharing.lock(self.opener(file), offset, bytes);
        locked.map(|()| MetaYield::Done)
    }

    async fn unlock(&mut self, file: FileRef, offset: u64, bytes: u64) -> CallResult {
        let unlocked = lock(self.file(file)?).sharing.unlock(self.opener(file), offset, bytes);
        unlocked.map(|()| MetaYield::Done)
    }

    async fn open_denying(&mut self, path: &str) -> CallResult {
        self.open(path, OpenHow::ReadWrite, IoPolicy::default(), true)
    }
}

impl CacheRights for MemorySession {
    async fn open_leased(&mut self, path: &str) -> CallResult {
        self.take_back(path).await;
        self.open_to_cache(path, OpenHow::ReadWrite, CacheRight::Writes)
    }

    async fn open_delegated(&mut self, path: &str) -> CallResult {
        self.open_to_cache(path, OpenHow::Read, CacheRight::Reads)
    }

    async fn await_recall(&mut self, file: FileRef) -> CallResult {
        let opener = self.opener(file);
        let recalled = poll_fn(|cx| lock(&self.between.leases).poll_recall(opener, cx)).await;
        recalled.map(|()| MetaYield::Done)
    }

    async fn give_back(&mut self, file: FileRef) -> CallResult {
        lock(&self.between.leases).give_back(self.opener(file)).map(|()| MetaYield::Done)
    }
}

impl Watch for MemorySession {
    async fn open_directory(&mut self, path: &str) -> CallResult {
        if !is_directory(&lock(&self.tree), path)? {
            return fails(ErrorClass::Refused, "open directory", "a file");
        }
        self.opened += 1;
        let file = FileRef(self.opened);
        lock(&self.between.watches).open(self.opener(file), path.to_owned());
        Ok(MetaYield::Opened { file, size: 0 })
    }

    async fn watch(&mut self, file: FileRef) -> CallResult {
        lock(&self.between.watches).request(self.opener(file)).map(|()| MetaYield::Done)
    }

    async fn await_change(&mut self, file: FileRef) -> CallResult {
        let opener = self.opener(file);
        let changes = poll_fn(|cx| lock(&self.between.watches).poll_changes(opener, cx)).await;
        changes.map(MetaYield::Changes)
    }
}

impl ServerSide for MemorySession {
    async fn copy_range(&mut self, from: FileRef, to: FileRef, offset: u64, bytes: u64) -> CallResult {
        self.copy(from, to, offset, bytes).map(MetaYield::Bytes)
    }

    async fn clone_range(&mut self, from: FileRef, to: FileRef, bytes: u64) -> CallResult {
        let mut at = 0;
        while at < bytes {
            match self.copy(from, to, at, bytes - at)? {
                0 => return fails(ErrorClass::Io, "clone", "the source is shorter"),
                copied => at += copied,
            }
        }
        Ok(MetaYield::Done)
    }

    async fn punch_hole(&mut self, file: FileRef, offset: u64, bytes: u64) -> CallResult {
        lock(self.file(file)?).punch(offset, bytes);
        Ok(MetaYield::Done)
    }

    async fn read_sparse(&mut self, file: FileRef, offset: u64, len: u32) -> CallResult {
        let content = self.file(file)?.clone();
        let content = lock(&content);
        let read = content.read(offset, &mut self.buffers[0][..len as usize]) as u64;
        let stored = content.stored(offset, read);
        self.wire.payload_received += stored;
        self.wire.received += stored;
        Ok(MetaYield::Bytes(read))
    }
}

impl sharebench_target::Semaphores for MemorySession {
    async fn open_semaphore(&mut self, name: &str) -> CallResult {
        lock(&self.between.semaphores).open(name);
        self.semaphore = Some(name.to_owned());
        Ok(MetaYield::Done)
    }

    async fn wait_semaphore(&mut self) -> CallResult {
        lock(&self.between.semaphores).take(self.semaphore_name()?).map(|()| MetaYield::Done)
    }

    async fn signal_semaphore(&mut self) -> CallResult {
        lock(&self.between.semaphores).signal(self.semaphore_name()?).map(|()| MetaYield::Done)
    }

    async fn close_semaphore(&mut self) -> CallResult {
        lock(&self.between.semaphores).close(self.semaphore_name()?)?;
        self.semaphore = None;
        Ok(MetaYield::Done)
    }
}

impl ClientCache for MemorySession {
    /// The content is memory that every session shares already: a mapping changes nothing about reads and writes.
    async fn map_file(&mut self, file: FileRef, _: u64) -> CallResult {
        self.file(file).map(|_| MetaYield::Done)
    }
}

impl Drop for MemorySession {
    /// Files, directories and semaphores that a session left open are closed with it.
    fn drop(&mut self) {
        if let Some(name) = self.semaphore.take() {
            let _ = lock(&self.between.semaphores).close(&name);
        }
        for opened in 1..=self.opened {
            lock(&self.between.watches).close((self.number, FileRef(opened)));
        }
        for (file, (content, _)) in &self.files {
            lock(content).sharing.leave((self.number, *file));
            lock(&self.between.leases).leave((self.number, *file));
        }
    }
}

impl Session for MemorySession {
    fn facts(&self) -> TargetFacts {
        TargetFacts::from([(Fact::Kind, "memory".into())])
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        &mut self.buffers[slot.0 as usize]
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        whole_transfer(op)
    }

    fn submit(&mut self, slot: Slot, op: DataOp) {
        self.wire.requests += 1;
        if let DataOp::Read { file, .. } | DataOp::Write { file, .. } = op
            && let Some((_, policy)) = self.files.get(&file)
        {
            let write = matches!(op, DataOp::Write { .. });
            self.policy.through += u64::from(write && policy.writes_through());
            self.policy.unbuffered += u64::from(policy.cache == CachePolicy::Unbuffered);
        }
        let result = self.perform(slot, op);
        self.answered.push(Reply { slot, result, requests: 1 });
    }

    fn poll_replies(&mut self, _: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        if self.answered.is_empty() {
            return Poll::Pending;
        }
        replies.extend(self.answered.drain(..).rev());
        Poll::Ready(())
    }

    fn perform_call(&mut self, op: SessionOp) -> LocalBoxFuture<'_, MetaReply> {
        // A wait sends nothing. A break is acknowledged when it arrives, as over SMB, so that nothing is left to give back.
        let sends_nothing = matches!(
            op,
            SessionOp::AwaitChange { .. } | SessionOp::AwaitRecall { .. } | SessionOp::GiveBack { .. }
        );
        let requests = u32::from(!sends_nothing);
        self.wire.requests += u64::from(requests);
        Box::pin(async move { MetaReply { result: perform(self, &op).await, requests } })
    }

    fn wire(&self) -> WireCount {
        self.wire
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        Some(self)
    }

    fn readings(&self) -> Option<&dyn Readings> {
        Some(self)
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        Box::pin(async {})
    }
}

impl Extensions for MemorySession {
    fn calls(&mut self) -> Option<&mut dyn OverlappingCalls> {
        Some(self)
    }
}

impl OverlappingCalls for MemorySession {
    fn submit_call(&mut self, slot: Slot, op: MetaOp) -> Result<(), OpError> {
        if !op.can_overlap() {
            return Err(OpError::cannot_overlap());
        }
        if slot.0 as usize >= self.buffers.len() || self.called.iter().any(|reply| reply.slot == slot) {
            return Err(OpError::slot_not_idle());
        }
        self.wire.requests += 1;
        let reply = MetaReply { result: self.meta(&op), requests: 1 };
        self.called.push(CallReply { slot, reply });
        Ok(())
    }

    fn poll_calls(&mut self, _: &mut Context<'_>, replies: &mut Vec<CallReply>) -> Poll<()> {
        if self.called.is_empty() {
            return Poll::Pending;
        }
        replies.extend(self.called.drain(..).rev());
        Poll::Ready(())
    }
}

impl Readings for MemorySession {
    fn policy_count(&self) -> PolicyCount {
        self.policy
    }
}
