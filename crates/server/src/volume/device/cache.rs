//! The blocks in the cache of a modelled device, in exact least-recently-used order.

use std::collections::BTreeMap;

use crate::NodeId;

type Block = (NodeId, u64);

/// Marks the end of the list.
const NONE: usize = usize::MAX;

/// Blocks in order of use. The cache records only which blocks are present; the volume holds their bytes.
pub(super) struct BlockCache {
    capacity: usize,
    block_bytes: u64,
    by_block: BTreeMap<Block, usize>,
    slots: Vec<Slot>,
    vacant: Vec<usize>,
    newest: usize,
    oldest: usize,
}

#[derive(Clone, Copy)]
struct Slot {
    block: Block,
    dirty: bool,
    newer: usize,
    older: usize,
}

/// What a request found in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CacheLookup {
    /// All of its blocks were present.
    pub(super) hit: bool,
    /// Dirty blocks that it evicted.
    pub(super) evicted_dirty: u64,
}

impl BlockCache {
    /// An empty cache of `bytes` in blocks of `block_bytes`.
    pub(super) fn new(bytes: u64, block_bytes: u32) -> Self {
        let block_bytes = u64::from(block_bytes.max(512));
        let capacity = usize::try_from(bytes / block_bytes).unwrap_or(NONE - 1);
        let by_block = BTreeMap::new();
        let slots = Vec::new();
        let vacant = Vec::new();
        Self { capacity, block_bytes, by_block, slots, vacant, newest: NONE, oldest: NONE }
    }

    /// Bytes of a block.
    pub(super) fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// True if it can hold a block.
    pub(super) fn is_there(&self) -> bool {
        self.capacity > 0
    }

    /// Uses the blocks of `len` bytes at `offset` in ascending order and adds missing ones. `Some(true)` marks them as
    /// dirty, `Some(false)` as written to the device.
    pub(super) fn use_range(
        &mut self,
        node: NodeId,
        offset: u64,
        len: u64,
        dirty: Option<bool>,
    ) -> CacheLookup {
        let mut lookup = CacheLookup { hit: true, evicted_dirty: 0 };
        if len == 0 {
            return lookup;
        }
        let blocks = offset / self.block_bytes..=offset.saturating_add(len - 1) / self.block_bytes;
        lookup.hit =
            self.is_there() && blocks.clone().all(|block| self.by_block.contains_key(&(node, block)));
        if !self.is_there() {
            return lookup;
        }
        for block in blocks {
            lookup.evicted_dirty += u64::from(self.use_block((node, block), dirty));
        }
        lookup
    }

    /// Uses one block; true if it evicted a dirty one.
    fn use_block(&mut self, block: Block, dirty: Option<bool>) -> bool {
        let mut evicted_dirty = false;
        let at = if let Some(at) = self.by_block.get(&block) {
            let at = *at;
            self.unlink(at);
            at
        } else {
            if self.by_block.len() >= self.capacity {
                evicted_dirty = self.remove(self.oldest);
            }
            self.place(block)
        };
        if let Some(dirty) = dirty {
            self.slots[at].dirty = dirty;
        }
        self.link_newest(at);
        evicted_dirty
    }

    fn place(&mut self, block: Block) -> usize {
        let slot = Slot { block, dirty: false, newer: NONE, older: NONE };
        let at = self.vacant.pop().unwrap_or(self.slots.len());
        if at == self.slots.len() {
            self.slots.push(slot);
        } else {
            self.slots[at] = slot;
        }
        self.by_block.insert(block, at);
        at
    }

    fn link_newest(&mut self, at: usize) {
        (self.slots[at].newer, self.slots[at].older) = (NONE, self.newest);
        match self.newest {
            NONE => self.oldest = at,
            newest => self.slots[newest].newer = at,
        }
        self.newest = at;
    }

