//! A stored histogram: HdrHistogram V2 bytes, decoded in place.
//!
//! A histogram that can count needs an array of about 100 KB, while its stored bytes are a few hundred. Reading a run of
//! thousands of steps does not allocate the arrays.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

/// Header: cookie, length of the payload, normalizing offset, digits (4 bytes each); lowest and highest value,
/// conversion ratio (8 bytes each).
const HEADER: usize = 40;
/// `V2EncodingCookieBase` of HdrHistogram, with the word size of its variable-length counts.
const COOKIE: u32 = 0x1c84_9303 | 0x10;
/// Slots of a bucket at three digits: the first bucket has twice as many, each later one covers as much again at half
/// the grain.
const SLOTS_BITS: u32 = 10;
/// Number of slots that covers every time of 64 bits.
const MAX_SLOTS: u64 = 55 << SLOTS_BITS;

/// Times that share one count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub lowest: u64,
    pub highest: u64,
    pub count: u64,
}

impl Cell {
    /// The time that represents all of them: the middle of the range, as in the library.
    pub fn middle(self) -> u64 {
        self.lowest + (self.highest - self.lowest).div_ceil(2)
    }
}

/// Keeps the bytes of histograms outside memory, such as a results database.
///
/// An archive that cannot read what it kept returns none and remembers the failure: a histogram has no way to report it.
/// Whoever made the archive must look for failures before it trusts a number.
pub trait HistogramArchive: Send + Sync + Debug {
    /// Reads the bytes of histograms, in the order of their keys; none for those that are lost. An analysis uses the
    /// histograms of all repetitions of a cell together, and reading them in one call costs one access to the archive.
    fn read(&self, keys: &[u64]) -> Vec<Option<Vec<u8>>>;
}

fn read_one(archive: &dyn HistogramArchive, key: u64) -> Option<Vec<u8>> {
    archive.read(&[key]).pop().flatten()
}

/// Where the counts are.
#[derive(Debug, Clone)]
enum Counts {
    /// Validated bytes.
    Bytes(Box<[u8]>),
    /// Decoded, in ascending order. They take ten times as much memory as bytes.
    Cells(Box<[Cell]>),
    /// Bytes that were validated when an archive got them.
    Archived(Arc<dyn HistogramArchive>, u64),
}

/// A histogram that is not counting.
#[derive(Debug, Clone)]
pub(crate) struct Resting {
    counts: Counts,
    len: u64,
    highest: u64,
}

impl Resting {
    /// None if the bytes are invalid or of a form that only the library reads.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (len, highest) = examine(bytes)?;
        Some(Self { counts: Counts::Bytes(bytes.into()), len, highest })
    }

    /// As [`Self::from_bytes`], but without the bytes, which the archive has under that key.
    pub fn archived(bytes: &[u8], archive: &Arc<dyn HistogramArchive>, key: u64) -> Option<Self> {
        let (len, highest) = examine(bytes)?;
        Some(Self { counts: Counts::Archived(Arc::clone(archive), key), len, highest })
    }

    /// The counts of several histograms in one. It needs memory for the counts that there are, while an array that can
    /// record takes 100 KB. They stay decoded, because an analysis takes about ten quantiles of them.
    pub fn merged<'r>(parts: impl Iterator<Item = &'r Self>) -> Self {
        let mut all: Vec<Cell> = parts.flat_map(Self::cells).collect();
        add_equal(&mut all);
        let highest = all.last().map_or(0, |cell| cell.highest);
        let len = all.iter().map(|cell| cell.count).sum();
        Self { counts: Counts::Cells(all.into()), len, highest }
    }

    /// The archive that has the bytes, and their key there; none if they are here.
    pub fn archive(&self) -> Option<(&Arc<dyn HistogramArchive>, u64)> {
        match &self.counts {
            Counts::Bytes(_) | Counts::Cells(_) => None,
            Counts::Archived(archive, key) => Some((archive, *key)),
        }
    }

    /// The same with these bytes, which the archive returned. They were validated when they were archived.
    pub fn with_bytes(&self, bytes: Vec<u8>) -> Self {
        Self { counts: Counts::Bytes(bytes.into()), ..*self }
    }

    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match &self.counts {
            Counts::Bytes(bytes) => Cow::Borrowed(bytes),
            Counts::Cells(cells) => Cow::Owned(encoded(cells, self.highest)),
            Counts::Archived(archive, key) => {
                Cow::Owned(read_one(archive.as_ref(), *key).unwrap_or_default())
            }
        }
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// Longest time; 0 when empty.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// The counts, from the shortest time to the longest.
    pub fn cells(&self) -> impl Iterator<Item = Cell> {
        let (cells, bytes) = match &self.counts {
            Counts::Cells(cells) => (&cells[..], Cow::default()),
            Counts::Bytes(_) | Counts::Archived(..) => (&[][..], self.bytes()),
        };
        let mut at = HEADER;
        let mut slot = 0;
        let decoded = std::iter::from_fn(move || {
            let mut rest = bytes.get(at..)?;
            let cell = next(&mut rest, &mut slot);
            at = bytes.len() - rest.len();
            cell
        });
        cells.iter().copied().chain(decoded.filter(|cell| cell.count > 0))
    }
}

