//! The order in which one pass accesses the records of a file.

use sharebench_model::Random;
use sharebench_plan::{Direction, Grid, Pattern, RecordWork};

/// The access to one record: its offset, and whether it is read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RecordAccess {
    /// Its first byte.
    pub offset: u64,
    /// Written; read otherwise.
    pub write: bool,
}

/// The share of a file's records that one job works on: part `index` of `count` parts of equal length,
/// give or take one record, or every `count`-th record of a file whose jobs take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FilePart {
    pub index: u32,
    pub count: u32,
}

impl FilePart {
    /// The whole file.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// The bytes from the start of the part's first record to the end of its last one. Those of jobs that take turns overlap:
    /// only tests that write no existing file have such parts.
    pub fn bytes(self, work: &RecordWork) -> std::ops::Range<u64> {
        if self == Self::WHOLE {
            return 0..work.file_size;
        }
        let grid = self.grid(work);
        let end = grid.first + grid.records.saturating_sub(1) * grid.spacing;
        grid.first..end + u64::from(work.record_size) * u64::from(grid.records > 0)
    }

    fn grid(self, work: &RecordWork) -> Grid {
        let grid = work.grid();
        if work.is_interleaved() {
            let first = u64::from(self.index);
            let count = u64::from(self.count.max(1));
            return Grid {
                first: grid.first + first * grid.spacing,
                spacing: count * grid.spacing,
                records: grid.records.saturating_sub(first).div_ceil(count),
            };
        }
        let border = |index: u32| {
            (u128::from(grid.records) * u128::from(index) / u128::from(self.count.max(1))) as u64
        };
        let from = border(self.index);
        let to = border(self.index + 1);
        Grid { first: grid.first + from * grid.spacing, records: to - from, ..grid }
    }
}

/// The accesses of one pass: each record exactly once, or one record repeatedly.
#[derive(Debug)]
pub(crate) struct AccessPattern {
    grid: Grid,
    pattern: Pattern,
    stride: u64,
    /// Number of accesses that read; the others write.
    reads: u64,
    places: Permutation,
    /// Scatters the reads of a mix among its writes.
    mix: Permutation,
    next: u64,
    /// The position of a strided pass.
    at: u64,
}

impl AccessPattern {
    /// The accesses of one pass of a test over a part of its file.
    pub fn new(work: &RecordWork, part: FilePart, random: &mut Random) -> Self {
        let grid = part.grid(work);
        let reads = match work.test.direction() {
            Direction::Read => grid.records,
            Direction::Write => 0,
            // Rounded at random, so that the share holds on average however few the records are.
            Direction::Mix => {
                let wanted = u128::from(grid.records) * u128::from(work.read_percent);
                (wanted / 100) as u64 + u64::from(random.below(100) < (wanted % 100) as u64)
            }
        };
        let pattern = work.test.pattern();
        let stride = u64::from(work.stride);
        Self::over(grid, pattern, stride, reads, random)
    }

    /// Reads every record in the order of a test, also if the test writes it.
    pub fn reading(work: &RecordWork, part: FilePart, random: &mut Random) -> Self {
        let grid = part.grid(work);
        Self::over(grid, work.test.pattern(), u64::from(work.stride), grid.records, random)
    }

    /// Writes a file of `size` bytes from its first to its last record.
    pub fn filling(size: u64, record: u64) -> Self {
        let grid = Grid { first: 0, spacing: record, records: size.div_ceil(record) };
        Self::over(grid, Pattern::Sequential, 1, 0, &mut Random::new(0, 0))
    }

    /// Reads a file of `size` bytes from its first to its last record.
    pub fn scanning(size: u64, record: u64) -> Self {
        let grid = Grid { first: 0, spacing: record, records: size.div_ceil(record) };
        Self::over(grid, Pattern::Sequential, 1, grid.records, &mut Random::new(0, 0))
    }

