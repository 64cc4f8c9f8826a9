//! Systems whose directories are not served: nothing there keeps a name within an open directory without links.

use std::path::Path;

use crate::volume::directory::{DirectoryError, DirectoryOptions};
use crate::{Attributes, DirectoryEntry, NodeId, SetAttributes, Volume, VolumeResult, VolumeSpace};

/// A directory of the host as a volume. It has no values on this system, because [`Self::open`] always fails.
pub enum DirectoryVolume {}

impl DirectoryVolume {
    /// Fails with [`DirectoryError::Unsupported`].
    pub fn open(path: impl AsRef<Path>, _: &DirectoryOptions) -> Result<Self, DirectoryError> {
        Err(DirectoryError::Unsupported { path: path.as_ref().to_owned() })
    }
}

impl Volume for DirectoryVolume {
    fn attributes(&self, _: NodeId) -> VolumeResult<Attributes> {
        match *self {}
    }

    fn lookup(&self, _: NodeId, _: &str) -> VolumeResult<Attributes> {
        match *self {}
    }

    fn parent(&self, _: NodeId) -> VolumeResult<NodeId> {
        match *self {}
    }

    fn create(&self, _: NodeId, _: &str, _: u32) -> VolumeResult<Attributes> {
        match *self {}
    }

    fn make_directory(&self, _: NodeId, _: &str, _: u32) -> VolumeResult<Attributes> {
        match *self {}
    }

    fn remove(&self, _: NodeId, _: &str) -> VolumeResult<()> {
        match *self {}
    }

    fn remove_directory(&self, _: NodeId, _: &str) -> VolumeResult<()> {
        match *self {}
    }

    fn rename(&self, _: NodeId, _: &str, _: NodeId, _: &str) -> VolumeResult<()> {
        match *self {}
    }

    fn set_attributes(&self, _: NodeId, _: &SetAttributes) -> VolumeResult<Attributes> {
        match *self {}
    }

    fn list(&self, _: NodeId, _: u64, _: usize) -> VolumeResult<Vec<DirectoryEntry>> {
        match *self {}
    }

    fn read(&self, _: NodeId, _: u64, _: &mut [u8]) -> VolumeResult<usize> {
        match *self {}
    }

    fn write(&self, _: NodeId, _: u64, _: &[u8], _: bool) -> VolumeResult<()> {
        match *self {}
    }

    fn commit(&self, _: NodeId) -> VolumeResult<()> {
        match *self {}
    }

    fn space(&self) -> VolumeResult<VolumeSpace> {
        match *self {}
    }

    fn never_blocks(&self) -> bool {
        match *self {}
    }
}
