//! The requests of one direction within a sequence.

/// Different sizes that are kept for each sequence; further ones count as the next power of two.
const MAX_SIZES: usize = 16;

/// Reads, or writes, of one file without a pause.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Requests.
    pub count: u32,
    /// Requests that do not start where the one before ended.
    pub jumps: u32,
    /// Offset of the first one.
    pub first: u64,
    /// End of the last one.
    pub next: u64,
    /// Highest end.
    pub end: u64,
    /// A read delivered less than it asked for: it met the end of the file.
    pub met_end: bool,
    /// Requests that waited for stable storage.
    pub stable: u32,
    /// Bytes asked for, each size once, with its number.
    pub sizes: Vec<(u32, u32)>,
    /// Bytes that the last one asked for.
    pub last: u32,
}

impl Transfer {
    /// One more request. `expected` is where the first one starts if it is sequential.
    pub fn add(&mut self, offset: u64, asked: u32, bytes: u32, expected: u64) {
        let expected = if self.count == 0 { expected } else { self.next };
        if self.count == 0 {
            self.first = offset;
        }
        self.count = self.count.saturating_add(1);
        self.jumps += u32::from(offset != expected);
        self.next = offset.saturating_add(u64::from(bytes));
        self.end = self.end.max(self.next);
        self.met_end |= bytes < asked;
        self.last = asked;
        self.count_size(asked, 1);
    }

    /// True when most requests do not follow the one before.
    pub fn is_random(&self) -> bool {
        u64::from(self.jumps) * 2 > u64::from(self.count)
    }

    fn count_size(&mut self, asked: u32, count: u32) {
        let is_full = self.sizes.len() >= MAX_SIZES;
        let known = self.sizes.iter().position(|(size, _)| *size == asked);
        let size = if known.is_none() && is_full {
            asked.checked_next_power_of_two().unwrap_or(asked)
        } else {
            asked
        };
        match self.sizes.iter_mut().find(|(known, _)| *known == size) {
            Some((_, known)) => *known = known.saturating_add(count),
            None => self.sizes.push((size, count)),
        }
    }

    /// Sizes of the requests; of a transfer of a whole file without the last one, which is what was left of the file.
    pub fn request_sizes(&self, whole: bool) -> impl Iterator<Item = (u32, u32)> + '_ {
        let skipped = (whole && self.count > 1).then_some(self.last);
        self.sizes.iter().map(move |(size, count)| (*size, count - u32::from(skipped == Some(*size))))
    }
}
