//! One file or directory of a memory volume.

use std::sync::RwLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::volume::memory::content::{Content, read_lock};
use crate::volume::memory::names::Names;
use crate::{Attributes, DosAttributes, ListedIn, NodeId, SetAttributes, VolumeError, VolumeResult};

/// Maximum number of names of a file, as on common Unix file systems.
const MAX_NAMES: u32 = 65_000;

/// An instant that can change without a lock: seconds since [`FIRST_SECOND`] in the upper 34 bits and nanoseconds in the
/// lower 30, which covers the years 1901 to 2446 like the file systems of Linux.
#[derive(Debug)]
struct Instant(AtomicU64);

/// The first second, from 1970.
const FIRST_SECOND: i64 = -(1 << 31);
/// The number of seconds.
const SECONDS: i64 = 1 << 34;
const NANOSECOND_BITS: u32 = 30;

impl Instant {
    fn new(time: SystemTime) -> Self {
        Self(AtomicU64::new(packed(time)))
    }

    fn set(&self, time: SystemTime) {
        self.0.store(packed(time), Ordering::Relaxed);
    }

    fn get(&self) -> SystemTime {
        let packed = self.0.load(Ordering::Relaxed);
        let seconds = (packed >> NANOSECOND_BITS).cast_signed() + FIRST_SECOND;
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let start = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
        let nanoseconds = Duration::from_nanos(packed & ((1 << NANOSECOND_BITS) - 1));
        start.and_then(|start| start.checked_add(nanoseconds)).unwrap_or(UNIX_EPOCH)
    }
}

/// The bits of an instant; those out of range become the first or the last second.
fn packed(time: SystemTime) -> u64 {
    let (seconds, nanoseconds) = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => (i64::try_from(after.as_secs()).unwrap_or(i64::MAX), after.subsec_nanos()),
        Err(before) => {
            // Nanoseconds count forward from the preceding second.
            let before = before.duration();
            let part = (1_000_000_000 - before.subsec_nanos()) % 1_000_000_000;
            let whole = i64::try_from(before.as_secs()).unwrap_or(i64::MAX);
            (-whole - i64::from(part > 0), part)
        }
    };
    let seconds = seconds.saturating_sub(FIRST_SECOND).clamp(0, SECONDS - 1);
    (seconds as u64) << NANOSECOND_BITS | u64::from(nanoseconds)
}

/// No directory: a file that has had several names, or a stream.
const ELSEWHERE: u64 = 0;

/// A file or directory, shared by the table of nodes and by every call that uses it.
///
/// Each attribute can change without a lock on the node, so that writers of one file do not wait for each other only to
/// update its times. A node without a name stays valid for the calls that hold it, and is freed with the last one.
pub(super) struct Node {
    pub(super) id: NodeId,
    pub(super) kind: NodeKind,
    mode: AtomicU32,
    uid: AtomicU32,
    gid: AtomicU32,
    accessed: Instant,
    modified: Instant,
    changed: Instant,
    created: Instant,
    dos_bits: AtomicU32,
    /// Named streams, each a node of its own.
    pub(super) streams: RwLock<Vec<(String, NodeId)>>,
    /// A security descriptor that a client has stored.
    pub(super) descriptor: RwLock<Option<Box<[u8]>>>,
    /// Extended attributes that clients have stored, by name.
    pub(super) extended: RwLock<Vec<(String, Vec<u8>)>>,
    /// Names of a file or link.
    names: AtomicU32,
    /// The directory of a file or link with one name; [`ELSEWHERE`] for others.
    home: AtomicU64,
    /// Counts changes.
    change: AtomicU64,
}

/// Kind of a node, with its content.
pub(super) enum NodeKind {
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
    pub(super) fn new(id: NodeId, kind: NodeKind, mode: u32) -> Self {
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
            streams: RwLock::default(),
            descriptor: RwLock::default(),
            extended: RwLock::default(),
            names: AtomicU32::new(1),
            home: AtomicU64::new(ELSEWHERE),
            change: AtomicU64::new(1),
        }
    }

    /// Adds a name of a file; an error at the limit of names.
    pub(super) fn add_name(&self) -> VolumeResult<()> {
        let more = |names: u32| (names < MAX_NAMES).then_some(names + 1);
        let added = self.names.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        added.map_err(|_| VolumeError::NoSpace)?;
        self.home.swap(ELSEWHERE, Ordering::AcqRel);
        self.note_change();
        Ok(())
    }

    /// Records the directory of a new or moved node.
    pub(super) fn place_in(&self, directory: NodeId) {
        if let NodeKind::Directory(known) = &self.kind {
            known.parent.store(directory.0, Ordering::Relaxed);
            return;
        }
        self.home.swap(directory.0, Ordering::AcqRel);
        // A name that is added at the same time is counted before it clears the directory.
        if self.names.load(Ordering::Acquire) > 1 {
            self.home.store(ELSEWHERE, Ordering::Release);
        }
    }

    /// The directories whose listings show the node.
    pub(super) fn listed_in(&self) -> ListedIn {
        if let NodeKind::Directory(known) = &self.kind {
            return ListedIn::Directory(NodeId(known.parent.load(Ordering::Relaxed)));
        }
        match self.home.load(Ordering::Acquire) {
            ELSEWHERE => ListedIn::Unknown,
            home => ListedIn::Directory(NodeId(home)),
        }
    }

    /// Removes a name; true if it was the last one.
    pub(super) fn drop_name(&self) -> bool {
        self.note_change();
        self.names.fetch_sub(1, Ordering::Relaxed) <= 1
    }

    pub(super) fn note_change(&self) {
        self.changed.set(SystemTime::now());
        self.change.fetch_add(1, Ordering::Release);
    }

    /// The directory, or [`VolumeError::NotDirectory`].
    pub(super) fn directory(&self) -> VolumeResult<&Directory> {
        match &self.kind {
            NodeKind::Directory(directory) => Ok(directory),
            NodeKind::File(_) | NodeKind::Link(_) => Err(VolumeError::NotDirectory),
        }
    }

    /// The file's bytes, or [`VolumeError::IsDirectory`].
    pub(super) fn content(&self) -> VolumeResult<&Content> {
        match &self.kind {
            NodeKind::File(content) => Ok(content),
            NodeKind::Directory(_) => Err(VolumeError::IsDirectory),
            NodeKind::Link(_) => Err(VolumeError::IsLink),
        }
    }

    /// The target of a link; an error for other nodes.
    pub(super) fn target(&self) -> VolumeResult<&[u8]> {
        match &self.kind {
            NodeKind::Link(target) => Ok(target),
            NodeKind::File(_) | NodeKind::Directory(_) => Err(VolumeError::BadName),
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
        if let Some(time) = change.changed {
            self.changed.set(time);
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
            NodeKind::File(content) => (false, content.size(), content.charged(), names),
            NodeKind::Link(target) => (false, target.len() as u64, 0, names),
            NodeKind::Directory(directory) => {
                let names = read_lock(&directory.names);
                (true, 0, 0, names.subdirectories().saturating_add(2))
            }
        };
        Attributes {
            node: self.id,
            file_id: self.id.0,
            directory,
            link: matches!(self.kind, NodeKind::Link(_)),
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
