//! The section `[sweep]` of a plan, and its lists of values, ranges and tests.

use std::str::FromStr;

use toml::de::DeValue;

use super::parse::{Item, Reader};
use crate::plan::Sweep;
use crate::values::{Countable, Test, Values};

const SWEEP: [&str; 17] = [
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
    "include_close",
    "include_flush",
];

/// The tests that one word of a list names.
struct Named(Vec<Test>);

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Test::named(text).map(Self)
    }
}

impl Reader<'_> {
    pub(crate) fn sweep(
        &mut self,
        sweep: &mut Sweep,
        name: &str,
        value: &Item<'_>,
    ) -> &'static [&'static str] {
        match name {
            "auto" => sweep.auto = self.parsed("sweep.auto", value),
            "file_sizes" => sweep.file_sizes = self.values("sweep.file_sizes", value),
            "record_sizes" => sweep.record_sizes = self.values("sweep.record_sizes", value),
            "tests" => sweep.tests = self.tests("sweep.tests", value),
            "depths" => sweep.depths = self.values("sweep.depths", value),
            "jobs" => sweep.jobs = self.values("sweep.jobs", value),
            "shared_file" => sweep.shared_file = self.flag("sweep.shared_file", value),
            "align" => sweep.align = self.values("sweep.align", value),
            "stride" => sweep.stride = self.values("sweep.stride", value),
            "read_percent" => sweep.read_percent = self.values("sweep.read_percent", value),
            "stream_buffer" => sweep.stream_buffer = self.parsed("sweep.stream_buffer", value),
            other => self.policies(&mut sweep.policies, "sweep", other, value),
        }
        &SWEEP
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
