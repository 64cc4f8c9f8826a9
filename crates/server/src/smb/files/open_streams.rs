//! The open streams of each file, because a file is removed with its streams (MS-FSA 2.1.5.1.2.2, 2.1.5.4).

use std::collections::HashMap;
use std::sync::Arc;

use crate::smb::files::open_entries::OpenEntry;
use crate::smb::files::open_file::File;
use crate::smb::files::open_files::OpenFiles;
use crate::smb::names::file_locations::FileLocation;
use crate::{NodeId, Volume};

/// The open streams by the node that has them.
#[derive(Default)]
pub(crate) struct OpenStreams(HashMap<NodeId, Vec<Arc<File>>>);

impl OpenStreams {
    /// Adds a node that is open now, if it is a stream.
    pub(crate) fn add(&mut self, location: &FileLocation, file: &Arc<File>) {
        if let Some((base, _)) = location.stream {
            self.0.entry(base).or_default().push(Arc::clone(file));
        }
    }

    /// Removes a node that is no longer open.
    pub(crate) fn remove(&mut self, file: &Arc<File>) {
        let Some(base) = file.base() else { return };
        if let Some(streams) = self.0.get_mut(&base) {
            streams.retain(|other| !Arc::ptr_eq(other, file));
            if streams.is_empty() {
                self.0.remove(&base);
            }
        }
    }

    /// True if a stream of a node is open.
    pub(crate) fn has(&self, base: NodeId) -> bool {
        self.0.contains_key(&base)
    }

    /// True if an open stream of a node does not share the right to remove the file that an open has. Samba opens every stream for its
    /// removal with the file.
    pub(crate) fn keep(&self, base: NodeId, entry: &OpenEntry) -> bool {
        let keeps = |file: &Arc<File>| file.state().opens.exclude_removal(entry);
        self.0.get(&base).is_some_and(|streams| streams.iter().any(keeps))
    }
}

impl OpenFiles {
    /// Removes a file whose removal is pending, and has waited for the last of its streams to be closed. Called after each close: that of
    /// the file and that of the stream may be answered at the same time.
    pub(crate) fn remove_after_streams(&self, closed: &Arc<File>, volume: &dyn Volume) {
        let node = closed.base().unwrap_or(closed.node);
        let location = {
            let tables = self.tables();
            let waiting = tables.files.get(&node).filter(|_| !tables.streams.has(node));
            let Some(location) = waiting.and_then(|file| file.unused_location()) else { return };
            location
        };
        self.remove(volume, node, &location, None);
        self.forget_unused(&mut self.tables(), node);
    }
}
