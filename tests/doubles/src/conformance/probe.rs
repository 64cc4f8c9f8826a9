//! A session under test: the suite counts every operation and compares with the session's own counts.

use std::fmt::Debug;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::time::SystemTime;

use sharebench_model::{
    DataOp, Entry, ErrorClass, FileRef, ListedPage, MetaOp, MetaYield, OpError, OpenHow, Reply, SessionOp,
    Slot, Stability, Stat, WireCount,
};

use sharebench_target::Session;

pub(super) struct Probe {
    pub session: Box<dyn Session>,
    /// A file is mapped: its operations need no request.
    pub mapped: bool,
    wire_counted: bool,
    /// The session keeps data itself: operations need no request, and bytes not cross the wire.
    caches: bool,
    durable_write_requests: u32,
    start: WireCount,
    counted: WireCount,
}

impl Probe {
    pub fn new(
        session: Box<dyn Session>,
        wire_counted: bool,
        caches: bool,
        durable_write_requests: u32,
    ) -> Self {
        let start = session.wire();
        let counted = WireCount::default();
        Self { start, session, mapped: false, wire_counted, caches, durable_write_requests, counted }
    }

    /// Requests of all replies; bytes written as `payload_sent`, bytes read as `payload_received`.
    pub fn counted(&self) -> WireCount {
        self.counted
    }

    /// Counts the requests of an operation that the caller began by itself.
    pub fn count_requests(&mut self, requests: u32) {
        self.counted.requests += u64::from(requests);
    }

    pub async fn call(&mut self, op: impl Into<SessionOp>) -> Result<MetaYield, OpError> {
        let reply = self.session.call(op).await;
        self.counted.requests += u64::from(reply.requests);
        reply.result
    }

    /// An operation whose only result is success.
    pub async fn done(&mut self, op: impl Into<SessionOp> + Debug) -> Result<(), String> {
        let what = format!("{op:?}");
        match self.call(op).await {
            Ok(MetaYield::Done) => Ok(()),
            Ok(other) => Err(format!("{what} returned {other:?}")),
            Err(error) => Err(format!("{what}: {error}")),
        }
    }

    /// An operation that must fail with one of `classes`.
    pub async fn fails(
        &mut self,
        op: impl Into<SessionOp> + Debug,
        classes: &[ErrorClass],
    ) -> Result<(), String> {
        let what = format!("{op:?}");
        match self.call(op).await {
            Err(error) if classes.contains(&error.class) => Ok(()),
            other => Err(format!("{what}: wanted {classes:?}, got {other:?}")),
        }
    }

    pub async fn open(&mut self, path: &str, how: OpenHow) -> Result<(FileRef, u64), String> {
        match self.call(MetaOp::open(path, how)).await {
            Ok(MetaYield::Opened { file, size }) => Ok((file, size)),
            other => Err(format!("open {path} {how:?}: {other:?}")),
        }
    }

    pub async fn create(&mut self, path: &str) -> Result<FileRef, String> {
        let (file, size) = self.open(path, OpenHow::CreateNew).await?;
        if size == 0 { Ok(file) } else { Err(format!("a new file {path} has {size} bytes")) }
    }

    /// Creates a file with content and closes it.
    pub async fn put(&mut self, path: &str, content: &[u8]) -> Result<(), String> {
        let file = self.create(path).await?;
        if !content.is_empty() {
            self.write(file, 0, content).await?;
        }
        self.done(MetaOp::Close { file }).await
    }

    /// Opens a file, reads `len` bytes from its start and closes it.
    pub async fn get(&mut self, path: &str, len: u32) -> Result<Vec<u8>, String> {
        let (file, _) = self.open(path, OpenHow::Read).await?;
        let content = self.read(file, 0, len).await?;
        self.done(MetaOp::Close { file }).await?;
        Ok(content)
    }

    pub async fn stat(&mut self, path: &str) -> Result<Stat, String> {
        match self.call(MetaOp::Stat { path: path.to_owned() }).await {
            Ok(MetaYield::Stat(stat)) => Ok(stat),
            other => Err(format!("stat {path}: {other:?}")),
        }
    }

    /// The time of modification, for which the session alone counts the requests.
    pub async fn modified(&mut self, path: &str) -> Option<SystemTime> {
        let before = self.session.wire().requests;
        let modified = self.session.modified(path).await;
        self.counted.requests += self.session.wire().requests - before;
        modified
    }

    /// Lists a directory as a whole and page by page, which must be the same. The sizes that the target returns are
    /// compared with the attributes and then left out.
    pub async fn list(&mut self, path: &str) -> Result<Vec<Entry>, String> {
        let mut entries = match self.call(MetaOp::List { path: path.to_owned() }).await {
            Ok(MetaYield::Entries(entries)) => entries,
            other => return Err(format!("list {path}: {other:?}")),
        };
        let mut paged = self.list_pages(path).await?;
        for listed in [&mut entries, &mut paged] {
            listed.sort_by(|a, b| a.name.cmp(&b.name));
        }
        if entries != paged {
            return Err(format!("list {path}: {} entries, {} page by page", entries.len(), paged.len()));
        }
        for entry in &mut entries {
            if let Some(size) = entry.size.take() {
                let stat = self.stat(&format!("{path}/{}", entry.name)).await?;
                if (stat.size, stat.directory) != (size, entry.directory) {
                    return Err(format!("list {path}: {entry:?} of {size} bytes is {stat:?}"));
                }
            }
        }
        Ok(entries)
    }

