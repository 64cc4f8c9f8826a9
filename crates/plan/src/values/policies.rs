//! Cache and sync policies as axes of a sweep or depth study, and what the measured time includes.

use sharebench_model::units::ByteSize;
use sharebench_model::{CachePolicy, SyncPolicy};

use super::{Included, ServerCacheState};

/// The policies that every cell of a study is measured with, as typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policies {
    /// Cache policies.
    pub cache: Option<Vec<CachePolicy>>,
    /// Sync policies; tests that only read are measured once whatever is listed here.
    pub sync: Option<Vec<SyncPolicy>>,
    /// States of the server's cache.
    pub server_cache: Option<Vec<ServerCacheState>>,
    /// Bytes of other data that are read before each pass of a cold cell.
    pub displace: Option<ByteSize>,
    /// What the measured time includes in addition to the operations.
    pub include: Option<Vec<Included>>,
}

impl Policies {
    /// The same with defaults filled; those of the server's cache depend on the whole plan.
    pub(crate) fn complete(self) -> Self {
        Self {
            cache: Some(self.cache.unwrap_or_else(|| vec![CachePolicy::Normal])),
            sync: Some(self.sync.unwrap_or_else(|| vec![SyncPolicy::Normal])),
            server_cache: self.server_cache,
            displace: self.displace,
            include: Some(self.include.unwrap_or_default()),
        }
    }

    /// True if the measured time includes this.
    pub(crate) fn includes(&self, included: Included) -> bool {
        self.include.as_ref().is_some_and(|list| list.contains(&included))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Plan, Work};

    fn cells(sweep: &str) -> Vec<String> {
        let text = format!(
            "repetitions = 1\n[[target]]\nurl = '/tmp'\n[sweep]\nfile_sizes = ['4KiB']\n\
                            record_sizes = ['4KiB']\ntests = ['rewrite', 'read']\n{sweep}"
        );
        let plan = Plan::parse(&text).unwrap().resolve().unwrap();
        // What is stored gives the same plan.
        assert_eq!(Plan::parse(&plan.typed.to_toml()).unwrap().resolve().unwrap().cells, plan.cells);
        let policy = |work: &Work| match work {
            Work::Records(work) => format!("{} {}", work.policy.cache, work.policy.sync),
            Work::Metadata(_) | Work::Transactions(_) => String::new(),
        };
        let common = "file_size=4KiB queue_depth=1 record_size=4KiB ";
        let shown = |at: String| at.replace(common, "").replace("queue_depth=1 record_size=4KiB ", "");
        let mut cells: Vec<_> = plan
            .cells
            .iter()
            .map(|(coordinates, work)| format!("{}: {}", shown(coordinates.to_string()), policy(work)))
            .collect();
        cells.sort();
        cells
    }

    #[test]
    fn the_usual_policy_leaves_coordinates_as_they_were() {
        assert_eq!(cells(""), ["test=read: normal normal", "test=rewrite: normal normal"]);
    }

    #[test]
    fn policies_are_axes_and_reading_knows_no_sync() {
        let found = cells("cache = ['normal', 'unbuffered']\nsync = ['normal', 'write-through']\n");
        assert_eq!(
            found,
            [
                "cache=unbuffered sync=write-through test=rewrite: unbuffered write-through",
                "cache=unbuffered test=read: unbuffered normal",
                "cache=unbuffered test=rewrite: unbuffered normal",
                "sync=write-through test=rewrite: normal write-through",
                "test=read: normal normal",
                "test=rewrite: normal normal",
            ]
        );
    }

    #[test]
    fn cells_differ_by_what_their_time_includes() {
        let found = cells("include = ['close', 'flush']\n");
        assert_eq!(
            found,
            [
                "file_size=4KiB included=close test=read: normal normal",
                "file_size=4KiB included=flush+close test=rewrite: normal normal",
            ]
        );
    }

    #[test]
    fn mistakes_name_their_field() {
        let text = "pre_step_cmd = ''\n[[target]]\nurl = '/tmp'\n[sweep]\ncache = ['direct']\nsync = []\ninclude = 'open'\n";
        let shown = Plan::parse(text).unwrap_err().to_string();
        for word in [
            "line 5: sweep.cache",
            "'direct' is not a cache policy",
            "line 7: sweep.include",
            "known are close and flush",
        ] {
            assert!(shown.contains(word), "{word} missing in {shown}");
        }
        let text = "pre_step_cmd = ' '\n[[target]]\nurl = '/tmp'\n[depth]\ncache = ['normal', 'normal']\nsync = []\n";
        let shown = Plan::parse(text).unwrap().resolve().unwrap_err().to_string();
        for word in
            ["line 1: pre_step_cmd", "depth.cache: normal is listed twice", "depth.sync: the list is empty"]
        {
            assert!(shown.contains(word), "{word} missing in {shown}");
        }
    }
}
