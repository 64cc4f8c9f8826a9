//! The requester's cache of one open file: a few buffers with read-ahead and write-back (docs/protocols/ncp.md
//! 5.3).
//!
//! The cache does no I/O. It returns what to fetch or write, and its owner does so.

use std::collections::VecDeque;
use std::ops::Range;

/// The size of a session's caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CacheSize {
    /// Buffers per file.
    pub(crate) buffers: u32,
    /// Bytes of a buffer: the data of one request.
    pub(crate) bytes: usize,
}

/// A cached part of the file, aligned to the buffer size.
#[derive(Debug)]
struct Buffer {
    start: u64,
    data: Box<[u8]>,
    /// Valid bytes, and those of them that the server does not have yet.
    known: Range<usize>,
    dirty: Range<usize>,
    /// True when the file ended after the valid bytes at the time of the fetch.
    ends: bool,
}

/// A range of dirty bytes to be written to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DirtyRange {
    pub(crate) offset: u64,
    pub(crate) len: usize,
}

/// What has to be written before a cache can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    /// Nothing is dirty.
    Nothing,
    /// A dirty range that nobody writes yet.
    Range(DirtyRange),
    /// All dirty ranges are being written.
    Busy,
}

/// The requester's cache of one open file.
///
/// It owns up to `size.buffers` buffers in the order of their last use. Transfers smaller than a buffer use it: a
/// read fetches a whole buffer, and writes are merged until the buffer is full or evicted. Each buffer has one
/// contiguous valid range and, within it, one dirty range, so that a write-back is a single request. Invariant: a
/// dirty buffer is never evicted or invalidated before [`Self::stored`] or [`Self::lose`] is called for its dirty
/// range.
///
/// Several connections share it. A buffer that one of them fetches or writes back is busy until its reply: meanwhile
/// no other connection fetches it or writes into it, so that a reply never replaces newer data. An operation that
/// bypasses the cache and changes the file claims the cache: it begins when no request of the cache is in progress, and
/// the others wait until it ends.
///
/// It exists because requesters of NetWare's time cached a few packets, so a benchmark without a cache would not
/// resemble them. It is not coherent with other clients. It lives from open to close and is emptied by a commit or a
/// change of size.
#[derive(Debug)]
pub(crate) struct FileCache {
    size: CacheSize,
    buffers: VecDeque<Buffer>,
    /// Starts of the buffers with a request in progress.
    busy: Vec<u64>,
    /// Operations that wait for the cache to become quiet, and those that bypass it.
    claims: u32,
    holders: u32,
}

impl Buffer {
    fn store(&self) -> Option<DirtyRange> {
        let Range { start, end } = self.dirty;
        (start < end).then_some(DirtyRange { offset: self.start + start as u64, len: end - start })
    }

    /// Adds data at `at` if it overlaps or touches the valid range; a buffer has only one.
    fn take(&mut self, at: usize, data: &[u8]) -> bool {
        let end = at + data.len();
        let empty = self.known.is_empty();
        if !empty && (at > self.known.end || end < self.known.start) {
            return false;
        }
        self.data[at..end].copy_from_slice(data);
        let join = |part: &Range<usize>| {
            if part.is_empty() { at..end } else { part.start.min(at)..part.end.max(end) }
        };
        // All bytes between two dirty parts are valid, so that writing them as well is harmless.
        self.known = join(&self.known);
        self.dirty = join(&self.dirty);
        true
    }
}

impl FileCache {
    pub(crate) const fn new(size: CacheSize) -> Self {
        Self { size, buffers: VecDeque::new(), busy: Vec::new(), claims: 0, holders: 0 }
    }

    /// True for a transfer that uses the cache: one that is smaller than a buffer.
    pub(crate) const fn caches(&self, len: usize) -> bool {
        len < self.size.bytes
    }

    /// Copies valid bytes at `offset`, up to the end of the buffer, and returns their number; 0 at the end of the
    /// file, none if the buffer must be fetched.
    pub(crate) fn read(&mut self, offset: u64, into: &mut [u8]) -> Option<usize> {
        let number = self.place(offset)?;
        let buffer = &self.buffers[number];
        let at = (offset - buffer.start) as usize;
        let deferred_errors = buffer.ends && at >= buffer.known.end;
        if !buffer.known.contains(&at) && !deferred_errors {
            return None;
        }
        let len = buffer.known.end.saturating_sub(at).min(into.len());
        into[..len].copy_from_slice(&buffer.data[at..at + len]);
        self.touch(number);
        Some(len)
    }

