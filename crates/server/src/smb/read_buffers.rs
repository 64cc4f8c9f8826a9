//! Reused buffers for replies to READ: page faults of a new MiB cost more than copying it.

use std::sync::{Arc, Mutex, PoisonError};

use smb_server::Bytes;

/// Maximum number of kept buffers. More exist only while more requests are being answered.
const MAX_KEPT: usize = 16;

/// Minimum size of a kept buffer, in bytes.
const MIN_KEPT_BYTES: usize = 32 << 10;

/// A bounded pool of buffers.
#[derive(Clone, Default)]
pub(super) struct ReadBuffers(Arc<Mutex<Vec<Vec<u8>>>>);

/// A borrowed buffer, which returns to the pool when dropped.
pub(super) struct ReadBuffer {
    bytes: Vec<u8>,
    len: usize,
    pool: ReadBuffers,
}

impl ReadBuffers {
    /// A buffer of `len` bytes with unspecified content.
    pub(super) fn take(&self, len: usize) -> ReadBuffer {
        // Allocating a small buffer causes hardly any page faults, and those are what the pool avoids.
        let kept = if len >= MIN_KEPT_BYTES { self.lock().pop() } else { None };
        let mut bytes = kept.unwrap_or_default();
        if bytes.len() < len {
            bytes = vec![0; len];
        }
        ReadBuffer { bytes, len, pool: self.clone() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadBuffer {
    /// The space to read into.
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }

    /// Turns the first `count` bytes into a reply.
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
        if self.bytes.len() >= MIN_KEPT_BYTES {
            let mut kept = self.pool.lock();
            if kept.len() < MAX_KEPT {
                kept.push(std::mem::take(&mut self.bytes));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_KEPT, ReadBuffers};

    #[test]
    fn replies_contain_only_bytes_that_were_read_and_buffers_return_to_the_pool() {
        let buffers = ReadBuffers::default();
        let mut buffer = buffers.take(1 << 20);
        buffer.bytes()[..3].copy_from_slice(b"abc");
        let reply = buffer.filled(3);
        assert_eq!(&reply[..], b"abc");
        assert_eq!(buffers.lock().len(), 0);
        drop(reply);
        assert_eq!(buffers.lock().len(), 1);
        assert_eq!(buffers.take(40_000).bytes().len(), 40_000);
        let many: Vec<_> = (0..MAX_KEPT * 2).map(|_| buffers.take(64 << 10)).collect();
        drop(many);
        assert_eq!(buffers.lock().len(), MAX_KEPT);
    }
}
