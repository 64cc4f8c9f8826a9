//! Coordinates: the values that identify a step among the others.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::ByteSize;

/// Names of the usual axes. Imported tables may bring others.
pub mod axis {
    /// Which test or operation: `write`, `read`, `random-read`...
    pub const TEST: &str = "test";
    /// Bytes per file.
    pub const FILE_SIZE: &str = "file_size";
    /// Bytes per operation.
    pub const RECORD_SIZE: &str = "record_size";
    /// Operations in flight per job.
    pub const QUEUE_DEPTH: &str = "queue_depth";
    /// Virtual users of a load.
    pub const USERS: &str = "users";
    /// Jobs of a sweep, which run at once.
    pub const JOBS: &str = "jobs";
    /// How the starts of an open load are spaced: `constant`, `poisson`.
    pub const ARRIVALS: &str = "arrivals";
    /// Intended starts per second of an open load.
    pub const RATE: &str = "rate";
    /// Name of the mix of transactions.
    pub const WORKLOAD: &str = "workload";
    /// Cache policy, where it is not the usual one.
    pub const CACHE: &str = "cache";
    /// Sync policy, where it is not the usual one.
    pub const SYNC: &str = "sync";
    /// State of the server's cache before each pass, where it is not the usual one.
    pub const SERVER_CACHE: &str = "server_cache";
    /// What the measured time includes in addition to the operations: `close`, `flush`, `flush+close`.
    pub const INCLUDED: &str = "included";
    /// `shared` where the jobs of a cell share one file; without this axis each job has its own file.
    pub const FILES: &str = "files";
    /// Alignment of offsets, where it differs from the record size.
    pub const ALIGN: &str = "align";
    /// Distance of the records of a strided read in records, where it is not 17.
    pub const STRIDE: &str = "stride";
    /// Percent of reads in a mix, where it is not 50.
    pub const READ_PERCENT: &str = "read_percent";
    /// Buffer of a buffered stream, where it is not 64 KiB.
    pub const STREAM_BUFFER: &str = "stream_buffer";

    /// All of these.
    pub(super) const ALL: [&str; 18] = [
        TEST,
        FILE_SIZE,
        RECORD_SIZE,
        QUEUE_DEPTH,
        USERS,
        JOBS,
        ARRIVALS,
        RATE,
        WORKLOAD,
        CACHE,
        SYNC,
        SERVER_CACHE,
        INCLUDED,
        FILES,
        ALIGN,
        STRIDE,
        READ_PERCENT,
        STREAM_BUFFER,
    ];
}

/// A position on one axis.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// A size in bytes.
    Bytes(u64),
    /// A number without unit.
    Count(u64),
    /// A name.
    Text(String),
}

impl Value {
    /// A name.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Writes the value as a position on `axis`: `64KiB records`, `10 users`, `depth 4`.
    pub fn on_axis(&self, axis: &str) -> String {
        match axis {
            axis::FILE_SIZE => format!("{self} file"),
            axis::RECORD_SIZE => format!("{self} records"),
            axis::USERS => format!("{self} users"),
            axis::JOBS => format!("{self} jobs"),
            axis::RATE => format!("{self} starts/s"),
            axis::QUEUE_DEPTH => format!("depth {self}"),
            other => format!("{} {self}", other.replace('_', " ")),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => ByteSize(*bytes).fmt(f),
            Self::Count(count) => count.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// The position of a step on every axis of its run; equal coordinates are comparable steps.
///
/// Coordinates are ordered by the names of their axes. Copies share them: analyses hold the coordinates of each of
/// 100,000 steps in several tables.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Coordinates(Arc<[(Axis, Value)]>);

type Axis = Cow<'static, str>;

impl Default for Coordinates {
    fn default() -> Self {
        static NONE: LazyLock<Coordinates> = LazyLock::new(|| Coordinates(Arc::new([])));
        NONE.clone()
    }
}

impl Coordinates {
    /// No axes yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many virtual users (of a load) or jobs (of a sweep) the step runs at once, where an axis names their number.
    pub fn users_or_jobs(&self) -> Option<u64> {
        self.number(axis::USERS).or_else(|| self.number(axis::JOBS))
    }

    /// These coordinates with one axis added or replaced.
    #[must_use]
    pub fn with(self, axis: impl Into<Axis>, value: Value) -> Self {
        let axis = axis.into();
        let at = self.0.partition_point(|(known, _)| *known < axis);
        let replaced = usize::from(self.0.get(at).is_some_and(|(known, _)| *known == axis));
        let before = self.0[..at].iter().cloned();
        let after = self.0[at + replaced..].iter().cloned();
        Self(before.chain([(axis, value)]).chain(after).collect())
    }

    /// These coordinates without some axes.
    #[must_use]
    pub fn without(&self, axes: &[impl AsRef<str>]) -> Self {
        let is_kept = |axis: &str| !axes.iter().any(|left| left.as_ref() == axis);
        Self(self.0.iter().filter(|(axis, _)| is_kept(axis)).cloned().collect())
    }

    /// The position on one axis.
    pub fn get(&self, axis: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == axis).map(|(_, value)| value)
    }

    /// The position on an axis of bytes or counts.
    pub fn number(&self, axis: &str) -> Option<u64> {
        match self.get(axis)? {
            Value::Bytes(number) | Value::Count(number) => Some(*number),
            Value::Text(_) => None,
        }
    }

    /// The position on an axis of names.
    pub fn text(&self, axis: &str) -> Option<&str> {
        match self.get(axis)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// All axes in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(axis, value)| (axis.as_ref(), value))
    }
}

impl Serialize for Coordinates {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Coordinates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all: BTreeMap<String, Value> = BTreeMap::deserialize(deserializer)?;
        // The usual names need no memory of their own.
        let name = |axis: String| match axis::ALL.iter().find(|known| **known == axis) {
            Some(known) => Cow::Borrowed(*known),
            None => Cow::Owned(axis),
        };
        Ok(Self(all.into_iter().map(|(axis, value)| (name(axis), value)).collect()))
    }
}

impl fmt::Display for Coordinates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (axis, value)) in self.iter().enumerate() {
            let gap = if index == 0 { "" } else { " " };
            write!(f, "{gap}{axis}={value}")?;
        }
        Ok(())
    }
}