    /// Start of the buffer that contains `offset`, and its length.
    pub(crate) const fn whole(&self, offset: u64) -> (u64, usize) {
        (offset - offset % self.size.bytes as u64, self.size.bytes)
    }

    /// Stores a fetched buffer, which is not dirty; false if all buffers are dirty, so that none can be evicted.
    pub(crate) fn keep(&mut self, start: u64, came: &[u8]) -> bool {
        self.buffers.retain(|buffer| buffer.start != start);
        let clean = self.buffers.iter().position(|buffer| buffer.store().is_none());
        if self.is_full() && clean.is_none() {
            return false;
        }
        let mut buffer = self.fresh(start, clean.unwrap_or(0));
        let len = came.len().min(self.size.bytes);
        buffer.data[..len].copy_from_slice(&came[..len]);
        buffer.known = 0..len;
        // Another connection may have extended the file since the fetch began.
        let extended = self.buffers.iter().any(|other| other.start > start && !other.known.is_empty());
        buffer.ends = len < self.size.bytes && !extended;
        self.buffers.push_back(buffer);
        true
    }

    /// Notes a request for the buffer at `start`.
    pub(crate) fn begin_request(&mut self, start: u64) {
        self.busy.push(start);
    }

    /// Notes the end of a request.
    pub(crate) fn end_request(&mut self, start: u64) {
        if let Some(at) = self.busy.iter().position(|busy| *busy == start) {
            self.busy.swap_remove(at);
        }
    }

    /// True while a request for the buffer at `start` is in progress.
    pub(crate) fn is_busy(&self, start: u64) -> bool {
        self.busy.contains(&start)
    }

    /// True when no request is in progress.
    pub(crate) fn is_quiet(&self) -> bool {
        self.busy.is_empty()
    }

    /// True while an operation bypasses the cache, or waits to do so.
    pub(crate) const fn is_claimed(&self) -> bool {
        self.claims + self.holders > 0
    }

    /// True when a write at `offset` may enter the cache now.
    pub(crate) fn accepts_write(&self, offset: u64) -> bool {
        !self.is_claimed() && !self.is_busy(self.whole(offset).0)
    }

    /// Notes an operation that waits to bypass the cache.
    pub(crate) const fn claim(&mut self) {
        self.claims += 1;
    }

    /// Lets a waiting operation bypass the cache, which becomes empty.
    pub(crate) fn take(&mut self) {
        self.claims = self.claims.saturating_sub(1);
        self.holders += 1;
        self.invalidate();
    }

    /// Ends a claim that was held or waited.
    pub(crate) const fn release(&mut self, held: bool) {
        if held {
            self.holders = self.holders.saturating_sub(1);
        } else {
            self.claims = self.claims.saturating_sub(1);
        }
    }

