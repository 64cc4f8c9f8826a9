//! Extended attributes of the nodes in memory.

use crate::volume::memory::MemoryVolume;
use crate::volume::memory::content::write_lock;
use crate::volume::name::MAX_NAME_BYTES;
use crate::{NodeId, VolumeError, VolumeResult};

/// Maximum number of attributes of a node, and of their bytes, as a reply can hold.
const MAX_ATTRIBUTES: usize = 256;
const MAX_BYTES: usize = 60 << 10;

/// Bytes that the budget is charged for an attribute.
fn charge(name: &str, value: &[u8]) -> u64 {
    (name.len() + value.len() + size_of::<(String, Vec<u8>)>()) as u64
}

impl MemoryVolume {
    /// Stores an attribute; an empty value removes it.
    pub(super) fn store_extended(&self, node: NodeId, name: &str, value: &[u8]) -> VolumeResult<()> {
        let node = self.node(node)?;
        let mut stored = write_lock(&node.extended);
        let at = stored.iter().position(|(other, _)| other == name);
        let others = stored.iter().filter(|(other, _)| other != name);
        let bytes: usize = others.map(|(name, value)| name.len() + value.len()).sum();
        if value.is_empty() {
            if let Some((name, value)) = at.map(|at| stored.remove(at)) {
                self.budget.give(charge(&name, &value));
            }
        } else {
            let fits = bytes + name.len() + value.len() <= MAX_BYTES;
            if !fits || at.is_none() && stored.len() >= MAX_ATTRIBUTES || name.len() > MAX_NAME_BYTES {
                return Err(VolumeError::NoSpace);
            }
            self.budget.take(charge(name, value))?;
            let new = (name.to_owned(), value.to_vec());
            match at.and_then(|at| stored.get_mut(at)) {
                Some(old) => {
                    let (name, value) = std::mem::replace(old, new);
                    self.budget.give(charge(&name, &value));
                }
                None => stored.push(new),
            }
        }
        drop(stored);
        node.note_change();
        Ok(())
    }

    /// Returns what the budget was charged for the attributes of a node that is removed.
    pub(super) fn drop_extended(&self, attributes: &[(String, Vec<u8>)]) {
        self.budget.give(attributes.iter().map(|(name, value)| charge(name, value)).sum());
    }
}
