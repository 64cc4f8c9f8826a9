//! The expected content of users' own files, and its store between the steps of a run.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Generation of bytes whose last write did not end well: they may be old or new.
const UNKNOWN: u32 = 0;

/// A file of one user: its length, and which generation each run of its bytes was last written with.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnFile {
    /// Length in bytes.
    pub bytes: u64,
    /// Generation of the newest write.
    pub newest: u32,
    /// Start of each run -> end and generation; bytes in no run were never written.
    pub runs: BTreeMap<u64, (u64, u32)>,
    /// True while it has its other name.
    pub renamed: bool,
}

impl OwnFile {
    /// The generation of the next write.
    pub fn next_generation(&mut self) -> u32 {
        self.newest += 1;
        self.newest
    }

    /// Records that a write is in flight. Until it succeeds, the content of these bytes is unknown.
    pub fn begin(&mut self, offset: u64, len: u64) {
        // Before the write is sent: if it fails, these bytes may hold the old or the new content
        // (docs/design/workloads.md).
        self.put(offset, len, UNKNOWN);
    }

    /// Records a successful write of a generation.
    pub fn written(&mut self, offset: u64, len: u64, generation: u32) {
        self.put(offset, len, generation);
        self.bytes = self.bytes.max(offset + len);
    }

    fn put(&mut self, offset: u64, len: u64, generation: u32) {
        let end = offset + len;
        // A run that begins before keeps its head, and its tail if it goes beyond.
        if let Some((&start, &(stop, old))) = self.runs.range(..offset).next_back()
            && stop > offset
        {
            self.runs.insert(start, (offset, old));
            if stop > end {
                self.runs.insert(end, (stop, old));
            }
        }
        let inside: Vec<u64> = self.runs.range(offset..end).map(|(start, _)| *start).collect();
        for start in inside {
            if let Some((stop, old)) = self.runs.remove(&start)
                && stop > end
            {
                self.runs.insert(end, (stop, old));
            }
        }
        let mut from = offset;
        if let Some((&start, &(stop, old))) = self.runs.range(..offset).next_back()
            && stop == offset
            && old == generation
        {
            // Adjacent ranges of one generation are merged, so that a file written in order needs one range.
            from = start;
        }
        self.runs.insert(from, (end, generation));
    }

    /// The content that a read must find, as ranges of (offset, length, generation). Bytes with unknown content are
    /// left out.
    pub fn expected(&self, offset: u64, len: u64) -> impl Iterator<Item = (u64, usize, u32)> {
        let end = offset + len;
        let before = self.runs.range(..=offset).next_back().map(|(start, _)| *start);
        self.runs.range(before.unwrap_or(offset)..end).filter_map(move |(&start, &(stop, generation))| {
            let from = start.max(offset);
            let to = stop.min(end);
            (generation != UNKNOWN && from < to).then(|| (from, (to - from) as usize, generation))
        })
    }
}

/// What is known of all files of one user on one target.
#[derive(Debug, Clone, Default)]
pub(crate) struct UserFiles {
    /// By index into the data set.
    pub files: BTreeMap<usize, OwnFile>,
    /// Directories are there.
    pub directories: bool,
    /// The user's part of the data set is complete.
    pub laid_out: bool,
    /// Files made by transactions so far, for names of their own.
    pub made: u64,
}

/// The files of users who are not at work. Asked before and after a step, never while it is measured.
#[derive(Debug, Default)]
pub(crate) struct UserFileStore(Mutex<BTreeMap<u32, UserFiles>>);

impl UserFileStore {
    /// Takes what is known of a user's files; nothing for a new user.
    pub fn take(&self, user: u32) -> UserFiles {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&user).unwrap_or_default()
    }

    /// Stores what is known of a user's files for the next step.
    pub fn put(&self, user: u32, files: UserFiles) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(user, files);
    }
}

#[cfg(test)]
mod tests {
    use sharebench_model::Random;

    use super::*;

    #[test]
    fn runs_say_the_same_as_a_byte_by_byte_account() {
        const LEN: u64 = 400;
        let mut file = OwnFile::default();
        let mut bytes = vec![UNKNOWN; LEN as usize];
        let mut random = Random::new(6, 6);
        for _ in 0..2_000 {
            let offset = random.below(LEN);
            let len = 1 + random.below(LEN - offset);
            let generation = if random.below(5) == 0 { UNKNOWN } else { file.next_generation() };
            file.written(offset, len, generation);
            bytes[offset as usize..(offset + len) as usize].fill(generation);
            let from = random.below(LEN);
            let want = 1 + random.below(LEN - from);
            let mut found = vec![UNKNOWN; want as usize];
            for (offset, len, generation) in file.expected(from, want) {
                found[(offset - from) as usize..][..len].fill(generation);
            }
            assert_eq!(found, bytes[from as usize..(from + want) as usize]);
        }
        file.written(0, LEN, 9);
        assert_eq!(file.runs.len(), 1, "a whole write leaves one run");
    }

    #[test]
    fn writes_that_follow_each_other_are_one_run() {
        let mut file = OwnFile::default();
        for block in 0..100 {
            file.begin(block * 10, 10);
            file.written(block * 10, 10, 1);
        }
        assert_eq!(file.runs.len(), 1);
        assert_eq!((file.bytes, file.expected(5, 2_000).collect::<Vec<_>>()), (1_000, vec![(5, 995, 1)]));
    }
}
