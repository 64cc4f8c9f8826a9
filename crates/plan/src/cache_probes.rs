//! The section `[cache_probes]`: how probes after a cell distinguish the server's cache from its storage.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use sharebench_model::units::ByteSize;

use crate::parse::{Item, Reader};
use crate::resolve::Resolver;
use crate::{Access, Direction, RecordWork};

/// How records become cold, that is, absent from the server's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cold {
    /// Other data of this size is read first: more than the server can cache.
    PushedOut(ByteSize),
    /// Unbuffered reads, which the server may ignore.
    Unbuffered,
    /// The user's pre-step command empties the server's cache.
    PreStepCommand,
}

impl fmt::Display for Cold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PushedOut(size) => size.fmt(f),
            Self::Unbuffered => f.pad("unbuffered"),
            Self::PreStepCommand => f.pad("pre-step-cmd"),
        }
    }
}

impl FromStr for Cold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "unbuffered" => Ok(Self::Unbuffered),
            "pre-step-cmd" => Ok(Self::PreStepCommand),
            size => size.parse().map(Self::PushedOut).map_err(|_| {
                format!(
                    "'{text}' is neither a size above the server's cache, such as 4GiB, nor unbuffered, nor pre-step-cmd"
                )
            }),
        }
    }
}

/// A path to a target's directory that bypasses the client's cache: `NAME=URL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bypass {
    /// Name of the target.
    pub target: String,
    /// URL of the same directory, straight over a protocol.
    pub url: String,
}

impl fmt::Display for Bypass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.target, self.url)
    }
}

impl FromStr for Bypass {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((target, url)) if !target.is_empty() && url.contains("://") => {
                Ok(Self { target: target.to_owned(), url: url.to_owned() })
            }
            _ => Err(format!("'{text}' is not NAME=URL, such as nas=smb://alice@nas/share")),
        }
    }
}

/// The section as typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheProbes {
    /// What makes the reserve cold.
    pub cold: Option<Cold>,
    /// Triples of probes per cell.
    pub count: Option<u32>,
    /// How far ahead of the workload probes look, in bytes of its plan.
    pub distance: Option<ByteSize>,
    /// A file on this machine in which the server's system counts what its storage read.
    pub server_disk_stat: Option<String>,
    /// Paths that bypass the client cache of mounted targets.
    pub bypass: Option<Vec<Bypass>>,
}

/// The section complete and valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheProbePlan {
    /// What makes the reserve cold.
    pub cold: Cold,
    /// Triples of probes per cell; fewer where records are large, see [`Self::triples`].
    pub count: u32,
    /// How far ahead of the workload probes look at least, in bytes of its plan.
    pub distance: u64,
    /// Where the server's storage reads are counted.
    pub server_disk_stat: Option<PathBuf>,
    /// Paths that bypass the client cache of mounted targets.
    pub bypass: Vec<Bypass>,
}

impl CacheProbePlan {
    /// Default number of triples.
    pub const COUNT: u32 = 300;
    /// Minimum number of triples for an estimate.
    pub const FEWEST: u32 = 60;
    /// Default probe distance in bytes: more than servers read ahead.
    pub const DISTANCE: u64 = 8 << 20;
    /// Minimum probe distance in records.
    pub const RECORDS_DISTANCE: u64 = 64;
    /// Bytes from one cold record to the next, so that the server does not read it with its neighbour.
    const APART: u64 = 128 << 10;
    /// Maximum bytes of the file with the cold records of a cell.
    const RESERVE: u64 = 64 << 20;
    /// Bytes of a file that is known to be in the server's cache.
    pub const KNOWN_HOT: u64 = 1 << 20;

    /// True for cells whose reads can be followed: requests of one user that only reads.
    pub fn covers(work: &RecordWork) -> bool {
        work.test.direction() == Direction::Read
            && work.test.access() == Access::Request
            && work.jobs.is_none()
    }

    /// Bytes from one cold record of this size to the next.
    pub fn apart(record: u32) -> u64 {
        u64::from(record).max(Self::APART.next_multiple_of(u64::from(record.max(1))))
    }

    /// Triples of a cell with this record size.
    pub fn triples(&self, record: u32) -> u64 {
        u64::from(self.count).min((Self::RESERVE / Self::apart(record)).max(u64::from(Self::FEWEST)))
    }

    /// Bytes of the file of cold records.
    pub fn reserve(&self, record: u32) -> u64 {
        self.triples(record) * Self::apart(record)
    }

    /// Bytes of the file known to be cached.
    pub fn known_hot(record: u32) -> u64 {
        Self::KNOWN_HOT.next_multiple_of(u64::from(record.max(1)))
    }

    /// Bytes that a target needs in addition to those of the cells.
    pub(crate) fn bytes_needed(&self, record: u32) -> u64 {
        let pushed = if let Cold::PushedOut(size) = self.cold { size.0 } else { 0 };
        self.reserve(record) + Self::known_hot(record) + pushed
    }
}

impl Reader<'_> {
    pub(crate) fn cache_probes(
        &mut self,
        probes: &mut CacheProbes,
        name: &str,
        value: &Item<'_>,
    ) -> &'static [&'static str] {
        match name {
            "cold" => probes.cold = self.parsed("cache_probes.cold", value),
            "count" => probes.count = self.count("cache_probes.count", value),
            "distance" => probes.distance = self.parsed("cache_probes.distance", value),
            "server_disk_stat" => {
                probes.server_disk_stat = self.string("cache_probes.server_disk_stat", value)
            }
            "bypass" => probes.bypass = self.items("cache_probes.bypass", value),
            _ => {}
        }
        &["cold", "count", "distance", "server_disk_stat", "bypass"]
    }
}

