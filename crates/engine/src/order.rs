//! The order in which one pass visits the records of a file.

use sharebench_model::Random;
use sharebench_plan::Pattern;

/// Record numbers of one pass: each exactly once.
///
/// The random order is a Feistel permutation: no table, so memory does not grow with the file.
#[derive(Debug)]
pub(crate) struct Order {
    pattern: Pattern,
    records: u64,
    next: u64,
    low_bits: u32,
    /// All ones of the high and of the low part.
    masks: [u64; 2],
    keys: [u64; 4],
}

impl Order {
    /// A pass over `records` records.
    pub fn new(pattern: Pattern, records: u64, random: &mut Random) -> Self {
        let bits = 64 - records.saturating_sub(1).leading_zeros();
        let low_bits = bits / 2;
        let masks = [(1 << (bits - low_bits)) - 1, (1 << low_bits) - 1];
        Self { pattern, records, next: 0, low_bits, masks, keys: std::array::from_fn(|_| random.next()) }
    }

    fn permute(&self, number: u64) -> u64 {
        // Parts of unequal width, so that the domain is less than twice the number of records.
        let [high_mask, low_mask] = self.masks;
        let (mut high, mut low) = (number >> self.low_bits, number & low_mask);
        for pair in self.keys.chunks_exact(2) {
            high ^= sharebench_model::mix(low ^ pair[0]) & high_mask;
            low ^= sharebench_model::mix(high ^ pair[1]) & low_mask;
        }
        high << self.low_bits | low
    }
}

impl Iterator for Order {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.next >= self.records {
            return None;
        }
        let number = self.next;
        self.next += 1;
        if self.pattern == Pattern::Sequential {
            return Some(number);
        }
        // Cycle walking: the permutation's domain is less than twice the number of records.
        let mut record = self.permute(number);
        while record >= self.records {
            record = self.permute(record);
        }
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_pass_visits_every_record_once_and_not_in_order() {
        for records in [1, 2, 3, 16, 100, 1025, 65_536] {
            let order: Vec<u64> = Order::new(Pattern::Random, records, &mut Random::new(5, 5)).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..records).collect::<Vec<_>>());
            assert!(records < 16 || order != sorted);
        }
    }
}
