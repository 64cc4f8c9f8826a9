//! A session's slots: one allocation of whole pages, touched before anything is measured.

use std::ptr::{self, NonNull};

use sharebench_model::Slot;
use windows_sys::Win32::Foundation::ERROR_NOT_ENOUGH_MEMORY;
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc, VirtualFree,
};

use super::error_code::ErrorCode;

const PAGE: usize = 4096;

/// `slots` buffers of `slot_bytes` each, every one on a page boundary, as unbuffered I/O requires.
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
        let full = ErrorCode(ERROR_NOT_ENOUGH_MEMORY);
        let len = stride.checked_mul(slots).ok_or(full)?;
        // SAFETY: a fresh allocation touches no memory of ours.
        let base = unsafe { VirtualAlloc(ptr::null(), len, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE) };
        let base = NonNull::new(base.cast::<u8>()).ok_or_else(ErrorCode::last)?;
        // Faults every page in now: the first operations would otherwise pay for page faults of the generator.
        // SAFETY: within the allocation just made.
        unsafe { base.as_ptr().write_bytes(0, len) };
        Ok(Self { base, stride, slot_bytes, slots })
    }

    pub fn slots(&self) -> usize {
        self.slots
    }

    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// # Panics
    /// When there is no such slot.
    pub fn slot(&mut self, slot: Slot) -> &mut [u8] {
        let at = self.address(slot);
        // SAFETY: `address` gives the start of `slot_bytes` bytes of the allocation, borrowed through self.
        unsafe { std::slice::from_raw_parts_mut(at, self.slot_bytes) }
    }

    /// Where a slot starts; valid for `slot_bytes` bytes while the buffers live.
    ///
    /// # Panics
    /// When there is no such slot.
    pub fn address(&self, slot: Slot) -> *mut u8 {
        assert!((slot.0 as usize) < self.slots, "{slot:?} of {}", self.slots);
        // SAFETY: below `slots * stride`, the length of the allocation.
        unsafe { self.base.as_ptr().add(slot.0 as usize * self.stride) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: the allocation made in `new`, freed once; nothing in flight refers to it any more.
        unsafe { VirtualFree(self.base.as_ptr().cast(), 0, MEM_RELEASE) };
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
}
