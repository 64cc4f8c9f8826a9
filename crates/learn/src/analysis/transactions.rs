//! Transactions: sequences that do the same on the same class of files, with their weights.

use std::collections::{BTreeMap, BTreeSet};

use sharebench_plan::{Operation, RequestPattern, Requests, Sizes, Times};

use super::classes::{Classes, Stratum};
use super::coverage::Counts;
use super::pattern::{Access, End, Opening, Pattern, stated};
use super::sequence::{NameChange, Sequence, Subject};
use super::transfer::Transfer;
use crate::fit::{Fit, fit_sizes};

/// Most transactions of a preset.
const MAX_TRANSACTIONS: usize = 48;
/// Largest request of a plan.
const MAX_REQUEST: u64 = 64 << 20;
/// Most repetitions of an operation that has no number of its own in plans.
const MAX_REPEATED: u32 = 16;
/// Most repetitions of requests.
const MAX_REQUESTS: f64 = 1_000_000.0;

/// One kind of transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Transaction {
    /// Name in the preset.
    pub name: String,
    /// Index into the classes; none where it needs no file.
    pub class: Option<usize>,
    /// Sequences of the input.
    pub weight: u32,
    /// Operations of the input in these sequences.
    pub covered: u64,
    /// What it does.
    pub operations: Vec<Operation>,
    /// Bytes of its reads.
    pub read_sizes: Option<Fit<Sizes>>,
    /// Bytes of its writes.
    pub write_sizes: Option<Fit<Sizes>>,
}

/// Sequences with the same pattern on the same class.
#[derive(Debug, Default)]
struct Cluster {
    sequences: u64,
    covered: u64,
    lists: u64,
    stats: [u64; 3],
    reads: u64,
    writes: u64,
    set_sizes: u64,
    flushes: u64,
    read_sizes: SizeCounts,
    write_sizes: SizeCounts,
}

/// Sizes of requests, and of those that were the only one of a whole file, which may have asked for more than there was.
#[derive(Debug, Default)]
struct SizeCounts {
    sizes: BTreeMap<u64, u64>,
    only: BTreeMap<u64, u64>,
}

/// The transactions of sequences, the most frequent one first; and what the input had, as operations of plans.
pub fn transactions(
    mut sequences: Vec<Sequence>,
    classes: &Classes,
    counts: &mut Counts,
) -> (Vec<Transaction>, BTreeMap<&'static str, u64>) {
    let mut removals = removals(&sequences);
    let mut seen = BTreeMap::new();
    let mut clusters: BTreeMap<(Pattern, Option<usize>), Cluster> = BTreeMap::new();
    let mut replaced = BTreeSet::new();
    for sequence in &mut sequences {
        let class = class_of(sequence, classes);
        super::mix::count_sequence(sequence, &mut seen);
        settle_end(sequence, classes.stratum(class), &mut removals, counts);
        if sequence.name == NameChange::Renamed {
            replaced.insert(class);
        }
    }
    for mut sequence in sequences {
        let class = class_of(&sequence, classes);
        let stratum = classes.stratum(class);
        let size = sequence.file().and_then(|file| classes.size_of(file));
        let before = counts.left_out();
        if sequence.kept && replaced.contains(&class) {
            // A plan may replace the very file that it keeps open: the handle would be stale over NFSv3.
            counts.simplify(
                "requests on files that stay open, which are opened because others are replaced",
                1,
            );
            sequence.kept = false;
            sequence.opened = true;
        }
        stated(&mut sequence, stratum, counts);
        let pattern = Pattern::new(&sequence, size);
        let lost = counts.left_out() - before;
        let left = u64::from(sequence.operations).saturating_sub(lost);
        let needs_class = pattern.fileless.is_none();
        if pattern == Pattern::new(&Sequence::new(0, sequence.subject, 0), None) && needs_class {
            counts.leave_out("sequences of which nothing is left", left);
        } else if needs_class && class.is_none() {
            counts.leave_out("requests on files of no class", left);
        } else {
            clusters.entry((pattern, class)).or_default().add(&sequence, &pattern, left);
        }
    }
    counts.leave_out("removals of files that existed before", removals);
    (named(clusters, classes, counts), seen)
}

/// Removals of files that existed before: each can end a transaction that makes a file.
fn removals(sequences: &[Sequence]) -> u64 {
    let is_removal = |sequence: &&Sequence| sequence.name == NameChange::Removed && !sequence.created;
    sequences.iter().filter(is_removal).count() as u64
}

