//! The directories above the export, which NFSv4 clients walk instead of calling MOUNT (RFC 7530, 7).

use std::time::UNIX_EPOCH;

use crate::nfs::handle::FileObject;
use crate::{Attributes, NodeId, ROOT};

/// The path of the export. Each directory above the export has one entry, the next component.
#[derive(Debug)]
pub(super) struct PseudoRoot(Vec<String>);

impl PseudoRoot {
    /// The directories above an export such as `/export`.
    pub(super) fn new(export: &str) -> Self {
        Self(export.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// The root of the server.
    pub(super) fn root(&self) -> FileObject {
        self.object_at(0)
    }

    fn object_at(&self, depth: usize) -> FileObject {
        if depth >= self.0.len() { FileObject::Node(ROOT) } else { FileObject::Pseudo(depth as u32) }
    }

    /// The only name in a directory, and what it is.
    pub(super) fn entry(&self, depth: u32) -> Option<(&str, FileObject)> {
        let name = self.0.get(depth as usize)?;
        Some((name, self.object_at(depth as usize + 1)))
    }

    /// The directory above a directory, or above the root of the volume; none above the root of the server.
    pub(super) fn parent(&self, object: FileObject) -> Option<FileObject> {
        let depth = match object {
            FileObject::Pseudo(depth) => depth as usize,
            FileObject::Node(_) => self.0.len(),
        };
        Some(FileObject::Pseudo(u32::try_from(depth.checked_sub(1)?).ok()?))
    }

    /// Attributes of a directory.
    pub(super) fn attributes(depth: u32) -> Attributes {
        Attributes {
            node: NodeId(0),
            file_id: u64::from(depth) + 1,
            directory: true,
            link: false,
            size: 0,
            allocated: 0,
            mode: 0o555,
            uid: 0,
            gid: 0,
            links: 3,
            accessed: UNIX_EPOCH,
            modified: UNIX_EPOCH,
            changed: UNIX_EPOCH,
            created: UNIX_EPOCH,
            change: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_is_reached_by_its_components() {
        let root = PseudoRoot::new("/a/b");
        assert_eq!(root.root(), FileObject::Pseudo(0));
        assert_eq!(root.entry(0), Some(("a", FileObject::Pseudo(1))));
        assert_eq!(root.entry(1), Some(("b", FileObject::Node(ROOT))));
        assert_eq!(root.entry(2), None);
        assert_eq!(root.parent(FileObject::Node(ROOT)), Some(FileObject::Pseudo(1)));
        assert_eq!(root.parent(FileObject::Pseudo(0)), None);
        let whole = PseudoRoot::new("/");
        assert_eq!((whole.root(), whole.parent(FileObject::Node(ROOT))), (FileObject::Node(ROOT), None));
    }
}
