//! One overlapped operation per slot: the structures that the system writes while it runs.

use std::os::windows::io::RawHandle;

use windows_sys::Win32::Foundation::{
    ERROR_HANDLE_EOF, ERROR_IO_PENDING, GetLastError, RtlNtStatusToDosError,
};
use windows_sys::Win32::Storage::FileSystem::{ReadFile, WriteFile};
use windows_sys::Win32::System::IO::{OVERLAPPED, OVERLAPPED_0, OVERLAPPED_0_0};

use crate::error_code::ErrorCode;

/// The `OVERLAPPED` structures of a session, at addresses that do not change.
///
/// Invariant: from the start of an operation to its completion the system owns the structure of its slot, and nothing
/// here reads or writes it. They are reached through raw pointers only.
#[derive(Debug)]
pub(crate) struct OverlappedSlots {
    base: *mut OVERLAPPED,
    count: usize,
}

/// How an operation began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Started {
    /// It has succeeded already. A completion follows unless the file needs none.
    Done(u32),
    /// Its completion follows.
    Pending,
    /// It failed and has no completion.
    Failed(ErrorCode),
}

impl OverlappedSlots {
    pub fn new(count: usize) -> Self {
        let structures: Box<[OVERLAPPED]> = vec![OVERLAPPED::default(); count].into();
        Self { base: Box::into_raw(structures).cast(), count }
    }

    fn at(&self, slot: usize) -> *mut OVERLAPPED {
        assert!(slot < self.count, "slot {slot} of {}", self.count);
        // SAFETY: below the number of structures.
        unsafe { self.base.add(slot) }
    }

    /// The slot of a structure; none if it is not one of these.
    pub fn slot_of(&self, structure: *const OVERLAPPED) -> Option<usize> {
        let bytes = (structure as usize).checked_sub(self.base as usize)?;
        let slot = bytes / size_of::<OVERLAPPED>();
        (slot < self.count).then_some(slot)
    }

    /// The result of an operation whose completion has arrived.
    pub fn result(&self, slot: usize) -> Result<u32, ErrorCode> {
        // SAFETY: after its completion the structure is no longer written by the system.
        let structure = unsafe { &*self.at(slot) };
        // The status has 32 bits, of which the first one is set for errors.
        match from_status((structure.Internal as u32).cast_signed()) {
            None => Ok(structure.InternalHigh as u32),
            // A read at or beyond the end of the file.
            Some(ErrorCode(ERROR_HANDLE_EOF)) => Ok(0),
            Some(code) => Err(code),
        }
    }

    /// Prepares the structure of an idle slot.
    fn prepare(&self, slot: usize, offset: u64) -> *mut OVERLAPPED {
        let position = OVERLAPPED_0_0 { Offset: offset as u32, OffsetHigh: (offset >> 32) as u32 };
        let structure = self.at(slot);
        // SAFETY: the slot is idle, so that nobody else uses its structure.
        unsafe {
            *structure = OVERLAPPED { Anonymous: OVERLAPPED_0 { Anonymous: position }, ..Default::default() }
        };
        structure
    }

    /// Starts to read `len` bytes into `buffer`.
    ///
    /// # Safety
    /// The slot is idle, the file is open for overlapped I/O, and the buffer stays valid and untouched until the
    /// operation has ended.
    pub unsafe fn read(
        &self,
        slot: usize,
        file: RawHandle,
        buffer: *mut u8,
        len: u32,
        offset: u64,
    ) -> Started {
        let structure = self.prepare(slot, offset);
        let mut bytes = 0;
        // SAFETY: as the caller promises; the structure is at a stable address.
        let done = unsafe { ReadFile(file, buffer, len, &raw mut bytes, structure) };
        Self::started(done, bytes)
    }

    /// Starts to write `len` bytes of `buffer`.
    ///
    /// # Safety
    /// As for [`Self::read`].
    pub unsafe fn write(
        &self,
        slot: usize,
        file: RawHandle,
        buffer: *const u8,
        len: u32,
        offset: u64,
    ) -> Started {
        let structure = self.prepare(slot, offset);
        let mut bytes = 0;
        // SAFETY: as the caller promises; the structure is at a stable address.
        let done = unsafe { WriteFile(file, buffer, len, &raw mut bytes, structure) };
        Self::started(done, bytes)
    }

    fn started(done: i32, bytes: u32) -> Started {
        if done != 0 {
            return Started::Done(bytes);
        }
        // SAFETY: the call has no arguments.
        match unsafe { GetLastError() } {
            ERROR_IO_PENDING => Started::Pending,
            code => Started::Failed(ErrorCode(code)),
        }
    }
}

impl Drop for OverlappedSlots {
    fn drop(&mut self) {
        let structures = std::ptr::slice_from_raw_parts_mut(self.base, self.count);
        // SAFETY: the box made in `new`, dropped once; no operation is in flight (see the session's `Drop`).
        drop(unsafe { Box::from_raw(structures) });
    }
}

/// The code of a status of the native interface, with which overlapped operations end; none for success.
fn from_status(status: i32) -> Option<ErrorCode> {
    // SAFETY: the call translates a number.
    (status < 0).then(|| ErrorCode(unsafe { RtlNtStatusToDosError(status) }))
}

#[cfg(test)]
mod tests {
    use windows_sys::Win32::Foundation as codes;

    use super::*;

    #[test]
    fn status_of_an_overlapped_operation_becomes_a_code() {
        assert_eq!(from_status(codes::STATUS_SUCCESS), None);
        assert_eq!(from_status(codes::STATUS_END_OF_FILE), Some(ErrorCode(codes::ERROR_HANDLE_EOF)));
    }
}