    fn over(grid: Grid, pattern: Pattern, stride: u64, reads: u64, random: &mut Random) -> Self {
        // Drawn for sequential passes as well, so that the test does not change the random numbers of what
        // follows.
        let places = Permutation::new(grid.records, random);
        let mix = Permutation::new(grid.records, random);
        Self { grid, pattern, stride, reads, places, mix, next: 0, at: 0 }
    }

    fn record(&mut self, number: u64) -> u64 {
        match self.pattern {
            Pattern::Sequential => number,
            Pattern::Backward => self.grid.records - 1 - number,
            Pattern::Random => self.places.value_at(number),
            Pattern::OneSpot => 0,
            Pattern::Stride => {
                let record = self.at;
                self.at += self.stride;
                if self.at >= self.grid.records {
                    // The next round starts one record after the start of this one.
                    self.at = record % self.stride + 1;
                }
                record
            }
        }
    }
}

impl Iterator for AccessPattern {
    type Item = RecordAccess;

    fn next(&mut self) -> Option<RecordAccess> {
        if self.next >= self.grid.records {
            return None;
        }
        let number = self.next;
        self.next += 1;
        let write = match self.reads {
            0 => true,
            reads if reads == self.grid.records => false,
            reads => self.mix.value_at(number) >= reads,
        };
        Some(RecordAccess { offset: self.grid.first + self.record(number) * self.grid.spacing, write })
    }
}

/// A random order of the numbers below `count`: a Feistel network, so memory does not grow with the file.
#[derive(Debug)]
struct Permutation {
    count: u64,
    low_bits: u32,
    /// All ones of the high and of the low part.
    masks: [u64; 2],
    keys: [u64; 4],
}

impl Permutation {
    fn new(count: u64, random: &mut Random) -> Self {
        let bits = 64 - count.saturating_sub(1).leading_zeros();
        let low_bits = bits / 2;
        let masks = [(1 << (bits - low_bits)) - 1, (1 << low_bits) - 1];
        Self { count, low_bits, masks, keys: std::array::from_fn(|_| random.next()) }
    }

    /// The number at a place of the permutation.
    fn value_at(&self, place: u64) -> u64 {
        // Cycle walking: the domain is less than twice the count.
        let mut number = self.permute(place);
        while number >= self.count {
            number = self.permute(number);
        }
        number
    }

