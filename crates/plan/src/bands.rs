//! The section `[bands]`: how server cache and storage are to be told apart behind what was read.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use sharebench_model::units::ByteSize;

use crate::parse::{Item, Reader};
use crate::resolve::Resolver;
use crate::{Access, Direction, RecordWork};

/// What makes records that nobody has read lately really cold on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cold {
    /// So many bytes are read in between: more than the server can keep.
    PushedOut(ByteSize),
    /// They are read unbuffered, which the server may or may not heed.
    Unbuffered,
    /// The user's command between steps empties the server's cache.
    Between,
}

impl fmt::Display for Cold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PushedOut(size) => size.fmt(f),
            Self::Unbuffered => f.pad("unbuffered"),
            Self::Between => f.pad("between"),
        }
    }
}

impl FromStr for Cold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "unbuffered" => Ok(Self::Unbuffered),
            "between" => Ok(Self::Between),
            size => size.parse().map(Self::PushedOut).map_err(|_| {
                format!(
                    "'{text}' is neither a size above the server's cache, such as 4GiB, nor unbuffered, nor between"
                )
            }),
        }
    }
}

/// Another road to a target's directory that knows no client cache: `NAME=URL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Name of the target.
    pub target: String,
    /// URL of the same directory, straight over a protocol.
    pub url: String,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.target, self.url)
    }
}

impl FromStr for Side {
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
pub struct Bands {
    /// What makes the reserve cold.
    pub cold: Option<Cold>,
    /// Triples of probes per cell.
    pub probes: Option<u32>,
    /// How far ahead of the workload probes look, in bytes of its plan.
    pub ahead: Option<ByteSize>,
    /// A file on this machine in which the server's system counts what its storage read.
    pub disk_counter: Option<String>,
    /// Roads beside mounts.
    pub side: Option<Vec<Side>>,
}

/// The section complete and valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BandPlan {
    /// What makes the reserve cold.
    pub cold: Cold,
    /// Triples of probes per cell; fewer where records are large, see [`Self::triples`].
    pub probes: u32,
    /// How far ahead of the workload probes look at least, in bytes of its plan.
    pub ahead: u64,
    /// Where the server's storage reads are counted.
    pub disk_counter: Option<PathBuf>,
    /// Roads beside mounts.
    pub side: Vec<Side>,
}

impl BandPlan {
    /// Triples when nothing else is asked.
    pub const PROBES: u32 = 300;
    /// Fewest that say anything.
    pub const FEWEST: u32 = 60;
    /// Bytes ahead when nothing else is asked: more than servers read ahead.
    pub const AHEAD: u64 = 8 << 20;
    /// Records ahead at least.
    pub const RECORDS_AHEAD: u64 = 64;
    /// Bytes from one cold record to the next, so that the server does not read it with its neighbour.
    const APART: u64 = 128 << 10;
    /// Most bytes that the cold records of a cell lie in.
    const RESERVE: u64 = 64 << 20;
    /// Bytes of a file that is known to be in the server's cache.
    pub const KNOWN_HOT: u64 = 1 << 20;

    /// True for cells whose reads can be followed: requests of one motor that only reads.
    pub fn covers(work: &RecordWork) -> bool {
        work.test.direction() == Direction::Read
            && work.test.access() == Access::Request
            && work.motors.is_none()
    }

    /// Bytes from one cold record of this size to the next.
    pub fn apart(record: u32) -> u64 {
        u64::from(record).max(Self::APART.next_multiple_of(u64::from(record.max(1))))
    }

    /// Triples of a cell with this record size.
    pub fn triples(&self, record: u32) -> u64 {
        u64::from(self.probes).min((Self::RESERVE / Self::apart(record)).max(u64::from(Self::FEWEST)))
    }

    /// Bytes of the file of cold records.
    pub fn reserve(&self, record: u32) -> u64 {
        self.triples(record) * Self::apart(record)
    }

    /// Bytes of the file known to be cached.
    pub fn known_hot(record: u32) -> u64 {
        Self::KNOWN_HOT.next_multiple_of(u64::from(record.max(1)))
    }

    /// Bytes that a target needs beside the cells' own.
    pub(crate) fn bytes_needed(&self, record: u32) -> u64 {
        let pushed = if let Cold::PushedOut(size) = self.cold { size.0 } else { 0 };
        self.reserve(record) + Self::known_hot(record) + pushed
    }
}

impl Reader<'_> {
    pub(crate) fn bands(
        &mut self,
        bands: &mut Bands,
        name: &str,
        value: &Item<'_>,
    ) -> &'static [&'static str] {
        match name {
            "cold" => bands.cold = self.parsed("bands.cold", value),
            "probes" => bands.probes = self.count("bands.probes", value),
            "ahead" => bands.ahead = self.parsed("bands.ahead", value),
            "disk_counter" => bands.disk_counter = self.string("bands.disk_counter", value),
            "side" => bands.side = self.items("bands.side", value),
            _ => {}
        }
        &["cold", "probes", "ahead", "disk_counter", "side"]
    }
}

