//! The sections `[sweep]` and `[io500]` of a plan, and their lists of values, ranges and tests.

use std::str::FromStr;

use toml::de::DeValue;

use super::parse::{FieldNames, Item, Reader};
use crate::plan::{Io500, Sweep};
use crate::values::{Countable, SweepTest, Test, Values, record_tests};

const SWEEP: [&str; 25] = [
    "auto",
    "file_sizes",
    "record_sizes",
    "tests",
    "depths",
    "jobs",
    "shared_file",
    "align",
    "stride",
    "read_percent",
    "stream_buffer",
    "cache",
    "sync",
    "server_cache",
    "displace",
    "include",
    "entries",
    "layouts",
    "name_lengths",
    "entry_sizes",
    "filled",
    "copy_sizes",
    "batch",
    "tree_depth",
    "tree_fan_out",
];

/// The tests that one word of a list names.
struct Named(Vec<Test>);

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        record_tests(text).map(Self)
    }
}

/// The tests of a sweep that one word of a list names.
struct NamedOfSweep(Vec<SweepTest>);

impl FromStr for NamedOfSweep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        SweepTest::named(text).map(Self)
    }
}

impl Reader<'_> {
    pub(crate) fn io500(&mut self, io500: &mut Io500, name: &str, value: &Item<'_>) -> FieldNames {
        match name {
            "jobs" => io500.jobs = self.count("io500.jobs", value),
            "file_size" => io500.file_size = self.parsed("io500.file_size", value),
            "entries" => io500.entries = self.count("io500.entries", value),
            // The caller reports an unknown field.
            _ => {}
        }
        &["jobs", "file_size", "entries"]
    }

    pub(crate) fn sweep(&mut self, sweep: &mut Sweep, name: &str, value: &Item<'_>) -> FieldNames {
        match name {
            "auto" => sweep.auto = self.parsed("sweep.auto", value),
            "file_sizes" => sweep.file_sizes = self.values("sweep.file_sizes", value),
            "record_sizes" => sweep.record_sizes = self.values("sweep.record_sizes", value),
            "tests" => self.sweep_tests(sweep, value),
            "depths" => sweep.depths = self.values("sweep.depths", value),
            "jobs" => sweep.jobs = self.values("sweep.jobs", value),
            "shared_file" => sweep.shared_file = self.flag("sweep.shared_file", value),
            "align" => sweep.align = self.values("sweep.align", value),
            "stride" => sweep.stride = self.values("sweep.stride", value),
            "read_percent" => sweep.read_percent = self.values("sweep.read_percent", value),
            "stream_buffer" => sweep.stream_buffer = self.parsed("sweep.stream_buffer", value),
            "entries" => sweep.metadata.entries = self.values("sweep.entries", value),
            "layouts" => sweep.metadata.layouts = self.items("sweep.layouts", value),
            "name_lengths" => sweep.metadata.name_lengths = self.values("sweep.name_lengths", value),
            "entry_sizes" => sweep.metadata.entry_sizes = self.values("sweep.entry_sizes", value),
            "filled" => sweep.metadata.filled = self.flag("sweep.filled", value),
            "copy_sizes" => sweep.metadata.copy_sizes = self.values("sweep.copy_sizes", value),
            "batch" => sweep.metadata.batch = self.count("sweep.batch", value),
            "tree_depth" => sweep.metadata.tree_depth = self.count("sweep.tree_depth", value),
            "tree_fan_out" => sweep.metadata.tree_fan_out = self.count("sweep.tree_fan_out", value),
            other => self.policies(&mut sweep.policies, "sweep", other, value),
        }
        &SWEEP
    }

    fn sweep_tests(&mut self, sweep: &mut Sweep, value: &Item<'_>) {
        let Some(items) = self.items::<NamedOfSweep>("sweep.tests", value) else { return };
        let tests: Vec<SweepTest> = items.into_iter().flat_map(|named| named.0).collect();
        (sweep.tests, sweep.metadata.tests) = SweepTest::divided(&tests);
    }

    /// A list of values and ranges. A single value is a list of one.
    pub(crate) fn values<T: Countable>(&mut self, field: &str, value: &Item<'_>) -> Option<Vec<T>> {
        let items: Vec<Values<T>> = self.items(field, value)?;
        Some(items.into_iter().flat_map(|values| values.0).collect())
    }

    /// A list of tests and groups of them.
    pub(crate) fn tests(&mut self, field: &str, value: &Item<'_>) -> Option<Vec<Test>> {
        let items: Vec<Named> = self.items(field, value)?;
        Some(items.into_iter().flat_map(|named| named.0).collect())
    }

    pub(crate) fn items<T: FromStr<Err: ToString>>(
        &mut self,
        field: &str,
        value: &Item<'_>,
    ) -> Option<Vec<T>> {
        if let DeValue::Array(items) = value.get_ref() {
            return Some(items.iter().filter_map(|item| self.parsed(field, item)).collect());
        }
        self.parsed(field, value).map(|item| vec![item])
    }

    pub(crate) fn flag(&mut self, field: &str, value: &Item<'_>) -> Option<bool> {
        if let DeValue::Boolean(flag) = value.get_ref() {
            return Some(*flag);
        }
        self.blame(field, value, "is neither true nor false", "write true or false without quotes");
        None
    }
}