    fn permute(&self, number: u64) -> u64 {
        // Parts of unequal width, so that the domain is less than twice the count.
        let [high_mask, low_mask] = self.masks;
        let mut high = number >> self.low_bits;
        let mut low = number & low_mask;
        for pair in self.keys.chunks_exact(2) {
            high ^= sharebench_model::mix(low ^ pair[0]) & high_mask;
            low ^= sharebench_model::mix(high ^ pair[1]) & low_mask;
        }
        high << self.low_bits | low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sharebench_plan::{FileParts, Test};
    use std::time::Duration;

    fn work(test: Test, records: u64) -> RecordWork {
        RecordWork::new(test, records * 4096, 4096, Duration::ZERO)
    }

    fn accesses(work: &RecordWork, part: FilePart) -> Vec<RecordAccess> {
        AccessPattern::new(work, part, &mut Random::new(5, 5)).collect()
    }

    fn records(work: &RecordWork) -> Vec<u64> {
        accesses(work, FilePart::WHOLE).into_iter().map(|access| access.offset / 4096).collect()
    }

    #[test]
    fn every_test_but_one_accesses_every_record_once() {
        for test in Test::ALL.into_iter().filter(|test| *test != Test::RecordRewrite) {
            for count in [1, 2, 3, 16, 17, 18, 100, 1025, 65_536] {
                let order = records(&work(test, count));
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..count).collect::<Vec<_>>(), "{test} of {count}");
                let shuffled = test.pattern() == Pattern::Random;
                assert!(!shuffled || count < 16 || order != sorted, "{test} of {count}");
            }
        }
    }

    #[test]
    fn the_orders_are_what_their_names_say() {
        assert_eq!(records(&work(Test::BackwardRead, 4)), [3, 2, 1, 0]);
        assert_eq!(records(&work(Test::RecordRewrite, 4)), [0, 0, 0, 0]);
        let strided = RecordWork { stride: 3, ..work(Test::StrideRead, 8) };
        assert_eq!(records(&strided), [0, 3, 6, 1, 4, 7, 2, 5]);
        let default = records(&work(Test::StrideRead, 40));
        assert_eq!(default[..6], [0, 17, 34, 1, 18, 35]);
    }

    #[test]
    fn reads_and_writes_are_as_the_test_says() {
        for test in Test::ALL {
            let writes =
                accesses(&work(test, 100), FilePart::WHOLE).iter().filter(|access| access.write).count();
            let wanted = match test.direction() {
                Direction::Read => 0,
                Direction::Write => 100,
                Direction::Mix => 50,
            };
            assert_eq!(writes, wanted, "{test}");
        }
    }

    #[test]
    fn a_mix_keeps_its_share_exactly_and_on_average_where_it_cannot() {
        let reads = |share, count, random: &mut Random| {
            let mix = RecordWork { read_percent: share, ..work(Test::RandomMix, count) };
            AccessPattern::new(&mix, FilePart::WHOLE, random).filter(|access| !access.write).count()
        };
        let mut random = Random::new(1, 1);
        for (share, wanted) in [(0, 0), (30, 300), (70, 700), (100, 1000)] {
            assert_eq!(reads(share, 1000, &mut random), wanted);
        }
        let single: usize = (0..1000).map(|_| reads(30, 1, &mut random)).sum();
        assert!((240..360).contains(&single), "{single} of 1000");
        // Neither order nor blocks: reads and writes take turns at random.
        let mix = accesses(&work(Test::RandomMix, 1000), FilePart::WHOLE);
        let changes = mix.windows(2).filter(|pair| pair[0].write != pair[1].write).count();
        assert!((400..600).contains(&changes), "{changes}");
    }

    #[test]
    fn parts_cover_the_file_without_overlap() {
        for (test, count) in [(Test::Write, 4), (Test::RandomRead, 3), (Test::BackwardRead, 7)] {
            let parts = (0..count).map(|index| FilePart { index, count });
            let mut offsets: Vec<u64> =
                parts.flat_map(|part| accesses(&work(test, 50), part)).map(|access| access.offset).collect();
            offsets.sort_unstable();
            assert_eq!(offsets, (0..50).map(|record| record * 4096).collect::<Vec<_>>());
        }
    }

    #[test]
    fn interleaved_parts_have_every_nth_record() {
        for (records, count) in [(12, 4), (10, 3), (2, 4)] {
            let interleaved =
                RecordWork { shared_file: true, parts: FileParts::Interleaved, ..work(Test::Write, records) };
            let of = |index| accesses(&interleaved, FilePart { index, count });
            let mut offsets = Vec::new();
            for index in 0..count {
                let part: Vec<u64> = of(index).into_iter().map(|access| access.offset / 4096).collect();
                assert!(part.iter().all(|record| record % u64::from(count) == u64::from(index)), "{part:?}");
                offsets.extend(part);
            }
            offsets.sort_unstable();
            assert_eq!(offsets, (0..records).collect::<Vec<_>>());
        }
    }

    #[test]
    fn aligned_records_are_accessed_where_they_lie() {
        let moved = RecordWork { align: 512, ..work(Test::Read, 4) };
        let offsets: Vec<u64> =
            accesses(&moved, FilePart::WHOLE).iter().map(|access| access.offset).collect();
        assert_eq!(offsets, [512, 4608, 8704]);
        let apart = RecordWork { align: 8192, ..work(Test::BackwardRead, 4) };
        assert_eq!(accesses(&apart, FilePart::WHOLE)[0].offset, 8192);
    }
}
