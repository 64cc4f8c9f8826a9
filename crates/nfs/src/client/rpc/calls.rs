//! Calls in flight: one per slot, and one more for metadata; found again by their xid.

use sharebench_client_core::{MIN_DIRECT_BYTES, RequestTable, TrackedRequest};
use sharebench_model::Stability;

use crate::client::rpc::security::ClientSecurity;
use crate::rpcsec::SecurityError;

/// What the reply to a call has to contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpectedReply {
    /// READ of this many bytes into the slot's buffer.
    Read { len: u32 },
    /// WRITE of this many bytes to an open file.
    Write { file: u32, len: u32, stability: Stability },
    /// COMMIT of an open file.
    Flush { file: u32 },
    /// Any other procedure: its complete result.
    Metadata,
    /// Renewal of the lease of an idle client; its result is not kept.
    Renewal,
}

/// Buffers that are remembered: more than one for each of several connections do not stay in a cache.
const MAX_FILLED: usize = 8;

impl TrackedRequest for ExpectedReply {
    #[inline]
    fn is_direct_read(&self) -> bool {
        matches!(self, Self::Read { len } if *len >= MIN_DIRECT_BYTES)
    }
}

/// The calls of a connection, found by xid.
///
/// An xid is a generation in the upper bits and the call's index in the lower bits. So a reply finds its call without a
/// search, and an xid repeats only after all generations.
#[derive(Debug)]
pub(crate) struct Calls {
    table: RequestTable<u32, ExpectedReply>,
    generation: u32,
    index_bits: u32,
    /// How many times each call was sent again over UDP; empty over TCP.
    resent: Vec<u32>,
    /// With Kerberos, what signs or encrypts calls and replies.
    security: Option<Box<ClientSecurity>>,
    /// Slots whose buffers READs have filled, the last one at the end, until they are being filled again.
    filled: Vec<usize>,
}

impl Calls {
    /// Makes a table for `slots` data operations and one metadata call. `seed` determines the first xid: it should be
    /// random, because a server may take an xid of an earlier connection for a retransmission.
    pub(crate) fn new(slots: usize, seed: u32) -> Self {
        let index_bits = usize::BITS - slots.leading_zeros();
        Self {
            table: RequestTable::new(slots),
            generation: seed,
            index_bits,
            resent: Vec::new(),
            security: None,
            filled: Vec::with_capacity(MAX_FILLED),
        }
    }

    pub(crate) fn metadata_index(&self) -> usize {
        self.table.metadata_index()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.table.in_flight()
    }

    pub(crate) fn is_idle(&self, index: usize) -> bool {
        self.table.is_idle(index)
    }

    pub(crate) fn expects_direct_read(&self) -> bool {
        self.table.expects_direct_read()
    }

    /// Signs or encrypts all calls from now on.
    pub(crate) fn protect(&mut self, security: ClientSecurity) {
        self.security = Some(Box::new(security));
    }

    /// True if calls and replies are signed or encrypted.
    #[inline]
    pub(crate) fn are_protected(&self) -> bool {
        self.security.is_some()
    }

    /// What signs or encrypts the calls.
    pub(crate) fn security(&mut self) -> Option<&mut ClientSecurity> {
        self.security.as_deref_mut()
    }

