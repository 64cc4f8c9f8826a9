//! The buffers that the connections of a thread share.
//!
//! A connection takes a buffer when bytes arrive and returns it when no part of a request is left in it, so that an idle
//! connection has no buffers. Buffers keep their memory here, up to [`MAX_KEPT_BYTES`] per thread in total, so that a busy
//! thread neither allocates nor fills memory with zeros.

use std::cell::{Cell, RefCell};

/// Initial size of a receive buffer; it grows only as bytes arrive.
const INITIAL_BYTES: usize = 64 << 10;
/// Memory that a thread keeps for its next requests, in bytes. It covers sixteen requests of the largest usual size.
const MAX_KEPT_BYTES: usize = 16 << 20;

thread_local! {
    static KEPT_BYTES: Cell<usize> = const { Cell::new(0) };
    static RECEIVE_BUFFERS: BufferPool<Vec<u8>> = const { BufferPool::new() };
}

/// Something whose memory is used again. Its memory is initialized.
pub(crate) trait Reusable: Default {
    /// Bytes that it keeps.
    fn memory(&self) -> usize;

    /// Forgets what it was used for, and keeps its memory.
    fn clear(&mut self);
}

impl Reusable for Vec<u8> {
    fn memory(&self) -> usize {
        self.len()
    }

    /// The bytes stay initialized.
    fn clear(&mut self) {}
}

/// The buffers of one kind that no connection of this thread uses at the moment.
pub(crate) struct BufferPool<T>(RefCell<Vec<T>>);

impl<T: Reusable> BufferPool<T> {
    pub(crate) const fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }

    /// Takes a buffer; a new one if there is none.
    pub(crate) fn take(&self) -> T {
        let free = self.0.borrow_mut().pop();
        KEPT_BYTES.set(KEPT_BYTES.get() - free.as_ref().map_or(0, T::memory));
        free.unwrap_or_default()
    }

    /// Returns a buffer after its use.
    pub(crate) fn give_back(&self, mut buffer: T) {
        buffer.clear();
        let bytes = buffer.memory();
        let kept = KEPT_BYTES.get() + bytes;
        if bytes > 0 && kept <= MAX_KEPT_BYTES {
            KEPT_BYTES.set(kept);
            self.0.borrow_mut().push(buffer);
        }
    }
}

/// A buffer for received bytes.
pub(crate) fn take_receive_buffer() -> Vec<u8> {
    let mut buffer = RECEIVE_BUFFERS.with(BufferPool::take);
    if buffer.len() < INITIAL_BYTES {
        buffer.resize(INITIAL_BYTES, 0);
    }
    buffer
}

/// Returns a buffer for received bytes.
pub(crate) fn return_receive_buffer(buffer: Vec<u8>) {
    RECEIVE_BUFFERS.with(|pool| pool.give_back(buffer));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Reply(Vec<u8>);

    impl Reusable for Reply {
        fn memory(&self) -> usize {
            self.0.len()
        }

        fn clear(&mut self) {}
    }

    #[test]
    fn a_thread_keeps_returned_buffers_up_to_a_limit() {
        std::thread::spawn(|| {
            let first = take_receive_buffer();
            let address = first.as_ptr();
            return_receive_buffer(first);
            let again = take_receive_buffer();
            assert_eq!(again.as_ptr(), address);
            let replies = BufferPool::<Reply>::new();
            for _ in 0..1000 {
                return_receive_buffer(vec![1; 1 << 20]);
                replies.give_back(Reply(vec![1; 1 << 20]));
            }
            let received: usize = RECEIVE_BUFFERS.with(|pool| pool.0.borrow().iter().map(Vec::len).sum());
            let sum = received + replies.0.borrow().iter().map(Reply::memory).sum::<usize>();
            assert_eq!(sum, KEPT_BYTES.get());
            assert!(sum > 0 && sum <= MAX_KEPT_BYTES);
            while KEPT_BYTES.get() > 0 {
                drop((take_receive_buffer(), replies.take()));
            }
        })
        .join()
        .unwrap();
    }
}
