//! The bytes of one file in memory: sparse pages, each with its own lock.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, RwLock};

use crate::volume::memory::budget::Budget;
use crate::{StoredData, VolumeError, VolumeResult};

/// Bytes per page. A page uses memory only up to its last written 4 KiB.
pub(super) const PAGE_BYTES: u64 = 64 << 10;

/// Granularity in which a page grows and is charged, in bytes.
const GRAIN_BYTES: usize = 4 << 10;

/// Largest offset in a file: 2^63 - 1, which clients of every protocol can express.
pub(super) const MAX_SIZE: u64 = i64::MAX as u64;

/// Hashes a number with one multiplication. The keys are page and node numbers that the volume assigns itself, so that
/// no client can choose them to collide.
#[derive(Default)]
pub(super) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // Fibonacci hashing: the table uses the upper bits for its control byte.
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

pub(super) type NumberMap<V> = HashMap<u64, V, BuildHasherDefault<NumberHasher>>;

/// One page: the bytes written so far; bytes after its end read as zeros. A change copies the page if a reply that is being
/// sent has a part of it.
type Page = RwLock<Arc<Vec<u8>>>;

/// What the pages that do not exist have.
static ZEROS: LazyLock<Arc<Vec<u8>>> = LazyLock::new(|| Arc::new(vec![0; PAGE_BYTES as usize]));

/// The bytes of a file. Readers and writers of different pages run concurrently; a read or write that spans pages is not
/// atomic across them.
#[derive(Default)]
pub(super) struct Content {
    /// Shared lock: pages are read and written. Exclusive lock: a page is added, or the file is truncated.
    pages: RwLock<NumberMap<Page>>,
    size: AtomicU64,
    charged: AtomicU64,
}

/// The piece of a transfer that falls into one page.
struct Piece {
    page: u64,
    within: usize,
    transfer: std::ops::Range<usize>,
}

/// Splits `len` bytes at `offset` by pages.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = Piece> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done >= len {
            return None;
        }
        let at = offset + done as u64;
        let within = (at % PAGE_BYTES) as usize;
        let count = (PAGE_BYTES as usize - within).min(len - done);
        let piece = Piece { page: at / PAGE_BYTES, within, transfer: done..done + count };
        done += count;
        Some(piece)
    })
}

