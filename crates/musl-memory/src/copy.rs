//! Copies.

use crate::unaligned::{Block, read, write};

const BLOCK: usize = size_of::<Block>();
/// Bytes of one turn of a loop: eight registers are read before one is written.
const TURN: usize = 8 * BLOCK;
/// From here on, the start of a string instruction costs less than it saves.
const STRING: usize = 1024;

/// Copies `count` bytes between two places that do not overlap.
///
/// # Safety
/// `from` must be valid for reads and `to` for writes of `count` bytes.
#[inline(always)]
pub(crate) unsafe fn apart(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: the caller's, for each of the two.
    unsafe {
        if count <= TURN {
            small(to, from, count);
        } else if count < STRING {
            ascending(to, from, count);
        } else {
            string(to, from, count);
        }
    }
}

/// Copies `count` bytes between two places that may overlap.
///
/// # Safety
/// As of `apart`.
#[inline(always)]
pub(crate) unsafe fn any(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: the caller's. An order that overwrites no byte before it is read is chosen by the distance.
    unsafe {
        if count <= TURN {
            small(to, from, count);
        } else if to.addr().wrapping_sub(from.addr()) >= count {
            // The destination begins before the source or after its end.
            if from.addr().wrapping_sub(to.addr()) >= count {
                apart(to, from, count);
            } else {
                ascending(to, from, count);
            }
        } else {
            descending(to, from, count);
        }
    }
}

/// Copies at most `TURN` bytes, which may overlap: everything is read before anything is written.
///
/// # Safety
/// As of `apart`.
#[inline(always)]
unsafe fn small(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: the caller's; each arm reads and writes within `count`: as much from the front as from the end.
    unsafe {
        match count {
            0 => {}
            1 => *to = *from,
            2..4 => ends::<u16>(to, from, count),
            4..8 => ends::<u32>(to, from, count),
            8..16 => ends::<u64>(to, from, count),
            16..=32 => ends::<Block>(to, from, count),
            33..=64 => ends::<[Block; 2]>(to, from, count),
            _ => ends::<[Block; 4]>(to, from, count),
        }
    }
}

/// Copies one `T` at the front and one at the end, which together are `count` bytes or more.
///
/// # Safety
/// As of `apart`; `count` is at least the size of `T`.
#[inline(always)]
unsafe fn ends<T: Copy>(to: *mut u8, from: *const u8, count: usize) {
    let last = count - size_of::<T>();
    // SAFETY: both values lie within `count` bytes.
    unsafe {
        let front: T = read(from);
        let back: T = read(from.add(last));
        write(to, front);
        write(to.add(last), back);
    }
}

/// Copies more than `TURN` bytes from the front to the end, to a place that does not begin within the source.
///
/// # Safety
/// As of `apart`.
#[inline(always)]
unsafe fn ascending(to: *mut u8, from: *const u8, count: usize) {
    let last = count - TURN;
    // SAFETY: `at` and `last` leave `TURN` bytes. The end is read first, because the turns may overwrite it.
    unsafe {
        let back: [Block; 8] = read(from.add(last));
        let mut at = 0;
        while at < last {
            let turn: [Block; 8] = read(from.add(at));
            write(to.add(at), turn);
            at += TURN;
        }
        write(to.add(last), back);
    }
}

/// Copies more than `TURN` bytes from the end to the front, to a place that begins within the source.
///
/// # Safety
/// As of `apart`.
#[inline(always)]
unsafe fn descending(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: `rest` is more than `TURN` before each turn. The front is read first, because the turns may overwrite it.
    unsafe {
        let front: [Block; 8] = read(from);
        let mut rest = count;
        while rest > TURN {
            rest -= TURN;
            let turn: [Block; 8] = read(from.add(rest));
            write(to.add(rest), turn);
        }
        write(to, front);
    }
}

/// Copies many bytes that do not overlap with one instruction, which is fast where the destination begins on a cache line.
///
/// # Safety
/// As of `apart`; `count` is at least a cache line.
#[inline(always)]
unsafe fn string(to: *mut u8, from: *const u8, count: usize) {
    const LINE: usize = 64;
    let skipped = LINE - to.addr() % LINE;
    // SAFETY: the front line and the rest lie within `count` bytes; the direction flag is clear by the ABI.
    unsafe {
        let front: [Block; 4] = read(from);
        write(to, front);
        core::arch::asm!(
            "rep movsb",
            inout("rcx") count - skipped => _,
            inout("rdi") to.add(skipped) => _,
            inout("rsi") from.add(skipped) => _,
            options(nostack, preserves_flags)
        );
    }
}
