//! The files that a diagnosis reads and writes, and how it transfers their data.

use std::future::poll_fn;

use futures_util::future::join_all;
use sharebench_engine::Clock;
use sharebench_model::{
    CachePolicy, DataOp, ErrorClass, FileRef, IoPolicy, MetaOp, MetaYield, OpError, OpStep, OpenHow, Random,
    Slot, Stability, SyncPolicy,
};
use sharebench_target::{Session, Target, call};

use crate::operations::{LARGE_BYTES, SMALL_BYTES};

/// Largest size of the file that is read: a multiple of twice [`LARGE_BYTES`].
const MAX_FILE_BYTES: u64 = 48 << 20;
/// Entries of the listed directory.
const MAX_ENTRIES: usize = 1_000;
/// Entries of one step of creating them, after which the time is checked.
const ENTRIES_AT_ONCE: usize = 20;
/// Directories that the search for a readable file lists at most.
const MAX_SEARCHED: usize = 40;
/// Entries that it keeps of one directory.
const MAX_KEPT: usize = 2_000;

/// Names in the directory of the diagnosis. They are valid 8.3 names.
const LARGE: &str = "large";
const SMALL: &str = "small";
const WRITTEN: &str = "written";
const LISTED: &str = "list";
const STREAM: &str = "stream";
/// Length of the file of sequential small reads.
const STREAM_BYTES: u64 = 2560 << 10;
/// Bytes of one write of it.
const STREAM_BLOCK: u32 = 256 << 10;

/// The files of a diagnosis, by path and by length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Files {
    /// The file of reads.
    pub(crate) large: String,
    /// Its length, bytes: at least [`SMALL_BYTES`].
    pub(crate) large_bytes: u64,
    /// The file of sequential small reads and its length, which is 0 if there is none.
    pub(crate) stream: String,
    pub(crate) stream_bytes: u64,
    /// The file that is opened, read and closed.
    pub(crate) small: String,
    /// The file of writes; none in a diagnosis that only reads.
    pub(crate) written: Option<String>,
    /// The directory that is listed, and its number of entries.
    pub(crate) listed: String,
    pub(crate) entries: usize,
    /// Bytes written so far.
    pub(crate) bytes_written: u64,
}

/// An open session with its number of slots.
pub(crate) struct Connection {
    pub(crate) session: Box<dyn Session>,
    pub(crate) slots: u32,
    /// Bytes of a request that the server permits now: fewer than negotiated where it grants few credits.
    pub(crate) max_piece: u32,
}

impl Connection {
    /// A session whose requests are as large as was negotiated.
    pub(crate) fn new(session: Box<dyn Session>, slots: u32) -> Self {
        Self { session, slots, max_piece: u32::MAX }
    }
}

impl Files {
    /// Makes the files in `directory` with a session of several slots, until `until` (clock) at the latest; a short file
    /// serves as well.
    pub(crate) async fn make(
        directory: &str,
        connection: &mut Connection,
        clock: &Clock,
        until: u64,
    ) -> Result<Self, OpError> {
        let path = |name: &str| format!("{directory}/{name}");
        for name in [SMALL, WRITTEN] {
            let file = create(connection, path(name)).await?;
            let mut blocks = [(0, SMALL_BYTES)].into_iter();
            pump(connection, file, write(Stability::Unstable), || blocks.next()).await?;
            call(&mut *connection.session, MetaOp::Close { file }).await?;
        }
        call(&mut *connection.session, MetaOp::MakeDir { path: path(LISTED) }).await?;
        let file = create(connection, path(STREAM)).await?;
        let mut next = 0;
        let part = clock.now() + until.saturating_sub(clock.now()) / 3;
        // First, so that a server with a small cache has evicted it when it is read.
        let stream_bytes = pump(connection, file, write(Stability::Unstable), || {
            let is_due = next == 0 || (next < STREAM_BYTES && clock.now() < part);
            let block = is_due.then_some((next, STREAM_BLOCK));
            next += u64::from(STREAM_BLOCK);
            block
        })
        .await?;
        call(&mut *connection.session, MetaOp::Close { file }).await?;
        let file = create(connection, path(LARGE)).await?;
        let mut next = 0;
        let large_bytes = pump(connection, file, write(Stability::Unstable), || {
            // Always one complete block, so that a slow share has something to read.
            let is_due = next < u64::from(LARGE_BYTES) || (next < MAX_FILE_BYTES && clock.now() < until);
            let block = is_due.then_some((next, LARGE_BYTES));
            next += u64::from(LARGE_BYTES);
            block
        })
        .await?;
        call(&mut *connection.session, MetaOp::Close { file }).await?;
        Ok(Self {
            large: path(LARGE),
            large_bytes,
            stream: path(STREAM),
            stream_bytes,
            small: path(SMALL),
            written: Some(path(WRITTEN)),
            listed: path(LISTED),
            entries: 0,
            bytes_written: large_bytes + stream_bytes + 2 * u64::from(SMALL_BYTES),
        })
    }

