//! Reassembly of an incoming burst from fragments in any order.

use super::MAX_HOLES;
use crate::wire::burst::Missing;

/// Maximum number of separate ranges of a burst that have arrived.
const MAX_PARTS: usize = 256;

/// An incoming burst: the bytes received so far and the ranges that are still missing.
///
/// A client creates one for the reply to its burst, a server for each incoming burst. Fragments may arrive in any
/// order and more than once. The caller bounds the total length before the buffer is allocated, because the length
/// comes from the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reassembly {
    bytes: Vec<u8>,
    /// Received ranges, sorted and not adjacent.
    parts: Vec<(usize, usize)>,
}

impl Reassembly {
    /// Starts the reassembly of a burst of `total` bytes, which the caller has bounded.
    pub fn new(total: usize) -> Self {
        // One buffer for the whole burst, so that a fragment goes to its place by its offset and nothing is
        // copied again at the end.
        Self { bytes: vec![0; total], parts: Vec::new() }
    }

    /// Length of the whole burst.
    pub const fn total(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a fragment; one that exceeds the burst is ignored.
    pub fn add(&mut self, offset: usize, data: &[u8]) {
        let Some(place) = offset.checked_add(data.len()).and_then(|end| self.bytes.get_mut(offset..end))
        else {
            return;
        };
        if data.is_empty() {
            return;
        }
        place.copy_from_slice(data);
        let mut start = offset;
        let mut end = offset + data.len();
        // Merge all ranges that overlap or touch the new one.
        let first = self.parts.partition_point(|part| part.1 < start);
        let after = self.parts.partition_point(|part| part.0 <= end);
        if let (Some(low), Some(high)) =
            (self.parts.get(first).filter(|_| first < after), self.parts.get(after.wrapping_sub(1)))
        {
            start = start.min(low.0);
            end = end.max(high.1);
        }
        // Real fragments are in few ranges; one more would make them cost more than the burst.
        if first == after && self.parts.len() >= MAX_PARTS {
            return;
        }
        // Ranges that touch are merged, so that a complete burst is exactly one range.
        self.parts.splice(first..after, [(start, end)]);
    }

    /// True when no byte is missing.
    pub fn is_complete(&self) -> bool {
        self.bytes.is_empty() || self.parts == [(0, self.bytes.len())]
    }

    /// The missing ranges in ascending order.
    pub fn holes(&self) -> Vec<Missing> {
        let starts = std::iter::once(0).chain(self.parts.iter().map(|part| part.1));
        let ends = self.parts.iter().map(|part| part.0).chain([self.bytes.len()]);
        let holes = starts.zip(ends).filter(|(start, end)| start < end);
        let missing = holes.map(|(start, end)| Missing {
            offset: start as u32,
            length: u16::try_from(end - start).unwrap_or(u16::MAX),
        });
        // A list has to fit into one packet; the remaining holes are requested after these have arrived.
        missing.take(MAX_HOLES).collect()
    }

    /// The contents; valid once the burst is complete.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn missing_ranges_are_listed_in_order_until_complete() {
        let mut burst = Reassembly::new(10);
        assert_eq!(burst.holes(), [Missing { offset: 0, length: 10 }]);
        burst.add(8, b"ij");
        burst.add(2, b"cd");
        assert_eq!(burst.holes(), [Missing { offset: 0, length: 2 }, Missing { offset: 4, length: 4 }]);
        burst.add(9, b"xyz");
        burst.add(usize::MAX, b"x");
        burst.add(3, b"defghi");
        assert!(!burst.is_complete());
        burst.add(0, b"ab");
        assert!(burst.is_complete() && burst.holes().is_empty());
        assert_eq!(burst.bytes(), b"abcdefghij");
    }

    proptest! {
        /// Received and missing ranges are complementary.
        #[test]
        fn received_and_missing_ranges_are_complementary(parts in prop::collection::vec((0..80usize, 0..20usize), 0..20)) {
            let mut burst = Reassembly::new(60);
            let mut there = [false; 60];
            for (offset, len) in parts {
                burst.add(offset, &vec![1; len]);
                if let Some(place) = there.get_mut(offset..offset + len) {
                    place.fill(true);
                }
            }
            let mut missing = [false; 60];
            for hole in burst.holes() {
                missing[hole.offset as usize..hole.offset as usize + hole.length as usize].fill(true);
            }
            prop_assert!(there.iter().zip(missing).all(|(there, missing)| *there != missing));
            prop_assert_eq!(burst.is_complete(), !missing.contains(&true));
        }
    }
}
