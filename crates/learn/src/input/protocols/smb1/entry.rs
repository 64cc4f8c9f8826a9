//! Commands of SMB 1 on files and directories by name, and on their attributes.

use super::attributes::{Attributes, Change};
use super::names::is_pattern;
use super::numbers::Smb1Scope;
use super::reply::Reply;
use super::target::{Target, renamed};
use crate::operation::Action;

/// A command on a file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntryRequest {
    Query {
        target: Target,
        attributes: Attributes,
    },
    Set {
        target: Target,
        change: Change,
    },
    Remove {
        name: String,
    },
    Rename {
        from: String,
        to: String,
    },
    /// `NT_RENAME` that makes a hard link.
    Link {
        from: String,
        to: String,
    },
    MakeDirectory {
        name: String,
    },
}

impl EntryRequest {
    /// The operation of one that failed, or has no reply.
    pub(super) fn attempted(&self, scope: &mut Smb1Scope<'_, '_>) -> Action {
        match self {
            Self::Query { target, .. } => Action::Stat { file: target.known(scope) },
            Self::Set { target, change } => {
                let file = target.known(scope);
                match (change, file) {
                    (Change::Removal, _) => Action::Remove { file },
                    (Change::Name { .. }, _) => Action::Rename { file, replaced: None },
                    (Change::Size(size), Some(file)) => Action::SetSize { file, size: *size },
                    (_, Some(file)) => Action::SetAttributes { file },
                    (_, None) => Action::Other("SET_PATH_INFORMATION"),
                }
            }
            Self::Remove { name } => Action::Remove { file: scope.known(name) },
            Self::Rename { from, .. } => Action::Rename { file: scope.known(from), replaced: None },
            Self::Link { .. } => Action::Other("NT_RENAME"),
            Self::MakeDirectory { name } => Action::MakeDirectory { directory: scope.known(name) },
        }
    }

    /// The operation of one that succeeded; none for a removal that is counted with the close.
    pub(super) fn succeeded(&self, reply: &Reply<'_>, scope: &mut Smb1Scope<'_, '_>) -> Option<Action> {
        Some(match self {
            Self::Query { target, attributes } => {
                let file = target.existing(scope);
                let (size, is_directory) = attributes.read(reply.words, reply.data);
                scope.recorder.describe(file, is_directory == Some(true), size);
                Action::Stat { file: Some(file) }
            }
            Self::Set { target, change } => return set(target, change, scope),
            Self::Remove { name } => remove(name, scope),
            // Which files they are is not in the messages.
            Self::Rename { from, .. } if is_pattern(from) => Action::Rename { file: None, replaced: None },
            Self::Rename { from, to } => {
                scope.existing(from);
                let from = scope.path(from);
                renamed(&from, to, scope)
            }
            Self::Link { from, to } => {
                let file = scope.existing(from);
                let path = scope.path(to);
                scope.recorder.link(&path, file);
                Action::Other("NT_RENAME")
            }
            Self::MakeDirectory { name } => {
                let made = scope.existing(name);
                scope.recorder.directory(made);
                scope.recorder.created(made);
                Action::MakeDirectory { directory: Some(made) }
            }
        })
    }
}

/// The operation of a change that succeeded.
fn set(target: &Target, change: &Change, scope: &mut Smb1Scope<'_, '_>) -> Option<Action> {
    Some(match (change, target) {
        (Change::Disposition(delete), Target::Fid(fid)) => {
            scope.get(*fid).delete = *delete;
            // The removal is counted with the close.
            return None;
        }
        (Change::Disposition(true) | Change::Removal, Target::Name(name)) => remove(name, scope),
        (Change::Name { name, same_directory }, _) => target.rename(name, *same_directory, scope),
        (Change::Size(size), _) => {
            let file = target.existing(scope);
            scope.recorder.changed(file);
            Action::SetSize { file, size: *size }
        }
        _ => Action::SetAttributes { file: target.existing(scope) },
    })
}

/// Removes what has a name.
fn remove(name: &str, scope: &mut Smb1Scope<'_, '_>) -> Action {
    if is_pattern(name) {
        // Which files they were is not in the messages.
        return Action::Remove { file: None };
    }
    let file = scope.existing(name);
    let path = scope.path(name);
    scope.recorder.forget(&path);
    Action::Remove { file: Some(file) }
}
