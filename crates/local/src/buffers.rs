//! A session's slots: one allocation of whole pages, touched before anything is measured.

use std::ptr::NonNull;

use sharebench_model::Slot;

use crate::error_code::ErrorCode;
use crate::system::{self, NO_MEMORY};

const PAGE: usize = 4096;

/// `slots` buffers of `slot_bytes` each, every one on a page boundary, as direct I/O requires.
#[derive(Debug)]
pub(crate) struct Buffers {
    base: NonNull<u8>,
    stride: usize,
    slot_bytes: usize,
    slots: usize,
}

impl Buffers {
    pub fn new(slots: u32, slot_bytes: u32) -> Result<Self, ErrorCode> {
        let slots = slots.max(1) as usize;
        let slot_bytes = slot_bytes as usize;
        let stride = slot_bytes.max(1).next_multiple_of(PAGE);
        let len = stride.checked_mul(slots).ok_or(ErrorCode(NO_MEMORY))?;
        let base = system::allocate(len).ok_or_else(ErrorCode::last)?;
        // Faults every page in now: the first operations would otherwise pay for page faults of the generator.
        // SAFETY: within the memory just allocated.
        unsafe { base.as_ptr().write_bytes(0, len) };
        Ok(Self { base, stride, slot_bytes, slots })
    }

    pub fn slots(&self) -> usize {
        self.slots
    }

    /// # Panics
    /// When there is no such slot.
    #[inline]
    pub fn slot(&mut self, slot: Slot) -> &mut [u8] {
        let at = self.address(slot);
        // SAFETY: `address` gives the start of `slot_bytes` bytes of the allocation, borrowed through self.
        unsafe { std::slice::from_raw_parts_mut(at, self.slot_bytes) }
    }

    /// Where a slot starts; valid for `slot_bytes` bytes while the buffers live.
    ///
    /// # Panics
    /// When there is no such slot.
    #[inline]
    pub fn address(&self, slot: Slot) -> *mut u8 {
        assert!((slot.0 as usize) < self.slots, "{slot:?} of {}", self.slots);
        // SAFETY: below `slots * stride`, the length of the allocation.
        unsafe { self.base.as_ptr().add(slot.0 as usize * self.stride) }
    }

    #[inline]
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: the memory allocated in `new`, freed once; nothing in flight refers to it any more.
        unsafe { system::free(self.base, self.stride * self.slots) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_aligned_and_apart() {
        let mut buffers = Buffers::new(3, 5000).unwrap();
        for slot in 0..3 {
            buffers.slot(Slot(slot)).fill(slot as u8 + 1);
        }
        for slot in 0..3 {
            let content = buffers.slot(Slot(slot));
            assert_eq!((content.len(), content.as_ptr() as usize % PAGE), (5000, 0));
            assert!(content.iter().all(|byte| *byte == slot as u8 + 1));
        }
    }

    #[test]
    fn more_than_there_is_memory_is_an_error() {
        assert_eq!(Buffers::new(u32::MAX, u32::MAX).unwrap_err(), ErrorCode(NO_MEMORY));
    }
}
