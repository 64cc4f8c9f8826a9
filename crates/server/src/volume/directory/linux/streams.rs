//! Named streams of SMB clients in extended attributes of a file, which limit them to 64 KiB.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{fgetxattr, fremovexattr};
use rustix::io::Errno;

use crate::volume::directory::linux::dos_attributes::store;
use crate::volume::directory::linux::errno::volume_error;
use crate::volume::directory::linux::extended_attributes;
use crate::volume::directory::linux::tree::Tree;
use crate::volume::name::fold_case;
use crate::{Attributes, NodeId, VolumeError, VolumeResult};

/// Start of the names of the attributes.
const PREFIX: &str = "user.sharebench.stream.";
/// Largest value that the kernel allows.
const MAX_BYTES: usize = 64 << 10;
/// Numbers of streams have this bit, which numbers of files have not.
const STREAM: u64 = 1 << 63;
/// Maximum number of streams that have a number. Beyond it no further stream is opened.
const MAX_NUMBERED: usize = 1 << 20;

#[derive(Default)]
struct Numbers {
    by_number: HashMap<u64, (NodeId, String)>,
    by_name: HashMap<(NodeId, String), u64>,
}

/// The streams that have been seen, by their numbers. Changes of streams exclude each other.
#[derive(Default)]
pub(super) struct Streams {
    numbers: Mutex<Numbers>,
    changing: Mutex<()>,
}

/// True for the number of a stream.
pub(super) fn is_stream(node: NodeId) -> bool {
    node.0 & STREAM != 0
}

fn attribute(name: &str) -> String {
    format!("{PREFIX}{name}")
}

fn value(fd: BorrowedFd<'_>, name: &str) -> VolumeResult<Vec<u8>> {
    let mut bytes = vec![0; MAX_BYTES];
    match fgetxattr(fd, attribute(name), &mut bytes) {
        Ok(len) => {
            bytes.truncate(len);
            Ok(bytes)
        }
        Err(Errno::NODATA) => Err(VolumeError::Stale),
        Err(errno) => Err(volume_error(errno)),
    }
}

fn set_value(fd: BorrowedFd<'_>, name: &str, bytes: &[u8]) -> VolumeResult<()> {
    if bytes.len() > MAX_BYTES {
        return Err(VolumeError::NoSpace);
    }
    store(fd, &attribute(name), bytes).map_err(|errno| match errno {
        // The file system keeps attributes within a block.
        Errno::TOOBIG | Errno::RANGE => VolumeError::NoSpace,
        errno => volume_error(errno),
    })
}

/// The names of the streams of an open file.
fn names(fd: BorrowedFd<'_>) -> VolumeResult<Vec<String>> {
    let all = extended_attributes::names(fd)?;
    Ok(all.iter().filter_map(|name| name.strip_prefix(PREFIX)).map(str::to_owned).collect())
}

fn stored_name(fd: BorrowedFd<'_>, name: &str) -> VolumeResult<Option<String>> {
    let folded = fold_case(name);
    Ok(names(fd)?.into_iter().find(|other| fold_case(other) == folded))
}

impl Streams {
    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self, node: NodeId, name: &str) -> VolumeResult<NodeId> {
        let mut numbers = self.numbers();
        if let Some(number) = numbers.by_name.get(&(node, name.to_owned())) {
            return Ok(NodeId(*number));
        }
        if numbers.by_number.len() >= MAX_NUMBERED {
            return Err(VolumeError::NoSpace);
        }
        let number = STREAM | (numbers.by_number.len() as u64 + 1);
        numbers.by_name.insert((node, name.to_owned()), number);
        numbers.by_number.insert(number, (node, name.to_owned()));
        Ok(NodeId(number))
    }

    fn place(&self, stream: NodeId) -> VolumeResult<(NodeId, String)> {
        self.numbers().by_number.get(&stream.0).cloned().ok_or(VolumeError::NotFound)
    }
}

impl Tree {
    fn stream_attributes_of(&self, base: &Attributes, name: &str, size: usize) -> VolumeResult<Attributes> {
        let node = self.streams.number(base.node, name)?;
        let size = size as u64;
        Ok(Attributes { node, directory: false, size, allocated: size, ..base.clone() })
    }

