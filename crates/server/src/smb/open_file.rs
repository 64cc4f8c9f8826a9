//! One open file or directory of an SMB client.

use async_trait::async_trait;
use smb_server::{Bytes, DirEntry, FileInfo, FileTimes, Handle, SmbResult};

use crate::smb::file_info::{READ_ONLY, file_info, mode_with, system_time};
use crate::smb::pattern::Pattern;
use crate::smb::read_buffers::ReadBuffers;
use crate::smb::resolve::find;
use crate::smb::volume_call::{VolumeCall, smb_result};
use crate::{NodeId, SetAttributes, Volume, VolumeError};

/// Number of entries requested from the volume at a time.
const LIST_PAGE: usize = 1024;

/// An open of one node.
pub(super) struct OpenFile {
    pub(super) volume: VolumeCall,
    pub(super) buffers: ReadBuffers,
    pub(super) node: NodeId,
    /// The directory in which it was found; the root is its own parent.
    pub(super) parent: NodeId,
    pub(super) name: String,
    pub(super) directory: bool,
    /// Opened for writing, so that the client does not intend to remove it.
    pub(super) writable: bool,
}

#[async_trait]
impl Handle for OpenFile {
    async fn read(&self, offset: u64, len: u32) -> SmbResult<Bytes> {
        let node = self.node;
        let buffers = self.buffers.clone();
        let read = move |volume: &dyn Volume| {
            let mut buffer = buffers.take(len as usize);
            let count = smb_result(volume.read(node, offset, buffer.bytes()))?;
            Ok(buffer.filled(count))
        };
        self.volume.run(read).await
    }

    async fn write(&self, offset: u64, data: &[u8]) -> SmbResult<u32> {
        self.write_owned(offset, data.to_vec()).await
    }

    async fn write_owned(&self, offset: u64, data: Vec<u8>) -> SmbResult<u32> {
        let node = self.node;
        // Not durable: for a write-through request the protocol layer calls `flush` before it replies.
        let write = move |volume: &dyn Volume| {
            smb_result(volume.write(node, offset, &data, false)).map(|()| data.len() as u32)
        };
        self.volume.run(write).await
    }

    async fn flush(&self) -> SmbResult<()> {
        if self.directory {
            return Ok(());
        }
        let node = self.node;
        self.volume.run(move |volume| smb_result(volume.commit(node))).await
    }

    /// A file that cannot be removed is reported as read-only. The protocol layer calls this when a client requests a
    /// removal; the result of the removal itself, which happens at the close, is never reported to the client (MS-SMB2
    /// 3.3.4.17).
    async fn stat(&self) -> SmbResult<FileInfo> {
        let node = self.node;
        let parent = self.parent;
        let name = self.name.clone();
        let writable = self.writable;
        let stat = move |volume: &dyn Volume| {
            let attributes = smb_result(volume.attributes(node))?;
            let mut info = file_info(&name, &attributes);
            info.read_only |= !attributes.directory && !writable && volume.may_remove(parent).is_err();
            Ok(info)
        };
        self.volume.run(stat).await
    }

    async fn set_times(&self, times: FileTimes) -> SmbResult<()> {
        let change = SetAttributes {
            accessed: times.last_access_time.and_then(system_time),
            modified: times.last_write_time.and_then(system_time),
            ..SetAttributes::default()
        };
        if change == SetAttributes::default() {
            return Ok(());
        }
        self.change(move |_| change).await
    }

    async fn set_attributes(&self, attributes: u32) -> SmbResult<()> {
        // Only READONLY of files is stored. The other attributes are accepted and ignored: the Linux client sets HIDDEN
        // on a read-only file before it removes it, and fails the removal if it cannot.
        if self.directory {
            return Ok(());
        }
        let read_only = attributes & READ_ONLY != 0;
        let change =
            move |mode| SetAttributes { mode: Some(mode_with(mode, read_only)), ..SetAttributes::default() };
        self.change(change).await
    }

    async fn truncate(&self, len: u64) -> SmbResult<()> {
        self.change(move |_| SetAttributes { size: Some(len), ..SetAttributes::default() }).await
    }

    async fn list_dir(&self, pattern: Option<&str>) -> SmbResult<Vec<DirEntry>> {
        let node = self.node;
        let pattern = pattern.map(str::to_owned);
        self.volume.run(move |volume| list(volume, node, pattern.as_deref())).await
    }

    async fn close(self: Box<Self>) -> SmbResult<()> {
        Ok(())
    }

    async fn link_count(&self) -> SmbResult<u32> {
        let node = self.node;
        let links = move |volume: &dyn Volume| match volume.attributes(node) {
            Ok(attributes) if attributes.directory => Ok(1),
            Ok(attributes) => Ok(attributes.links),
            Err(VolumeError::Stale | VolumeError::NotFound) => Ok(0),
            Err(error) => smb_result(Err(error)),
        };
        self.volume.run(links).await
    }

    /// Called when a client requests the removal of a directory; see [`Self::stat`].
    async fn dir_is_empty(&self) -> SmbResult<bool> {
        let node = self.node;
        let parent = self.parent;
        let empty = move |volume: &dyn Volume| {
            smb_result(volume.may_remove(parent))?;
            Ok(smb_result(volume.list(node, 0, 1))?.is_empty())
        };
        self.volume.run(empty).await
    }
}

impl OpenFile {
    /// Changes attributes as `of_mode` derives it from the current mode.
    async fn change(&self, of_mode: impl FnOnce(u32) -> SetAttributes + Send + 'static) -> SmbResult<()> {
        let node = self.node;
        let change = move |volume: &dyn Volume| {
            let mode = smb_result(volume.attributes(node))?.mode;
            smb_result(volume.set_attributes(node, &of_mode(mode))).map(|_| ())
        };
        self.volume.run(change).await
    }
}

/// The entries of a directory that match the pattern and have a valid SMB name.
fn list(volume: &dyn Volume, directory: NodeId, pattern: Option<&str>) -> SmbResult<Vec<DirEntry>> {
    if let Some(name) = pattern.and_then(Pattern::plain) {
        let found = find(volume, directory, name)?;
        return Ok(found
            .map(|(name, attributes)| DirEntry { info: file_info(&name, &attributes) })
            .into_iter()
            .collect());
    }
    let pattern = pattern.map(Pattern::new);
    let wanted =
        |name: &str| is_expressible(name) && pattern.as_ref().is_none_or(|pattern| pattern.matches(name));
    let mut entries = Vec::new();
    let mut cookie = 0;
    loop {
        let page = smb_result(volume.list(directory, cookie, LIST_PAGE))?;
        let Some(last) = page.last() else { return Ok(entries) };
        cookie = last.cookie;
        let matching = page.iter().filter(|entry| wanted(&entry.name));
        entries.extend(matching.map(|entry| DirEntry { info: file_info(&entry.name, &entry.attributes) }));
    }
}

/// False for names that no SMB path can contain (MS-FSCC 2.1.5); NFS clients may create such names.
fn is_expressible(name: &str) -> bool {
    !name.contains(|letter: char| letter.is_ascii_control() || "\\:*?\"<>|".contains(letter))
}
