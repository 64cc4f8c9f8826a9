//! Values at any address.

/// Sixteen bytes, which the processor moves with one instruction.
pub(crate) type Block = core::arch::x86_64::__m128i;

/// A value that may begin at any address.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Unaligned<T>(T);

/// Reads the value at `address`.
///
/// This is `ptr::read_unaligned` without `memcpy`, with which that one is defined.
///
/// # Safety
/// `address` must be valid for reads of the size of `T`, of which every bit pattern must be a value.
#[inline(always)]
pub(crate) unsafe fn read<T: Copy>(address: *const u8) -> T {
    // SAFETY: the caller's; a packed struct has no alignment.
    unsafe { (*address.cast::<Unaligned<T>>()).0 }
}

/// Writes `value` at `address`.
///
/// # Safety
/// `address` must be valid for writes of the size of `T`.
#[inline(always)]
pub(crate) unsafe fn write<T: Copy>(address: *mut u8, value: T) {
    // SAFETY: as in `read`.
    unsafe { *address.cast::<Unaligned<T>>() = Unaligned(value) }
}
