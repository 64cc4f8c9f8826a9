//! Names in directories, and the files that they mean.

use crate::input::recorder::Recording;

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The number of the directory.
    pub(super) directory: u32,
    pub(super) name: Box<[u8]>,
}

impl Entry {
    /// What the name meant until now.
    pub(super) fn known(&self, recorder: &Recording<'_>) -> Option<u32> {
        recorder.known_file(&self.identity())
    }

    /// The file that the name means; a new one if it was never seen.
    pub(super) fn file(&self, recorder: &mut Recording<'_>) -> u32 {
        let file = recorder.file(&self.identity());
        self.note(file, recorder);
        file
    }

    /// Notes that the name means this file, and the facts that the name shows.
    pub(super) fn means(&self, file: u32, recorder: &mut Recording<'_>) {
        recorder.link(&self.identity(), file);
        self.note(file, recorder);
    }

    fn note(&self, file: u32, recorder: &mut Recording<'_>) {
        recorder.directory(self.directory);
        recorder.name(file, Some(self.directory), &self.name);
    }

    /// Notes that the name is gone.
    pub(super) fn forget(&self, recorder: &mut Recording<'_>) {
        recorder.forget(&self.identity());
    }

    /// Notes that what had this name has the other; what had that one until now is returned.
    pub(super) fn rename(&self, to: &Self, recorder: &mut Recording<'_>) -> Option<u32> {
        let replaced = to.known(recorder);
        let Some(file) = self.known(recorder) else {
            to.forget(recorder);
            return replaced;
        };
        self.forget(recorder);
        to.means(file, recorder);
        // Both names may be links to one file; then nothing is replaced.
        replaced.filter(|replaced| *replaced != file)
    }

    /// Handles and numbers begin with another byte, so that none is taken for a name.
    fn identity(&self) -> Vec<u8> {
        let mut identity = vec![b'N'];
        identity.extend(self.directory.to_be_bytes());
        identity.extend(&*self.name);
        identity
    }
}