    /// Attributes of a stream by its number.
    pub(super) fn stream_attributes(&self, stream: NodeId) -> VolumeResult<Attributes> {
        let (node, name) = self.streams.place(stream)?;
        let size = value(self.node(node)?.fd(), &name)?.len();
        self.stream_attributes_of(&self.attributes(node)?, &name, size)
    }

    pub(super) fn list_streams(&self, node: NodeId) -> VolumeResult<Vec<(String, Attributes)>> {
        let open = self.node(node)?;
        let base = self.attributes(node)?;
        let mut found = Vec::new();
        for name in names(open.fd())? {
            let size = value(open.fd(), &name)?.len();
            let attributes = self.stream_attributes_of(&base, &name, size)?;
            found.push((name, attributes));
        }
        Ok(found)
    }

    pub(super) fn create_stream(&self, node: NodeId, name: &str) -> VolumeResult<Attributes> {
        let _changing = self.streams.changing();
        let open = self.node(node)?;
        if stored_name(open.fd(), name)?.is_some() {
            return Err(VolumeError::Exists);
        }
        set_value(open.fd(), name, &[])?;
        self.stream_attributes_of(&self.attributes(node)?, name, 0)
    }

    pub(super) fn remove_stream(&self, node: NodeId, name: &str) -> VolumeResult<()> {
        let _changing = self.streams.changing();
        let open = self.node(node)?;
        let stored = stored_name(open.fd(), name)?.ok_or(VolumeError::NotFound)?;
        fremovexattr(open.fd().as_fd(), attribute(&stored)).map_err(volume_error)
    }

    pub(super) fn rename_stream(&self, node: NodeId, name: &str, new_name: &str) -> VolumeResult<()> {
        let _changing = self.streams.changing();
        let open = self.node(node)?;
        let stored = stored_name(open.fd(), name)?.ok_or(VolumeError::NotFound)?;
        if stored_name(open.fd(), new_name)?.is_some_and(|other| other != stored) {
            return Err(VolumeError::Exists);
        }
        let bytes = value(open.fd(), &stored)?;
        set_value(open.fd(), new_name, &bytes)?;
        if stored != new_name {
            fremovexattr(open.fd().as_fd(), attribute(&stored)).map_err(volume_error)?;
        }
        let number = self.streams.number(node, &stored)?;
        let mut numbers = self.streams.numbers();
        numbers.by_name.remove(&(node, stored));
        numbers.by_name.insert((node, new_name.to_owned()), number.0);
        numbers.by_number.insert(number.0, (node, new_name.to_owned()));
        Ok(())
    }

    pub(super) fn read_stream(&self, stream: NodeId, offset: u64, buffer: &mut [u8]) -> VolumeResult<usize> {
        let (node, name) = self.streams.place(stream)?;
        let bytes = value(self.node(node)?.fd(), &name)?;
        let from = usize::try_from(offset).ok().and_then(|start| bytes.get(start..)).unwrap_or_default();
        let count = from.len().min(buffer.len());
        buffer[..count].copy_from_slice(&from[..count]);
        Ok(count)
    }

    /// Changes the bytes of a stream.
    pub(super) fn change_stream(
        &self,
        stream: NodeId,
        change: impl FnOnce(&mut Vec<u8>),
    ) -> VolumeResult<()> {
        let _changing = self.streams.changing();
        let (node, name) = self.streams.place(stream)?;
        let open = self.node(node)?;
        let mut bytes = value(open.fd(), &name)?;
        change(&mut bytes);
        set_value(open.fd(), &name, &bytes)
    }

    /// Writes into a stream, up to its largest size.
    pub(super) fn write_stream(&self, stream: NodeId, offset: u64, data: &[u8]) -> VolumeResult<()> {
        let end = usize::try_from(offset).ok().and_then(|start| start.checked_add(data.len()));
        let end = end.filter(|end| *end <= MAX_BYTES).ok_or(VolumeError::NoSpace)?;
        self.change_stream(stream, |bytes| {
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[end - data.len()..end].copy_from_slice(data);
        })
    }

    /// Sets the length of a stream.
    pub(super) fn resize_stream(&self, stream: NodeId, size: u64) -> VolumeResult<()> {
        let size =
            usize::try_from(size).ok().filter(|size| *size <= MAX_BYTES).ok_or(VolumeError::NoSpace)?;
        self.change_stream(stream, |bytes| bytes.resize(size, 0))
    }
}