impl Resolver<'_> {
    /// Fills and checks the section, if there is one.
    pub(crate) fn bands(&mut self) -> Option<BandPlan> {
        let typed = self.plan.bands.clone()?;
        if self.plan.sweep.is_none() && self.plan.depth.is_none() {
            self.blame(
                "bands.cold",
                "there is no cell to look behind",
                "it needs a [sweep] or a [depth] with tests that read",
            );
        }
        let Some(cold) = typed.cold else {
            self.blame(
                "bands.cold",
                "nothing says what makes records cold",
                "a size above the server's cache, such as 4GiB, or unbuffered, or between",
            );
            return None;
        };
        if cold == Cold::Between && self.plan.between.is_none() {
            self.blame("bands.cold", "there is no command between steps", "name one that empties the cache");
        }
        if let Cold::PushedOut(size) = cold {
            self.within("bands.cold", size.0, 1 << 20, 1 << 44);
        }
        let probes = typed.probes.unwrap_or(BandPlan::PROBES);
        self.within("bands.probes", u64::from(probes), u64::from(BandPlan::FEWEST), 10_000);
        let ahead = typed.ahead.unwrap_or(ByteSize(BandPlan::AHEAD));
        self.within("bands.ahead", ahead.0, 512, 1 << 40);
        let side = typed.side.unwrap_or_default();
        for side in &side {
            if !self.plan.targets.iter().any(|target| target.name == side.target) {
                let names: Vec<&str> = self.plan.targets.iter().map(|target| target.name.as_str()).collect();
                let known = format!("the targets are {}", names.join(", "));
                self.blame("bands.side", &format!("there is no target '{}'", side.target), &known);
            }
        }
        self.typed.bands = Some(Bands {
            cold: Some(cold),
            probes: Some(probes),
            ahead: Some(ahead),
            disk_counter: typed.disk_counter.clone(),
            side: Some(side.clone()).filter(|side| !side.is_empty()),
        });
        Some(BandPlan {
            cold,
            probes,
            ahead: ahead.0,
            disk_counter: typed.disk_counter.map(PathBuf::from),
            side,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;

    fn resolve(bands: &str) -> Result<Option<BandPlan>, String> {
        let text = format!("[[target]]\nurl = '/mnt/nas'\n[sweep]\ntests = ['read']\n[bands]\n{bands}");
        let plan = Plan::parse(&text).and_then(|plan| plan.resolve()).map_err(|error| error.to_string())?;
        let again = Plan::parse(&plan.typed.to_toml()).unwrap().resolve().unwrap();
        assert_eq!(again.bands, plan.bands, "what is stored gives the same plan");
        Ok(plan.bands)
    }

    #[test]
    fn a_section_has_its_defaults_and_is_written_as_it_is_read() {
        let plan = resolve("cold = '1GiB'\nside = ['nas=smb://a@h/s']").unwrap().unwrap();
        assert_eq!((plan.cold, plan.probes, plan.ahead), (Cold::PushedOut(ByteSize(1 << 30)), 300, 8 << 20));
        assert_eq!((plan.side[0].target.as_str(), plan.side[0].url.as_str()), ("nas", "smb://a@h/s"));
        assert_eq!(resolve("cold = 'unbuffered'\nprobes = 60").unwrap().unwrap().probes, 60);
    }

    #[test]
    fn large_records_have_fewer_probes_so_that_the_reserve_stays_small() {
        let plan = resolve("cold = 'unbuffered'").unwrap().unwrap();
        assert_eq!((plan.triples(4096), plan.reserve(4096)), (300, 300 * (128 << 10)));
        assert_eq!((plan.triples(1 << 20), plan.reserve(1 << 20)), (64, 64 << 20));
        assert_eq!(plan.triples(16 << 20), 60);
        assert_eq!(BandPlan::apart(100_000), 200_000, "records stay whole multiples of themselves");
    }

    #[test]
    fn mistakes_name_their_field() {
        for (bands, words) in [
            ("", ["bands.cold", "nothing says what makes records cold"]),
            ("cold = 'warm'", ["line 6: bands.cold", "'warm' is neither a size"]),
            ("cold = 'between'", ["line 6: bands.cold", "no command between steps"]),
            ("cold = 'unbuffered'\nprobes = 5", ["line 7: bands.probes", "5 is outside of 60..10000"]),
            ("cold = 'unbuffered'\nside = ['x=smb://h/s']", ["bands.side", "no target 'x'"]),
            ("cold = 'unbuffered'\nside = ['smb']", ["bands.side", "NAME=URL"]),
            ("cold = 'unbuffered'\nprobe = 5", ["bands.probe", "did you mean 'probes'"]),
        ] {
            let shown = resolve(bands).unwrap_err();
            assert!(words.iter().all(|word| shown.contains(word)), "{bands}: {shown}");
        }
    }
}
