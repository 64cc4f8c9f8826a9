//! Encoded replies on their way to the socket.

use std::io::IoSlice;

use sharebench_smb::wire::frame::PREFIX_LEN;

use crate::StoredData;
use crate::front_ends::buffers::{BufferPool, Reusable};

thread_local! {
    /// Buffers for the replies of one burst of requests.
    pub(crate) static REPLIES: BufferPool<Replies> = const { BufferPool::new() };
}

/// Encoded replies on their way to the socket.
///
/// The bytes after the end stay initialized from earlier replies, so that a READ goes from the volume into the reply
/// without a fill of zeros before it.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    bytes: Vec<u8>,
    len: usize,
    /// Data that are sent from where the volume stores them, each with the number of bytes before it.
    stored: Vec<(usize, StoredData)>,
    /// Memory for the part that is being encoded.
    pub(crate) scratch: Vec<u8>,
}

impl Replies {
    /// Position of the end, in the bytes without stored data.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes to send, with stored data.
    pub(crate) fn sent_len(&self) -> usize {
        self.len + self.stored_after(0)
    }

    /// Bytes of the stored data from a position on.
    fn stored_after(&self, start: usize) -> usize {
        self.stored.iter().filter(|(at, _)| *at > start).map(|(_, data)| data.len()).sum()
    }

    /// The replies, in the pieces of memory that have them.
    pub(crate) fn slices(&self) -> Vec<IoSlice<'_>> {
        let mut slices = Vec::with_capacity(1);
        let mut done = 0;
        for (at, data) in &self.stored {
            slices.push(IoSlice::new(self.bytes.get(done..*at).unwrap_or_default()));
            slices.extend(data.slices());
            done = *at;
        }
        slices.push(IoSlice::new(self.bytes.get(done..self.len).unwrap_or_default()));
        slices
    }

    /// A copy of the replies.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        let mut copy = Vec::with_capacity(self.sent_len());
        for slice in self.slices() {
            copy.extend_from_slice(&slice);
        }
        copy
    }

    /// Appends data that are not copied. What follows may be a reply of its own only: nothing can be encrypted or signed
    /// together with them.
    pub(crate) fn put_stored(&mut self, data: StoredData) {
        self.stored.push((self.len, data));
    }

    /// Sets the length of the frame that begins with an empty prefix at `start` and ends here.
    pub(crate) fn finish_frame(&mut self, start: usize) {
        let len = (self.len - start + self.stored_after(start)).saturating_sub(PREFIX_LEN) as u32;
        if let Some(prefix) = self.tail(start).first_chunk_mut::<PREFIX_LEN>() {
            *prefix = len.to_be_bytes();
        }
    }

    /// The replies from a position on.
    pub(crate) fn tail(&mut self, start: usize) -> &mut [u8] {
        &mut self.bytes[start..self.len]
    }

    /// Appends bytes.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.spare(bytes.len()).copy_from_slice(bytes);
        self.advance(bytes.len());
    }

    /// Appends a frame with this message.
    pub(crate) fn put_frame(&mut self, message: &[u8]) {
        let start = self.len;
        self.put_zeros(PREFIX_LEN);
        self.put(message);
        self.finish_frame(start);
    }

    /// Appends zeros.
    pub(crate) fn put_zeros(&mut self, count: usize) {
        self.spare(count).fill(0);
        self.advance(count);
    }

    /// Space for `count` bytes after the end, with unspecified content.
    pub(crate) fn spare(&mut self, count: usize) -> &mut [u8] {
        let end = self.len + count;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        &mut self.bytes[self.len..end]
    }

    /// Makes the first `count` bytes of the spare space a part of the replies.
    pub(crate) fn advance(&mut self, count: usize) {
        self.len = (self.len + count).min(self.bytes.len());
    }

    /// Removes everything from a position on.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        while self.stored.pop_if(|(at, _)| *at > len).is_some() {}
    }
}

impl Reusable for Replies {
    fn memory(&self) -> usize {
        self.bytes.len()
    }

    fn clear(&mut self) {
        self.stored.clear();
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn spare_space_becomes_a_part_of_the_replies_as_far_as_it_is_filled() {
        let mut replies = Replies::default();
        replies.put(b"head");
        replies.spare(8)[..3].copy_from_slice(b"abc");
        replies.advance(3);
        replies.put_zeros(1);
        assert_eq!(replies.to_vec(), b"headabc\0");
        replies.tail(4)[0] = b'x';
        replies.truncate(5);
        assert_eq!((replies.to_vec().as_slice(), replies.len()), (&b"headx"[..], 5));
    }

    #[test]
    fn stored_data_are_sent_between_the_bytes_and_count_for_their_frame() {
        let stored = |text: &[u8]| {
            let mut data = StoredData::default();
            data.push(Arc::new(text.to_vec()), 0..text.len());
            data
        };
        let mut replies = Replies::default();
        for text in [b"one", b"two"] {
            let start = replies.len();
            replies.put_zeros(PREFIX_LEN);
            replies.put(b"head ");
            replies.put_stored(stored(text));
            replies.finish_frame(start);
        }
        let third = replies.len();
        replies.put(b"head");
        replies.put_stored(stored(b"gone"));
        replies.truncate(third);
        assert_eq!(replies.to_vec(), b"\0\0\0\x08head one\0\0\0\x08head two");
        assert_eq!((replies.sent_len(), replies.slices().len()), (24, 5));
        replies.clear();
        assert_eq!((replies.to_vec(), replies.sent_len()), (vec![], 0));
    }
}
