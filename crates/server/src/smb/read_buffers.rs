//! Buffers for replies to READ, used again: a fresh MiB costs more in page faults than in copying.

use std::sync::{Arc, Mutex, PoisonError};

use smb_server::Bytes;

/// Buffers kept at most; more are in use only while more requests are being answered.
const KEPT: usize = 16;

/// Only buffers from this size on are worth keeping, in bytes.
const WORTH_KEEPING: usize = 32 << 10;

/// A bounded store of buffers.
#[derive(Clone, Default)]
pub(super) struct ReadBuffers(Arc<Mutex<Vec<Vec<u8>>>>);

/// A buffer on loan; goes back when dropped.
pub(super) struct ReadBuffer {
    bytes: Vec<u8>,
    len: usize,
    home: ReadBuffers,
}

impl ReadBuffers {
    /// A buffer of `len` bytes with any content.
    pub(super) fn take(&self, len: usize) -> ReadBuffer {
        let kept = if len >= WORTH_KEEPING { self.lock().pop() } else { None };
        let mut bytes = kept.unwrap_or_default();
        if bytes.len() < len {
            bytes = vec![0; len];
        }
        ReadBuffer { bytes, len, home: self.clone() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadBuffer {
    /// Where to read into.
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }

    /// The first `count` bytes as a reply.
    pub(super) fn filled(mut self, count: usize) -> Bytes {
        self.len = count.min(self.len);
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for ReadBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Drop for ReadBuffer {
    fn drop(&mut self) {
        if self.bytes.len() >= WORTH_KEEPING {
            let mut kept = self.home.lock();
            if kept.len() < KEPT {
                kept.push(std::mem::take(&mut self.bytes));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, ReadBuffers};

    #[test]
    fn replies_hold_only_what_was_read_and_buffers_return() {
        let buffers = ReadBuffers::default();
        let mut buffer = buffers.take(1 << 20);
        buffer.bytes()[..3].copy_from_slice(b"abc");
        let reply = buffer.filled(3);
        assert_eq!(&reply[..], b"abc");
        assert_eq!(buffers.lock().len(), 0);
        drop(reply);
        assert_eq!(buffers.lock().len(), 1);
        assert_eq!(buffers.take(40_000).bytes().len(), 40_000);
        let many: Vec<_> = (0..KEPT * 2).map(|_| buffers.take(64 << 10)).collect();
        drop(many);
        assert_eq!(buffers.lock().len(), KEPT);
    }
}
