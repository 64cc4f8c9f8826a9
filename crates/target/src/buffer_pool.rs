//! I/O buffers shared by the sessions of a thread: an idle session returns its buffer, and the next active one takes it.
//!
//! Ten thousand users who think most of the time need only as many buffers as operations run at once.

use std::cell::RefCell;

/// Maximum bytes of unused buffers that a thread keeps.
const MAX_SPARE: usize = 16 << 20;

/// Unused buffers. The last returned buffer is taken first, because it is still in the CPU's caches.
#[derive(Debug)]
struct Spares {
    bytes: usize,
    buffers: Vec<Box<[u8]>>,
}

thread_local! {
    static SPARES: RefCell<Spares> = const { RefCell::new(Spares { bytes: 0, buffers: Vec::new() }) };
}

impl Spares {
    fn take(&mut self, len: usize) -> Option<Box<[u8]>> {
        let at = self.buffers.iter().rposition(|spare| spare.len() == len)?;
        self.bytes -= len;
        Some(self.buffers.remove(at))
    }
}

/// Allocates `buffer` with `len` bytes unless it has one. A new buffer has unspecified content.
#[inline]
pub fn ensure(buffer: &mut Box<[u8]>, len: usize) {
    if buffer.is_empty() && len > 0 {
        *buffer = borrow(len);
    }
}

/// A buffer of `len` bytes of unspecified content.
#[cold]
fn borrow(len: usize) -> Box<[u8]> {
    let spare = SPARES.try_with(|spares| spares.borrow_mut().take(len)).ok().flatten();
    spare.unwrap_or_else(|| vec![0; len].into_boxed_slice())
}

/// Returns a buffer to the pool and leaves an empty one.
pub fn give_back(buffer: &mut Box<[u8]>) {
    let spare = std::mem::take(buffer);
    if spare.is_empty() {
        return;
    }
    // While a thread ends, its thread-local pool is already gone.
    let _ = SPARES.try_with(|spares| {
        let mut spares = spares.borrow_mut();
        if spares.bytes + spare.len() <= MAX_SPARE {
            spares.bytes += spare.len();
            spares.buffers.push(spare);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_returned_buffer_is_reused_for_the_same_length_only() {
        let mut one = Box::default();
        let mut other = Box::default();
        ensure(&mut one, 4096);
        one[7] = 9;
        let at = one.as_ptr();
        ensure(&mut one, 4096);
        assert_eq!((one.as_ptr(), one.len()), (at, 4096), "an existing buffer stays");
        give_back(&mut one);
        assert!(one.is_empty());
        ensure(&mut other, 512);
        assert_eq!(other.len(), 512);
        ensure(&mut one, 4096);
        assert_eq!((one.as_ptr(), one[7]), (at, 9), "the same one again");
        ensure(&mut Box::default(), 0);
    }

    #[test]
    fn a_thread_keeps_at_most_the_limit() {
        let mut all = vec![Box::default(); 5];
        for buffer in &mut all {
            ensure(buffer, MAX_SPARE / 4);
        }
        all.iter_mut().for_each(give_back);
        let kept = SPARES.with_borrow(|spares| (spares.bytes, spares.buffers.len()));
        assert_eq!(kept, (MAX_SPARE, 4));
    }
}
