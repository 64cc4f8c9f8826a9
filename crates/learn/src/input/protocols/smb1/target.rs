//! What requests of SMB 1 name.

use super::files::Files;
use super::names::joined;
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

    /// Gives it another name, in its share or in its directory.
    pub(super) fn rename(
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
