//! The slots' buffers, with space for a request's header in front of each payload.

use sharebench_client_core::{SlotBytes, SlotPayload};
use sharebench_target::buffer_pool;

use crate::wire::HEADER_LEN;
use crate::wire::data::WRITE_DATA_OFFSET;
use crate::wire::frame::PREFIX_LEN;

/// Bytes in front of a payload: the prefix, header and fixed fields of a WRITE, rounded up.
const HEADROOM: usize = 128;
const MESSAGE_AT: usize = HEADROOM - WRITE_DATA_OFFSET;
const FRAME_AT: usize = MESSAGE_AT - PREFIX_LEN;
const _: () = assert!(MESSAGE_AT >= PREFIX_LEN && WRITE_DATA_OFFSET > HEADER_LEN);

/// One buffer per slot: the headroom, then the payload that the engine fills or verifies.
///
/// The headers of a WRITE are placed directly in front of its payload, and those of a large READ response directly in
/// front of its data. So a request leaves, and a signature is computed or verified, over contiguous bytes without
/// copying the payload. The memory comes from the thread's pool on first use and goes back when the session pauses.
#[derive(Debug)]
pub(crate) struct SlotBuffers {
    /// Empty while the session is idle.
    slots: Vec<Box<[u8]>>,
    bytes: usize,
    /// The metadata requests of slots; empty before the first one.
    calls: Vec<SlotCall>,
}

/// A metadata request of a slot, one of several in flight, and its reply. All channels share it, so that the loss of one does not
/// lose it.
#[derive(Debug, Default)]
pub(crate) struct SlotCall {
    /// What follows the header of the request.
    pub(crate) body: Vec<u8>,
    /// The complete reply.
    pub(crate) reply: Vec<u8>,
    /// The request was sent more than once.
    pub(crate) repeated: bool,
}

impl SlotBuffers {
    pub(crate) fn new(slots: usize, slot_bytes: usize) -> Self {
        Self { slots: vec![Box::default(); slots], bytes: HEADROOM + slot_bytes, calls: Vec::new() }
    }

    /// Returns the memory; nothing may be in flight.
    pub(crate) fn release_buffers(&mut self) {
        self.slots.iter_mut().for_each(buffer_pool::give_back);
        self.calls = Vec::new();
    }

    /// The metadata request of a slot that begins.
    pub(crate) fn begin_call(&mut self, index: usize) -> &mut SlotCall {
        if self.calls.is_empty() {
            self.calls.resize_with(self.slots.len(), SlotCall::default);
        }
        let call = &mut self.calls[index];
        call.body.clear();
        call.repeated = false;
        call
    }

    /// The metadata request of a slot; none for any other index.
    #[inline]
    pub(crate) fn call(&mut self, index: usize) -> Option<&mut SlotCall> {
        self.calls.get_mut(index)
    }

    /// The reply to the last metadata request of a slot.
    pub(crate) fn call_reply(&self, index: usize) -> &[u8] {
        self.calls.get(index).map_or(&[], |call| &call.reply)
    }

    /// True if the last metadata request of a slot was sent more than once.
    pub(crate) fn is_call_repeated(&self, index: usize) -> bool {
        self.calls.get(index).is_some_and(|call| call.repeated)
    }

    #[inline]
    fn slot(&mut self, index: usize) -> Option<&mut [u8]> {
        let slot = self.slots.get_mut(index)?;
        // Allocated on first use and not in `new`: most of ten thousand users are idle at any time
        // (docs/design/user-sessions.md).
        buffer_pool::ensure(slot, self.bytes);
        Some(slot)
    }

    pub(crate) fn count(&self) -> usize {
        self.slots.len()
    }

    /// The first `len` bytes of a slot's payload, if the slot exists and is that large.
    #[inline]
    pub(crate) fn payload_of(&mut self, index: usize, len: usize) -> Option<&mut [u8]> {
        self.slot(index)?.get_mut(HEADROOM..HEADROOM.checked_add(len)?)
    }

    /// The WRITE message whose payload is the first `len` bytes of the slot.
    #[inline]
    pub(crate) fn write_message(&mut self, index: usize, len: usize) -> &mut [u8] {
        &mut self.slots[index][MESSAGE_AT..HEADROOM + len]
    }

    /// Puts the frame's prefix in front of a WRITE message and returns the length of the frame.
    #[inline]
    pub(crate) fn frame_write(&mut self, index: usize, len: usize, prefix: [u8; PREFIX_LEN]) -> usize {
        self.slots[index][FRAME_AT..MESSAGE_AT].copy_from_slice(&prefix);
        HEADROOM - FRAME_AT + len
    }

    /// Puts the head of a READ response directly in front of where its data go; false if it does not fit.
    pub(crate) fn put_reply_head(&mut self, index: usize, head: &[u8]) -> bool {
        // The data offset comes from the server: a head that is longer than the headroom takes the slower way
        // instead of an error.
        let Some(start) = HEADROOM.checked_sub(head.len()) else { return false };
        let Some(place) = self.slots.get_mut(index).and_then(|slot| slot.get_mut(start..HEADROOM)) else {
            return false;
        };
        place.copy_from_slice(head);
        true
    }

    /// A READ response whose head of `head` bytes and data of `len` bytes are in place.
    pub(crate) fn reply_message(&mut self, index: usize, head: usize, len: usize) -> Option<&mut [u8]> {
        self.slots.get_mut(index)?.get_mut(HEADROOM.checked_sub(head)?..HEADROOM.checked_add(len)?)
    }
}

impl SlotPayload for SlotBuffers {
    fn payload(&mut self, slot: usize) -> &mut [u8] {
        let slot = &mut self.slots[slot];
        buffer_pool::ensure(slot, self.bytes);
        &mut slot[HEADROOM..]
    }

    #[inline]
    fn prepare(&mut self, slot: usize, len: u32) -> bool {
        self.payload_of(slot, len as usize).is_some()
    }
}

impl SlotBytes for SlotBuffers {
    /// A WRITE frame: prefix, header and payload.
    #[inline]
    fn outgoing(&self, index: usize, len: usize) -> &[u8] {
        &self.slots[index][FRAME_AT..FRAME_AT + len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_frame_is_prefix_header_and_payload_without_gaps() {
        let mut buffers = SlotBuffers::new(2, 100);
        buffers.payload(1).fill(1);
        buffers.write_message(1, 50)[..WRITE_DATA_OFFSET].fill(11);
        let len = buffers.frame_write(1, 50, [21; PREFIX_LEN]);
        let frame = [&[21; PREFIX_LEN][..], &[11; WRITE_DATA_OFFSET], &[1; 50]].concat();
        assert_eq!(buffers.outgoing(1, len), frame);
    }
}
