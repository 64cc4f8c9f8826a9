//! The slots' buffers, with room for a request's header in front of each payload.

use sharebench_target::buffer_pool;

use crate::wire::HEADER_LEN;
use crate::wire::data::WRITE_DATA_OFFSET;
use crate::wire::frame::PREFIX_LEN;

/// Bytes in front of a payload: the prefix, header and fixed fields of a WRITE, rounded up.
const HEADROOM: usize = 128;
const MESSAGE_AT: usize = HEADROOM - WRITE_DATA_OFFSET;
const FRAME_AT: usize = MESSAGE_AT - PREFIX_LEN;
const _: () = assert!(MESSAGE_AT >= PREFIX_LEN && WRITE_DATA_OFFSET > HEADER_LEN);

/// One allocation per slot.
#[derive(Debug)]
pub(crate) struct Buffers {
    /// Empty while the session rests.
    slots: Vec<Box<[u8]>>,
    bytes: usize,
}

impl Buffers {
    /// Bytes of a WRITE frame before its payload.
    pub(crate) const FRAME_HEAD: usize = PREFIX_LEN + WRITE_DATA_OFFSET;

    pub(crate) fn new(slots: usize, slot_bytes: usize) -> Self {
        Self { slots: vec![Box::default(); slots], bytes: HEADROOM + slot_bytes }
    }

    /// Gives memory back; nothing may be in flight.
    pub(crate) fn release_buffers(&mut self) {
        self.slots.iter_mut().for_each(buffer_pool::give_back);
    }

    #[inline]
    fn slot(&mut self, index: usize) -> Option<&mut [u8]> {
        let slot = self.slots.get_mut(index)?;
        buffer_pool::ensure(slot, self.bytes);
        Some(slot)
    }

    pub(crate) fn count(&self) -> usize {
        self.slots.len()
    }

    /// A slot's payload.
    pub(crate) fn payload(&mut self, index: usize) -> &mut [u8] {
        let slot = &mut self.slots[index];
        buffer_pool::ensure(slot, self.bytes);
        &mut slot[HEADROOM..]
    }

    /// A slot's payload, when it holds at least `len` bytes.
    #[inline]
    pub(crate) fn place(&mut self, index: usize, len: usize) -> Option<&mut [u8]> {
        self.slot(index)?.get_mut(HEADROOM..HEADROOM.checked_add(len)?)
    }

    /// A WRITE message whose payload of `len` bytes is the slot's.
    #[inline]
    pub(crate) fn write_message(&mut self, index: usize, len: usize) -> &mut [u8] {
        &mut self.slots[index][MESSAGE_AT..HEADROOM + len]
    }

    /// Puts the frame's prefix in front of a WRITE message.
    #[inline]
    pub(crate) fn put_prefix(&mut self, index: usize, prefix: [u8; PREFIX_LEN]) {
        self.slots[index][FRAME_AT..MESSAGE_AT].copy_from_slice(&prefix);
    }

    /// A WRITE message with its prefix.
    #[inline]
    pub(crate) fn write_frame(&self, index: usize, len: usize) -> &[u8] {
        &self.slots[index][FRAME_AT..HEADROOM + len]
    }

    /// Puts the head of a READ reply directly in front of where its data go; false when it has no room.
    pub(crate) fn put_reply_head(&mut self, index: usize, head: &[u8]) -> bool {
        let Some(start) = HEADROOM.checked_sub(head.len()) else { return false };
        let Some(place) = self.slots.get_mut(index).and_then(|slot| slot.get_mut(start..HEADROOM)) else {
            return false;
        };
        place.copy_from_slice(head);
        true
    }

    /// A READ reply whose head of `head` bytes and data of `len` bytes are in place.
    pub(crate) fn reply_message(&mut self, index: usize, head: usize, len: usize) -> Option<&mut [u8]> {
        self.slots.get_mut(index)?.get_mut(HEADROOM.checked_sub(head)?..HEADROOM.checked_add(len)?)
    }
}
