//! Conditions in which compared systems are known to differ: what was negotiated, mounted, replied and left free.

use std::collections::{BTreeMap, BTreeSet};

use sharebench_model::units::{percent, show_size};
use sharebench_model::{COMMIT_ON_CLOSE, Fact, Facts, NO_CLIENT_CACHE, StepResult, axis};

use crate::align::Aligned;
use crate::align::settings::settings;
use crate::types::{Access, Condition, ConditionValue, System, UnlikeCondition};

/// Below this share of free space a file system is nearly full: allocation becomes slower and files are fragmented.
const NEARLY_FULL: f64 = 0.1;

/// Two nearly full file systems differ if the free share of one is this many times that of the other.
const FREE_FACTOR: f64 = 10.0;

/// Values that state nothing.
const UNKNOWN: [&str; 5] = ["", "-", "?", "unknown", "not stated"];

/// A write that is durable once it is acknowledged, and one that need not be.
const STABLE: &str = "on stable storage";
const IN_MEMORY: &str = "possibly in memory";

/// The conditions that differ between systems that are compared, in a fixed order. The texts are empty until the next
/// stage writes them.
pub(crate) fn unlike_conditions(aligned: &Aligned<'_>) -> Vec<UnlikeCondition> {
    let known: Vec<SystemConditions> =
        (0..aligned.systems.len()).map(|system| SystemConditions::new(aligned, system)).collect();
    Condition::ALL.into_iter().filter_map(|condition| unlike(aligned, &known, condition)).collect()
}

fn unlike(
    aligned: &Aligned<'_>,
    known: &[SystemConditions],
    condition: Condition,
) -> Option<UnlikeCondition> {
    let mut systems = BTreeSet::new();
    for pair in &aligned.compared {
        let differs = match condition {
            Condition::FreeSpace => differs_in_space(known[pair.a].space, known[pair.b].space),
            _ => differs(known[pair.a].values.get(&condition), known[pair.b].values.get(&condition)),
        };
        if differs {
            systems.extend([pair.a, pair.b]);
        }
    }
    let value = |system: usize| {
        let space = || known[system].space.map(FreeSpace::words);
        let value = known[system].values.get(&condition).cloned().or_else(space)?;
        Some(ConditionValue { system, value })
    };
    let values: Vec<ConditionValue> = systems.into_iter().filter_map(value).collect();
    (!values.is_empty()).then(|| UnlikeCondition { condition, values, text: String::new() })
}

/// True if both are known and differ. `on` is equal to every kind of it.
fn differs(a: Option<&String>, b: Option<&String>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    match (a.as_str(), b.as_str()) {
        ("on", other) | (other, "on") => other == "off",
        (a, b) => a != b,
    }
}

/// True if one file system is nearly full and the other is not, or if both are and one has far less left.
fn differs_in_space(a: Option<FreeSpace>, b: Option<FreeSpace>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    let least = a.share().min(b.share());
    let most = a.share().max(b.share());
    least < NEARLY_FULL && (most >= NEARLY_FULL || most >= FREE_FACTOR * least)
}

/// Space of a file system when the run began.
#[derive(Debug, Clone, Copy, PartialEq)]
struct FreeSpace {
    total_bytes: u64,
    available_bytes: u64,
}

impl FreeSpace {
    fn from_facts(facts: &Facts) -> Option<Self> {
        let bytes = |fact: Fact| fact.value(facts)?.parse::<u64>().ok();
        let total_bytes = bytes(Fact::SpaceTotal)?;
        let available_bytes = bytes(Fact::SpaceAvailable)?;
        (total_bytes > 0).then_some(Self { total_bytes, available_bytes })
    }

    fn share(self) -> f64 {
        self.available_bytes as f64 / self.total_bytes as f64
    }

    /// `4.0 % of 2 TiB`.
    fn words(self) -> String {
        format!("{} of {}", percent(self.share(), 1), show_size(self.total_bytes))
    }
}

/// What is known of the conditions of one system.
struct SystemConditions {
    values: BTreeMap<Condition, String>,
    space: Option<FreeSpace>,
}

impl SystemConditions {
    fn new(aligned: &Aligned<'_>, index: usize) -> Self {
        let system = &aligned.systems[index];
        let stated = StatedFacts::from_system(system);
        let all = [
            (Condition::Dialect, stated.dialect()),
            (Condition::Signing, stated.signing()),
            (Condition::Encryption, stated.encryption()),
            (Condition::WriteStability, stated.write_stability().or_else(|| replied(aligned, system))),
            (Condition::Connections, stated.connections()),
            (Condition::CachePolicy, stated.client_cache().filter(|_| leaves_caches(aligned, system))),
            (Condition::UsersBetweenSteps, users_between_steps(aligned, system)),
        ];
        let is_known = |value: &String| !UNKNOWN.contains(&value.trim().to_lowercase().as_str());
        let known =
            all.into_iter().filter_map(|(condition, value)| Some((condition, value.filter(is_known)?)));
        Self { values: known.collect(), space: FreeSpace::from_facts(&system.facts) }
    }
}

