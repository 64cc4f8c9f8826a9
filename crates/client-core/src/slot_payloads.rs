//! One buffer of payload per slot.

use sharebench_model::OpError;
use sharebench_target::buffer_pool;

use crate::submit_error;

/// The server's limit for one kind of transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferLimit {
    /// What the protocol calls it.
    pub name: &'static str,
    /// Maximum number of bytes of one request.
    pub max: u32,
}

/// The buffers of a session's slots, as operations on data use them.
pub trait SlotPayload {
    /// The payload of a slot, in full length.
    ///
    /// # Panics
    /// May panic if there is no such slot.
    fn payload(&mut self, slot: usize) -> &mut [u8];

    /// Takes the memory of a slot for a transfer of `len` bytes; false if the slot does not exist or is smaller.
    fn prepare(&mut self, slot: usize, len: u32) -> bool;

    /// Checks that a transfer fits into the server's limit and into the slot, and takes the memory for it. A record is never
    /// split, so that an operation is one request.
    ///
    /// # Errors
    /// The record is larger than one of them.
    #[inline]
    fn check_record(
        &mut self,
        slot: usize,
        request: &'static str,
        len: u32,
        limit: TransferLimit,
    ) -> Result<(), OpError> {
        if len > limit.max {
            return Err(submit_error::record_above_limit(request, len, limit.name, limit.max));
        }
        if self.prepare(slot, len) { Ok(()) } else { Err(submit_error::record_above_slot(request, len)) }
    }
}

/// Buffers of a protocol that sends payload without anything in front of it.
///
/// The memory comes from the thread's pool on first use and goes back when the session pauses: most of ten thousand users
/// are idle at any time (docs/design/user-sessions.md).
#[derive(Debug)]
pub struct SlotPayloads {
    /// Empty while the session is idle.
    slots: Vec<Box<[u8]>>,
    bytes: usize,
}

impl SlotPayloads {
    /// Buffers of `bytes` for each of `slots`.
    pub fn new(slots: usize, bytes: usize) -> Self {
        Self { slots: vec![Box::default(); slots], bytes }
    }

    /// Number of slots.
    pub fn count(&self) -> usize {
        self.slots.len()
    }

    /// Bytes of a slot.
    pub fn slot_bytes(&self) -> usize {
        self.bytes
    }

    /// All buffers, those without memory empty.
    pub fn slots(&mut self) -> &mut [Box<[u8]>] {
        &mut self.slots
    }

    /// The first `len` bytes of a slot; none if it holds fewer.
    #[inline]
    pub fn prefix(&self, slot: usize, len: usize) -> Option<&[u8]> {
        self.slots.get(slot)?.get(..len)
    }

    /// Takes the buffer of a slot for an operation that waits for several requests. It belongs back into the slot ([`Self::put`]).
    pub fn take(&mut self, slot: usize) -> Box<[u8]> {
        let mut buffer = self.slots.get_mut(slot).map(std::mem::take).unwrap_or_default();
        buffer_pool::ensure(&mut buffer, self.bytes);
        buffer
    }

    /// Puts back what [`Self::take`] has taken.
    pub fn put(&mut self, slot: usize, buffer: Box<[u8]>) {
        if let Some(place) = self.slots.get_mut(slot) {
            *place = buffer;
        }
    }

    /// Returns the memory; nothing may be in flight.
    pub fn release(&mut self) {
        self.slots.iter_mut().for_each(buffer_pool::give_back);
    }
}

impl SlotPayload for SlotPayloads {
    fn payload(&mut self, slot: usize) -> &mut [u8] {
        let buffer = &mut self.slots[slot];
        buffer_pool::ensure(buffer, self.bytes);
        buffer
    }

    #[inline]
    fn prepare(&mut self, slot: usize, len: u32) -> bool {
        match self.slots.get_mut(slot) {
            Some(buffer) if len as usize <= self.bytes => {
                buffer_pool::ensure(buffer, self.bytes);
                true
            }
            _ => false,
        }
    }
}
