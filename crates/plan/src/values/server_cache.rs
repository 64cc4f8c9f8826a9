//! The state of the server's cache in which a cell is measured.

use std::fmt;
use std::str::FromStr;

use sharebench_model::units::ByteSize;

use super::Policies;

/// The state into which the server's cache is brought before a cell is measured.
///
/// A file that fits into the server's cache is fast after a cell with a small file and slow after one with a large file. A
/// state that the run establishes itself makes the repetitions of a cell comparable, whichever cell came before. It
/// concerns the server only; the client's cache follows the cache policy (docs/design/cells.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum ServerCacheState {
    /// The file was read once before the first pass: the cache holds as much of it as it keeps.
    #[default]
    Warm,
    /// Other data displaced the file before each pass, or the pre-step command emptied the cache.
    Cold,
    /// Whatever the cell before left in it.
    AsIs,
}

impl ServerCacheState {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::Warm, Self::Cold, Self::AsIs];

    /// The name in plans, flags and coordinates.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Cold => "cold",
            Self::AsIs => "as-is",
        }
    }
}

impl fmt::Display for ServerCacheState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ServerCacheState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || {
            format!(
                "'{text}' is no state of the server's cache; known are {}",
                Self::ALL.map(Self::name).join(", ")
            )
        };
        Self::ALL.into_iter().find(|state| state.name() == text).ok_or_else(known)
    }
}

impl Policies {
    /// Other data that displaces the server's cache, as a multiple of the largest file of the study.
    const DISPLACED_FILES: u64 = 4;
    /// Minimum of that, in bytes.
    const MIN_DISPLACED: u64 = 256 << 20;

    /// Bytes of other data that displace a server's cache if the user states no number: the cache may hold the largest
    /// file several times, and most servers have more memory than the minimum.
    pub(crate) fn displaced_by_default(largest_file: u64) -> ByteSize {
        ByteSize(largest_file.saturating_mul(Self::DISPLACED_FILES).max(Self::MIN_DISPLACED))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Plan, ResolvedPlan, ServerCacheState, SlowestTarget, Work};

    fn resolve(top: &str, sweep: &str, probes: &str) -> Result<ResolvedPlan, String> {
        let text = format!(
            "repetitions = 1\n{top}\n[[target]]\nurl = '/a'\n[sweep]\nfile_sizes = ['1MiB']\nrecord_sizes = ['4KiB']\n\
             tests = ['write', 'rewrite', 'read', 'reread']\n{sweep}\n{probes}"
        );
        let plan = Plan::parse(&text).and_then(|plan| plan.resolve()).map_err(|error| error.to_string())?;
        let again = Plan::parse(&plan.typed.to_toml()).unwrap().resolve().unwrap();
        assert_eq!(again.cells, plan.cells, "what is stored gives the same plan");
        Ok(plan)
    }

    /// Test, state in the coordinates, and bytes of other data of each cell.
    fn states(plan: &ResolvedPlan) -> Vec<String> {
        let of = |work: &Work| match work {
            Work::Records(work) => format!("{} {} {}", work.test, work.server_cache, work.displaced >> 20),
            Work::Metadata(_) | Work::Transactions(_) => String::new(),
        };
        plan.cells.iter().map(|(at, work)| format!("{} {:?}", of(work), at.text("server_cache"))).collect()
    }

    #[test]
    fn warm_is_the_default_and_leaves_coordinates_as_they_are() {
        let plan = resolve("", "", "").unwrap();
        let wanted = ["write", "rewrite", "read", "reread"].map(|test| format!("{test} warm 0 None"));
        assert_eq!(states(&plan), wanted);
    }

    #[test]
    fn cells_of_another_state_are_other_cells_where_the_state_has_a_meaning() {
        let plan = resolve("", "server_cache = ['warm', 'cold']", "").unwrap();
        assert_eq!(
            states(&plan),
            [
                "write warm 0 None",
                "rewrite warm 0 None",
                "rewrite cold 256 Some(\"cold\")",
                "read warm 0 None",
                "read cold 256 Some(\"cold\")",
                "reread warm 0 None",
            ]
        );
        let unbuffered = resolve("", "server_cache = ['cold']\ncache = ['unbuffered']", "").unwrap();
        assert!(states(&unbuffered).iter().all(|cell| cell.ends_with("None")), "no cache, no state of it");
    }

    #[test]
    fn the_size_of_other_data_is_stated_or_known_or_a_multiple_of_the_files() {
        let swept = |sweep: &str, probes: &str| {
            let sweep = format!("server_cache = 'cold'\n{sweep}");
            let text = format!(
                "repetitions = 1\n[[target]]\nurl = '/a'\n[sweep]\nfile_sizes = ['1MiB', '128MiB']\n\
                 record_sizes = ['4KiB']\ntests = ['read']\n{sweep}\n{probes}"
            );
            states(&Plan::parse(&text).unwrap().resolve().unwrap()).remove(0)
        };
        assert_eq!(swept("", ""), "read cold 512 Some(\"cold\")");
        assert_eq!(swept("displace = '2GiB'", ""), "read cold 2048 Some(\"cold\")");
        assert_eq!(swept("", "[cache_probes]\ncold = '1GiB'"), "read cold 1024 Some(\"cold\")");
    }

    #[test]
    fn a_pre_step_command_decides_the_state() {
        let command = "pre_step_cmd = 'purge'";
        assert_eq!(states(&resolve(command, "", "").unwrap())[2], "read as-is 0 Some(\"as-is\")");
        let cold = resolve(command, "server_cache = 'cold'", "").unwrap();
        assert_eq!(states(&cold)[2], "read cold 0 Some(\"cold\")", "the command empties the cache");
    }

    #[test]
    fn mistakes_name_their_field() {
        for (sweep, word) in [
            (
                "server_cache = ['hot']",
                "'hot' is no state of the server's cache; known are warm, cold, as-is",
            ),
            ("server_cache = []", "sweep.server_cache: the list is empty"),
            ("server_cache = ['warm', 'warm']", "sweep.server_cache: warm is listed twice"),
            ("displace = '1GiB'", "sweep.displace"),
            ("server_cache = 'cold'\ndisplace = '1KiB'", "sweep.displace: 1KiB is outside"),
        ] {
            let shown = resolve("", sweep, "").unwrap_err();
            assert!(shown.contains(word), "{word} missing in {shown}");
        }
    }

    #[test]
    fn unmeasured_reads_are_in_the_announced_time_and_bytes() {
        let plans = ["as-is", "warm", "cold"].map(|state| {
            let plan = resolve("", &format!("server_cache = '{state}'"), "").unwrap();
            (plan.wall_time(SlowestTarget::ASSUMED).most, plan.least_bytes_moved(), plan.bytes_needed())
        });
        let mib = 1 << 20;
        assert_eq!(plans.map(|plan| plan.1), [5, 7, 5 + 2 * 256].map(|n| n * mib));
        assert_eq!(plans[2].2 - plans[1].2, 256 * mib);
        assert!(plans[0].0 < plans[1].0 && plans[1].0 < plans[2].0, "{plans:?}");
        assert_eq!(ServerCacheState::default().name(), "warm");
    }
}