/// What the facts of a system state.
struct StatedFacts<'a> {
    system: &'a System,
    /// Of an imported system, the settings that its description names.
    settings: BTreeMap<String, String>,
    /// Options of the mount; none of a system that is no mount.
    mount: Option<Mount<'a>>,
}

/// A mount of another machine's files.
struct Mount<'a> {
    is_nfs: bool,
    options: Vec<&'a str>,
}

impl Mount<'_> {
    fn has(&self, option: &str) -> bool {
        self.options.contains(&option)
    }

    fn value(&self, option: &str) -> Option<&str> {
        self.options.iter().find_map(|given| given.strip_prefix(option)?.strip_prefix('='))
    }
}

impl<'a> StatedFacts<'a> {
    fn from_system(system: &'a System) -> Self {
        let file_system = Fact::FileSystem.value(&system.facts).unwrap_or_default();
        let is_nfs = file_system.starts_with("nfs");
        let is_smb = ["cifs", "smb3"].contains(&file_system);
        let options = || Fact::MountOptions.value(&system.facts).unwrap_or_default().split(',').collect();
        let mount = (system.access == Access::Mounted && (is_nfs || is_smb))
            .then(|| Mount { is_nfs, options: options() });
        Self { system, settings: settings(system), mount }
    }

    fn fact(&self, fact: Fact) -> Option<&str> {
        fact.value(&self.system.facts)
    }

    /// The protocol that the program itself speaks; empty of paths and imports.
    fn protocol(&self) -> &str {
        self.system.url.split_once("://").map_or("", |(scheme, _)| scheme)
    }

    /// The first of these settings that a description states.
    fn described(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.settings.get(*name)).map(String::as_str)
    }

    fn dialect(&self) -> Option<String> {
        let version = |protocol: &str, version: &str| {
            let numbered = version.starts_with(|c: char| c.is_ascii_digit());
            if numbered { format!("{protocol} {version}") } else { version.to_owned() }
        };
        if let Some(mount) = &self.mount {
            return Some(version(if mount.is_nfs { "NFS" } else { "SMB" }, mount.value("vers")?));
        }
        match self.protocol() {
            "nfs" => Some(version("NFS", self.fact(Fact::Vers)?)),
            "ncp" => Some("NCP".to_owned()),
            "smb" => Some(version("SMB", self.fact(Fact::Dialect)?)),
            _ => None,
        }
    }

    fn signing(&self) -> Option<String> {
        let switch = |on: bool| Some(if on { "on" } else { "off" }.to_owned());
        if let Some(mount) = &self.mount {
            // A mount of SMB without the option may sign as well, where the server requires it.
            return match mount.value("sec")? {
                "krb5i" | "krb5p" if mount.is_nfs => switch(true),
                _ if mount.is_nfs => switch(false),
                sec if sec.ends_with('i') => switch(true),
                _ => None,
            };
        }
        match (self.fact(Fact::Signing), self.fact(Fact::Signed), self.fact(Fact::Sec)) {
            (Some(kind), ..) => Some(kind.to_owned()),
            (_, Some(signed), _) => switch(signed == "true"),
            (.., Some("sys")) if self.protocol() == "nfs" => switch(false),
            _ => {
                let level = self.described(&["signing", "signature", "packet signature"])?;
                let numbered = level.starts_with(|c: char| c.is_ascii_digit());
                Some(if numbered { format!("level {level}") } else { level.to_owned() })
            }
        }
    }

    fn encryption(&self) -> Option<String> {
        let switch = |on: bool| Some(if on { "on" } else { "off" }.to_owned());
        if let Some(mount) = &self.mount {
            let tls = mount.value("xprtsec").is_some_and(|kind| kind != "none");
            if mount.is_nfs {
                return switch(tls || mount.value("sec")? == "krb5p");
            }
            // A server of SMB may encrypt a mount without the option.
            return mount.has("seal").then(|| "on".to_owned());
        }
        match (self.fact(Fact::Encryption), self.protocol()) {
            (Some(kind), _) => Some(kind.to_owned()),
            (None, "nfs") => {
                switch(self.fact(Fact::Xprtsec).is_some() || self.fact(Fact::Sec) == Some("krb5p"))
            }
            (None, "ncp") => switch(false),
            _ => self.described(&["encryption"]).map(str::to_owned),
        }
    }

    /// What is stated of writes before any is made.
    fn write_stability(&self) -> Option<String> {
        let synchronous =
            self.fact(Fact::MountOptions).is_some_and(|options| options.split(',').any(|o| o == "sync"));
        if synchronous {
            return Some(STABLE.to_owned());
        }
        match (self.fact(Fact::Commit), self.described(&["true commit"])) {
            (Some(COMMIT_ON_CLOSE), _) => Some("on stable storage after close".to_owned()),
            (_, Some("on" | "yes")) => Some(STABLE.to_owned()),
            (_, Some("off" | "no")) => Some(IN_MEMORY.to_owned()),
            _ => None,
        }
    }

    fn connections(&self) -> Option<String> {
        if let Some(mount) = &self.mount {
            // Both options are only listed where they are not 1.
            let option = if mount.is_nfs { "nconnect" } else { "max_channels" };
            return Some(mount.value(option).unwrap_or("1").to_owned());
        }
        match (self.fact(Fact::Connections), self.protocol()) {
            (Some(connections), _) => Some(connections.to_owned()),
            // Our own clients of these protocols use one connection for each session.
            (None, "smb" | "nfs") => Some("1".to_owned()),
            _ => None,
        }
    }

    fn client_cache(&self) -> Option<String> {
        let none = || Some(NO_CLIENT_CACHE.to_owned());
        if let Some(cache) = self.fact(Fact::ClientCache) {
            // Earlier versions add a remark in brackets.
            return Some(cache.split(" (").next().unwrap_or(cache).to_owned());
        }
        let bypassed = self.mount.as_ref().is_some_and(|mount| mount.value("cache") == Some("none"));
        let is_number = |buffers: &str| buffers.starts_with(|c: char| c.is_ascii_digit());
        match (self.fact(Fact::DirectIo), self.described(&["cache buffers"])) {
            (Some("yes"), _) | (None, Some("0")) => none(),
            (Some("no"), _) if bypassed => none(),
            (Some("no"), _) => Some("page cache".to_owned()),
            (_, Some(buffers)) if is_number(buffers) => Some(format!("{buffers} buffers")),
            (_, Some(buffers)) => Some(format!("buffers {buffers}")),
            _ => None,
        }
    }
}

