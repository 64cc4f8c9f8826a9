//! The names under which compiled code finds the functions.

use core::ffi::{c_int, c_void};

use crate::compare::compare;
use crate::copy;
use crate::fill::fill;

/// Copies `count` bytes to a place that does not overlap with them, and returns it.
///
/// # Safety
/// C11 7.24.2.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, count: usize) -> *mut c_void {
    // SAFETY: the caller's.
    unsafe { copy::apart(to.cast(), from.cast(), count) };
    to
}

/// Copies `count` bytes to a place that may overlap with them, and returns it.
///
/// # Safety
/// C11 7.24.2.2.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memmove(to: *mut c_void, from: *const c_void, count: usize) -> *mut c_void {
    // SAFETY: the caller's.
    unsafe { copy::any(to.cast(), from.cast(), count) };
    to
}

/// Writes the low byte of `value` to `count` bytes, and returns their place.
///
/// # Safety
/// C11 7.24.6.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memset(to: *mut c_void, value: c_int, count: usize) -> *mut c_void {
    // SAFETY: the caller's.
    unsafe { fill(to.cast(), value as u8, count) };
    to
}

/// Returns a negative number, zero or a positive number, as `left` is less than, equal to or greater than `right`.
///
/// # Safety
/// C11 7.24.4.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcmp(left: *const c_void, right: *const c_void, count: usize) -> c_int {
    // SAFETY: the caller's.
    unsafe { compare(left.cast(), right.cast(), count) as c_int }
}

/// Returns zero where the two are equal.
///
/// # Safety
/// As of `memcmp`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcmp(left: *const c_void, right: *const c_void, count: usize) -> c_int {
    // SAFETY: the caller's.
    unsafe { compare(left.cast(), right.cast(), count) as c_int }
}