/// An array of counts is scanned where it has at most this number of slots per cell; beyond that, sorting is faster.
const MAX_SLOTS_PER_CELL: usize = 8;

/// Sorts cells, and adds the counts of equal ones.
fn add_equal(cells: &mut Vec<Cell>) {
    let slots = || cells.iter().map(|cell| slot_of(cell.lowest));
    let (Some(first), Some(last)) = (slots().min(), slots().max()) else { return };
    let span = (last - first + 1) as usize;
    if span > MAX_SLOTS_PER_CELL * cells.len() {
        // The parts are in order, which this sort makes use of.
        cells.sort_by_key(|cell| cell.lowest);
        cells.dedup_by(|next, cell| {
            let is_same = next.lowest == cell.lowest;
            cell.count += if is_same { next.count } else { 0 };
            is_same
        });
        return;
    }
    // Times of one cell of a sweep are close to each other. Counting them takes a third of the time of sorting.
    let mut counts = vec![0; span];
    for cell in cells.iter() {
        counts[(slot_of(cell.lowest) - first) as usize] += cell.count;
    }
    cells.clear();
    let counted = (first..).zip(counts).filter(|(_, count)| *count > 0);
    cells.extend(counted.map(|(slot, count)| cell(slot, count)));
}

/// The bytes of counts in ascending order.
fn encoded(cells: &[Cell], highest: u64) -> Vec<u8> {
    let mut payload = Vec::new();
    let mut slot = 0;
    for cell in cells {
        let own = slot_of(cell.lowest);
        if own > slot {
            write_number(&mut payload, -(own - slot).cast_signed());
        }
        write_number(&mut payload, cell.count.cast_signed());
        slot = own + 1;
    }
    let mut bytes = [COOKIE, payload.len() as u32, 0, 3].map(u32::to_be_bytes).concat();
    bytes.extend([1, highest.max(2), 1f64.to_bits()].map(u64::to_be_bytes).concat());
    bytes.extend(payload);
    bytes
}

/// Validates bytes; returns the number of recordings and the longest time.
fn examine(bytes: &[u8]) -> Option<(u64, u64)> {
    let word = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let wide = |at: usize| Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let plain = word(0)? == COOKIE && word(8)? == 0 && word(12)? == 3 && wide(16)? == 1;
    let whole = bytes.len() == HEADER + word(4)? as usize && wide(32)? == 1f64.to_bits();
    // A header names a time, and the array of counts has all slots of the time's bucket.
    let most = covered(wide(24)?);
    if !plain || !whole {
        return None;
    }
    let mut len = 0u64;
    let mut highest = 0;
    let mut rest = bytes.get(HEADER..)?;
    let mut slot = 0;
    while !rest.is_empty() {
        let cell = next(&mut rest, &mut slot)?;
        if cell.count > 0 {
            (len, highest) = (len.checked_add(cell.count)?, cell.highest);
            if cell.lowest > most {
                return None;
            }
        }
    }
    Some((len, highest))
}

/// Longest time of an array of counts that reaches to `highest`.
fn covered(highest: u64) -> u64 {
    let mut covered = (2 << SLOTS_BITS) - 1;
    while covered < highest {
        covered = covered << 1 | 1;
    }
    covered
}

/// Takes one number off the payload: a count, or the number of empty slots, returned as a cell with count 0. None at
/// the end of the payload, and if it is invalid.
fn next(rest: &mut &[u8], slot: &mut u64) -> Option<Cell> {
    let number = number(rest)?;
    let skipped = if number < 0 { number.unsigned_abs() } else { 1 };
    let own = *slot;
    *slot = own.checked_add(skipped).filter(|slot| *slot <= MAX_SLOTS)?;
    Some(cell(own, u64::try_from(number).unwrap_or(0)))
}