impl Content {
    /// Length in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size.load(Ordering::Acquire)
    }

    /// Memory charged, in bytes.
    pub(super) fn charged(&self) -> u64 {
        self.charged.load(Ordering::Relaxed)
    }

    /// Reads into `buffer`; the read is short only at the end of the file.
    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let pages = read_lock(&self.pages);
        let left = self.size().saturating_sub(offset);
        let count = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        for piece in pieces(offset, count) {
            let into = &mut buffer[piece.transfer];
            match pages.get(&piece.page) {
                Some(page) => copy_padded(&read_lock(page), piece.within, into),
                None => into.fill(0),
            }
        }
        count
    }

    /// Reads up to `len` bytes without copying them.
    pub(super) fn read_stored(&self, offset: u64, len: usize) -> StoredData {
        let pages = read_lock(&self.pages);
        let left = self.size().saturating_sub(offset);
        let count = len.min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut data = StoredData::default();
        for Piece { page, within, transfer } in pieces(offset, count) {
            let end = within + transfer.len();
            let present = pages.get(&page).map(|page| Arc::clone(&read_lock(page)));
            let stored = present.as_ref().map_or(0, |bytes| bytes.len()).clamp(within, end);
            if let Some(bytes) = present.filter(|_| stored > within) {
                data.push(bytes, within..stored);
            }
            if stored < end {
                data.push(Arc::clone(&ZEROS), 0..end - stored);
            }
        }
        data
    }

    /// Writes `data` at `offset` and extends the file if needed. If the budget is exhausted, the length stays and nothing
    /// remains after the end; bytes before it may be overwritten.
    pub(super) fn write(&self, offset: u64, data: &[u8], budget: &Budget) -> VolumeResult<()> {
        let end = offset.checked_add(data.len() as u64).filter(|end| *end <= MAX_SIZE);
        let end = end.ok_or(VolumeError::TooBig)?;
        if data.is_empty() {
            return Ok(());
        }
        loop {
            if let Some(written) = self.write_present(offset, data, end, budget) {
                if written.is_err() {
                    self.cut(&mut write_lock(&self.pages), self.size(), budget);
                }
                return written;
            }
            let mut pages = write_lock(&self.pages);
            for piece in pieces(offset, data.len()) {
                pages.entry(piece.page).or_default();
            }
        }
    }

    /// Writes if every page exists. Bytes and length change under one shared lock, so that no truncation can happen
    /// between them.
    fn write_present(&self, offset: u64, data: &[u8], end: u64, budget: &Budget) -> Option<VolumeResult<()>> {
        let pages = read_lock(&self.pages);
        if !pieces(offset, data.len()).all(|piece| pages.contains_key(&piece.page)) {
            return None;
        }
        for piece in pieces(offset, data.len()) {
            let page = pages.get(&piece.page)?;
            if let Err(error) = self.fill_page(page, piece.within, &data[piece.transfer], budget) {
                return Some(Err(error));
            }
        }
        // `max`, because a concurrent write may have extended the file further.
        self.size.fetch_max(end, Ordering::AcqRel);
        Some(Ok(()))
    }

    fn fill_page(&self, page: &Page, within: usize, bytes: &[u8], budget: &Budget) -> VolumeResult<()> {
        let mut page = write_lock(page);
        let page = Arc::make_mut(&mut page);
        let end = within + bytes.len();
        if end > page.len() {
            self.grow_page(page, end, budget)?;
        }
        page[within..end].copy_from_slice(bytes);
        Ok(())
    }

    /// Allocates memory for `end` bytes: small files stay small, growing ones soon get the full page.
    fn grow_page(&self, page: &mut Vec<u8>, end: usize, budget: &Budget) -> VolumeResult<()> {
        // Doubling limits the number of copies of a page that is filled by small writes.
        let wanted = end.next_multiple_of(GRAIN_BYTES).max((page.len() * 2).min(PAGE_BYTES as usize));
        let more = (wanted - page.len()) as u64;
        budget.take(more)?;
        self.charged.fetch_add(more, Ordering::Relaxed);
        if page.is_empty() {
            // A fresh zeroed allocation is cheaper than a resize.
            *page = vec![0; wanted];
        } else {
            page.reserve_exact(wanted - page.len());
            page.resize(wanted, 0);
        }
        Ok(())
    }

    /// Truncates or extends the file. An extension uses no memory.
    pub(super) fn set_size(&self, size: u64, budget: &Budget) -> VolumeResult<()> {
        if size > MAX_SIZE {
            return Err(VolumeError::TooBig);
        }
        let mut pages = write_lock(&self.pages);
        if size < self.size() {
            self.cut(&mut pages, size, budget);
        }
        self.size.store(size, Ordering::Release);
        Ok(())
    }

    /// The first byte at or after `offset` in a page; none if only holes follow.
    pub(super) fn next_data(&self, offset: u64) -> Option<u64> {
        let pages = read_lock(&self.pages);
        let size = self.size();
        let has_data = |number: &u64, page: &Page| {
            let end = number * PAGE_BYTES + read_lock(page).len() as u64;
            end > offset && number * PAGE_BYTES < size
        };
        let first =
            pages.iter().filter(|(number, page)| has_data(number, page)).map(|(number, _)| *number).min();
        first.map(|number| offset.max(number * PAGE_BYTES)).filter(|at| *at < size)
    }

    /// The first byte at or after `offset` that is in no page, or the end of the file.
    pub(super) fn next_hole(&self, offset: u64) -> u64 {
        let pages = read_lock(&self.pages);
        let size = self.size();
        let mut at = offset;
        while at < size {
            let Some(page) = pages.get(&(at / PAGE_BYTES)) else { return at };
            let end = at / PAGE_BYTES * PAGE_BYTES + read_lock(page).len() as u64;
            if end <= at {
                return at;
            }
            at = end;
        }
        size
    }

    /// Charges memory for a range and extends the file if needed. If the budget is exhausted, the length stays.
    pub(super) fn allocate(&self, offset: u64, len: u64, budget: &Budget) -> VolumeResult<()> {
        let end = offset.checked_add(len).filter(|end| *end <= MAX_SIZE).ok_or(VolumeError::TooBig)?;
        let mut pages = write_lock(&self.pages);
        let allocated = (offset / PAGE_BYTES..end.div_ceil(PAGE_BYTES)).try_for_each(|number| {
            let page = pages.entry(number).or_default();
            let page = changeable(page);
            if page.len() < PAGE_BYTES as usize {
                self.grow_page(page, PAGE_BYTES as usize, budget)?;
            }
            Ok(())
        });
        if allocated.is_err() {
            self.cut(&mut pages, self.size(), budget);
            return allocated;
        }
        self.size.fetch_max(end, Ordering::AcqRel);
        Ok(())
    }

    /// Frees the whole pages of a range and fills the rest of it with zeros. The length stays.
    pub(super) fn deallocate(&self, offset: u64, len: u64, budget: &Budget) -> VolumeResult<()> {
        let end = offset.checked_add(len).filter(|end| *end <= MAX_SIZE).ok_or(VolumeError::TooBig)?;
        let mut freed = 0;
        write_lock(&self.pages).retain(|number, page| {
            let start = number * PAGE_BYTES;
            let page = changeable(page);
            if offset <= start && end >= start + PAGE_BYTES {
                freed += page.len() as u64;
                return false;
            }
            let within = |at: u64| (at.saturating_sub(start) as usize).min(page.len());
            let range = within(offset)..within(end);
            page[range].fill(0);
            true
        });
        self.charged.fetch_sub(freed, Ordering::Relaxed);
        budget.give(freed);
        Ok(())
    }

    /// Removes every byte from `size` on.
    fn cut(&self, pages: &mut NumberMap<Page>, size: u64, budget: &Budget) {
        let mut freed = 0;
        let last = size / PAGE_BYTES;
        let within = (size % PAGE_BYTES) as usize;
        pages.retain(|number, page| {
            let keep = match (*number).cmp(&last) {
                std::cmp::Ordering::Less => return true,
                std::cmp::Ordering::Equal => within,
                std::cmp::Ordering::Greater => 0,
            };
            let page = changeable(page);
            freed += cut_page(page, keep);
            !page.is_empty()
        });
        self.charged.fetch_sub(freed, Ordering::Relaxed);
        budget.give(freed);
    }
}