impl Resolver<'_> {
    /// Fills and checks the section, if there is one.
    pub(crate) fn cache_probes(&mut self) -> Option<CacheProbePlan> {
        let typed = self.plan.cache_probes.clone()?;
        if self.plan.sweep.is_none() && self.plan.depth.is_none() {
            self.blame(
                "cache_probes.cold",
                "there is no cell to probe",
                "it needs a [sweep] or a [depth] with tests that read",
            );
        }
        let Some(cold) = typed.cold else {
            self.blame(
                "cache_probes.cold",
                "it is missing",
                "a size above the server's cache, such as 4GiB, or unbuffered, or pre-step-cmd",
            );
            return None;
        };
        if cold == Cold::PreStepCommand && self.plan.pre_step_cmd.is_none() {
            self.blame("cache_probes.cold", "there is no pre_step_cmd", "name one that empties the cache");
        }
        if let Cold::PushedOut(size) = cold {
            self.within("cache_probes.cold", size.0, 1 << 20, 1 << 44);
        }
        let count = typed.count.unwrap_or(CacheProbePlan::COUNT);
        self.within("cache_probes.count", u64::from(count), u64::from(CacheProbePlan::FEWEST), 10_000);
        let distance = typed.distance.unwrap_or(ByteSize(CacheProbePlan::DISTANCE));
        self.within("cache_probes.distance", distance.0, 512, 1 << 40);
        let bypass = typed.bypass.unwrap_or_default();
        for bypass in &bypass {
            if !self.plan.targets.iter().any(|target| target.name == bypass.target) {
                let names: Vec<&str> = self.plan.targets.iter().map(|target| target.name.as_str()).collect();
                let known = format!("the targets are {}", names.join(", "));
                self.blame("cache_probes.bypass", &format!("there is no target '{}'", bypass.target), &known);
            }
        }
        self.typed.cache_probes = Some(CacheProbes {
            cold: Some(cold),
            count: Some(count),
            distance: Some(distance),
            server_disk_stat: typed.server_disk_stat.clone(),
            bypass: Some(bypass.clone()).filter(|bypass| !bypass.is_empty()),
        });
        Some(CacheProbePlan {
            cold,
            count,
            distance: distance.0,
            server_disk_stat: typed.server_disk_stat.map(PathBuf::from),
            bypass,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;

    fn resolve(probes: &str) -> Result<Option<CacheProbePlan>, String> {
        let text =
            format!("[[target]]\nurl = '/mnt/nas'\n[sweep]\ntests = ['read']\n[cache_probes]\n{probes}");
        let plan = Plan::parse(&text).and_then(|plan| plan.resolve()).map_err(|error| error.to_string())?;
        let again = Plan::parse(&plan.typed.to_toml()).unwrap().resolve().unwrap();
        assert_eq!(again.cache_probes, plan.cache_probes, "what is stored gives the same plan");
        Ok(plan.cache_probes)
    }

    #[test]
    fn a_section_has_its_defaults_and_is_written_as_it_is_read() {
        let plan = resolve("cold = '1GiB'\nbypass = ['nas=smb://a@h/s']").unwrap().unwrap();
        assert_eq!(
            (plan.cold, plan.count, plan.distance),
            (Cold::PushedOut(ByteSize(1 << 30)), 300, 8 << 20)
        );
        assert_eq!((plan.bypass[0].target.as_str(), plan.bypass[0].url.as_str()), ("nas", "smb://a@h/s"));
        assert_eq!(resolve("cold = 'unbuffered'\ncount = 60").unwrap().unwrap().count, 60);
    }

    #[test]
    fn large_records_have_fewer_probes_so_that_the_reserve_stays_small() {
        let plan = resolve("cold = 'unbuffered'").unwrap().unwrap();
        assert_eq!((plan.triples(4096), plan.reserve(4096)), (300, 300 * (128 << 10)));
        assert_eq!((plan.triples(1 << 20), plan.reserve(1 << 20)), (64, 64 << 20));
        assert_eq!(plan.triples(16 << 20), 60);
        assert_eq!(CacheProbePlan::apart(100_000), 200_000, "records stay whole multiples of themselves");
    }

    #[test]
    fn mistakes_name_their_field() {
        for (probes, words) in [
            ("", ["cache_probes.cold", "nothing says what makes records cold"]),
            ("cold = 'warm'", ["line 6: cache_probes.cold", "'warm' is neither a size"]),
            ("cold = 'pre-step-cmd'", ["line 6: cache_probes.cold", "there is no pre_step_cmd"]),
            ("cold = 'unbuffered'\ncount = 5", ["line 7: cache_probes.count", "5 is outside of 60..10000"]),
            ("cold = 'unbuffered'\nbypass = ['x=smb://h/s']", ["cache_probes.bypass", "no target 'x'"]),
            ("cold = 'unbuffered'\nbypass = ['smb']", ["cache_probes.bypass", "NAME=URL"]),
            ("cold = 'unbuffered'\ncounts = 5", ["cache_probes.counts", "did you mean 'count'"]),
        ] {
            let shown = resolve(probes).unwrap_err();
            assert!(words.iter().all(|word| shown.contains(word)), "{probes}: {shown}");
        }
    }
}
