//! Named streams of the nodes in memory. A stream is a file without a name of its own.

use crate::volume::memory::MemoryVolume;
use crate::volume::memory::NODE_BYTES;
use crate::volume::memory::content::{Content, read_lock, write_lock};
use crate::volume::memory::node::{Node, NodeKind};
use crate::volume::name::fold_case;
use crate::{Attributes, NodeId, VolumeError, VolumeResult};

/// Maximum number of streams of a node.
const MAX_STREAMS: usize = 256;
/// Permissions of the node of a stream, which nobody sees.
const MODE: u32 = 0o644;

/// The position of a stream in the list of its node.
fn position(streams: &[(String, NodeId)], name: &str) -> Option<usize> {
    let folded = fold_case(name);
    streams.iter().position(|(other, _)| fold_case(other) == folded)
}

impl MemoryVolume {
    pub(super) fn list_streams(&self, node: NodeId) -> VolumeResult<Vec<(String, Attributes)>> {
        let node = self.node(node)?;
        let streams = read_lock(&node.streams).clone();
        let found =
            streams.into_iter().filter_map(|(name, id)| Some((name, self.node(id).ok()?.attributes())));
        Ok(found.collect())
    }

    pub(super) fn add_stream(&self, node: NodeId, name: &str) -> VolumeResult<Attributes> {
        let node = self.node(node)?;
        let mut streams = write_lock(&node.streams);
        if position(&streams, name).is_some() {
            return Err(VolumeError::Exists);
        }
        if streams.len() >= MAX_STREAMS {
            return Err(VolumeError::NoSpace);
        }
        self.budget.take(NODE_BYTES)?;
        let stream = self.add(Node::new(self.new_number(), NodeKind::File(Content::default()), MODE));
        streams.push((name.to_owned(), stream.id));
        drop(streams);
        node.note_change();
        Ok(stream.attributes())
    }

    pub(super) fn drop_stream(&self, node: NodeId, name: &str) -> VolumeResult<()> {
        let node = self.node(node)?;
        let mut streams = write_lock(&node.streams);
        let at = position(&streams, name).ok_or(VolumeError::NotFound)?;
        let (_, stream) = streams.remove(at);
        drop(streams);
        self.remove_node(stream);
        node.note_change();
        Ok(())
    }

    pub(super) fn move_stream(&self, node: NodeId, name: &str, new_name: &str) -> VolumeResult<()> {
        let node = self.node(node)?;
        let mut streams = write_lock(&node.streams);
        let at = position(&streams, name).ok_or(VolumeError::NotFound)?;
        if position(&streams, new_name).is_some_and(|other| other != at) {
            return Err(VolumeError::Exists);
        }
        if let Some((name, _)) = streams.get_mut(at) {
            new_name.clone_into(name);
        }
        Ok(())
    }
}
