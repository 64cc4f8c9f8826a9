//! A random sample of the files of a share.

use std::collections::BinaryHeap;

use sharebench_model::mix;

use crate::run::survey::inventory::SurveyedFile;

/// Seed of the sample.
const SAMPLE_SEED: u64 = 1;

/// The place of a file in the random order of all files, which its path determines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(u64);

/// The ranks of the files of one directory. It keeps the hash of the directory's path, so that the rank of a file costs
/// only its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ranks(u64);

impl Ranks {
    pub fn from_directory(directory: &str) -> Self {
        Self(fnv_1a(mix(SAMPLE_SEED), directory))
    }

    pub fn rank(self, name: &str) -> Rank {
        // No name contains a slash, so that two paths never give the same bytes.
        Rank(mix(fnv_1a(fnv_1a(self.0, "/"), name)))
    }
}

/// FNV-1a, continued from `hash`. Each rank is mixed afterwards, so that all of its bits depend on the whole path.
fn fnv_1a(hash: u64, text: &str) -> u64 {
    text.bytes().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3))
}

/// A random sample of the files of a share, taken in one pass over a number of files that is known only at its end.
///
/// Each file has a rank, which is a hash of its path with a fixed seed, and the sample consists of the files with the
/// lowest ranks (Cohen and Kaplan, "Summarizing data using bottom-k sketches", 2007). So every file is in the sample
/// with the same probability, and the same share gives the same sample, in whatever order the replies of several
/// sessions arrive.
pub(super) struct Sample {
    max: u64,
    /// Files of the share so far.
    pub seen: u64,
    /// The highest rank is at the top.
    files: BinaryHeap<(Rank, SurveyedFile)>,
}

impl Sample {
    pub fn new(max: u64) -> Self {
        Self { max, seen: 0, files: BinaryHeap::new() }
    }

    /// True if a file of this rank belongs to the sample of the files so far.
    pub fn includes(&self, rank: Rank) -> bool {
        (self.files.len() as u64) < self.max || self.files.peek().is_some_and(|(highest, _)| rank < *highest)
    }

    /// Adds a file that [`Self::includes`].
    pub fn add(&mut self, rank: Rank, file: SurveyedFile) {
        self.files.push((rank, file));
        if self.files.len() as u64 > self.max {
            self.files.pop();
        }
    }

    pub fn into_files(self) -> impl Iterator<Item = SurveyedFile> {
        self.files.into_iter().map(|(_, file)| file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::survey::inventory::type_of;

    fn sampled(max: u64, numbers: impl Iterator<Item = u64>) -> Vec<u64> {
        let ranks = Ranks::from_directory("a/directory");
        let mut sample = Sample::new(max);
        for number in numbers {
            let rank = ranks.rank(&format!("{number}.txt"));
            sample.seen += 1;
            if sample.includes(rank) {
                sample.add(rank, SurveyedFile { size: number, depth: 0, data: type_of("a") });
            }
        }
        let mut sizes: Vec<u64> = sample.into_files().map(|file| file.size).collect();
        sizes.sort_unstable();
        sizes
    }

    #[test]
    fn a_sample_has_every_file_with_the_same_probability() {
        let mut counts = [0u32; 10];
        let files = sampled(1000, 0..100_000);
        assert_eq!(files.len(), 1000);
        for number in files {
            counts[(number / 10_000) as usize] += 1;
        }
        // 100 each, within five standard deviations of the binomial distribution.
        assert!(counts.iter().all(|count| (53..=147).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_sample_does_not_depend_on_the_order_of_the_files() {
        assert_eq!(sampled(100, 0..10_000), sampled(100, (0..10_000).rev()));
        assert_eq!(sampled(100, 0..100), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn ranks_depend_on_the_directory_and_on_the_name() {
        let rank = |directory: &str, name: &str| Ranks::from_directory(directory).rank(name);
        assert_eq!(rank("a/b", "c"), rank("a/b", "c"));
        assert_ne!(rank("a", "c"), rank("b", "c"));
        assert_ne!(rank("ab", "c"), rank("a", "bc"));
        assert_ne!(rank("a", "b"), rank("a", "c"));
    }
}