fn steps<'a>(aligned: &'a Aligned<'_>, system: &'a System) -> impl Iterator<Item = &'a StepResult> {
    aligned.runs[system.run].steps.iter().filter(move |step| system.owns(system.run, step))
}

/// True unless the plan keeps every cell out of the client's cache: then the cache of the system does not matter.
fn leaves_caches(aligned: &Aligned<'_>, system: &System) -> bool {
    let mut steps = steps(aligned, system).peekable();
    steps.peek().is_none() || steps.any(|step| step.coordinates.get("cache").is_none())
}

/// What users do between two steps; none without two steps of users, or where another program measured them.
fn users_between_steps(aligned: &Aligned<'_>, system: &System) -> Option<String> {
    if aligned.runs[system.run].header.is_imported() {
        return None;
    }
    let is_load = |step: &&StepResult| step.coordinates.get(axis::WORKLOAD).is_some();
    steps(aligned, system).filter(is_load).nth(1)?;
    Some(Fact::UsersBetweenSteps.value(&system.facts).unwrap_or("log off").to_owned())
}

/// What the server's replies promise of writes that did not request stable storage; none without such a cell.
fn replied(aligned: &Aligned<'_>, system: &System) -> Option<String> {
    if aligned.runs[system.run].header.is_imported() {
        return None;
    }
    let writes = |step: &&StepResult| {
        let at = &step.coordinates;
        let bytes = step.measure.bytes;
        let is_cell = at.get(axis::WORKLOAD).is_none() && at.get("sync").is_none();
        is_cell && bytes.written > 0 && bytes.read == 0
    };
    let mut all = 0;
    let mut stable = 0;
    for step in steps(aligned, system).filter(writes) {
        let sent = step.measure.evidence.sent;
        all += step.measure.operations;
        stable += sent.stable.max(sent.through).min(step.measure.operations);
    }
    if all == 0 {
        return None;
    }
    Some(match stable as f64 / all as f64 {
        share if share > 0.99 => STABLE.to_owned(),
        share if share < 0.01 => IN_MEMORY.to_owned(),
        share => format!("{} {STABLE}", percent(share, 0)),
    })
}
