//! What requests of SMB 1 name.

use super::names::joined;
use super::numbers::{Fid, Smb1Scope};
use crate::input::protocols::smb::shares::directory;
use crate::operation::Action;

/// What a request names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// An open file.
    Fid(Fid),
    /// A name within the share.
    Name(String),
}

impl Target {
    /// What it names, if it was seen before.
    pub(super) fn known(&self, scope: &mut Smb1Scope<'_, '_>) -> Option<u32> {
        match self {
            Self::Fid(fid) => Some(scope.get(*fid).file),
            Self::Name(name) => scope.known(name),
        }
    }

    /// What it names, which exists.
    pub(super) fn existing(&self, scope: &mut Smb1Scope<'_, '_>) -> u32 {
        match self {
            Self::Fid(fid) => scope.get(*fid).file,
            Self::Name(name) => scope.existing(name),
        }
    }

    /// Gives it another name, in its share or in its directory.
    pub(super) fn rename(&self, name: &str, same_directory: bool, scope: &mut Smb1Scope<'_, '_>) -> Action {
        let (from, path) = match self {
            Self::Name(from) => (Some(from.clone()), scope.path(from)),
            Self::Fid(fid) => {
                let open = scope.get(*fid);
                (open.name.clone(), open.path.clone())
            }
        };
        self.existing(scope);
        let within = from.as_deref().filter(|_| same_directory).map(directory);
        let to = joined(within.unwrap_or_default(), name);
        let action = renamed(&path, &to, scope);
        if let Self::Fid(fid) = self {
            let path = scope.path(&to);
            let open = scope.get(*fid);
            (open.path, open.name) = (path, Some(to));
        }
        action
    }
}

/// Gives what has a path another name: the operation, with what had the name until now.
pub(super) fn renamed(from: &[u8], to: &str, scope: &mut Smb1Scope<'_, '_>) -> Action {
    let file = scope.recorder.file(from);
    let path = scope.path(to);
    let replaced = scope.recorder.rename(from, &path);
    scope.existing(to);
    Action::Rename { file: Some(file), replaced: replaced.filter(|replaced| *replaced != file) }
}