/// Plans only remove what the same transaction made, and a new file must be removed or replace another one.
fn settle_end(sequence: &mut Sequence, stratum: Option<Stratum>, removals: &mut u64, counts: &mut Counts) {
    if sequence.name == NameChange::Removed && !sequence.created {
        sequence.name = NameChange::None;
        // A sequence that makes a file takes it as its end, or it is counted when all of them have one.
        sequence.operations = sequence.operations.saturating_sub(1);
        return;
    }
    if !sequence.created || sequence.name != NameChange::None {
        return;
    }
    if *removals > 0 {
        *removals -= 1;
        counts.simplify("removals of other files, stated as the end of a transaction that makes a file", 1);
        sequence.name = NameChange::Removed;
        sequence.operations += 1;
    } else if stratum == Some(Stratum::Empty) {
        counts.simplify("new files without bytes that stay, which each transaction removes", 1);
        sequence.name = NameChange::Removed;
    } else {
        counts.simplify(
            "new files that stay, which take the place of a file by a rename that the input does not have",
            1,
        );
        sequence.name = NameChange::Renamed;
    }
}

/// The class of the file, or of the files of the directory.
fn class_of(sequence: &Sequence, classes: &Classes) -> Option<usize> {
    match sequence.subject {
        Subject::File(file) => classes.class_of(file),
        Subject::Directory(directory) => classes.of_directory(directory),
        Subject::Space | Subject::Connect => None,
    }
}

impl Cluster {
    fn add(&mut self, sequence: &Sequence, pattern: &Pattern, covered: u64) {
        self.sequences += 1;
        self.covered += covered;
        self.lists += u64::from(sequence.lists);
        for (sum, count) in self.stats.iter_mut().zip(sequence.stats) {
            *sum += u64::from(count);
        }
        self.reads += u64::from(sequence.reads.count);
        self.writes += u64::from(sequence.writes.count);
        self.set_sizes += u64::from(sequence.set_sizes);
        self.flushes += u64::from(sequence.flushes);
        let is_whole = |requests: Option<super::pattern::Requests>| {
            requests.is_some_and(|requests| requests.access == Access::Whole)
        };
        self.read_sizes.add(&sequence.reads, is_whole(pattern.reads));
        self.write_sizes.add(&sequence.writes, is_whole(pattern.writes));
    }

    fn mean(&self, sum: u64) -> f64 {
        sum as f64 / self.sequences.max(1) as f64
    }
}

impl SizeCounts {
    fn add(&mut self, transfer: &Transfer, whole: bool) {
        let counted = if whole && transfer.count == 1 { &mut self.only } else { &mut self.sizes };
        for (size, count) in transfer.request_sizes(whole) {
            if count > 0 && size > 0 {
                *counted.entry(u64::from(size)).or_default() += u64::from(count);
            }
        }
    }

    /// The law. Of whole files that took one request each, only the largest one shows how much is requested at a time.
    fn fit(&self) -> Option<Fit<Sizes>> {
        if self.sizes.is_empty() {
            let largest = self.only.last_key_value().map(|(size, _)| *size)?;
            let n = self.only.values().sum();
            return Some(Fit { law: Sizes::Fixed(largest.min(MAX_REQUEST)), n, ks: 0.0 });
        }
        fit_sizes(&self.sizes, MAX_REQUEST)
    }
}

/// Joins the sizes of whole transfers of one class: files of one request do not show how much is requested at a time.
fn share_sizes(clusters: &mut BTreeMap<(Pattern, Option<usize>), Cluster>) {
    let whole = |requests: Option<super::pattern::Requests>| {
        requests.is_some_and(|requests| requests.access == Access::Whole)
    };
    let mut known: [BTreeMap<u64, u64>; 2] = Default::default();
    for ((pattern, _), cluster) in clusters.iter() {
        let both = [(pattern.reads, &cluster.read_sizes), (pattern.writes, &cluster.write_sizes)];
        for (known, (requests, counts)) in known.iter_mut().zip(both) {
            if whole(requests) {
                for (size, count) in &counts.sizes {
                    *known.entry(*size).or_default() += count;
                }
            }
        }
    }
    // The size that most requests of several per file have.
    let usual = known.map(|known| known.into_iter().max_by_key(|(_, count)| *count).map(|(size, _)| size));
    for ((pattern, _), cluster) in clusters.iter_mut() {
        let both = [(pattern.reads, &mut cluster.read_sizes), (pattern.writes, &mut cluster.write_sizes)];
        for (usual, (requests, counts)) in usual.iter().zip(both) {
            let Some(usual) = usual.filter(|_| whole(requests) && counts.sizes.is_empty()) else { continue };
            let largest = counts.only.last_key_value().map_or(0, |(size, _)| *size);
            if largest <= usual {
                counts.sizes.insert(usual, counts.only.values().sum());
            }
        }
    }
}

