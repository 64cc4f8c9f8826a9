//! The numbers with which a client repeats lock requests after it has lost a connection (MS-SMB2 3.3.5.14).

use std::sync::{Mutex, PoisonError};

/// Number of indices of an open.
const INDICES: usize = 64;
/// No valid number: numbers have four bits.
const NONE: u8 = 0xFF;

/// The number of the last successful request of each index. Most opens have none.
#[derive(Default)]
pub(crate) struct LockSequences(Mutex<Option<Box<[u8; INDICES]>>>);

/// Number and index of a request; none if the client does not intend to repeat it.
fn parts(sequence: u32) -> Option<(usize, u8)> {
    let index = (sequence >> 4) as usize;
    (1..=INDICES).contains(&index).then(|| (index - 1, (sequence & 0xF) as u8))
}

impl LockSequences {
    /// True if a request repeats one that has succeeded. Otherwise the index is free for it.
    pub(crate) fn is_repeated(&self, sequence: u32) -> bool {
        let Some((index, number)) = parts(sequence) else { return false };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(location) = known.as_mut().and_then(|known| known.get_mut(index)) else { return false };
        let repeated = *location == number;
        if !repeated {
            *location = NONE;
        }
        repeated
    }

    /// Records a request that has succeeded.
    pub(crate) fn note(&self, sequence: u32) {
        let Some((index, number)) = parts(sequence) else { return };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(|| Box::new([NONE; INDICES]));
        if let Some(location) = known.get_mut(index) {
            *location = number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_number_of_an_index_is_a_repetition() {
        let sequences = LockSequences::default();
        assert!(!sequences.is_repeated(0x11));
        sequences.note(0x11);
        assert!(sequences.is_repeated(0x11) && !sequences.is_repeated(0x21));
        assert!(!sequences.is_repeated(0x12) && !sequences.is_repeated(0x11));
        for sequence in [0, 1, 0x411, u32::MAX] {
            sequences.note(sequence);
            assert!(!sequences.is_repeated(sequence));
        }
    }
}