    /// Adds empty files to the listed directory over several sessions at once, until `until`.
    pub(crate) async fn add_entries(
        &mut self,
        connections: &mut [Connection],
        clock: &Clock,
        until: u64,
    ) -> Result<(), OpError> {
        while self.entries < MAX_ENTRIES && (self.entries == 0 || clock.now() < until) {
            let first = self.entries;
            let step = ENTRIES_AT_ONCE.max(connections.len()).min(MAX_ENTRIES - first);
            each_entry(connections, first..first + step, async |connection, number| {
                let file = create(connection, entry(&self.listed, number)).await?;
                call(&mut *connection.session, MetaOp::Close { file }).await.map(drop)
            })
            .await?;
            self.entries += step;
        }
        Ok(())
    }

    /// Removes the entries of the listed directory over several sessions at once, which is faster than the removal of the
    /// directory. What fails is left to that removal.
    pub(crate) async fn remove_entries(&mut self, connections: &mut [Connection]) {
        let entries = std::mem::take(&mut self.entries);
        let removed = each_entry(connections, 0..entries, async |connection, number| {
            let path = entry(&self.listed, number);
            call(&mut *connection.session, MetaOp::Remove { path }).await.map(drop)
        });
        let _ = removed.await;
    }

    /// Finds the largest file that may be read, and the directory with most entries, in a bounded search from the top.
    pub(crate) async fn find(
        connection: &mut Connection,
        clock: &Clock,
        until: u64,
    ) -> Result<Self, OpError> {
        let mut waiting = vec![String::new()];
        let mut files: Vec<(u64, String)> = Vec::new();
        let mut listed = (0, String::new());
        let mut searched = 0;
        while let Some(directory) = waiting.pop()
            && searched < MAX_SEARCHED
            // The top directory in any case: opening the sessions may have taken the time.
            && (searched == 0 || clock.now() < until)
        {
            searched += 1;
            let operation = MetaOp::ListPage { path: directory.clone(), restart: true };
            let page = match call(&mut *connection.session, operation).await {
                Ok(MetaYield::Page(page)) => page,
                // A directory that may not be listed is common; the top one must be readable.
                Err(error) if searched == 1 || error.class.ends_connection() => return Err(error),
                _ => continue,
            };
            if page.entries.len() > listed.0 {
                listed = (page.entries.len(), directory.clone());
            }
            for found in page.entries.into_iter().take(MAX_KEPT) {
                let slash = if directory.is_empty() { "" } else { "/" };
                let path = format!("{directory}{slash}{}", found.name);
                match found {
                    found if found.directory => waiting.push(path),
                    found => files.push((found.size.unwrap_or(0), path)),
                }
            }
        }
        files.sort_unstable_by_key(|(size, _)| std::cmp::Reverse(*size));
        let mut found: Option<Self> = None;
        for (_, path) in files.into_iter().take(MAX_SEARCHED) {
            let opened = call(&mut *connection.session, MetaOp::open(path.clone(), OpenHow::Read)).await;
            let Ok((file, bytes)) = opened.and_then(MetaYield::into_opened) else { continue };
            call(&mut *connection.session, MetaOp::Close { file }).await?;
            if bytes < u64::from(SMALL_BYTES) {
                continue;
            }
            match &mut found {
                // The second one, so that random reads of the first one do not disturb its read-ahead.
                Some(found) => {
                    found.stream = path;
                    found.stream_bytes = bytes;
                    break;
                }
                None => {
                    found = Some(Self {
                        large: path.clone(),
                        large_bytes: bytes,
                        stream: String::new(),
                        stream_bytes: 0,
                        small: path,
                        written: None,
                        listed: std::mem::take(&mut listed.1),
                        entries: listed.0,
                        bytes_written: 0,
                    });
                }
            }
        }
        if let Some(found) = found {
            return Ok(found);
        }
        let why =
            "no file of at least 4 KiB may be read; name a directory with one, or one that may be written";
        Err(OpError::new(ErrorClass::NotFound, OpStep::Path, why))
    }

