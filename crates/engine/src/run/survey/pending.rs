//! The directories that a survey knows and has yet to list.

use sharebench_model::{ErrorClass, OpError, OpStep};

use crate::data::listed_pages::child_path;

/// Maximum bytes of the names of the directories that wait to be listed, and of the paths of their parents.
pub(super) const MAX_PENDING_BYTES: usize = 16 << 20;

/// A directory to list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PendingDirectory {
    pub path: String,
    /// Levels of directories above its files.
    pub depth: u32,
}

/// The directories of a walk that are known and not yet listed. The walk takes the latest ones first, so that about the
/// siblings of each level wait, once for each session. Their names share one text for each parent, because a share
/// may have a million directories.
#[derive(Default)]
pub(super) struct PendingDirectories {
    groups: Vec<Siblings>,
    count: usize,
    bytes: usize,
}

/// Directories with the same parent.
struct Siblings {
    parent: String,
    depth: u32,
    /// Each name ends with a NUL, which no name contains.
    names: String,
}

impl PendingDirectories {
    /// Adds the directories of a listed directory. Each of the names ends with a NUL.
    pub fn push(&mut self, parent: &PendingDirectory, names: String) -> Result<(), OpError> {
        if names.is_empty() {
            return Ok(());
        }
        let PendingDirectory { path, depth } = parent;
        let bytes = self.bytes + names.len() + path.len();
        if bytes > MAX_PENDING_BYTES {
            let mib = MAX_PENDING_BYTES >> 20;
            let detail =
                format!("the names of the directories that wait to be listed exceed {mib} MiB at '{path}'");
            return Err(OpError::new(ErrorClass::Unsupported, OpStep::Path, detail));
        }
        self.bytes = bytes;
        self.count += names.bytes().filter(|byte| *byte == 0).count();
        self.groups.push(Siblings { parent: path.clone(), depth: depth + 1, names });
        Ok(())
    }

    /// The next directory.
    pub fn pop(&mut self) -> Option<Result<PendingDirectory, OpError>> {
        let siblings = self.groups.last_mut()?;
        let depth = siblings.depth;
        // A group has at least one name.
        let names = siblings.names.strip_suffix('\0').unwrap_or_default();
        let start = names.rfind('\0').map_or(0, |end| end + 1);
        let path = child_path(&siblings.parent, &names[start..]);
        self.count -= 1;
        self.bytes -= siblings.names.len() - start;
        siblings.names.truncate(start);
        if start == 0 {
            self.bytes -= siblings.parent.len();
            self.groups.pop();
        }
        Some(path.map(|path| PendingDirectory { path, depth }))
    }

    /// Number of the directories.
    pub fn len(&self) -> usize {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(path: &str, depth: u32) -> PendingDirectory {
        PendingDirectory { path: path.to_owned(), depth }
    }

    #[test]
    fn pending_directories_return_the_latest_first_with_their_depth() {
        let mut pending = PendingDirectories::default();
        let next = |pending: &mut PendingDirectories| pending.pop().map(Result::unwrap);
        pending.push(&directory("", 0), "a\0b\0".to_owned()).unwrap();
        assert_eq!(pending.len(), 2);
        let b = next(&mut pending).unwrap();
        assert_eq!(b, directory("b", 1));
        // Another session takes the next one before the first one has listed its own.
        assert_eq!(next(&mut pending), Some(directory("a", 1)));
        pending.push(&b, "c\0".to_owned()).unwrap();
        pending.push(&directory("a", 1), String::new()).unwrap();
        assert_eq!(next(&mut pending), Some(directory("b/c", 2)));
        assert_eq!((next(&mut pending), pending.len(), pending.bytes), (None, 0, 0));
    }

    #[test]
    fn pending_directories_are_limited_with_their_parents() {
        let mut pending = PendingDirectories::default();
        assert!(pending.push(&directory("a", 1), "x".repeat(MAX_PENDING_BYTES)).is_err());
        let mut pending = PendingDirectories::default();
        let parent = directory(&"p".repeat(1 << 20), 1);
        let accepted = (0..100).take_while(|_| pending.push(&parent, "x\0".to_owned()).is_ok()).count();
        assert_eq!(accepted, 15);
    }
}
