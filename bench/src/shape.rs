//! The work of every client of a row: one file, one record size, one queue depth, one order.

use std::time::Duration;

use crate::Failure;

/// Bytes of the file that is read or written.
pub const FILE_BYTES: u64 = 64 << 20;

/// The work of one measurement, the same for every contender of a row.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Bytes per operation.
    pub record: u32,
    /// Operations in flight.
    pub depth: u32,
    /// Random order, or sequential with wrap-around.
    pub random: bool,
    /// Writes, or reads.
    pub write: bool,
    /// Duration of the warm-up.
    pub warm_up: Duration,
    /// Duration of the measurement.
    pub measure: Duration,
}

impl Shape {
    /// Creates a shape that reads in random order.
    pub fn random_reads(record: u32, depth: u32, measure: Duration) -> Self {
        let warm_up = Duration::from_millis(200);
        Self { record, depth, random: true, write: false, warm_up, measure }
    }

    /// Creates a shape that reads or writes sequentially, repeatedly.
    pub fn sequential(record: u32, depth: u32, write: bool, measure: Duration) -> Self {
        Self { random: false, write, ..Self::random_reads(record, depth, measure) }
    }

    /// Returns this shape without warm-up.
    #[must_use]
    pub fn without_warm_up(self) -> Self {
        Self { warm_up: Duration::ZERO, ..self }
    }

    /// Returns the arguments for a client program, in the order of [`Self::from_words`] and `opponents/*.c`.
    pub fn words(&self) -> [String; 6] {
        [
            self.record.to_string(),
            self.depth.to_string(),
            u8::from(self.random).to_string(),
            u8::from(self.write).to_string(),
            self.warm_up.as_millis().to_string(),
            self.measure.as_millis().to_string(),
        ]
    }

    /// Parses [`Self::words`].
    pub fn from_words(words: &[String]) -> Result<Self, Failure> {
        let [record, depth, random, write, warm_up, measure] = words else {
            return Err("a client wants: record depth random write warm-up-ms measure-ms".into());
        };
        Ok(Self {
            record: record.parse()?,
            depth: depth.parse()?,
            random: random == "1",
            write: write == "1",
            warm_up: Duration::from_millis(warm_up.parse()?),
            measure: Duration::from_millis(measure.parse()?),
        })
    }

    /// Returns the name of the row.
    pub fn name(&self) -> String {
        let size = if self.record >= 1 << 20 {
            format!("{} MiB", self.record >> 20)
        } else {
            format!("{} KiB", self.record >> 10)
        };
        let order = if self.random { "random" } else { "sequential" };
        format!("{size} {order} {}, depth {}", if self.write { "write" } else { "read" }, self.depth)
    }
}

/// Iterates over the offsets of the records.
#[derive(Debug)]
pub struct Offsets {
    shape: Shape,
    state: u64,
}

impl Offsets {
    /// Starts the offsets of a shape, with a fixed seed.
    pub fn new(shape: &Shape) -> Self {
        Self { shape: *shape, state: 0x2545_F491_4F6C_DD1D }
    }

    /// Returns the next offset.
    pub fn next(&mut self) -> u64 {
        let records = FILE_BYTES / u64::from(self.shape.record);
        if self.shape.random {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
        } else {
            self.state += 1;
        }
        self.state % records * u64::from(self.shape.record)
    }
}
