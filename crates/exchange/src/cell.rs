//! One measured number of a table, made into a step.

use sharebench_model::{Coordinates, IoBytes, Measure, RateBase, ReportedFigures, Value, axis};

use crate::rate::RateUnit;

/// Largest file or record that a table may name: 1 EiB.
const LARGEST: u64 = 1 << 60;

/// A rate at a position; sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    pub test: String,
    pub file_size: Option<u64>,
    pub record_size: Option<u64>,
    pub queue_depth: u64,
    /// Jobs at once, where the source counts them.
    pub jobs: Option<u64>,
    /// Virtual users, where the source counts them.
    pub users: Option<u64>,
    /// Thousandths per second of what `unit` counts (its factor is applied already).
    pub milli: u64,
    pub unit: RateUnit,
    /// Further figures of the row.
    pub reported: ReportedFigures,
}

/// Sizes that make sense together.
pub(crate) fn check_sizes(file: Option<u64>, record: Option<u64>) -> Result<(), String> {
    for (name, size) in [("file size", file), ("record size", record)] {
        match size {
            Some(0) => return Err(format!("a {name} of 0")),
            Some(size) if size > LARGEST => return Err(format!("a {name} of {size} bytes cannot be true")),
            _ => {}
        }
    }
    match (file, record) {
        (Some(file), Some(record)) if record > file => {
            Err(format!("records of {record} bytes do not fit a file of {file} bytes"))
        }
        _ => Ok(()),
    }
}

/// True when a test of this name moves bytes to the target.
pub(crate) fn writes(test: &str) -> bool {
    test.contains("write")
}

impl Cell {
    pub fn coordinates(&self) -> Coordinates {
        let mut coordinates = Coordinates::new()
            .with(axis::TEST, Value::text(self.test.as_str()))
            .with(axis::QUEUE_DEPTH, Value::Count(self.queue_depth));
        for (axis, size) in [(axis::FILE_SIZE, self.file_size), (axis::RECORD_SIZE, self.record_size)] {
            if let Some(size) = size {
                coordinates = coordinates.with(axis, Value::Bytes(size));
            }
        }
        for (axis, count) in [(axis::JOBS, self.jobs), (axis::USERS, self.users)] {
            if let Some(count) = count {
                coordinates = coordinates.with(axis, Value::Count(count));
            }
        }
        coordinates
    }

    /// The results that the source reports for the cell. Every job or user moves its file once; where no file size is known,
    /// the measure holds the work of one second.
    pub fn measure(&self) -> Measure {
        let streams = self.users.or(self.jobs).unwrap_or(1);
        // Operations give bytes too where the record size is known.
        let milli = match (self.unit, self.record_size) {
            (RateUnit::Operations, Some(record)) => self.milli.saturating_mul(record),
            _ => self.milli,
        };
        let of_bytes = matches!(self.unit, RateUnit::Bytes(_)) || self.record_size.is_some();
        let amount = match (self.file_size, of_bytes, self.record_size) {
            (Some(file), true, _) => u128::from(file) * u128::from(streams),
            _ => u128::from(milli / 1000).max(1),
        };
        let nanos = (amount * 1_000_000_000_000 + u128::from(milli / 2)) / u128::from(milli.max(1));
        let amount = saturate(amount);
        let nanos = saturate(nanos).max(1);
        let bytes = if of_bytes { amount } else { 0 };
        let operations = match self.record_size {
            Some(record) => bytes.div_ceil(record),
            None if of_bytes => 0,
            None => amount,
        };
        // A user of a load performs transactions of any number of records: only their size gives their number.
        let transactions = match (self.reported.transaction_bytes, self.users) {
            (Some(size), _) => bytes / size.max(1),
            (None, Some(_)) if of_bytes && self.unit != RateUnit::Operations => 0,
            _ => operations,
        };
        Measure {
            window_ns: nanos,
            busy_ns: nanos,
            rate_base: RateBase::Reported { milli },
            operations,
            transactions,
            reported: self.reported.into(),
            bytes: if writes(&self.test) {
                IoBytes { read: 0, written: bytes }
            } else {
                IoBytes { read: bytes, written: 0 }
            },
            users_assigned: streams.min(u64::from(u32::MAX)) as u32,
            users_reported: streams.min(u64::from(u32::MAX)) as u32,
            ..Measure::default()
        }
    }
}

fn saturate(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reported_rate_stays_exact_and_the_time_follows_from_it() {
        let cell = Cell {
            test: "rewrite".into(),
            file_size: Some(64 << 10),
            record_size: Some(4 << 10),
            queue_depth: 1,
            jobs: None,
            users: None,
            milli: 64_000_000 * 1_024_000,
            unit: RateUnit::Bytes(1024),
            reported: ReportedFigures::default(),
        };
        let measure = cell.measure();
        // 64 KiB at 64 000 000 KiB/s last 1 us.
        assert_eq!((measure.busy_ns, measure.operations, measure.bytes.written), (1000, 16, 65_536));
        assert_eq!(measure.throughput(), Some(65_536_000_000.0));
        assert_eq!(measure.operation_rate(), Some(16_000_000.0));
        let in_operations = Cell { unit: RateUnit::Operations, milli: 16_000_000_000, ..cell.clone() };
        assert_eq!(in_operations.measure().throughput(), Some(65_536_000_000.0));
        let alone = Cell { file_size: None, record_size: None, ..in_operations };
        assert_eq!((alone.measure().throughput(), alone.measure().operation_rate()), (Some(0.0), Some(16e6)));
        let of_users = Cell { users: Some(50), ..cell.clone() };
        assert_eq!(of_users.measure().transaction_rate(), None, "a record is no transaction");
        let reported = ReportedFigures { transaction_bytes: Some(65_536), ..ReportedFigures::default() };
        let counted = Cell { reported, ..of_users };
        assert_eq!(counted.measure().transaction_rate(), Some(1_000_000.0));
    }
}