    async fn list_pages(&mut self, path: &str) -> Result<Vec<Entry>, String> {
        let mut entries = Vec::new();
        let mut restart = true;
        loop {
            let page = self.page(path, restart).await?;
            entries.extend(page.entries);
            if page.end {
                return Ok(entries);
            }
            restart = false;
        }
    }

    pub async fn page(&mut self, path: &str, restart: bool) -> Result<ListedPage, String> {
        match self.call(MetaOp::ListPage { path: path.to_owned(), restart }).await {
            Ok(MetaYield::Page(page)) if page.unnamed == 0 => Ok(page),
            other => Err(format!("list a page of {path}: {other:?}")),
        }
    }

    /// The replies that have arrived, at least one.
    pub async fn replies(&mut self) -> Vec<Reply> {
        let mut replies = Vec::new();
        let session = &mut self.session;
        poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
        self.counted.requests += replies.iter().map(|reply| u64::from(reply.requests)).sum::<u64>();
        replies
    }

    /// Counts a reply's bytes by the operation it answers; a successful one took exactly one request, or as many as the
    /// suite allows for a durable write.
    pub fn settle(&mut self, op: DataOp, reply: &Reply) -> Result<u32, String> {
        let bytes = reply.result.clone().map_err(|error| format!("{op:?}: {error}"))?;
        match op {
            DataOp::Read { .. } => self.counted.payload_received += u64::from(bytes),
            DataOp::Write { .. } => self.counted.payload_sent += u64::from(bytes),
            DataOp::Flush { .. } => {}
        }
        let free = self.mapped && reply.requests == 0;
        let due = match op {
            DataOp::Write { stability: Stability::Durable, .. } => self.durable_write_requests,
            _ => 1,
        };
        if self.caches || free || reply.requests == due {
            Ok(bytes)
        } else {
            Err(format!("{op:?} took {} requests", reply.requests))
        }
    }

    /// One data operation on slot 0 of a quiet session.
    pub async fn transfer(&mut self, op: DataOp) -> Result<u32, String> {
        self.session.submit(Slot(0), op);
        let replies = self.replies().await;
        match replies.as_slice() {
            [reply] if reply.slot == Slot(0) => self.settle(op, reply),
            _ => Err(format!("{op:?}: one submission got {replies:?}")),
        }
    }

    pub async fn write(&mut self, file: FileRef, offset: u64, content: &[u8]) -> Result<(), String> {
        self.write_as(file, offset, content, Stability::Unstable).await
    }

    pub async fn write_as(
        &mut self,
        file: FileRef,
        offset: u64,
        content: &[u8],
        stability: Stability,
    ) -> Result<(), String> {
        self.buffer(Slot(0), content.len())?.copy_from_slice(content);
        let op = DataOp::Write { file, offset, len: content.len() as u32, stability };
        let written = self.transfer(op).await? as usize;
        if written == content.len() { Ok(()) } else { Err(format!("{op:?} wrote {written} bytes")) }
    }

    /// Reads into a buffer that was overwritten before, and returns the delivered bytes.
    pub async fn read(&mut self, file: FileRef, offset: u64, len: u32) -> Result<Vec<u8>, String> {
        self.buffer(Slot(0), len as usize)?.fill(0xA5);
        let bytes = self.transfer(DataOp::Read { file, offset, len }).await?;
        if bytes > len {
            return Err(format!("a read of {len} at {offset} delivered {bytes}"));
        }
        Ok(self.buffer(Slot(0), bytes as usize)?.to_vec())
    }

    pub fn buffer(&mut self, slot: Slot, len: usize) -> Result<&mut [u8], String> {
        let buffer = self.session.buffer(slot);
        let size = buffer.len();
        buffer.get_mut(..len).ok_or_else(|| format!("{slot:?} holds {size} bytes, not {len}"))
    }

    /// A session with nothing in flight has no replies.
    pub fn quiet(&mut self) -> Result<(), String> {
        let mut replies = Vec::new();
        match self.session.poll_replies(&mut Context::from_waker(Waker::noop()), &mut replies) {
            Poll::Pending if replies.is_empty() => Ok(()),
            _ => Err(format!("replies without a submission: {replies:?}")),
        }
    }

    pub async fn finish(mut self) -> Result<(), String> {
        let quiet = self.quiet();
        let wire = self.session.wire().since(self.start);
        self.session.close().await;
        quiet?;
        if wire.requests != self.counted.requests {
            let counted = self.counted.requests;
            return Err(format!("wire() counts {} requests, the replies {counted}", wire.requests));
        }
        let payload = (wire.payload_sent, wire.payload_received);
        let moved = (self.counted.payload_sent, self.counted.payload_received);
        if self.caches {
            return Ok(());
        }
        if self.wire_counted && payload != moved {
            return Err(format!("wire() counts payload (sent, received) {payload:?}, bytes moved {moved:?}"));
        }
        if self.wire_counted && (wire.sent < moved.0 || wire.received < moved.1) {
            return Err(format!("{wire:?} cannot carry {moved:?} bytes"));
        }
        Ok(())
    }
}
