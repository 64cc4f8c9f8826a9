//! Coordinates: the values that identify a step among the others.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

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
    /// `shared` where the jobs of a cell share one file and each has a part of it, `interleaved` where their records lie in
    /// turns; without this axis each job has its own file.
    pub const FILES: &str = "files";
    /// Alignment of offsets, where it differs from the record size.
    pub const ALIGN: &str = "align";
    /// Distance of the records of a strided read in records, where it is not 17.
    pub const STRIDE: &str = "stride";
    /// Percent of reads in a mix, where it is not 50.
    pub const READ_PERCENT: &str = "read_percent";
    /// Buffer of a buffered stream, where it is not 64 KiB.
    pub const STREAM_BUFFER: &str = "stream_buffer";
    /// Entries per directory of a metadata test. Steps with this axis are rated in operations.
    pub const ENTRIES: &str = "entries";
    /// Directories of a metadata test, where each job has not one of its own: `shared`, `tree`.
    pub const LAYOUT: &str = "layout";
    /// Characters of each name, where it is not 16.
    pub const NAME_LENGTH: &str = "name_length";
    /// Entries that a job works on in a pass, where it is not 1000.
    pub const BATCH: &str = "batch";
    /// Levels of a tree, where it is not 2.
    pub const TREE_DEPTH: &str = "tree_depth";
    /// Directories in each directory of a tree, where it is not 4.
    pub const TREE_FAN_OUT: &str = "tree_fan_out";

    /// Phase of IO500 that the step is, in the preset `io500`.
    pub const PHASE: &str = "phase";

    /// All of these.
    pub(super) const ALL: [&str; 25] = [
        PHASE,
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
        ENTRIES,
        LAYOUT,
        NAME_LENGTH,
        BATCH,
        TREE_DEPTH,
        TREE_FAN_OUT,
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
    #[serde(with = "text")]
    Text(Arc<str>),
}

impl Value {
    /// A name.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// Writes the value as a position on `axis`: `64KiB records`, `10 users`, `depth 4`.
    pub fn on_axis(&self, axis: &str) -> String {
        let is_one = *self == Self::Count(1);
        match axis {
            axis::USERS if is_one => "1 user".to_owned(),
            axis::JOBS if is_one => "1 job".to_owned(),
            axis::ENTRIES if is_one => "1 entry".to_owned(),
            axis::FILE_SIZE => format!("{self} file"),
            axis::RECORD_SIZE => format!("{self} records"),
            axis::USERS => format!("{self} users"),
            axis::JOBS => format!("{self} jobs"),
            axis::RATE => format!("{self} starts/s"),
            axis::ENTRIES => format!("{self} entries"),
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
/// Coordinates are ordered by the names of their axes. They take one word: copies share the values, and all coordinates
/// of a run share the list of its axes, because analyses hold those of each of 100,000 steps in several tables. With a
/// common list, two of them are compared without a look at the names.
#[derive(Clone)]
pub struct Coordinates(Arc<Position>);

/// What the copies of coordinates share.
struct Position {
    axes: Axes,
    /// One for each axis.
    values: Box<[Value]>,
}

/// The JSON form of a name, a string. Names that were read are shared: a run has few, and each in thousands of steps.
mod text {
    use super::{Arc, Cow, Deserialize, Deserializer, MAX_SHARED, Mutex, PoisonError, Serializer};

    pub(super) fn serialize<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
        static TEXTS: Mutex<Vec<Arc<str>>> = Mutex::new(Vec::new());
        let text: Cow<'_, str> = Cow::deserialize(deserializer)?;
        let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = texts.iter().find(|known| ***known == *text) {
            return Ok(Arc::clone(known));
        }
        let text: Arc<str> = text.into();
        if texts.len() < MAX_SHARED {
            texts.push(Arc::clone(&text));
        }
        Ok(text)
    }
}

type Axis = Cow<'static, str>;

/// Names of axes in their order.
type Axes = Arc<Vec<Axis>>;

/// Lists of axes, and names, that are shared. A run has few of either; a damaged or malicious file may have any number.
const MAX_SHARED: usize = 64;

/// The list with these names that all coordinates share.
fn shared(names: Vec<Axis>) -> Axes {
    static LISTS: Mutex<Vec<Axes>> = Mutex::new(Vec::new());
    let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = lists.iter().find(|known| ***known == names) {
        return Arc::clone(known);
    }
    let list = Arc::new(names);
    if lists.len() < MAX_SHARED {
        lists.push(Arc::clone(&list));
    }
    list
}

impl Default for Coordinates {
    fn default() -> Self {
        static NONE: LazyLock<Coordinates> =
            LazyLock::new(|| Coordinates::from_axes(shared(Vec::new()), Box::new([])));
        NONE.clone()
    }
}

impl PartialEq for Coordinates {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.has_axes_of(other) && self.0.values == other.0.values)
    }
}

