//! The burst side of a connection: the burst in progress, and the last reply (docs/protocols/ncp.md 4.4).

use std::time::Duration;

use super::datagrams::Datagrams;
use crate::burst::{
    ArrivalSpacing, BurstConnection, CALL_LEN, Fragment, MAX_BURST, OutgoingBurst, Reassembly,
};
use crate::wire::burst::{BurstPacket, flag};

/// The burst side of a connection: its burst connection, the last reply and the burst in progress.
#[derive(Debug)]
pub struct ServerBurst {
    pub connection: BurstConnection,
    /// The reply to the last burst; its burst number is the number of the last executed burst.
    pub last: Option<OutgoingBurst>,
    /// The number and the reassembly of an incomplete burst.
    pub incoming: Option<(u16, Reassembly)>,
    /// The pause between packets that the client requests.
    pub pace: Duration,
    /// Arrivals of the fragments of the burst in progress, from which the client learns the pace of the path.
    spacing: ArrivalSpacing,
}

impl ServerBurst {
    /// The burst side of a connection that has just negotiated bursts.
    pub fn new(local_id: u32, remote_id: u32, fragment_len: usize) -> Self {
        Self {
            connection: BurstConnection::new(local_id, remote_id, fragment_len),
            last: None,
            incoming: None,
            pace: Duration::ZERO,
            spacing: ArrivalSpacing::default(),
        }
    }

    /// Bytes that a packet would make it keep.
    pub fn further_bytes(&self, packet: &BurstPacket<'_>) -> usize {
        let known = self.incoming.as_ref().is_some_and(|(number, _)| *number == packet.fields.burst);
        if known { 0 } else { (packet.fields.total as usize).min(MAX_BURST) }
    }

    /// Bytes of the burst that is incomplete and of the last reply.
    pub fn bytes(&self) -> usize {
        let incoming = self.incoming.as_ref().map_or(0, |(_, burst)| burst.total());
        let last = self.last.as_ref().map_or(0, |last| last.bytes.len());
        2 * size_of::<Self>() + incoming + last
    }

    /// Processes a packet; true when it completes a burst.
    pub fn take(&mut self, packet: &BurstPacket<'_>, now: Duration, out: &mut Datagrams) -> bool {
        let fields = packet.fields;
        let number = packet.fields.burst;
        let answered = self.last.as_ref().is_some_and(|last| last.burst == number);
        if fields.flags & flag::ABORT != 0 {
            self.incoming = None;
        } else if fields.flags & flag::SYSTEM != 0 {
            if let Some(last) = self.last.as_ref().filter(|_| answered) {
                let fragments = last.missing_fragments(packet.missing(), self.connection.fragment_len);
                self.send(&fragments, out);
            }
        } else if answered {
            // The client retransmits because the reply was lost. Only the last fragment triggers the reply, so that
            // late duplicates of other fragments do not.
            if let Some(last) = self.last.as_ref().filter(|_| fields.flags & flag::END_OF_BURST != 0) {
                let fragments = last.fragments(self.connection.fragment_len);
                self.send(&fragments, out);
            }
        } else if self.last.as_ref().is_none_or(|last| last.burst.wrapping_add(1) == number) {
            return self.collect(packet, now, out);
        }
        false
    }

    /// Adds a fragment of the next burst; true when the burst is complete.
    fn collect(&mut self, packet: &BurstPacket<'_>, now: Duration, out: &mut Datagrams) -> bool {
        let fields = packet.fields;
        let number = packet.fields.burst;
        let total = fields.total as usize;
        // The length is the client's word and sizes a buffer, so it is checked before anything is allocated.
        if !(CALL_LEN..=MAX_BURST).contains(&total) {
            return false;
        }
        if !self.incoming.as_ref().is_some_and(|(known, burst)| *known == number && burst.total() == total) {
            self.incoming = Some((number, Reassembly::new(total)));
            self.spacing = ArrivalSpacing::default();
        }
        self.spacing.note(now);
        let Some((_, burst)) = &mut self.incoming else { return false };
        burst.add(fields.offset as usize, packet.data());
        let complete = burst.is_complete();
        let ends = fields.flags & flag::END_OF_BURST != 0;
        // The answer states the gap that its receiver measured (docs/protocols/ncp.md 4.5); that of a single packet is
        // the client's own.
        if (complete || ends)
            && let Some(measured) = self.spacing.median()
        {
            self.connection.gap = measured;
        }
        if complete {
            return true;
        }
        if ends {
            let holes = burst.holes();
            // The list is limited to what one packet holds.
            out.push(|out| self.connection.put_control(0, number, number, &holes, out).unwrap_or_default());
        }
        false
    }

    pub fn send(&mut self, fragments: &[Fragment], out: &mut Datagrams) {
        let Some(last) = &self.last else { return };
        for fragment in fragments {
            // A fragment always fits into its packet.
            out.push(|out| self.connection.put_fragment(last, *fragment, out).unwrap_or_default());
        }
    }
}
