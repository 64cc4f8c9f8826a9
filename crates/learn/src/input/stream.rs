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

    /// Bytes that wait for a missing segment.
    pub(super) const fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
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
        let distance = sequence.wrapping_sub(next as u32).cast_signed();
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
        if self.waiting.len() > 2 && sequence.wrapping_sub(next as u32).cast_signed() > 0 {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A message of SMB 2 from the server, in its frame.
    fn message(len: usize, mark: u8) -> Vec<u8> {
        let mut message = vec![mark; len.max(64)];
        message[..4].copy_from_slice(b"\xFESMB");
        message[16..20].copy_from_slice(&1u32.to_le_bytes());
        [&(message.len() as u32).to_be_bytes()[..], &message].concat()
    }

    /// Messages with these lengths, one after the other, and where each begins.
    fn conversation(lengths: &[usize]) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = Vec::new();
        let mut starts = Vec::new();
        for (at, len) in lengths.iter().enumerate() {
            starts.push(bytes.len());
            bytes.extend(message(*len, at as u8));
        }
        (bytes, starts)
    }

    type Found = Vec<(usize, Vec<u8>)>;

    /// The messages that come out; `segments` are ranges of the bytes, and how much of each was captured.
    fn read(bytes: &[u8], first: u32, segments: &[(usize, usize, usize)]) -> (Found, Stream) {
        let mut stream = Stream::default();
        let mut all = Vec::new();
        let mut found = |framed: &Framed<'_>| all.push((framed.len, framed.head.to_vec()));
        stream.begin(first.wrapping_sub(1));
        for (time, (from, to, captured)) in segments.iter().enumerate() {
            let piece = &bytes[*from..*to];
            let payload = Payload {
                time: time as u64,
                sequence: first.wrapping_add(*from as u32),
                bytes: &piece[..piece.len().min(*captured)],
                len: piece.len(),
            };
            stream.segment(payload, &mut found);
        }
        stream.end(&mut found);
        (all, stream)
    }

    /// Ranges of `size` bytes that begin anew with each message, as senders make them.
    fn segments(bytes: &[u8], starts: &[usize], size: usize, captured: usize) -> Vec<(usize, usize, usize)> {
        let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
        let mut all = Vec::new();
        for (start, end) in starts.iter().zip(ends) {
            let mut from = *start;
            while from < end {
                let to = (from + size).min(end);
                all.push((from, to, captured));
                from = to;
            }
        }
        all
    }

    proptest! {
        #[test]
        fn messages_survive_any_segments_repetitions_and_a_new_order(
            lengths in proptest::collection::vec(64usize..3000, 1..12),
            // At most as many segments as may wait.
            size in 200usize..1500,
            first in any::<u32>(),
            swaps in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..10),
        ) {
            let (bytes, starts) = conversation(&lengths);
            let mut order = segments(&bytes, &starts, size, usize::MAX);
            // The first segment shows where the stream begins to be understood.
            for (a, b) in &swaps {
                if order.len() > 1 {
                    let a = 1 + a.index(order.len() - 1);
                    let b = 1 + b.index(order.len() - 1);
                    order.swap(a, b);
                    order.push(order[a]);
                }
            }
            let (found, stream) = read(&bytes, first, &order);
            prop_assert_eq!(found.len(), lengths.len());
            for ((len, head), (start, expected)) in found.iter().zip(starts.iter().zip(&lengths)) {
                prop_assert_eq!(len, expected);
                prop_assert_eq!(&head[..], &bytes[start + 4..start + 4 + len]);
            }
            prop_assert_eq!((stream.lost_bytes, stream.damage.cut), (0, 0));
        }

        #[test]
        fn short_captures_of_segments_still_give_every_message(
            lengths in proptest::collection::vec(64usize..3000, 1..12),
            size in 200usize..1500,
        ) {
            let (bytes, starts) = conversation(&lengths);
            // Headers alone: the 4 bytes of the frame and 38 of the message.
            let (found, _) = read(&bytes, 7, &segments(&bytes, &starts, size, 42));
            let found: Vec<usize> = found.iter().map(|(len, _)| *len).collect();
            prop_assert_eq!(found, lengths);
        }

        #[test]
        fn no_bytes_are_a_panic(
            pieces in proptest::collection::vec((any::<u32>(), proptest::collection::vec(any::<u8>(), 0..80), 0usize..5000), 0..40),
        ) {
            let mut stream = Stream::default();
            let mut count = 0;
            for (sequence, bytes, more) in &pieces {
                let payload = Payload { time: 0, sequence: *sequence, bytes, len: bytes.len() + more };
                stream.segment(payload, &mut |_| count += 1);
                stream.acknowledged(sequence.wrapping_add(9), &mut |_| count += 1);
            }
            stream.end(&mut |_| count += 1);
        }
    }

    #[test]
    fn after_a_loss_reading_continues_with_the_next_message() {
        let (bytes, starts) = conversation(&[500, 600, 700, 800]);
        let mut order = segments(&bytes, &starts, 300, usize::MAX);
        // The end of the first message and the beginning of the second.
        order.drain(1..3);
        let (found, stream) = read(&bytes, 1, &order);
        let lengths: Vec<usize> = found.iter().map(|(len, _)| *len).collect();
        assert_eq!(lengths, [500, 700, 800]);
        assert_eq!(stream.lost_bytes, 504);
        assert_eq!(stream.damage.cut, 1);
    }

    #[test]
    fn a_loss_within_a_large_message_loses_only_data() {
        let (bytes, starts) = conversation(&[200_000, 64]);
        let mut order = segments(&bytes, &starts, 1400, usize::MAX);
        order.drain(100..110);
        let (found, stream) = read(&bytes, u32::MAX - 70_000, &order);
        let lengths: Vec<usize> = found.iter().map(|(len, _)| *len).collect();
        assert_eq!(lengths, [200_000, 64]);
        assert_eq!(stream.lost_bytes, 14_000);
        assert_eq!(stream.damage.cut, 0);
    }
}
