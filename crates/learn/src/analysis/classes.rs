//! Classes of files: by the type of their data, their size and who uses them.

use std::collections::{BTreeMap, BTreeSet};

use sharebench_plan::Sizes;

use super::sequence::Sequence;
use crate::fit::{Fit, fit_sizes};
use crate::operation::{Action, Observed, Outcome};

/// Type of files whose type is not known: data that cannot be compressed.
const UNKNOWN_TYPE: &str = "data-compressed";
/// Classes with a smaller share of the sequences join the most similar one.
const RARE: f64 = 0.01;
/// Largest file of a plan, and its deepest and widest directories.
const MAX_FILE: u64 = 1 << 44;
const MAX_DEPTH: u32 = 16;
const MAX_FAN_OUT: u32 = 10_000;
/// Most files of a class.
const MAX_COUNT: u64 = 100_000;
/// Size of files of which none is known.
const ASSUMED_SIZE: u64 = 4096;

/// The size of a file, roughly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stratum {
    /// No bytes.
    Empty,
    /// Up to 64 KiB.
    Small,
    /// Up to 1 MiB.
    Medium,
    /// Up to 64 MiB.
    Large,
    /// Beyond.
    Huge,
}

impl Stratum {
    /// The stratum of a size in bytes.
    pub fn from_bytes(bytes: u64) -> Self {
        match bytes {
            0 => Self::Empty,
            1..=0x1_0000 => Self::Small,
            0x1_0001..=0x10_0000 => Self::Medium,
            0x10_0001..=0x400_0000 => Self::Large,
            _ => Self::Huge,
        }
    }

    /// Its name in presets and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
            Self::Huge => "huge",
        }
    }
}

/// Files of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// Name in the preset.
    pub name: String,
    /// Type of data in plans.
    pub data: &'static str,
    /// Its sizes, roughly.
    pub stratum: Stratum,
    /// Each user has files of its own; otherwise all users read the same ones.
    pub is_own: bool,
    /// Different files that the input shows.
    pub seen: u64,
    /// Files in the preset: of each user, or of all of them.
    pub count: u32,
    /// Sizes, bytes.
    pub size: Fit<Sizes>,
    /// No size of it is known.
    pub is_assumed: bool,
    /// Directories in each directory.
    pub fan_out: u32,
    /// Levels of directories above the files.
    pub depth: u32,
    /// Sequences on it.
    pub sequences: u64,
}

/// What is known of a file of the data set, over all names and versions that it had.
#[derive(Debug, Clone, Default)]
pub struct FileFacts {
    /// Bytes, where known.
    pub size: Option<u64>,
    /// It was made within the input, and replaced nothing.
    is_new: bool,
    changed: bool,
    users: BTreeSet<u32>,
    sequences: u64,
}

/// The classes, and the class of each file.
#[derive(Debug, Default)]
pub struct Classes {
    /// All of them, by name.
    pub all: Vec<Class>,
    of: BTreeMap<u32, usize>,
    identity: Vec<u32>,
    facts: BTreeMap<u32, FileFacts>,
    /// The most frequent class of the files of each directory.
    of_directory: BTreeMap<u32, usize>,
}

