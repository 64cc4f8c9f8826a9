//! What requests of SMB 1 name, and the changes that are made to it.

use super::files::Files;
use super::names::{is_pattern, joined};
use super::reply::{Actions, one};
use super::transactions::Change;
use crate::input::protocols::smb::directory;
use crate::input::recorder::Recorder;
use crate::operation::Action;

/// What a request names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// An open file.
    Fid(u16),
    /// A name within the share.
    Name(String),
}

impl Target {
    /// What it names, if it was seen before.
    pub(super) fn known(&self, tid: u16, files: &mut Files, recorder: &mut Recorder) -> Option<u32> {
        match self {
            Self::Fid(fid) => Some(files.get(*fid, recorder).file),
            Self::Name(name) => files.known(tid, name, recorder),
        }
    }

    /// What it names, which exists.
    pub(super) fn existing(&self, tid: u16, files: &mut Files, recorder: &mut Recorder) -> u32 {
        match self {
            Self::Fid(fid) => files.get(*fid, recorder).file,
            Self::Name(name) => files.existing(tid, name, recorder),
        }
    }

    /// The operation of a change that succeeded.
    pub(super) fn set(
        &self,
        change: &Change,
        tid: u16,
        files: &mut Files,
        recorder: &mut Recorder,
    ) -> Actions {
        one(match (change, self) {
            (Change::Disposition(delete), Self::Fid(fid)) => {
                files.get(*fid, recorder).delete = *delete;
                // The removal is counted with the close.
                return [None, None];
            }
            (Change::Disposition(true) | Change::Removal, Self::Name(name)) => {
                remove(name, tid, files, recorder)
            }
            (Change::Name { name, same_directory }, _) => {
                return one(self.rename(name, *same_directory, tid, files, recorder));
            }
            (Change::Size(size), _) => {
                let file = self.existing(tid, files, recorder);
                recorder.changed(file);
                Action::SetSize { file, size: *size }
            }
            _ => Action::SetAttributes { file: self.existing(tid, files, recorder) },
        })
    }

    fn rename(
        &self,
        name: &str,
        same_directory: bool,
        tid: u16,
        files: &mut Files,
        recorder: &mut Recorder,
    ) -> Action {
        let (from, identity) = match self {
            Self::Name(from) => (Some(from.clone()), files.path(tid, from)),
            Self::Fid(fid) => {
                let open = files.get(*fid, recorder);
                (open.name.clone(), open.identity.clone())
            }
        };
        self.existing(tid, files, recorder);
        let within = from.as_deref().filter(|_| same_directory).map(directory);
        let to = joined(within.unwrap_or_default(), name);
        let (file, replaced) = files.rename(tid, &identity, &to, recorder);
        if let Self::Fid(fid) = self {
            let identity = files.path(tid, &to);
            let open = files.get(*fid, recorder);
            (open.identity, open.name) = (identity, Some(to));
        }
        Action::Rename { file: Some(file), replaced }
    }
}

/// Removes what has a name.
pub(super) fn remove(name: &str, tid: u16, files: &Files, recorder: &mut Recorder) -> Action {
    if is_pattern(name) {
        // Which files they were is not in the messages.
        return Action::Remove { file: None };
    }
    let file = files.existing(tid, name, recorder);
    recorder.forget(files.ends.server, &files.path(tid, name));
    Action::Remove { file: Some(file) }
}