/// The bytes of a page that nobody else can reach at the moment.
fn changeable(page: &mut Page) -> &mut Vec<u8> {
    Arc::make_mut(page.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// Removes everything after `keep` and returns the number of freed bytes.
fn cut_page(page: &mut Vec<u8>, keep: usize) -> u64 {
    let Some(tail) = page.get_mut(keep..) else { return 0 };
    // The page keeps whole grains, and its bytes after the new end must read as zeros when the file grows
    // again.
    tail.fill(0);
    let before = page.len();
    page.truncate(keep.next_multiple_of(GRAIN_BYTES));
    page.shrink_to_fit();
    (before - page.len()) as u64
}

/// Copies from `page` at `within`; bytes after its end are zeros.
fn copy_padded(page: &[u8], within: usize, into: &mut [u8]) {
    let from = page.get(within..).unwrap_or_default();
    let count = from.len().min(into.len());
    into[..count].copy_from_slice(&from[..count]);
    into[count..].fill(0);
}

/// Locks for reading. A poisoned lock is used anyway: every update leaves pages consistent at each step.
pub(super) fn read_lock<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Locks for writing; see [`read_lock`].
pub(super) fn write_lock<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Content, MAX_SIZE, PAGE_BYTES};
    use crate::VolumeError;
    use crate::volume::memory::budget::Budget;

    #[test]
    fn extending_to_an_exabyte_uses_no_memory() {
        let content = Content::default();
        let budget = Budget::new(1 << 20);
        content.set_size(1 << 60, &budget).unwrap();
        assert_eq!((content.size(), budget.used()), (1 << 60, 0));
        let mut buffer = [7; 16];
        assert_eq!(content.read((1 << 60) - 8, &mut buffer), 8);
        assert_eq!(buffer[..8], [0; 8]);
        assert_eq!(content.set_size(MAX_SIZE + 1, &budget), Err(VolumeError::TooBig));
        assert_eq!(content.write(MAX_SIZE, b"x", &budget), Err(VolumeError::TooBig));
    }

    #[test]
    fn a_small_file_is_charged_in_grains_and_returns_them() {
        let content = Content::default();
        let budget = Budget::new(1 << 20);
        content.write(0, &[1; 100], &budget).unwrap();
        assert_eq!((content.charged(), budget.used()), (4096, 4096));
        content.set_size(0, &budget).unwrap();
        assert_eq!((content.charged(), budget.used()), (0, 0));
    }

    #[test]
    fn truncated_bytes_read_as_zeros_after_an_extension() {
        let content = Content::default();
        let budget = Budget::new(1 << 20);
        content.write(0, &[9; 5000], &budget).unwrap();
        content.set_size(100, &budget).unwrap();
        content.set_size(5000, &budget).unwrap();
        let mut buffer = [1; 5000];
        assert_eq!(content.read(0, &mut buffer), 5000);
        assert!(buffer[..100].iter().all(|byte| *byte == 9) && buffer[100..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn data_that_were_read_stay_as_they_were() {
        let content = Content::default();
        let budget = Budget::new(1 << 20);
        content.write(PAGE_BYTES - 2, b"before", &budget).unwrap();
        let stored = content.read_stored(PAGE_BYTES - 4, 100);
        content.write(PAGE_BYTES - 2, b"after.", &budget).unwrap();
        content.set_size(0, &budget).unwrap();
        let bytes: Vec<u8> = stored.slices().flat_map(|slice| slice.to_vec()).collect();
        assert_eq!(bytes, b"\0\0before");
        assert_eq!(content.read_stored(PAGE_BYTES - 4, 100).len(), 0);
    }

    proptest! {
        #[test]
        fn behaves_like_a_vector(
            steps in prop::collection::vec((0u8..3, 0usize..300_000, 0usize..150_000), 1..30)
        ) {
            let content = Content::default();
            let budget = Budget::new(64 << 20);
            let mut model: Vec<u8> = Vec::new();
            for (nth, (kind, offset, len)) in steps.into_iter().enumerate() {
                match kind {
                    0 => {
                        let data = vec![nth as u8 + 1; len];
                        content.write(offset as u64, &data, &budget).unwrap();
                        if len > 0 && model.len() < offset + len {
                            model.resize(offset + len, 0);
                        }
                        if len > 0 {
                            model[offset..offset + len].fill(nth as u8 + 1);
                        }
                    }
                    1 => {
                        content.set_size(offset as u64, &budget).unwrap();
                        model.resize(offset, 0);
                    }
                    _ => {
                        let mut buffer = vec![0xee; len];
                        let count = content.read(offset as u64, &mut buffer);
                        let expected = model.get(offset..).unwrap_or_default();
                        let expected = &expected[..expected.len().min(len)];
                        prop_assert_eq!(&buffer[..count], expected);
                        let stored = content.read_stored(offset as u64, len);
                        let bytes: Vec<u8> = stored.slices().flat_map(|slice| slice.to_vec()).collect();
                        prop_assert_eq!((bytes.as_slice(), stored.len()), (expected, expected.len()));
                    }
                }
                prop_assert_eq!(content.size(), model.len() as u64);
                prop_assert_eq!(content.charged(), budget.used());
                prop_assert!(budget.used() <= (model.len() as u64).next_multiple_of(PAGE_BYTES));
            }
        }
    }
}
