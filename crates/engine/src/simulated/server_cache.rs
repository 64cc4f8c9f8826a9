//! A simulated server's cache: least recently used blocks leave, and what storage had to give is known.

use std::collections::BTreeMap;

/// What a simulated server keeps, and how it fills it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerCache {
    /// Blocks it holds.
    pub blocks: usize,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Read-ahead in blocks, after a read that continues where the file's last read ended.
    pub read_ahead: u64,
    /// Serves unbuffered reads from the cache all the same.
    pub lies: bool,
}

/// A request as the cache sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub file: u64,
    pub offset: u64,
    pub bytes: u32,
    pub write: bool,
    /// Requests data from storage, bypassing the cache.
    pub unbuffered: bool,
    /// From the session whose bytes' origin is wanted: the first.
    pub workload: bool,
}

/// What a request met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Met {
    /// Storage had to be asked.
    pub miss: bool,
    /// Some of its bytes came from storage since the workload last had them.
    pub from_storage: bool,
}

#[derive(Debug, Clone)]
struct Held {
    stamp: u64,
    /// Came from storage, and the workload has not had it since.
    fetched: bool,
}

/// The cache's content.
#[derive(Debug, Clone)]
pub(super) struct Content {
    model: ServerCache,
    held: BTreeMap<(u64, u64), Held>,
    by_age: BTreeMap<u64, (u64, u64)>,
    /// Where the last read of each file ended.
    ends: BTreeMap<u64, u64>,
    now: u64,
}

impl Content {
    pub fn new(model: ServerCache) -> Self {
        let held = BTreeMap::new();
        let by_age = BTreeMap::new();
        let ends = BTreeMap::new();
        Self { model, held, by_age, ends, now: 0 }
    }

    pub fn serve(&mut self, asked: Asked) -> Met {
        let size = u64::from(self.model.block_bytes.max(1));
        let end = asked.offset + u64::from(asked.bytes.max(1));
        let mut met = Met { miss: false, from_storage: false };
        for block in asked.offset / size..end.div_ceil(size) {
            let at = (asked.file, block);
            if asked.unbuffered && !self.model.lies {
                self.forget(at);
            }
            met.miss |= self.touch(at, asked.write);
            if let Some(held) = self.held.get_mut(&at).filter(|_| asked.workload && !asked.write) {
                met.from_storage |= std::mem::take(&mut held.fetched);
            }
        }
        if !asked.write && self.ends.insert(asked.file, end) == Some(asked.offset) {
            for block in 0..self.model.read_ahead {
                let at = (asked.file, end.div_ceil(size) + block);
                if !self.held.contains_key(&at) {
                    self.touch(at, false);
                }
            }
        }
        met
    }

    fn forget(&mut self, at: (u64, u64)) {
        if let Some(held) = self.held.remove(&at) {
            self.by_age.remove(&held.stamp);
        }
    }

    /// Brings a block to the front; true when it had to be read from storage.
    fn touch(&mut self, at: (u64, u64), write: bool) -> bool {
        self.now += 1;
        let known = self.held.get(&at).map(|held| held.stamp);
        if let Some(stamp) = known {
            self.by_age.remove(&stamp);
        }
        let miss = known.is_none() && !write;
        let held = self.held.entry(at).or_insert(Held { stamp: 0, fetched: false });
        held.stamp = self.now;
        held.fetched = (held.fetched || miss) && !write;
        self.by_age.insert(self.now, at);
        while self.held.len() > self.model.blocks.max(1) {
            let Some((_, oldest)) = self.by_age.pop_first() else { break };
            self.held.remove(&oldest);
        }
        miss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: u64, block: u64, workload: bool) -> Asked {
        Asked { file, offset: block * 512, bytes: 512, write: false, unbuffered: false, workload }
    }

    #[test]
    fn what_a_probe_fetched_came_from_storage_when_the_workload_takes_it() {
        let model = ServerCache { blocks: 2, block_bytes: 512, read_ahead: 0, lies: false };
        let mut cache = Content::new(model);
        assert!(cache.serve(read(1, 0, false)).miss);
        assert_eq!(cache.serve(read(1, 0, true)), Met { miss: false, from_storage: true });
        assert_eq!(cache.serve(read(1, 0, true)), Met { miss: false, from_storage: false });
        cache.serve(read(1, 1, true));
        cache.serve(read(1, 2, true));
        assert!(cache.serve(read(1, 0, true)).miss, "the oldest of three left");
    }

    #[test]
    fn unbuffered_reads_are_served_from_storage_unless_the_server_lies() {
        for lies in [false, true] {
            let model = ServerCache { blocks: 8, block_bytes: 512, read_ahead: 0, lies };
            let mut cache = Content::new(model);
            cache.serve(Asked { write: true, ..read(1, 3, true) });
            let met = cache.serve(Asked { unbuffered: true, ..read(1, 3, false) });
            assert_eq!(met.miss, !lies);
        }
    }

    #[test]
    fn a_server_reads_ahead_of_who_goes_on() {
        let model = ServerCache { blocks: 64, block_bytes: 512, read_ahead: 2, lies: false };
        let mut cache = Content::new(model);
        let met: Vec<Met> = [0, 1, 2, 3, 9].map(|block| cache.serve(read(1, block, true))).to_vec();
        assert_eq!(met.iter().map(|met| met.miss).collect::<Vec<_>>(), [true, true, false, false, true]);
        assert!(met.iter().all(|met| met.from_storage));
    }
}
