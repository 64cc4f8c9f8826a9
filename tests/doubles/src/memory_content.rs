//! The content of a file of the target in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sharebench_model::{ErrorClass, OpError, OpStep};

use crate::memory_sharing::Sharing;

const PAGE: u64 = 4096;

#[derive(Debug, Default)]
pub(crate) struct Content {
    pub(crate) size: u64,
    pages: BTreeMap<u64, Box<[u8]>>,
    /// Who has it open, and locked.
    pub(crate) sharing: Sharing,
}

impl Content {
    /// Calls `each` with every page number, place in the page and place in the record, `PAGE` at most each.
    fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize, usize)> {
        let mut done = 0;
        std::iter::from_fn(move || {
            let at = offset + done as u64;
            let within = (at % PAGE) as usize;
            let piece = (PAGE as usize - within).min(len - done);
            done += piece;
            (piece > 0).then_some((at / PAGE, within, done - piece, piece))
        })
    }

    pub(crate) fn read(&self, offset: u64, into: &mut [u8]) -> usize {
        let len = (self.size.saturating_sub(offset)).min(into.len() as u64) as usize;
        for (page, within, at, piece) in Self::pieces(offset, len) {
            match self.pages.get(&page) {
                Some(bytes) => into[at..at + piece].copy_from_slice(&bytes[within..within + piece]),
                None => into[at..at + piece].fill(0),
            }
        }
        len
    }

    pub(crate) fn write(&mut self, offset: u64, from: &[u8]) {
        for (page, within, at, piece) in Self::pieces(offset, from.len()) {
            let bytes = self.pages.entry(page).or_insert_with(|| vec![0; PAGE as usize].into());
            bytes[within..within + piece].copy_from_slice(&from[at..at + piece]);
        }
        self.size = self.size.max(offset + from.len() as u64);
    }

    /// Makes the pages within a range a hole, and zeros the rest of it.
    pub(crate) fn punch(&mut self, offset: u64, bytes: u64) {
        let end = offset.saturating_add(bytes).min(self.size);
        self.pages.retain(|page, _| page * PAGE < offset || (page + 1) * PAGE > end);
        for (page, content) in self.pages.range_mut(offset / PAGE..end.div_ceil(PAGE)) {
            let from = offset.saturating_sub(page * PAGE).min(PAGE) as usize;
            let to = end.saturating_sub(page * PAGE).min(PAGE) as usize;
            if let Some(range) = content.get_mut(from..to) {
                range.fill(0);
            }
        }
    }

    /// Bytes of a range that are in pages.
    pub(crate) fn stored(&self, offset: u64, len: u64) -> u64 {
        let end = offset.saturating_add(len).min(self.size);
        let within = |page: u64| (page * PAGE + PAGE).min(end) - (page * PAGE).max(offset);
        self.pages.range(offset / PAGE..end.div_ceil(PAGE)).map(|(page, _)| within(*page)).sum()
    }

    pub(crate) fn resize(&mut self, size: u64) {
        if size < self.size {
            self.pages.retain(|page, _| page * PAGE < size);
            if let Some(last) = self.pages.get_mut(&(size / PAGE)) {
                last[(size % PAGE) as usize..].fill(0);
            }
        }
        self.size = size;
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn fails<T>(class: ErrorClass, request: &'static str, detail: &str) -> Result<T, OpError> {
    Err(OpError::new(class, OpStep::Request(request), detail))
}
