//! Names in directories, and the files they mean.

use std::net::SocketAddr;

use crate::input::recorder::Recorder;

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The number of the directory.
    pub(super) directory: u32,
    pub(super) name: Box<[u8]>,
}

impl Place {
    /// What the name meant until now.
    pub(super) fn known(&self, server: SocketAddr, recorder: &Recorder) -> Option<u32> {
        recorder.known_file(server, &self.identity())
    }

    /// Notes that the name means this file, and the name's facts.
    pub(super) fn means(&self, file: u32, server: SocketAddr, recorder: &mut Recorder) {
        recorder.link(server, &self.identity(), file);
        recorder.directory(self.directory);
        recorder.name(file, Some(self.directory), &self.name);
    }

    /// The file it means; a new one if it was never seen and no handle identifies it.
    pub(super) fn file(&self, handle: Option<&[u8]>, server: SocketAddr, recorder: &mut Recorder) -> u32 {
        let named = match handle {
            Some(handle) => file(handle, server, recorder),
            None => recorder.file(server, &self.identity()),
        };
        self.means(named, server, recorder);
        named
    }

    /// Notes that the name is gone.
    pub(super) fn forget(&self, server: SocketAddr, recorder: &mut Recorder) {
        recorder.forget(server, &self.identity());
    }

    /// Notes that what had this name has the other; what had that one until now is returned.
    pub(super) fn rename(&self, to: &Self, server: SocketAddr, recorder: &mut Recorder) -> Option<u32> {
        let replaced = to.known(server, recorder);
        let Some(file) = self.known(server, recorder) else {
            to.forget(server, recorder);
            return replaced;
        };
        self.forget(server, recorder);
        to.means(file, server, recorder);
        // Both names may be links to one file; then nothing is replaced.
        replaced.filter(|replaced| *replaced != file)
    }

    /// Handles begin with another byte, so that no handle is taken for a name.
    fn identity(&self) -> Vec<u8> {
        let mut identity = vec![b'N'];
        identity.extend(self.directory.to_be_bytes());
        identity.extend(&*self.name);
        identity
    }
}

/// What identifies the file of a handle.
fn of_handle(handle: &[u8]) -> Vec<u8> {
    let mut identity = vec![b'H'];
    identity.extend(handle);
    identity
}

/// The number of the file of a handle.
pub(super) fn file(handle: &[u8], server: SocketAddr, recorder: &mut Recorder) -> u32 {
    recorder.file(server, &of_handle(handle))
}
