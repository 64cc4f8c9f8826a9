//! Sets of bits (RFC 7530, 2.2.1: `bitmap4`).

use crate::v4::item::Item;
use crate::xdr::{Reader, Writer, XdrError};

/// Words that a bitmap keeps: RFC 8276 defines attributes up to number 82.
const WORDS: usize = 3;
/// Maximum number of words that are accepted: numbers below 2048.
const MAX_WORDS: u32 = 64;

/// A set of numbers below 96. Higher numbers on the wire are dropped: a server ignores the request for an attribute that
/// it does not know (RFC 7530, 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bitmap {
    words: [u32; WORDS],
}

impl Bitmap {
    /// The set of these numbers.
    pub const fn from_numbers(numbers: &[u32]) -> Self {
        let mut set = Self { words: [0; WORDS] };
        let mut at = 0;
        while at < numbers.len() {
            set = set.with(numbers[at]);
            at += 1;
        }
        set
    }

    /// The set and one number; a number above the limit changes nothing.
    #[must_use]
    pub const fn with(mut self, number: u32) -> Self {
        let word = (number / 32) as usize;
        if word < WORDS {
            self.words[word] |= 1 << (number % 32);
        }
        self
    }

    /// True if the set contains a number.
    #[inline]
    pub const fn contains(&self, number: u32) -> bool {
        let word = (number / 32) as usize;
        word < WORDS && self.words[word] & (1 << (number % 32)) != 0
    }

    /// The numbers that are in both sets.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { words: std::array::from_fn(|at| self.words[at] & other.words[at]) }
    }

    /// The numbers that are in one of the sets.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { words: std::array::from_fn(|at| self.words[at] | other.words[at]) }
    }

    /// The numbers that are not in the other set.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self { words: std::array::from_fn(|at| self.words[at] & !other.words[at]) }
    }

    /// The numbers below a limit; all without one.
    #[must_use]
    pub fn below(self, limit: Option<u32>) -> Self {
        self.iter()
            .take_while(|number| limit.is_none_or(|limit| *number < limit))
            .fold(Self::default(), Self::with)
    }

    /// True if the set contains nothing.
    pub fn is_empty(self) -> bool {
        self.words == [0; WORDS]
    }

    /// The numbers in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        (0..WORDS as u32 * 32).filter(move |number| self.contains(*number))
    }
}

impl Item<'_> for Bitmap {
    fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        let count = reader.u32()?;
        if count > MAX_WORDS {
            return Err(XdrError::TooLong { field: "bitmap", len: count, max: MAX_WORDS as usize });
        }
        let mut set = Self::default();
        for at in 0..count as usize {
            let word = reader.u32()?;
            if let Some(place) = set.words.get_mut(at) {
                *place = word;
            }
        }
        Ok(set)
    }

    /// Encodes the words up to the last one that is not zero.
    fn put(&self, writer: &mut Writer) {
        let count = self.words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
        writer.u32(count as u32);
        writer.words(&self.words[..count]);
    }
}
