//! One file or directory of a memory volume.

use std::sync::RwLock;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::memory::content::{Content, read_lock};
use crate::memory::names::Names;
use crate::{Attributes, DosAttributes, NodeId, SetAttributes, VolumeError, VolumeResult};

/// Maximum number of names of a file, as on common Unix file systems.
const MAX_NAMES: u32 = 65_000;

/// An instant in nanoseconds since 1970 that can change without a lock; valid until the year 2262.
#[derive(Debug)]
struct Instant(AtomicI64);

impl Instant {
    fn new(time: SystemTime) -> Self {
        Self(AtomicI64::new(nanoseconds(time)))
    }

    fn set(&self, time: SystemTime) {
        self.0.store(nanoseconds(time), Ordering::Relaxed);
    }

    fn get(&self) -> SystemTime {
        let nanoseconds = self.0.load(Ordering::Relaxed);
        let distance = Duration::from_nanos(nanoseconds.unsigned_abs());
        let time =
            if nanoseconds < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
        time.unwrap_or(UNIX_EPOCH)
    }
}

fn nanoseconds(time: SystemTime) -> i64 {
    let clamp = |distance: Duration| i64::try_from(distance.as_nanos()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => clamp(after),
        Err(before) => -clamp(before.duration()),
    }
}

/// A file or directory, shared by the table of nodes and by every call that uses it.
///
/// Each attribute can change without a lock on the node, so that writers of one file do not wait for each other only to
/// update its times. A node without a name stays valid for the calls that hold it, and is freed with the last one.
pub(super) struct Node {
    pub(super) id: NodeId,
    pub(super) kind: Kind,
    mode: AtomicU32,
    uid: AtomicU32,
    gid: AtomicU32,
    accessed: Instant,
    modified: Instant,
    changed: Instant,
    created: Instant,
    dos_bits: AtomicU32,
    /// Names of a file or link.
    names: AtomicU32,
    /// Counts changes.
    change: AtomicU64,
}

/// Kind of a node, with its content.
pub(super) enum Kind {
    File(Content),
    Directory(Directory),
    /// A symbolic link with its target.
    Link(Box<[u8]>),
}

/// The names of a directory and its place in the tree.
pub(super) struct Directory {
    pub(super) parent: AtomicU64,
    pub(super) names: RwLock<Names>,
}

impl Node {
    /// A new node with the current time in all four times.
    pub(super) fn new(id: NodeId, kind: Kind, mode: u32) -> Self {
        let now = SystemTime::now();
        Self {
            id,
            kind,
            mode: AtomicU32::new(mode & 0o7777),
            uid: AtomicU32::new(0),
            gid: AtomicU32::new(0),
            accessed: Instant::new(now),
            modified: Instant::new(now),
            changed: Instant::new(now),
            created: Instant::new(now),
            dos_bits: AtomicU32::new(0),
            names: AtomicU32::new(1),
            change: AtomicU64::new(1),
        }
    }

    /// Adds a name of a file; an error at the limit of names.
    pub(super) fn add_name(&self) -> VolumeResult<()> {
        let more = |names: u32| (names < MAX_NAMES).then_some(names + 1);
        let added = self.names.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        added.map_err(|_| VolumeError::NoSpace)?;
        self.note_change();
        Ok(())
    }

    /// Removes a name; true if it was the last one.
    pub(super) fn drop_name(&self) -> bool {
        self.note_change();
        self.names.fetch_sub(1, Ordering::Relaxed) <= 1
    }

    fn note_change(&self) {
        self.changed.set(SystemTime::now());
        self.change.fetch_add(1, Ordering::Release);
    }

    /// The directory, or [`VolumeError::NotDirectory`].
    pub(super) fn directory(&self) -> VolumeResult<&Directory> {
        match &self.kind {
            Kind::Directory(directory) => Ok(directory),
            Kind::File(_) | Kind::Link(_) => Err(VolumeError::NotDirectory),
        }
    }

    /// The file's bytes, or [`VolumeError::IsDirectory`].
    pub(super) fn content(&self) -> VolumeResult<&Content> {
        match &self.kind {
            Kind::File(content) => Ok(content),
            Kind::Directory(_) => Err(VolumeError::IsDirectory),
            Kind::Link(_) => Err(VolumeError::IsLink),
        }
    }

    /// The target of a link; an error for other nodes.
    pub(super) fn target(&self) -> VolumeResult<&[u8]> {
        match &self.kind {
            Kind::Link(target) => Ok(target),
            Kind::File(_) | Kind::Directory(_) => Err(VolumeError::BadName),
        }
    }

    /// Records that content or names changed now.
    pub(super) fn touch(&self) {
        let now = SystemTime::now();
        self.modified.set(now);
        self.changed.set(now);
        self.change.fetch_add(1, Ordering::Release);
    }

    /// Sets the requested attributes except the size.
    pub(super) fn change(&self, change: &SetAttributes) {
        let set = |cell: &AtomicU32, value: Option<u32>| {
            if let Some(value) = value {
                cell.store(value, Ordering::Relaxed);
            }
        };
        set(&self.mode, change.mode.map(|mode| mode & 0o7777));
        set(&self.uid, change.uid);
        set(&self.gid, change.gid);
        if let Some(time) = change.accessed {
            self.accessed.set(time);
        }
        if let Some(time) = change.modified {
            self.modified.set(time);
        }
        if *change != SetAttributes::default() {
            self.note_change();
        }
    }

    /// Attributes of DOS; a creation time that a client has set is in [`Self::attributes`].
    pub(super) fn dos_attributes(&self) -> DosAttributes {
        DosAttributes { bits: self.dos_bits.load(Ordering::Relaxed), created: None }
    }

    /// Sets attributes of DOS.
    pub(super) fn set_dos_attributes(&self, attributes: &DosAttributes) {
        self.dos_bits.store(attributes.bits, Ordering::Relaxed);
        if let Some(created) = attributes.created {
            self.created.set(created);
        }
        self.note_change();
    }

    /// Attributes for front ends.
    pub(super) fn attributes(&self) -> Attributes {
        // Before the content: a reader that sees a new change number must not have old attributes.
        let change = self.change.load(Ordering::Acquire);
        let names = self.names.load(Ordering::Relaxed);
        let (directory, size, allocated, links) = match &self.kind {
            Kind::File(content) => (false, content.size(), content.charged(), names),
            Kind::Link(target) => (false, target.len() as u64, 0, names),
            Kind::Directory(directory) => {
                let names = read_lock(&directory.names);
                (true, 0, 0, names.subdirectories().saturating_add(2))
            }
        };
        Attributes {
            node: self.id,
            file_id: self.id.0,
            directory,
            link: matches!(self.kind, Kind::Link(_)),
            size,
            allocated,
            mode: self.mode.load(Ordering::Relaxed),
            uid: self.uid.load(Ordering::Relaxed),
            gid: self.gid.load(Ordering::Relaxed),
            links,
            accessed: self.accessed.get(),
            modified: self.modified.get(),
            changed: self.changed.get(),
            created: self.created.get(),
            change,
        }
    }
}