fn named(
    mut clusters: BTreeMap<(Pattern, Option<usize>), Cluster>,
    classes: &Classes,
    counts: &mut Counts,
) -> Vec<Transaction> {
    share_sizes(&mut clusters);
    let mut sorted: Vec<((Pattern, Option<usize>), Cluster)> = clusters.into_iter().collect();
    sorted.sort_by(|(key, a), (other, b)| b.covered.cmp(&a.covered).then_with(|| key.cmp(other)));
    let rare = sorted.split_off(sorted.len().min(MAX_TRANSACTIONS));
    for (_, cluster) in rare {
        counts.leave_out("transactions that are too rare", cluster.covered);
    }
    sorted.sort_by(|(key, a), (other, b)| b.sequences.cmp(&a.sequences).then_with(|| key.cmp(other)));
    let mut names: BTreeMap<String, u32> = BTreeMap::new();
    let mut found = Vec::new();
    for ((pattern, class), cluster) in sorted {
        let described = class.and_then(|class| classes.all.get(class));
        let name = described
            .map_or_else(|| pattern.name().to_owned(), |class| format!("{}-{}", pattern.name(), class.name));
        let number = names.entry(name.clone()).or_default();
        *number += 1;
        let name = if *number == 1 { name } else { format!("{name}-{number}") };
        let read_sizes = cluster.read_sizes.fit();
        let write_sizes = cluster.write_sizes.fit();
        let operations = operations(&pattern, &cluster, read_sizes.as_ref(), write_sizes.as_ref());
        found.push(Transaction {
            name,
            class: class.filter(|_| pattern.fileless.is_none()),
            weight: cluster.sequences.min(u64::from(u32::MAX)) as u32,
            covered: cluster.covered,
            operations,
            read_sizes: read_sizes.filter(|_| pattern.reads.is_some()),
            write_sizes: write_sizes.filter(|_| pattern.writes.is_some()),
        });
    }
    found
}

/// The operations of a pattern, each as often as on average.
fn operations(
    pattern: &Pattern,
    cluster: &Cluster,
    read_sizes: Option<&Fit<Sizes>>,
    write_sizes: Option<&Fit<Sizes>>,
) -> Vec<Operation> {
    match pattern.fileless {
        Some("space") => return vec![Operation::Space],
        Some(_) => return vec![Operation::Connect],
        None => {}
    }
    let mut operations = Vec::new();
    let repeat = |operation: Operation, bucket: u32, sum: u64, operations: &mut Vec<Operation>| {
        if bucket > 0 {
            let times = (cluster.mean(sum).round() as u32).clamp(1, MAX_REPEATED);
            operations.extend((0..times).map(|_| operation.clone()));
        }
    };
    repeat(Operation::List, pattern.lists, cluster.lists, &mut operations);
    repeat(Operation::Stat, pattern.stats[0], cluster.stats[0], &mut operations);
    match pattern.opening {
        Opening::ByName | Opening::Kept => {}
        Opening::Read => operations.push(Operation::Open { write: false }),
        Opening::Write => operations.push(Operation::Open { write: true }),
        Opening::Create => operations.push(Operation::Create),
    }
    repeat(Operation::Stat, pattern.stats[1], cluster.stats[1], &mut operations);
    if let Some(requests) = pattern.reads {
        operations.push(Operation::Read(plan_requests(requests, cluster.mean(cluster.reads), read_sizes)));
    }
    if let Some(requests) = pattern.writes {
        operations.push(Operation::Write(plan_requests(requests, cluster.mean(cluster.writes), write_sizes)));
    }
    repeat(Operation::SetSize, pattern.set_sizes, cluster.set_sizes, &mut operations);
    repeat(Operation::Flush, pattern.flushes, cluster.flushes, &mut operations);
    if !matches!(pattern.opening, Opening::ByName | Opening::Kept) {
        operations.push(Operation::Close);
    }
    match pattern.end {
        End::Unchanged => {}
        End::Rename => operations.push(Operation::Rename),
        End::Delete => operations.push(Operation::Delete),
    }
    repeat(Operation::Stat, pattern.stats[2], cluster.stats[2], &mut operations);
    operations
}

fn plan_requests(requests: super::pattern::Requests, mean: f64, sizes: Option<&Fit<Sizes>>) -> Requests {
    let is_whole = requests.access == Access::Whole;
    let is_random = requests.access == Access::Random;
    Requests {
        size: sizes.map(|fit| fit.law.clone()),
        pattern: if is_random { RequestPattern::Random } else { RequestPattern::Sequential },
        times: if is_whole { Times::All } else { Times::Count(mean.round().clamp(1.0, MAX_REQUESTS) as u32) },
    }
}
