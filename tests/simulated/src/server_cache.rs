//! A simulated server's cache, with the truth about which bytes came from storage.

use std::collections::BTreeMap;

use sharebench_model::Random;

use super::request_class::Asked;

/// Which block leaves a full cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Replacement {
    /// The least recently used one.
    #[default]
    LeastRecentlyUsed,
    /// The one that came first, however often it was used since.
    FirstIn,
    /// Any.
    Random,
}

/// The first read that continues another one reads twice this many blocks ahead; each further one doubles them.
const FIRST_WINDOW: u64 = 2;

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
    /// Which block leaves when it is full.
    pub replacement: Replacement,
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

/// One who reads a file, as read-ahead sees it.
#[derive(Debug, Clone, Copy, Default)]
struct Reader {
    /// Where its last read ended.
    end: u64,
    /// How many reads in a row continued the one before.
    continued: u32,
    /// The block up to which was read ahead.
    ahead: u64,
}

/// The cache's content.
#[derive(Debug, Clone)]
pub(super) struct Content {
    model: ServerCache,
    held: BTreeMap<(u64, u64), Held>,
    by_age: BTreeMap<u64, (u64, u64)>,
    /// Those who read each file: the workload, and all others.
    readers: BTreeMap<(u64, bool), Reader>,
    /// Bytes of each file, as far as it was read or written.
    lengths: BTreeMap<u64, u64>,
    now: u64,
    random: Random,
}

impl Content {
    pub fn new(model: ServerCache) -> Self {
        Self {
            model,
            held: BTreeMap::new(),
            by_age: BTreeMap::new(),
            readers: BTreeMap::new(),
            lengths: BTreeMap::new(),
            now: 0,
            random: Random::new(0xCAC4E, 0),
        }
    }

    pub fn serve(&mut self, asked: Asked) -> Met {
        let size = u64::from(self.model.block_bytes.max(1));
        let end = asked.offset + u64::from(asked.bytes.max(1));
        let mut met = Met { miss: false, from_storage: false };
        let length = self.lengths.entry(asked.file).or_default();
        *length = end.max(*length);
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
        if !asked.write {
            self.read_ahead(asked, end);
        }
        met
    }

    /// Reads ahead of a reader whose reads continue each other, as operating systems do it: by a window that grows with
    /// each such read, and considers each block once.
    fn read_ahead(&mut self, asked: Asked, end: u64) {
        let size = u64::from(self.model.block_bytes.max(1));
        let reader = self.readers.entry((asked.file, asked.workload)).or_default();
        let continues = reader.end == asked.offset && asked.offset > 0;
        reader.end = end;
        reader.continued = if continues { reader.continued + 1 } else { 0 };
        if reader.continued == 0 {
            return;
        }
        let from = end.div_ceil(size);
        let to = from + self.model.read_ahead.min(FIRST_WINDOW << reader.continued.min(32));
        let first = if (from..=to).contains(&reader.ahead) { reader.ahead } else { from };
        reader.ahead = to;
        let length = self.lengths.get(&asked.file).copied().unwrap_or(0).div_ceil(size);
        for block in first..length.min(to) {
            let at = (asked.file, block);
            if !self.held.contains_key(&at) {
                self.touch(at, false);
            }
        }
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
        let keeps_stamp = self.model.replacement != Replacement::LeastRecentlyUsed;
        if let Some(stamp) = known.filter(|_| !keeps_stamp) {
            self.by_age.remove(&stamp);
        }
        let stamp = known.filter(|_| keeps_stamp).unwrap_or(self.now);
        let miss = known.is_none() && !write;
        let held = self.held.entry(at).or_insert(Held { stamp: 0, fetched: false });
        held.stamp = stamp;
        held.fetched = (held.fetched || miss) && !write;
        self.by_age.insert(stamp, at);
        while self.held.len() > self.model.blocks.max(1) {
            let Some(leaving) = self.leaving() else { break };
            self.forget(leaving);
        }
        miss
    }

    /// The block that makes room for another one.
    fn leaving(&mut self) -> Option<(u64, u64)> {
        let (&oldest, &first) = self.by_age.first_key_value()?;
        if self.model.replacement != Replacement::Random {
            return Some(first);
        }
        let from = oldest + self.random.below(self.now - oldest + 1);
        Some(self.by_age.range(from..).next().map_or(first, |(_, at)| *at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_class::FileUse;

    fn read(file: u64, block: u64, workload: bool) -> Asked {
        let known = FileUse::default();
        let offset = block * 512;
        Asked { session: 0, file, offset, bytes: 512, write: false, unbuffered: false, workload, known }
    }

    #[test]
    fn what_a_probe_fetched_came_from_storage_when_the_workload_takes_it() {
        let model = ServerCache {
            blocks: 2,
            block_bytes: 512,
            read_ahead: 0,
            lies: false,
            replacement: Replacement::LeastRecentlyUsed,
        };
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
            let model = ServerCache {
                blocks: 8,
                block_bytes: 512,
                read_ahead: 0,
                lies,
                replacement: Replacement::LeastRecentlyUsed,
            };
            let mut cache = Content::new(model);
            cache.serve(Asked { write: true, ..read(1, 3, true) });
            let met = cache.serve(Asked { unbuffered: true, ..read(1, 3, false) });
            assert_eq!(met.miss, !lies);
        }
    }

    #[test]
    fn a_server_reads_ahead_of_sequential_reads() {
        let model = ServerCache {
            blocks: 64,
            block_bytes: 512,
            read_ahead: 2,
            lies: false,
            replacement: Replacement::LeastRecentlyUsed,
        };
        let mut cache = Content::new(model);
        cache.serve(Asked { write: true, ..read(1, 5, true) });
        let met: Vec<Met> = [0, 1, 2, 3, 9].map(|block| cache.serve(read(1, block, true))).to_vec();
        assert_eq!(met.iter().map(|met| met.miss).collect::<Vec<_>>(), [true, true, false, false, true]);
        assert!(met.iter().all(|met| met.from_storage));
    }
}