/// A zigzag number of 1 to 9 bytes, seven bits each, the ninth one whole.
fn number(rest: &mut &[u8]) -> Option<i64> {
    // Most counts and gaps take one byte.
    if let [byte @ 0..0x80, left @ ..] = *rest {
        *rest = left;
        return Some(i64::from(*byte >> 1) ^ -i64::from(*byte & 1));
    }
    let mut value = 0u64;
    for place in 0..9 {
        let (byte, left) = rest.split_first()?;
        *rest = left;
        let bits = if place == 8 { *byte } else { byte & 0x7f };
        value |= u64::from(bits) << (7 * place);
        if place == 8 || byte & 0x80 == 0 {
            break;
        }
    }
    Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}

/// Writes what [`number`] reads.
fn write_number(bytes: &mut Vec<u8>, number: i64) {
    let mut value = (number << 1 ^ number >> 63).cast_unsigned();
    for _ in 0..8 {
        if value < 0x80 {
            break;
        }
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// The slot of a time.
fn slot_of(nanos: u64) -> u64 {
    let bucket = (u64::from(nanos.max(1).ilog2())).saturating_sub(u64::from(SLOTS_BITS));
    (nanos >> bucket) + (bucket << SLOTS_BITS)
}

fn cell(slot: u64, count: u64) -> Cell {
    let bucket = (slot >> SLOTS_BITS).saturating_sub(1);
    let lowest = (slot - (bucket << SLOTS_BITS)) << bucket;
    Cell { lowest, highest: lowest + ((1 << bucket) - 1), count }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_the_format_writes_them() {
        for (bytes, value) in [
            (&[0][..], 0),
            (&[1], -1),
            (&[2], 1),
            (&[0x80, 1], 64),
            (&[0xff; 9], i64::MIN),
            (&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], i64::MAX),
        ] {
            let mut rest = bytes;
            assert_eq!((number(&mut rest), rest.len()), (Some(value), 0), "{bytes:?}");
            let mut written = Vec::new();
            write_number(&mut written, value);
            assert_eq!(written, bytes);
        }
        for slot in (0..MAX_SLOTS).step_by(7) {
            assert_eq!(slot_of(cell(slot, 1).lowest), slot);
            assert_eq!(slot_of(cell(slot, 1).highest), slot);
        }
        assert_eq!(number(&mut &[0x80][..]), None);
    }

    #[test]
    fn equal_cells_are_added_whether_they_are_counted_or_sorted() {
        let parts = |slots: [u64; 5]| -> Vec<Cell> { slots.map(|slot| cell(slot, slot + 1)).to_vec() };
        for far in [40, 50_000] {
            let mut cells = parts([7, 30, far, 7, 30]);
            add_equal(&mut cells);
            assert_eq!(cells, [cell(7, 16), cell(30, 62), cell(far, far + 1)]);
        }
        let mut none = Vec::new();
        add_equal(&mut none);
        assert_eq!(none, []);
    }

    #[test]
    fn invalid_payloads_are_rejected() {
        let bytes = |payload: &[u8]| {
            let mut bytes = [COOKIE, payload.len() as u32, 0, 3].map(u32::to_be_bytes).concat();
            bytes.extend([1, 1 << 20, 1f64.to_bits()].map(u64::to_be_bytes).concat());
            bytes.extend(payload);
            bytes
        };
        let good = Resting::from_bytes(&bytes(&[1, 2, 4])).unwrap();
        let cells: Vec<Cell> = good.cells().collect();
        assert_eq!(cells.iter().map(|cell| (cell.lowest, cell.count)).collect::<Vec<_>>(), [(1, 1), (2, 2)]);
        assert_eq!((good.len(), good.highest()), (3, 2));
        // Cut within a number; a gap wider than all times; a time beyond the header's highest; sums beyond 64 bits.
        let most = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        for broken in [&[0x80][..], &[0xff; 9], &[0xff, 0xff, 0x02, 2], &[most, most, most].concat()] {
            assert!(Resting::from_bytes(&bytes(broken)).is_none(), "{broken:?}");
        }
        let mut longer = bytes(&[2]);
        longer.push(2);
        assert!(Resting::from_bytes(&longer).is_none());
    }
}
