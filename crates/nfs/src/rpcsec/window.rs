//! Which sequence numbers a server accepts (RFC 2203 5.3.3.1).

use super::MAX_SEQUENCE;

/// Words of the bit map.
const WORDS: usize = 8;

/// The highest sequence number of a context, and which of those below it were seen.
///
/// A replayed number and one below the window are dropped without a reply, as the specification requires.
#[derive(Debug, Clone, Default)]
pub struct SequenceWindow {
    highest: u32,
    /// Bit `n` of the map stands for number `n` modulo [`Self::LEN`].
    seen: [u64; WORDS],
    started: bool,
}

impl SequenceWindow {
    /// Numbers in the window.
    pub const LEN: u32 = WORDS as u32 * 64;

    /// True if a call with this number is to be performed. Its signature must be valid, so that nobody else can move the
    /// window.
    pub fn accept(&mut self, sequence: u32) -> bool {
        if sequence >= MAX_SEQUENCE {
            return false;
        }
        if !self.started || sequence > self.highest {
            let steps = if self.started { sequence - self.highest } else { Self::LEN };
            for step in 0..steps.min(Self::LEN) {
                self.set(sequence - step.min(sequence), false);
            }
            self.highest = sequence;
            self.started = true;
            self.set(sequence, true);
            return true;
        }
        if self.highest - sequence >= Self::LEN || self.is_set(sequence) {
            return false;
        }
        self.set(sequence, true);
        true
    }

    fn is_set(&self, sequence: u32) -> bool {
        let bit = sequence % Self::LEN;
        self.seen.get(bit as usize / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    fn set(&mut self, sequence: u32, value: bool) {
        let bit = sequence % Self::LEN;
        if let Some(word) = self.seen.get_mut(bit as usize / 64) {
            let mask = 1 << (bit % 64);
            *word = if value { *word | mask } else { *word & !mask };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_is_accepted_once_and_only_within_the_window() {
        let mut window = SequenceWindow::default();
        assert!(window.accept(1000) && !window.accept(1000));
        assert!(window.accept(1000 - (SequenceWindow::LEN - 1)));
        assert!(!window.accept(1000 - SequenceWindow::LEN));
        assert!(window.accept(999) && window.accept(1001) && !window.accept(999));
        assert!(!window.accept(MAX_SEQUENCE));
        assert!(window.accept(5000) && !window.accept(1001));
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_set(numbers in proptest::collection::vec(0u32..3000, 1..200)) {
            let mut window = SequenceWindow::default();
            let mut seen = BTreeSet::new();
            let mut highest = None::<u32>;
            for number in numbers {
                let recent = highest.is_none_or(|highest| number + SequenceWindow::LEN > highest);
                let expected = recent && seen.insert(number);
                prop_assert_eq!(window.accept(number), expected);
                highest = highest.max(Some(number));
            }
        }
    }
}
