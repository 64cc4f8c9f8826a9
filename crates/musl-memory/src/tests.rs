//! Every function next to what the language does, around every limit between two ways.

use std::cmp::Ordering;

use proptest::prelude::*;

use crate::compare::compare;
use crate::copy::{any, apart};
use crate::fill::fill;

/// Bytes of which no two neighbours are equal, with a period that is no power of two.
fn pattern(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at % 251) as u8).collect()
}

/// Lengths around every limit between two ways of copying.
fn lengths() -> impl Iterator<Item = usize> {
    (0..300).chain(1000..1010).chain(2030..2200).chain([4095, 4096, 4097, 65_536, 65_541])
}

#[test]
fn every_length_and_position_is_copied() {
    let from = pattern(70_000);
    for count in lengths() {
        for (source, destination) in [(0, 0), (1, 0), (0, 1), (5, 12), (63, 64), (64, 63)] {
            let mut to = vec![0xff; destination + count + 1];
            // SAFETY: both buffers are long enough.
            unsafe { apart(to[destination..].as_mut_ptr(), from[source..].as_ptr(), count) };
            assert_eq!(to[destination..destination + count], from[source..source + count], "{count} bytes");
            assert!(to[..destination].iter().all(|byte| *byte == 0xff), "{count} bytes, before");
            assert_eq!(to[destination + count], 0xff, "{count} bytes, after");
        }
    }
}

#[test]
fn copies_that_overlap_keep_every_byte() {
    for count in lengths() {
        for distance in [0, 1, 7, 16, 64, 127, 128, 129, 500, 3000] {
            for (source, destination) in [(0, distance), (distance, 0)] {
                let mut bytes = pattern(count + distance + 1);
                let mut expected = bytes.clone();
                expected.copy_within(source..source + count, destination);
                let start = bytes.as_mut_ptr();
                // SAFETY: source and destination lie within the buffer.
                unsafe { any(start.add(destination), start.add(source), count) };
                assert_eq!(bytes, expected, "{count} bytes from {source} to {destination}");
            }
        }
    }
}

#[test]
fn every_length_is_filled() {
    for count in lengths() {
        for start in [0, 1, 15] {
            let mut to = vec![1; start + count + 1];
            // SAFETY: the buffer is long enough.
            unsafe { fill(to[start..].as_mut_ptr(), 0xa5, count) };
            assert!(to[..start].iter().all(|byte| *byte == 1));
            assert!(to[start..start + count].iter().all(|byte| *byte == 0xa5), "{count} bytes");
            assert_eq!(to[start + count], 1, "{count} bytes");
        }
    }
}

#[test]
fn the_first_difference_decides() {
    for count in (0..100).chain([255, 4096]) {
        let left = pattern(count);
        // SAFETY: both buffers have `count` bytes.
        let order = |right: &[u8]| unsafe { compare(left.as_ptr(), right.as_ptr(), count) };
        assert_eq!(order(&left), Ordering::Equal);
        for at in 0..count {
            let mut right = left.clone();
            right[at] ^= 0x80;
            // What comes later has the opposite order.
            if let Some(later) = right.get_mut(at + 1) {
                *later = if left[at] & 0x80 == 0 { 0 } else { 0xff };
            }
            assert_eq!(order(&right), left.cmp(&right), "{count} bytes, different at {at}");
        }
    }
}

proptest! {
    #[test]
    fn two_slices_have_the_order_of_the_language(
        left in proptest::collection::vec(0u8..3, 0..80),
        right in proptest::collection::vec(0u8..3, 0..80),
    ) {
        let count = left.len().min(right.len());
        // SAFETY: both buffers have `count` bytes.
        let order = unsafe { compare(left.as_ptr(), right.as_ptr(), count) };
        prop_assert_eq!(order, left[..count].cmp(&right[..count]));
    }
}
