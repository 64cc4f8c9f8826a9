//! Comparisons.

use core::cmp::Ordering;

use crate::unaligned::read;

const WORD: usize = size_of::<u64>();

/// Orders `count` bytes by their first difference, as unsigned numbers.
///
/// # Safety
/// Both must be valid for reads of `count` bytes.
#[inline(always)]
pub(crate) unsafe fn compare(left: *const u8, right: *const u8, count: usize) -> Ordering {
    // SAFETY: the caller's; each read lies within `count`.
    unsafe {
        if count >= WORD {
            let last = count - WORD;
            let mut at = 0;
            while at < last {
                // Two words have no branch between them.
                let pair = (at + WORD).min(last);
                let different = (word(left, at) ^ word(right, at)) | (word(left, pair) ^ word(right, pair));
                if different != 0 {
                    return by_word(left, right, at).then(by_word(left, right, pair));
                }
                at += 2 * WORD;
            }
            return by_word(left, right, last);
        }
        let mut at = 0;
        while at < count {
            let order = (*left.add(at)).cmp(&*right.add(at));
            if order.is_ne() {
                return order;
            }
            at += 1;
        }
        Ordering::Equal
    }
}

/// # Safety
/// `start` must be valid for reads of a word at `at`.
#[inline(always)]
unsafe fn word(start: *const u8, at: usize) -> u64 {
    // SAFETY: the caller's.
    unsafe { read::<u64>(start.add(at)) }
}

/// Orders a word: its first byte decides first.
///
/// # Safety
/// As of `word`, for both.
#[inline(always)]
unsafe fn by_word(left: *const u8, right: *const u8, at: usize) -> Ordering {
    // SAFETY: the caller's.
    unsafe { word(left, at).swap_bytes().cmp(&word(right, at).swap_bytes()) }
}
