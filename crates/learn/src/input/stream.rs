//! One direction of a TCP connection, in order.

use std::collections::BTreeMap;

use super::frames::{Damage, Framed, Frames};

/// Most bytes that wait for a missing segment, and most segments.
const MAX_WAITING_BYTES: usize = 1 << 20;
const MAX_WAITING_SEGMENTS: usize = 256;

/// Payload of a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Payload<'a> {
    pub(super) time: u64,
    pub(super) sequence: u32,
    /// As far as it was captured.
    pub(super) bytes: &'a [u8],
    /// On the wire.
    pub(super) len: usize,
}

/// A segment after a missing one.
#[derive(Debug)]
struct Waiting {
    time: u64,
    bytes: Vec<u8>,
    len: usize,
}

#[derive(Debug, Default)]
pub(super) struct Stream {
    /// Position of the next byte. Its low 32 bits are the sequence number; the others make it grow for ever.
    next: Option<u64>,
    waiting: BTreeMap<u64, Waiting>,
    waiting_bytes: usize,
    pub(super) frames: Frames,
    /// Bytes that are in no segment of the input.
    pub(super) lost_bytes: u64,
    pub(super) damage: Damage,
}

impl Stream {
    /// True before its first segment.
    pub(super) const fn is_new(&self) -> bool {
        self.next.is_none()
    }

    /// A SYN with this sequence number.
    pub(super) fn begin(&mut self, sequence: u32) {
        self.next = Some(FIRST | u64::from(sequence.wrapping_add(1)));
    }

    /// Takes a segment, and gives the messages that are complete to `found`.
    pub(super) fn segment(&mut self, payload: Payload<'_>, found: &mut dyn FnMut(&Framed<'_>)) {
        let Payload { time, sequence, bytes, len } = payload;
        if len == 0 {
            return;
        }
        let next = *self.next.get_or_insert(FIRST | u64::from(sequence));
        let distance = sequence.wrapping_sub(next as u32) as i32;
        let at = next.wrapping_add_signed(i64::from(distance));
        if distance <= 0 {
            self.deliver(at, time, bytes, len, found);
        } else {
            let waiting = Waiting { time, bytes: bytes.to_vec(), len };
            self.waiting_bytes += bytes.len();
            if let Some(replaced) = self.waiting.insert(at, waiting) {
                self.waiting_bytes -= replaced.bytes.len();
            }
            if self.waiting_bytes > MAX_WAITING_BYTES || self.waiting.len() > MAX_WAITING_SEGMENTS {
                self.skip(found);
            }
        }
        self.follow(found);
    }

    /// Delivers what is new in a segment that begins at or before the next byte.
    fn deliver(&mut self, at: u64, time: u64, bytes: &[u8], len: usize, found: &mut dyn FnMut(&Framed<'_>)) {
        let Some(next) = self.next else { return };
        let known = next.saturating_sub(at) as usize;
        if known >= len {
            return;
        }
        let fresh = bytes.get(known..).unwrap_or_default();
        self.next = Some(at + len as u64);
        self.frames.bytes(time, fresh, found);
        self.frames.hole(time, len - known - fresh.len(), &mut self.damage, found);
    }

    /// Delivers waiting segments that have become the next ones.
    fn follow(&mut self, found: &mut dyn FnMut(&Framed<'_>)) {
        while let Some(entry) = self.waiting.first_entry()
            && self.next.is_some_and(|next| *entry.key() <= next)
        {
            let (at, Waiting { time, bytes, len }) = entry.remove_entry();
            self.waiting_bytes -= bytes.len();
            self.deliver(at, time, &bytes, len, found);
        }
    }

    /// Gives up what is missing before the first waiting segment.
    fn skip(&mut self, found: &mut dyn FnMut(&Framed<'_>)) {
        if let (Some((at, waiting)), Some(next)) = (self.waiting.first_key_value(), self.next) {
            let lost = at.saturating_sub(next);
            self.lost_bytes += lost;
            self.frames.hole(waiting.time, lost as usize, &mut self.damage, found);
            self.next = Some(*at);
        }
    }

    /// The other side has acknowledged everything before `sequence`: what is missing before it was received, and is not
    /// in the input.
    pub(super) fn acknowledged(&mut self, sequence: u32, found: &mut dyn FnMut(&Framed<'_>)) {
        let Some(next) = self.next else { return };
        if self.waiting.len() > 2 && (sequence.wrapping_sub(next as u32) as i32) > 0 {
            self.skip(found);
            self.follow(found);
        }
    }

    /// Nothing follows.
    pub(super) fn end(&mut self, found: &mut dyn FnMut(&Framed<'_>)) {
        while !self.waiting.is_empty() {
            self.skip(found);
            self.follow(found);
        }
    }
}

/// Keeps positions from becoming negative when a segment before the first one is repeated.
const FIRST: u64 = 1 << 32;