    fn unlink(&mut self, at: usize) {
        let Slot { newer, older, .. } = self.slots[at];
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older].newer = newer,
        }
    }

    /// Drops a block; true if it was dirty.
    fn remove(&mut self, at: usize) -> bool {
        self.unlink(at);
        self.by_block.remove(&self.slots[at].block);
        self.vacant.push(at);
        self.slots[at].dirty
    }

    /// Drops the blocks of a file from `size` bytes on, because truncation removed their content.
    pub(super) fn drop_after(&mut self, node: NodeId, size: u64) {
        let first = size.div_ceil(self.block_bytes);
        let blocks = self.by_block.range((node, first)..=(node, u64::MAX));
        for at in blocks.map(|(_, at)| *at).collect::<Vec<_>>() {
            self.remove(at);
        }
    }

    /// Marks the blocks of a file as written to the device and returns how many were dirty.
    pub(super) fn clean(&mut self, node: NodeId) -> u64 {
        let blocks = self.by_block.range((node, 0)..=(node, u64::MAX));
        let dirty = blocks.map(|(_, at)| std::mem::take(&mut self.slots[*at].dirty));
        dirty.filter(|dirty| *dirty).count() as u64
    }

    /// Drops all blocks.
    pub(super) fn purge(&mut self) {
        self.by_block.clear();
        self.slots.clear();
        self.vacant.clear();
        self.newest = NONE;
        self.oldest = NONE;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BlockCache, CacheLookup};
    use crate::NodeId;

    /// A simple implementation of the same cache: a list, the oldest block first.
    struct Reference {
        capacity: usize,
        blocks: Vec<((u64, u64), bool)>,
    }

    impl Reference {
        fn use_range(
            &mut self,
            node: u64,
            blocks: std::ops::RangeInclusive<u64>,
            dirty: Option<bool>,
        ) -> CacheLookup {
            let there = |block| self.blocks.iter().any(|(other, _)| *other == (node, block));
            let mut lookup = CacheLookup { hit: blocks.clone().all(there), evicted_dirty: 0 };
            for block in blocks {
                let found = self.blocks.iter().position(|(other, _)| *other == (node, block));
                let was_dirty = found.is_some_and(|at| self.blocks.remove(at).1);
                if self.blocks.len() == self.capacity {
                    lookup.evicted_dirty += u64::from(self.blocks.remove(0).1);
                }
                self.blocks.push(((node, block), dirty.unwrap_or(was_dirty)));
            }
            lookup
        }
    }

    proptest! {
        #[test]
        fn evicts_exactly_as_the_reference(
            capacity in 1usize..20,
            steps in prop::collection::vec((0u8..12, 1u64..4, 0u64..30, 1u64..6), 1..200)
        ) {
            let mut cache = BlockCache::new(capacity as u64 * 4096, 4096);
            let mut reference = Reference { capacity, blocks: Vec::new() };
            for (kind, node, block, count) in steps {
                let blocks = block..=block + count - 1;
                match kind {
                    0 => {
                        let dirty = reference.blocks.iter_mut().filter(|((other, _), _)| *other == node);
                        let cleaned = dirty.map(|(_, dirty)| std::mem::take(dirty)).filter(|dirty| *dirty).count();
                        prop_assert_eq!(cache.clean(NodeId(node)), cleaned as u64);
                    }
                    1 => {
                        cache.drop_after(NodeId(node), block * 4096 - block.min(1));
                        reference.blocks.retain(|((other, at), _)| *other != node || *at < block);
                    }
                    kind => {
                        let dirty = [None, Some(true), Some(false)][usize::from(kind % 3)];
                        // Neither end of the range is on a block boundary.
                        let lookup = cache.use_range(NodeId(node), block * 4096 + 1, count * 4096 - 2, dirty);
                        prop_assert_eq!(lookup, reference.use_range(node, blocks, dirty));
                    }
                }
                prop_assert_eq!(cache.by_block.len(), reference.blocks.len());
            }
        }
    }

    #[test]
    fn a_cache_of_nothing_never_hits() {
        let mut cache = BlockCache::new(0, 4096);
        for _ in 0..2 {
            assert_eq!(
                cache.use_range(NodeId(2), 0, 4096, None),
                CacheLookup { hit: false, evicted_dirty: 0 }
            );
        }
    }

    #[test]
    fn a_purged_cache_is_cold() {
        let mut cache = BlockCache::new(1 << 20, 4096);
        cache.use_range(NodeId(2), 0, 8192, None);
        assert!(cache.use_range(NodeId(2), 0, 8192, None).hit);
        cache.purge();
        assert!(!cache.use_range(NodeId(2), 0, 8192, None).hit);
    }
}
