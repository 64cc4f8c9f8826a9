//! Fills.

use crate::unaligned::{Block, write};

const BLOCK: usize = size_of::<Block>();
/// Bytes of one turn of the loop.
const TURN: usize = 4 * BLOCK;
/// From here on, the start of a string instruction costs less than it saves.
const STRING: usize = 1024;

/// Writes `byte` to `count` bytes.
///
/// # Safety
/// `to` must be valid for writes of `count` bytes.
#[inline(always)]
pub(crate) unsafe fn fill(to: *mut u8, byte: u8, count: usize) {
    let word = u64::from(byte) * 0x0101_0101_0101_0101;
    // SAFETY: the caller's; each arm writes within `count`.
    unsafe {
        let block: Block = core::mem::transmute([word; 2]);
        match count {
            0 => {}
            1 => *to = byte,
            2..4 => ends(to, word as u16, count),
            4..8 => ends(to, word as u32, count),
            8..16 => ends(to, word, count),
            16..=32 => ends(to, block, count),
            33..=64 => ends(to, [block; 2], count),
            65..STRING => {
                let last = count - TURN;
                let mut at = 0;
                while at < last {
                    write(to.add(at), [block; 4]);
                    at += TURN;
                }
                write(to.add(last), [block; 4]);
            }
            _ => core::arch::asm!(
                "rep stosb",
                inout("rcx") count => _,
                inout("rdi") to => _,
                in("al") byte,
                options(nostack, preserves_flags)
            ),
        }
    }
}

/// Writes one `T` at the front and one at the end.
///
/// # Safety
/// As of `fill`; `count` is at least the size of `T`.
#[inline(always)]
unsafe fn ends<T: Copy>(to: *mut u8, value: T, count: usize) {
    // SAFETY: both values lie within `count` bytes.
    unsafe {
        write(to, value);
        write(to.add(count - size_of::<T>()), value);
    }
}
