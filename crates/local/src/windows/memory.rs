//! Memory that is committed as whole pages.

use std::ptr::{self, NonNull};

use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc, VirtualFree,
};

use crate::error_code::ErrorCode;

pub(crate) fn allocate(len: usize) -> Result<NonNull<u8>, ErrorCode> {
    // SAFETY: a fresh allocation touches no memory of ours.
    let base = unsafe { VirtualAlloc(ptr::null(), len, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE) };
    NonNull::new(base.cast()).ok_or_else(ErrorCode::last)
}

/// # Safety
/// [`allocate`] returned the memory, and nothing refers to it any more.
pub(crate) unsafe fn free(base: NonNull<u8>, _len: usize) {
    // SAFETY: as the caller promises.
    unsafe { VirtualFree(base.as_ptr().cast(), 0, MEM_RELEASE) };
}