    /// The blocks of the file for random small reads and for large reads: two halves, so that one does not bring the
    /// other's data into a cache. A file below 2 MiB has one half.
    pub(crate) fn halves(&self) -> (u64, u64) {
        let blocks = self.large_bytes / u64::from(LARGE_BYTES);
        let small = if blocks < 2 { self.large_bytes } else { blocks.div_ceil(2) * u64::from(LARGE_BYTES) };
        (small, if blocks < 2 { 0 } else { small })
    }

    /// Offset of a random small read.
    pub(crate) fn random_small(&self, random: &mut Random) -> u64 {
        let blocks = self.halves().0 / u64::from(SMALL_BYTES);
        random.below(blocks) * u64::from(SMALL_BYTES)
    }

    /// Offset of the `number`th large read.
    pub(crate) fn large_at(&self, number: u64) -> u64 {
        let start = self.halves().1;
        let blocks = (self.large_bytes - start) / u64::from(LARGE_BYTES);
        start + number.checked_rem(blocks).unwrap_or(0) * u64::from(LARGE_BYTES)
    }
}

fn entry(directory: &str, number: usize) -> String {
    format!("{directory}/e{number:04}")
}

/// Calls `work` for each entry; each session works on entries of its own.
async fn each_entry(
    connections: &mut [Connection],
    entries: std::ops::Range<usize>,
    work: impl AsyncFn(&mut Connection, usize) -> Result<(), OpError>,
) -> Result<(), OpError> {
    let step = connections.len().max(1);
    let works = connections.iter_mut().enumerate().map(|(index, connection)| {
        let mine = entries.clone().skip(index).step_by(step);
        let work = &work;
        async move {
            for number in mine {
                work(connection, number).await?;
            }
            Ok(())
        }
    });
    join_all(works).await.into_iter().collect()
}

async fn create(connection: &mut Connection, path: String) -> Result<FileRef, OpError> {
    let created = call(&mut *connection.session, MetaOp::open(path, OpenHow::CreateNew)).await?;
    created.into_opened().map(|(file, _)| file)
}

/// Opens a file for reading.
pub(crate) async fn open(session: &mut dyn Session, path: &str) -> Result<FileRef, OpError> {
    let opened = call(session, MetaOp::open(path, OpenHow::Read)).await?;
    opened.into_opened().map(|(file, _)| file)
}

/// Opens a file for writing, with write-through if `through` and the target knows it.
pub(crate) async fn open_to_write(
    target: &dyn Target,
    session: &mut dyn Session,
    path: &str,
    through: bool,
) -> Result<FileRef, OpError> {
    let sync = if through { SyncPolicy::WriteThrough } else { SyncPolicy::Normal };
    let policy = IoPolicy { cache: CachePolicy::Normal, sync };
    let policy = if target.policy(policy).is_ok() { policy } else { IoPolicy::default() };
    let opened =
        call(session, MetaOp::Open { path: path.to_owned(), how: OpenHow::ReadWrite, policy }).await?;
    opened.into_opened().map(|(file, _)| file)
}