    /// The reply as a server without security would send it: if calls are protected, it is verified and decrypted in place.
    #[inline]
    pub(crate) fn open_reply<'a>(&mut self, record: &'a mut [u8]) -> Result<&'a [u8], SecurityError> {
        let Some(mut security) = self.security.take() else { return Ok(record) };
        let opened = security.open_reply(record, |xid| self.find(xid).map(|(index, _)| index));
        self.security = Some(security);
        Ok(record.get(opened?).unwrap_or_default())
    }

    /// Starts a call at an idle index and returns its xid.
    #[inline]
    pub(crate) fn start(&mut self, index: usize, expected: ExpectedReply) -> u32 {
        self.generation = self.generation.wrapping_add(1);
        let xid = (self.generation << self.index_bits) | index as u32;
        self.table.start(index, xid, expected);
        xid
    }

    /// The call in flight with this xid.
    #[inline]
    pub(crate) fn find(&self, xid: u32) -> Option<(usize, ExpectedReply)> {
        let index = (xid & ((1 << self.index_bits) - 1)) as usize;
        self.table.get(index, xid).map(|expected| (index, expected))
    }

    /// The xid of the call in flight at `index`.
    pub(crate) fn xid(&self, index: usize) -> Option<u32> {
        self.table.id(index)
    }

    /// What the reply to the call in flight at `index` has to contain.
    pub(crate) fn expected(&self, index: usize) -> Option<ExpectedReply> {
        self.table.get(index, self.xid(index)?)
    }

    /// Notes that the call with this xid was sent again.
    #[cold]
    pub(crate) fn note_resent(&mut self, xid: u32) {
        let Some((index, _)) = self.find(xid) else { return };
        self.resent.resize(self.metadata_index() + 1, 0);
        if let Some(resent) = self.resent.get_mut(index) {
            *resent += 1;
        }
    }

    /// How many times the call at `index` was sent again, since the last time.
    #[inline]
    pub(crate) fn take_resent(&mut self, index: usize) -> u32 {
        self.resent.get_mut(index).map_or(0, std::mem::take)
    }

    /// Notes that a READ has filled the slot's buffer.
    pub(crate) fn note_filled(&mut self, index: usize) {
        if self.filled.len() == MAX_FILLED {
            self.filled.remove(0);
        }
        self.filled.push(index);
    }

    /// The data of the READ at `index` begin to arrive: returns another slot whose buffer is in the processor's cache and holds
    /// nothing that is needed, because the next READ of that slot is in flight. The caller fills that buffer instead.
    pub(crate) fn take_free_buffer(&mut self, index: usize) -> Option<usize> {
        self.filled.retain(|slot| *slot != index);
        let is_free = |slot: &usize| {
            let expected = self.xid(*slot).and_then(|xid| self.find(xid));
            matches!(expected, Some((_, ExpectedReply::Read { .. })))
        };
        let newest = self.filled.iter().rposition(is_free)?;
        Some(self.filled.remove(newest))
    }

    /// Ends the call at `index`; none if none was in flight.
    #[inline]
    pub(crate) fn finish(&mut self, index: usize) -> Option<ExpectedReply> {
        self.table.finish(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_by_its_xid_only_while_it_is_in_flight() {
        for slots in [1, 2, 63, 64, 1024] {
            let mut calls = Calls::new(slots, u32::MAX - 3);
            let xids: Vec<u32> =
                (0..slots).map(|slot| calls.start(slot, ExpectedReply::Read { len: slot as u32 })).collect();
            let metadata = calls.start(calls.metadata_index(), ExpectedReply::Metadata);
            assert_eq!(calls.find(metadata), Some((slots, ExpectedReply::Metadata)));
            for (slot, xid) in xids.iter().enumerate() {
                assert_eq!(calls.find(*xid), Some((slot, ExpectedReply::Read { len: slot as u32 })));
                assert!(calls.finish(slot).is_some() && calls.finish(slot).is_none());
                assert_eq!(calls.find(*xid), None);
            }
            assert_eq!(calls.in_flight(), 1);
            let again = calls.start(0, ExpectedReply::Metadata);
            assert!(!xids.contains(&again));
        }
    }

    #[test]
    fn a_buffer_is_free_once_the_next_read_of_its_slot_is_in_flight() {
        let read = ExpectedReply::Read { len: MIN_DIRECT_BYTES };
        let mut calls = Calls::new(2, 7);
        let fill = |calls: &mut Calls| {
            calls.start(0, read);
            calls.finish(0);
            calls.note_filled(0);
        };
        fill(&mut calls);
        assert_eq!(calls.take_free_buffer(1), None, "its data may not have been used yet");
        calls.start(0, ExpectedReply::Flush { file: 1 });
        assert_eq!(calls.take_free_buffer(1), None, "the next request may be a WRITE of what is in it");
        calls.finish(0);
        calls.start(0, read);
        assert_eq!(calls.take_free_buffer(1), Some(0));
        assert_eq!(calls.take_free_buffer(1), None, "it belongs to the other slot now");
        calls.finish(0);
        fill(&mut calls);
        calls.start(0, read);
        assert_eq!(calls.take_free_buffer(0), None, "it is being filled itself");
        assert_eq!(calls.take_free_buffer(1), None);
    }

    #[test]
    fn only_reads_of_at_least_the_direct_size_are_direct() {
        assert!(ExpectedReply::Read { len: MIN_DIRECT_BYTES }.is_direct_read());
        assert!(!ExpectedReply::Read { len: MIN_DIRECT_BYTES - 1 }.is_direct_read());
        assert!(!ExpectedReply::Metadata.is_direct_read());
    }
}
