//! Commands of SMB 1 on files and directories by name, and on their attributes.

use super::attributes::{Attributes, Change};
use super::files::Files;
use super::names::is_pattern;
use super::reply::Reply;
use super::target::Target;

use crate::input::recorder::Recorder;
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
    pub(super) fn attempted(&self, tid: u16, files: &mut Files, recorder: &mut Recorder) -> Action {
        match self {
            Self::Query { target, .. } => Action::Stat { file: target.known(tid, files, recorder) },
            Self::Set { target, change } => {
                let file = target.known(tid, files, recorder);
                match (change, file) {
                    (Change::Removal, _) => Action::Remove { file },
                    (Change::Name { .. }, _) => Action::Rename { file, replaced: None },
                    (Change::Size(size), Some(file)) => Action::SetSize { file, size: *size },
                    (_, Some(file)) => Action::SetAttributes { file },
                    (_, None) => Action::Other("SET_PATH_INFORMATION"),
                }
            }
            Self::Remove { name } => Action::Remove { file: files.known(tid, name, recorder) },
            Self::Rename { from, .. } => {
                Action::Rename { file: files.known(tid, from, recorder), replaced: None }
            }
            Self::Link { .. } => Action::Other("NT_RENAME"),
            Self::MakeDirectory { name } => {
                Action::MakeDirectory { directory: files.known(tid, name, recorder) }
            }
        }
    }

    /// The operation of one that succeeded; none for a removal that is counted with the close.
    pub(super) fn succeeded(
        &self,
        reply: &Reply<'_>,
        files: &mut Files,
        recorder: &mut Recorder,
    ) -> Option<Action> {
        let tid = reply.tid;
        Some(match self {
            Self::Query { target, attributes } => {
                let file = target.existing(tid, files, recorder);
                note(file, *attributes, reply, recorder);
                Action::Stat { file: Some(file) }
            }
            Self::Set { target, change } => return set(target, change, tid, files, recorder),
            Self::Remove { name } => remove(name, tid, files, recorder),
            // Which files they are is not in the messages.
            Self::Rename { from, .. } if is_pattern(from) => Action::Rename { file: None, replaced: None },
            Self::Rename { from, to } => {
                files.existing(tid, from, recorder);
                let (file, replaced) = files.rename(tid, &files.path(tid, from), to, recorder);
                Action::Rename { file: Some(file), replaced }
            }
            Self::Link { from, to } => {
                let file = files.existing(tid, from, recorder);
                recorder.link(files.ends.server, &files.path(tid, to), file);
                Action::Other("NT_RENAME")
            }
            Self::MakeDirectory { name } => {
                let made = files.existing(tid, name, recorder);
                recorder.directory(made);
                recorder.created(made);
                Action::MakeDirectory { directory: Some(made) }
            }
        })
    }
}

fn note(file: u32, attributes: Attributes, reply: &Reply<'_>, recorder: &mut Recorder) {
    let (size, is_directory) = attributes.read(reply.words, reply.data);
    match (size, is_directory) {
        (_, Some(true)) => recorder.directory(file),
        (Some(size), _) => recorder.size(file, size),
        _ => {}
    }
}

/// The operation of a change that succeeded.
fn set(
    target: &Target,
    change: &Change,
    tid: u16,
    files: &mut Files,
    recorder: &mut Recorder,
) -> Option<Action> {
    Some(match (change, target) {
        (Change::Disposition(delete), Target::Fid(fid)) => {
            files.get(*fid, recorder).delete = *delete;
            // The removal is counted with the close.
            return None;
        }
        (Change::Disposition(true) | Change::Removal, Target::Name(name)) => {
            remove(name, tid, files, recorder)
        }
        (Change::Name { name, same_directory }, _) => {
            target.rename(name, *same_directory, tid, files, recorder)
        }
        (Change::Size(size), _) => {
            let file = target.existing(tid, files, recorder);
            recorder.changed(file);
            Action::SetSize { file, size: *size }
        }
        _ => Action::SetAttributes { file: target.existing(tid, files, recorder) },
    })
}

/// Removes what has a name.
fn remove(name: &str, tid: u16, files: &Files, recorder: &mut Recorder) -> Action {
    if is_pattern(name) {
        // Which files they were is not in the messages.
        return Action::Remove { file: None };
    }
    let file = files.existing(tid, name, recorder);
    recorder.forget(files.ends.server, &files.path(tid, name));
    Action::Remove { file: Some(file) }
}