/// A data operation of a file at an offset.
pub(crate) type MakeOp = fn(FileRef, u64, u32) -> DataOp;

/// Reads.
pub(crate) const READ: MakeOp = |file, offset, len| DataOp::Read { file, offset, len };

/// Writes of that stability.
pub(crate) fn write(stability: Stability) -> MakeOp {
    match stability {
        Stability::Unstable => {
            |file, offset, len| DataOp::Write { file, offset, len, stability: Stability::Unstable }
        }
        Stability::Durable => {
            |file, offset, len| DataOp::Write { file, offset, len, stability: Stability::Durable }
        }
    }
}

/// Payload that one credit of SMB pays for (MS-SMB2 3.1.5.2), bytes.
const ONE_CREDIT_BYTES: u32 = 64 << 10;

/// Transfers blocks (offset, bytes) with as many operations in flight as the session has slots, until `next` has no more
/// of them. A block above the limit of one request is transferred in several. Returns the bytes transferred.
///
/// # Errors
/// The first failed operation, after all operations in flight have ended; or a transfer that was cut short.
pub(crate) async fn pump(
    connection: &mut Connection,
    file: FileRef,
    make: MakeOp,
    mut next: impl FnMut() -> Option<(u64, u32)>,
) -> Result<u64, OpError> {
    let session = &mut *connection.session;
    let max_piece = &mut connection.max_piece;
    let mut idle: Vec<u32> = (0..connection.slots).rev().collect();
    let mut wanted = vec![(0, 0); connection.slots as usize];
    let mut again: Vec<(u64, u32)> = Vec::new();
    let mut current = next();
    let mut failed: Option<OpError> = None;
    let mut replies = Vec::new();
    let mut moved = 0;
    loop {
        while let Some((offset, len)) = current
            && failed.is_none()
            && let Some(slot) = idle.pop()
        {
            let piece = session.max_transfer(make(file, offset, len)).min(*max_piece).clamp(1, len);
            let op = make(file, offset, piece);
            if let DataOp::Write { .. } = op {
                fill(&mut session.buffer(Slot(slot))[..piece as usize], offset);
            }
            session.submit(Slot(slot), op);
            wanted[slot as usize] = (offset, piece);
            let rest = (piece < len).then(|| (offset + u64::from(piece), len - piece));
            current = rest.or_else(|| again.pop()).or_else(&mut next);
        }
        if idle.len() == connection.slots as usize {
            return failed.map_or(Ok(moved), Err);
        }
        poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
        for reply in replies.drain(..) {
            idle.push(reply.slot.0);
            let (offset, piece) = wanted[reply.slot.0 as usize];
            match reply.result {
                Ok(count) if count == piece => moved += u64::from(count),
                Ok(_) => {
                    let why = "a transfer was cut short; the file may have changed meanwhile";
                    failed.get_or_insert(OpError::new(ErrorClass::DataMismatch, OpStep::Reply, why));
                }
                // The server grants too few credits for a request of this size.
                Err(error) if error.class == ErrorClass::Unsupported && piece > ONE_CREDIT_BYTES => {
                    *max_piece = ONE_CREDIT_BYTES;
                    again.push((offset, piece));
                }
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        current = current.or_else(|| again.pop());
    }
}

/// Fills a block with content that neither compresses nor repeats.
fn fill(buffer: &mut [u8], offset: u64) {
    let mut random = Random::new(offset, 1);
    for eight in buffer.chunks_mut(8) {
        let bytes = random.next().to_le_bytes();
        eight.copy_from_slice(&bytes[..eight.len()]);
    }
}