/// What makes files alike: type, size, and whether each user has its own.
type Key = (&'static str, Stratum, bool);

impl Classes {
    /// The classes of the files of these sequences.
    pub fn of_sequences(observed: &Observed, sequences: &[Sequence]) -> Self {
        let identity = identities(observed);
        let facts = facts(observed, sequences, &identity);
        let keys = keys(observed, &facts);
        let mut members: BTreeMap<Key, Vec<u32>> = BTreeMap::new();
        for (file, key) in keys {
            members.entry(key).or_default().push(file);
        }
        join_rare(&mut members, &facts);
        let mut classes = Self { identity, facts, ..Self::default() };
        let twice = |(data, stratum, is_own): Key| members.contains_key(&(data, stratum, !is_own));
        for (key, files) in &members {
            let suffix = if twice(*key) && !key.2 { "-shared" } else { "" };
            let name = format!("{}-{}{suffix}", key.0, key.1.name());
            let class = classes.class(observed, name, *key, files);
            classes.of.extend(files.iter().map(|file| (*file, classes.all.len())));
            classes.all.push(class);
        }
        classes.of_directory = classes.directories(observed);
        classes
    }

    /// The class of the files of a directory; the most used class where none of its files is known.
    pub fn of_directory(&self, directory: u32) -> Option<usize> {
        let most_used =
            || (0..self.all.len()).max_by_key(|class| self.all.get(*class).map(|class| class.sequences));
        self.of_directory.get(&directory).copied().or_else(most_used)
    }

    fn directories(&self, observed: &Observed) -> BTreeMap<u32, usize> {
        let mut files: BTreeMap<u32, BTreeMap<usize, u64>> = BTreeMap::new();
        for (file, class) in &self.of {
            if let Some(parent) = observed.parent(*file) {
                *files.entry(parent).or_default().entry(*class).or_default() += 1;
            }
        }
        let most = |classes: BTreeMap<usize, u64>| classes.into_iter().max_by_key(|(_, files)| *files);
        files.into_iter().filter_map(|(parent, classes)| Some((parent, most(classes)?.0))).collect()
    }

    /// The class of a file.
    pub fn class_of(&self, file: u32) -> Option<usize> {
        self.of.get(self.identity.get(file as usize)?).copied()
    }

    /// The sizes of the files of a class.
    pub fn stratum(&self, class: Option<usize>) -> Option<Stratum> {
        Some(self.all.get(class?)?.stratum)
    }

    /// Bytes of a file, where known.
    pub fn size_of(&self, file: u32) -> Option<u64> {
        self.facts.get(self.identity.get(file as usize)?)?.size
    }

    fn class(&self, observed: &Observed, name: String, key: Key, files: &[u32]) -> Class {
        let (data, stratum, is_own) = key;
        let of = |file: &u32| self.facts.get(file);
        let is_old = |file: &&u32| of(file).is_some_and(|facts| !facts.is_new);
        let old: Vec<u32> = files.iter().filter(is_old).copied().collect();
        let described = if old.is_empty() { files } else { &old };
        let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
        for size in described.iter().filter_map(of).filter_map(|facts| facts.size) {
            *sizes.entry(if stratum == Stratum::Empty { 0 } else { size.max(1) }).or_default() += 1;
        }
        let fit = fit_sizes(&sizes, MAX_FILE);
        let is_assumed = fit.is_none();
        let size = fit.unwrap_or(Fit { law: Sizes::Fixed(ASSUMED_SIZE), n: 0, ks: 0.0 });
        let users: BTreeSet<u32> =
            described.iter().filter_map(of).flat_map(|facts| &facts.users).copied().collect();
        let divisor = if is_own { users.len().max(1) as u64 } else { 1 };
        let count =
            if old.is_empty() { 1 } else { (old.len() as u64).div_ceil(divisor).clamp(1, MAX_COUNT) as u32 };
        let (fan_out, depth) = directories(observed, described, divisor);
        let sequences = files.iter().filter_map(of).map(|facts| facts.sequences).sum();
        let seen = files.len() as u64;
        Class { name, data, stratum, is_own, seen, count, size, is_assumed, fan_out, depth, sequences }
    }
}

/// For each file the file of the data set that it is a version of: one that replaces another by a rename is that one.
fn identities(observed: &Observed) -> Vec<u32> {
    let mut identity: Vec<u32> = (0..observed.files.len() as u32).collect();
    for operation in &observed.operations {
        if let Action::Rename { file: Some(file), replaced: Some(replaced) } = operation.action
            && operation.outcome != Outcome::NotFound
            && let Some(origin) = identity.get(replaced as usize).copied()
            && let Some(own) = identity.get_mut(file as usize)
            && *own == file
        {
            *own = origin;
        }
    }
    identity
}

fn facts(observed: &Observed, sequences: &[Sequence], identity: &[u32]) -> BTreeMap<u32, FileFacts> {
    let mut facts: BTreeMap<u32, FileFacts> = BTreeMap::new();
    for sequence in sequences {
        let Some(file) = sequence.file() else { continue };
        let Some(origin) = identity.get(file as usize).copied() else { continue };
        let facts = facts.entry(origin).or_insert_with(|| {
            let file = observed.files.get(origin as usize);
            FileFacts {
                size: file.and_then(|file| file.size.filter(|_| !file.created)),
                is_new: file.is_some_and(|file| file.created),
                ..FileFacts::default()
            }
        });
        facts.changed |= sequence.changes();
        facts.users.insert(sequence.user);
        facts.sequences += 1;
        let file = observed.files.get(origin as usize);
        let is_known = file.is_some_and(|file| file.size.is_some() && !file.created);
        let end = sequence.reads.end.max(sequence.writes.end);
        if !is_known && (end > 0 || sequence.created) {
            facts.size = Some(facts.size.unwrap_or(0).max(end));
        }
    }
    facts
}

/// The key of each file.
fn keys(observed: &Observed, facts: &BTreeMap<u32, FileFacts>) -> Vec<(u32, Key)> {
    let data =
        |file: u32| observed.files.get(file as usize).and_then(|f| f.extension).unwrap_or(UNKNOWN_TYPE);
    let stratum = |facts: &FileFacts| facts.size.map_or(Stratum::Small, Stratum::from_bytes);
    // Files that nobody changes belong to one user each where those that are used again are used again by the same user.
    let mut again: BTreeMap<(&'static str, Stratum), (u64, u64)> = BTreeMap::new();
    for (file, facts) in facts.iter().filter(|(_, facts)| !facts.changed && facts.sequences > 1) {
        let (by_one, by_several) = again.entry((data(*file), stratum(facts))).or_default();
        *(if facts.users.len() > 1 { by_several } else { by_one }) += 1;
    }
    let users: BTreeSet<u32> = facts.values().flat_map(|facts| &facts.users).copied().collect();
    let key = |(file, facts): (&u32, &FileFacts)| {
        let data = data(*file);
        let stratum = stratum(facts);
        let by_one = again.get(&(data, stratum)).is_some_and(|(one, several)| one > several);
        let is_own = facts.changed || users.len() > 1 && facts.users.len() == 1 && by_one;
        (*file, (data, stratum, is_own))
    };
    facts.iter().map(key).collect()
}

/// Puts classes of few sequences into the most used class of the same size and ownership.
fn join_rare(members: &mut BTreeMap<Key, Vec<u32>>, facts: &BTreeMap<u32, FileFacts>) {
    let weight =
        |files: &[u32]| -> u64 { files.iter().filter_map(|file| facts.get(file)).map(|f| f.sequences).sum() };
    let all: u64 = facts.values().map(|facts| facts.sequences).sum();
    let rare: Vec<Key> = members
        .iter()
        .filter(|(_, files)| (weight(files) as f64) < all as f64 * RARE)
        .map(|(key, _)| *key)
        .collect();
    for key in rare {
        let target = members
            .iter()
            .filter(|(other, _)| **other != key && (other.1, other.2) == (key.1, key.2))
            .max_by_key(|(_, files)| weight(files))
            .map(|(other, _)| *other);
        if let Some(target) = target
            && let Some(files) = members.remove(&key)
        {
            members.entry(target).or_default().extend(files);
        }
    }
}

/// Fan-out and depth of a tree with about as many directories as these files are in.
fn directories(observed: &Observed, files: &[u32], divisor: u64) -> (u32, u32) {
    let parent = |file: u32| observed.parent(file);
    let parents: BTreeSet<u32> = files.iter().filter_map(|file| parent(*file)).collect();
    let mut depths: Vec<u32> = files
        .iter()
        .map(|file| {
            let mut at = *file;
            let mut depth = 0;
            while let Some(above) = parent(at).filter(|_| depth < MAX_DEPTH) {
                (at, depth) = (above, depth + 1);
            }
            // The highest directory is the share itself.
            depth.saturating_sub(1)
        })
        .collect();
    let depth = sharebench_stats::upper_median(&mut depths).unwrap_or(0);
    let wanted = (parents.len() as u64).div_ceil(divisor).max(1) as f64;
    if depth == 0 || wanted < 2.0 {
        return (1, depth.min(1));
    }
    let fan_out = wanted.powf(1.0 / f64::from(depth)).round().max(1.0);
    ((fan_out as u32).clamp(1, MAX_FAN_OUT), depth)
}