    /// Takes as much of a write as fits into one buffer; returns the number of bytes, or none if a dirty range must
    /// be written first.
    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) -> Option<usize> {
        let (start, bytes) = self.whole(offset);
        let at = (offset - start) as usize;
        let len = data.len().min(bytes - at);
        let number = self.place(offset);
        if number.is_none() && self.is_full() && self.buffers.front()?.store().is_some() {
            return None;
        }
        if let Some(number) = number {
            let buffer = &mut self.buffers[number];
            if !buffer.take(at, &data[..len]) {
                if buffer.store().is_some() {
                    return None;
                }
                // The valid bytes are not adjacent to the write; drop them, as the file also no longer ends there.
                buffer.known = 0..0;
                buffer.ends = false;
                buffer.take(at, &data[..len]);
            }
            self.touch(number);
        } else {
            let mut buffer = self.fresh(start, 0);
            buffer.take(at, &data[..len]);
            self.buffers.push_back(buffer);
        }
        // The write may have extended the file beyond these buffers.
        self.buffers.iter_mut().filter(|buffer| buffer.start < start).for_each(|buffer| buffer.ends = false);
        Some(len)
    }

    /// The dirty range of a buffer that is full and should be written now.
    pub(crate) fn full(&self) -> Option<DirtyRange> {
        let full = |buffer: &&Buffer| buffer.dirty.end == self.size.bytes && !self.is_busy(buffer.start);
        self.buffers.iter().filter(full).find_map(Buffer::store)
    }

    /// What to write before anything else.
    pub(crate) fn next_store(&self) -> Store {
        let idle = self.buffers.iter().filter(|buffer| !self.is_busy(buffer.start)).find_map(Buffer::store);
        match (idle, self.first_store()) {
            (Some(range), _) => Store::Range(range),
            (None, Some(_)) => Store::Busy,
            (None, None) => Store::Nothing,
        }
    }

    /// The dirty range to write first, whether or not it is being written.
    pub(crate) fn first_store(&self) -> Option<DirtyRange> {
        self.buffers.iter().find_map(Buffer::store)
    }

    /// The bytes of a dirty range.
    pub(crate) fn bytes(&self, store: DirtyRange) -> &[u8] {
        let found = self.buffers.iter().find(|buffer| buffer.store() == Some(store));
        found.and_then(|buffer| buffer.data.get(buffer.dirty.clone())).unwrap_or_default()
    }

    /// Marks a dirty range as written.
    pub(crate) fn stored(&mut self, store: DirtyRange) {
        for buffer in self.buffers.iter_mut().filter(|buffer| buffer.store() == Some(store)) {
            buffer.dirty = 0..0;
        }
        self.end_request(self.whole(store.offset).0);
    }

    /// Drops a dirty range whose write failed.
    pub(crate) fn lose(&mut self, store: DirtyRange) {
        self.buffers.retain(|buffer| buffer.store() != Some(store));
        self.end_request(self.whole(store.offset).0);
    }

    /// Invalidates all clean buffers.
    pub(crate) fn invalidate(&mut self) {
        self.buffers.retain(|buffer| buffer.store().is_some());
    }

    fn place(&self, offset: u64) -> Option<usize> {
        let (start, _) = self.whole(offset);
        self.buffers.iter().position(|buffer| buffer.start == start)
    }

    fn is_full(&self) -> bool {
        self.buffers.len() >= self.size.buffers as usize
    }

    /// An empty buffer, which evicts the one at `evicted` if the cache is full; 0 is the least recently used one.
    fn fresh(&mut self, start: u64, evicted: usize) -> Buffer {
        let old = if self.is_full() { self.buffers.remove(evicted) } else { None };
        let data = old.map_or_else(|| vec![0; self.size.bytes].into_boxed_slice(), |buffer| buffer.data);
        Buffer { start, data, known: 0..0, dirty: 0..0, ends: false }
    }

    fn touch(&mut self, number: usize) {
        if let Some(buffer) = self.buffers.remove(number) {
            self.buffers.push_back(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A file, its cache, and the number of requests between them.
    struct Pair {
        file: Vec<u8>,
        cache: FileCache,
        requests: usize,
    }

    impl Pair {
        fn new(buffers: u32, bytes: usize) -> Self {
            let cache = FileCache::new(CacheSize { buffers, bytes });
            Self { file: Vec::new(), cache, requests: 0 }
        }

        fn store(&mut self, store: DirtyRange) {
            let at = store.offset as usize;
            let data = self.cache.bytes(store).to_vec();
            assert_eq!(data.len(), store.len);
            self.file.resize(self.file.len().max(at + data.len()), 0);
            self.file[at..at + data.len()].copy_from_slice(&data);
            self.cache.stored(store);
            self.requests += 1;
        }

        fn write_back(&mut self) {
            while let Some(store) = self.cache.first_store() {
                self.store(store);
            }
        }

        fn read(&mut self, offset: u64, len: usize) -> Vec<u8> {
            let mut out = vec![0; len];
            let mut done = 0;
            while done < len {
                match self.cache.read(offset + done as u64, &mut out[done..]) {
                    Some(0) => break,
                    Some(came) => done += came,
                    None => {
                        self.write_back();
                        let (start, bytes) = self.cache.whole(offset + done as u64);
                        let start = (start as usize).min(self.file.len());
                        let end = (start + bytes).min(self.file.len());
                        let at = self.cache.whole(offset + done as u64).0;
                        assert!(self.cache.keep(at, &self.file[start..end]));
                        self.requests += 1;
                    }
                }
            }
            out.truncate(done);
            out
        }

        fn write(&mut self, offset: u64, data: &[u8]) {
            let mut done = 0;
            while done < data.len() {
                if let Some(taken) = self.cache.write(offset + done as u64, &data[done..]) {
                    done += taken;
                } else {
                    let store = self.cache.first_store().expect("a dirty buffer blocks the write");
                    self.store(store);
                }
                while let Some(full) = self.cache.full() {
                    self.store(full);
                }
            }
        }
    }

    #[test]
    fn sequential_small_transfers_become_whole_buffers() {
        let mut pair = Pair::new(3, 1024);
        for at in 0..32 {
            pair.write(at * 128, &[at as u8; 128]);
        }
        assert_eq!((pair.file.len(), pair.requests), (4096, 4), "eight writes of 128 bytes are one");
        pair.cache.invalidate();
        for at in 0..32 {
            assert_eq!(pair.read(at * 128, 128), [at as u8; 128]);
        }
        assert_eq!(pair.requests, 8);
        assert_eq!(pair.read(4096, 10), [], "the end");
        assert_eq!((pair.read(4000, 200).len(), pair.requests), (96, 9));
    }

    #[test]
    fn failed_write_back_drops_its_range_and_keeps_other_dirty_data() {
        let mut pair = Pair::new(2, 64);
        pair.write(10, b"first");
        pair.write(100, b"second");
        pair.cache.invalidate();
        let store = pair.cache.first_store().unwrap();
        assert_eq!((store, pair.cache.bytes(store)), (DirtyRange { offset: 10, len: 5 }, &b"first"[..]));
        pair.cache.lose(store);
        assert_eq!(pair.cache.first_store(), Some(DirtyRange { offset: 100, len: 6 }));
        pair.write_back();
        assert_eq!(pair.cache.first_store(), None);
        assert_eq!(&pair.file[100..], b"second");
        pair.cache.invalidate();
        assert_eq!(pair.read(8, 4), [0; 4]);
    }

    #[test]
    fn buffer_with_a_request_in_progress_is_neither_written_nor_evicted() {
        let mut pair = Pair::new(2, 64);
        pair.write(0, &[1; 10]);
        pair.write(64, &[2; 10]);
        let Store::Range(first) = pair.cache.next_store() else { panic!() };
        pair.cache.begin_request(0);
        let second = DirtyRange { offset: 64, len: 10 };
        assert_eq!((first.offset, pair.cache.next_store()), (0, Store::Range(second)));
        assert!(!pair.cache.accepts_write(5) && pair.cache.accepts_write(64));
        pair.cache.begin_request(64);
        assert_eq!((pair.cache.next_store(), pair.cache.write(128, &[3])), (Store::Busy, None));
        assert!(!pair.cache.keep(128, &[4; 64]), "all buffers are dirty");
        pair.cache.stored(second);
        assert!(pair.cache.keep(128, &[4; 64]) && !pair.cache.is_quiet());
        assert_eq!(pair.cache.read(0, &mut [0; 10]), Some(10), "the dirty one stays");
        pair.cache.lose(first);
        assert!(pair.cache.is_quiet() && pair.cache.next_store() == Store::Nothing);
        pair.cache.claim();
        assert!(pair.cache.is_claimed() && !pair.cache.accepts_write(0));
        pair.cache.take();
        assert_eq!(pair.cache.read(128, &mut [0; 10]), None);
        pair.cache.release(true);
        assert!(!pair.cache.is_claimed());
    }

    #[test]
    fn separate_write_does_not_end_the_file() {
        let mut pair = Pair::new(2, 64);
        assert_eq!(pair.read(0, 1), [], "the end");
        pair.write(7, &[1; 18]);
        pair.write(0, &[2]);
        assert_eq!((pair.read(0, 1), pair.read(1, 24)), (vec![2], [vec![0; 6], vec![1; 18]].concat()));
    }

    proptest! {
        /// Reads and writes through any number of buffers give the same contents as a plain file.
        #[test]
        fn reads_and_writes_are_those_of_a_file(
            buffers in 1..5_u32,
            steps in prop::collection::vec((0..300_u64, 1..90_usize, 0..4_u8), 1..80),
        ) {
            let mut pair = Pair::new(buffers, 64);
            let mut plain = Vec::new();
            for (number, (offset, len, what)) in steps.into_iter().enumerate() {
                let at = offset as usize;
                match what {
                    0 | 1 => {
                        let data: Vec<u8> = (0..len).map(|byte| (number * 7 + byte + 1) as u8).collect();
                        plain.resize(plain.len().max(at + len), 0);
                        plain[at..at + len].copy_from_slice(&data);
                        pair.write(offset, &data);
                    }
                    2 => {
                        let end = (at + len).min(plain.len());
                        let expected = plain.get(at..end).unwrap_or_default();
                        prop_assert_eq!(pair.read(offset, len), expected);
                    }
                    _ => {
                        pair.write_back();
                        pair.cache.invalidate();
                        prop_assert_eq!(&pair.file, &plain);
                    }
                }
                prop_assert!(pair.cache.buffers.len() <= buffers as usize);
            }
            pair.write_back();
            prop_assert_eq!(&pair.file, &plain);
        }
    }
}