impl Eq for Coordinates {}

impl PartialOrd for Coordinates {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Coordinates {
    /// Axis by axis: the name, then the value.
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            Ordering::Equal
        } else if Arc::ptr_eq(&self.0.axes, &other.0.axes) {
            self.0.values.cmp(&other.0.values)
        } else {
            self.iter().cmp(other.iter())
        }
    }
}

impl Hash for Coordinates {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Equal coordinates have equal values; those that differ in their axes alone are rare.
        self.0.values.hash(state);
    }
}

impl fmt::Debug for Coordinates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Coordinates {
    /// No axes yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn from_axes(axes: Axes, values: Box<[Value]>) -> Self {
        Self(Arc::new(Position { axes, values }))
    }

    fn has_axes_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0.axes, &other.0.axes) || self.0.axes == other.0.axes
    }

    /// How many virtual users (of a load) or jobs (of a sweep) the step runs at once, where an axis names their number.
    pub fn users_or_jobs(&self) -> Option<u64> {
        self.number(axis::USERS).or_else(|| self.number(axis::JOBS))
    }

    /// These coordinates with one axis added or replaced.
    #[must_use]
    pub fn with(self, axis: impl Into<Axis>, value: Value) -> Self {
        let Position { axes, values } = &*self.0;
        let axis = axis.into();
        let at = axes.partition_point(|known| *known < axis);
        let is_known = axes.get(at) == Some(&axis);
        let before = values[..at].iter().cloned();
        let after = values[at + usize::from(is_known)..].iter().cloned();
        let values = before.chain([value]).chain(after).collect();
        if is_known {
            return Self::from_axes(Arc::clone(axes), values);
        }
        let mut axes = axes.to_vec();
        axes.insert(at, axis);
        Self::from_axes(shared(axes), values)
    }

    /// These coordinates without some axes.
    #[must_use]
    pub fn without(&self, axes: &[impl AsRef<str>]) -> Self {
        let is_kept = |axis: &str| !axes.iter().any(|left| left.as_ref() == axis);
        let Position { axes, values } = &*self.0;
        if axes.iter().all(|axis| is_kept(axis)) {
            return self.clone();
        }
        let kept = axes.iter().zip(values.iter()).filter(|(axis, _)| is_kept(axis));
        let (axes, values): (Vec<Axis>, Vec<Value>) =
            kept.map(|(axis, value)| (axis.clone(), value.clone())).unzip();
        Self::from_axes(shared(axes), values.into())
    }

    /// The position on one axis.
    pub fn get(&self, axis: &str) -> Option<&Value> {
        self.iter().find(|(known, _)| *known == axis).map(|(_, value)| value)
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
        self.0.axes.iter().map(AsRef::as_ref).zip(self.0.values.iter())
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
        let mut axes = Vec::with_capacity(all.len());
        // Without spare capacity: a run may have 100,000 of them.
        let mut values = Vec::with_capacity(all.len());
        for (axis, value) in all {
            axes.push(name(axis));
            values.push(value);
        }
        Ok(Self::from_axes(shared(axes), values.into()))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(size: u64) -> Coordinates {
        Coordinates::new().with(axis::TEST, Value::text("read")).with(axis::FILE_SIZE, Value::Bytes(size))
    }

    #[test]
    fn coordinates_of_one_run_share_the_list_of_their_axes() {
        let one = cell(1);
        assert!(Arc::ptr_eq(&one.0.axes, &cell(2).0.axes));
        assert!(Arc::ptr_eq(&one.clone().with("own", Value::Count(1)).without(&["own"]).0.axes, &one.0.axes));
        assert!(Arc::ptr_eq(&one.clone().0, &one.0));
        assert_eq!(size_of::<Coordinates>(), size_of::<usize>());
    }

    #[test]
    fn coordinates_are_compared_axis_by_axis_whoever_owns_the_lists() {
        let own = Coordinates::from_axes(Arc::new(cell(3).0.axes.to_vec()), cell(3).0.values.clone());
        assert_eq!(
            (own.cmp(&cell(3)), own.cmp(&cell(4)), own == cell(3)),
            (Ordering::Equal, Ordering::Less, true)
        );
        // The name decides before the value.
        let other = Coordinates::new().with("axis", Value::Bytes(9));
        assert!(other < cell(1) && cell(1) > other && Coordinates::new() < other);
        let hash = |coordinates: &Coordinates| {
            let mut hasher = std::hash::DefaultHasher::new();
            coordinates.hash(&mut hasher);
            hasher.finish()
        };
        assert_eq!(hash(&own), hash(&cell(3)));
    }
}
