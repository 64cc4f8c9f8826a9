//! What a file should hold: the generation of each of its pieces.

use serde::{Deserialize, Serialize};
use sharebench_model::{FileRef, IoPolicy};

use crate::data::stamp::Content;

/// A file of ours on a target: its name, size, and which generation each piece was last written with.
#[derive(Debug, Clone)]
pub(crate) struct FileState {
    /// Path below the target's directory.
    pub path: String,
    /// Identity in stamps.
    pub id: u32,
    /// Length in bytes.
    pub size: u64,
    /// Open in the engine's session.
    pub file: Option<FileRef>,
    /// The policy with which the file was opened.
    pub policy: IoPolicy,
    /// Bytes per write with which it was made; 0 for a file that a test makes.
    pub layout: u32,
    unit: u64,
    generations: Vec<u32>,
    newest: u32,
}

/// What another rank has to know about a file to work on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownFile {
    path: String,
    id: u32,
    size: u64,
    layout: u32,
    unit: u64,
    newest: u32,
    /// (pieces, generation) from its start.
    runs: Vec<(u32, u32)>,
}

/// The generation of pieces whose last write failed: they may hold old or new bytes.
const UNKNOWN: u32 = 0;

impl FileState {
    /// A file of `size` bytes that will be written in pieces of `unit` bytes or multiples of it.
    pub fn new(path: String, id: u32, size: u64, unit: u64) -> Self {
        let pieces = size.div_ceil(unit) as usize;
        Self {
            path,
            id,
            size,
            file: None,
            policy: IoPolicy::default(),
            layout: 0,
            unit,
            generations: vec![UNKNOWN; pieces],
            newest: 0,
        }
    }

    /// What other ranks have to know about this file.
    pub fn known(&self) -> KnownFile {
        let same = |a: &u32, b: &u32| a == b;
        let runs = self.generations.chunk_by(same).map(|run| (run.len() as u32, run[0])).collect();
        let path = self.path.clone();
        let id = self.id;
        let size = self.size;
        KnownFile { path, id, size, layout: self.layout, unit: self.unit, newest: self.newest, runs }
    }

    /// The state of a file that another rank reported; it is not open here.
    pub fn from_known(known: KnownFile) -> Self {
        let mut file = Self::new(known.path, known.id, known.size, known.unit.max(1));
        (file.layout, file.newest) = (known.layout, known.newest);
        let reported = known
            .runs
            .into_iter()
            .flat_map(|(pieces, generation)| std::iter::repeat_n(generation, pieces as usize));
        file.generations.iter_mut().zip(reported).for_each(|(piece, generation)| *piece = generation);
        file
    }

    /// Begins a new pass of writes and returns the content that it writes.
    pub fn next_generation(&mut self) -> Content {
        self.newest += 1;
        Content { file: self.id, generation: self.newest, kind: None }
    }

    /// True if the file was written to since it was created.
    pub fn is_rewritten(&self) -> bool {
        self.newest > 1
    }

    /// Records a successful write: these bytes now hold `generation`.
    pub fn written(&mut self, offset: u64, len: u32, generation: u32) {
        let pieces = self.pieces(offset, len);
        self.generations[pieces].fill(generation);
    }

    /// Records a failed write: the content of these bytes is unknown, so later reads of them are not verified.
    pub fn lost(&mut self, offset: u64, len: u32) {
        let pieces = self.pieces(offset, len);
        self.generations[pieces].fill(UNKNOWN);
    }

    /// Takes over what `other`, a copy of this that went its own way, knows of the bytes of a range.
    pub fn adopt(&mut self, other: &Self, range: std::ops::Range<u64>) {
        let pieces = (range.start / self.unit) as usize..range.end.div_ceil(self.unit) as usize;
        let pieces = pieces.start.min(self.generations.len())..pieces.end.min(self.generations.len());
        if let (Some(mine), Some(theirs)) =
            (self.generations.get_mut(pieces.clone()), other.generations.get(pieces))
        {
            mine.copy_from_slice(theirs);
        }
        self.newest = self.newest.max(other.newest);
    }

    /// What a read must find; none where a write failed or nothing was written.
    ///
    /// Records larger than the unit may span generations, so each uniform run is visited by itself:
    /// (offset, length, content).
    pub fn expected(&self, offset: u64, len: u32) -> impl Iterator<Item = (u64, usize, Content)> {
        let end = offset + u64::from(len);
        let mut at = offset;
        std::iter::from_fn(move || {
            while at < end {
                let first = (at / self.unit) as usize;
                let generation = *self.generations.get(first)?;
                let run =
                    self.generations[first..].iter().take_while(|next| **next == generation).count() as u64;
                let stop = end.min((first as u64 + run) * self.unit);
                let piece = (at, (stop - at) as usize, Content { file: self.id, generation, kind: None });
                at = stop;
                if generation != UNKNOWN {
                    return Some(piece);
                }
            }
            None
        })
    }

    fn pieces(&self, offset: u64, len: u32) -> std::ops::Range<usize> {
        let end = (offset + u64::from(len)).div_ceil(self.unit) as usize;
        (offset / self.unit) as usize..end.min(self.generations.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_that_went_their_own_ways_come_together() {
        let mut file = FileState::new("f".into(), 7, 4096, 512);
        let content = file.next_generation();
        file.written(0, 4096, content.generation);
        let mut other = file.clone();
        let newer = other.next_generation();
        other.written(1024, 2048, newer.generation);
        file.adopt(&other, 1024..2048);
        let runs: Vec<_> = file.expected(0, 4096).map(|(at, len, c)| (at, len, c.generation)).collect();
        assert_eq!(runs, [(0, 1024, 1), (1024, 1024, 2), (2048, 2048, 1)]);
        assert_eq!(file.next_generation().generation, 3);
    }

    #[test]
    fn other_processes_receive_the_complete_state_of_a_file() {
        let mut file = FileState::new("f".into(), 7, 4096, 512);
        for (offset, len) in [(0, 4096), (512, 1024), (3584, 512)] {
            let content = file.next_generation();
            file.written(offset, len, content.generation);
        }
        let reported = serde_json::to_string(&file.known()).unwrap();
        let mut other = FileState::from_known(serde_json::from_str(&reported).unwrap());
        assert!(file.expected(0, 4096).eq(other.expected(0, 4096)));
        assert_eq!(other.next_generation(), file.next_generation());
    }

    #[test]
    fn a_read_across_generations_is_cut_into_uniform_runs() {
        let mut file = FileState::new("f".into(), 7, 4096, 512);
        let first = file.next_generation();
        file.written(0, 4096, first.generation);
        let second = file.next_generation();
        file.written(1024, 1024, second.generation);
        file.lost(3072, 512);
        let runs: Vec<_> =
            file.expected(0, 4096).map(|(at, len, content)| (at, len, content.generation)).collect();
        assert_eq!(runs, [(0, 1024, 1), (1024, 1024, 2), (2048, 1024, 1), (3584, 512, 1)]);
    }
}
