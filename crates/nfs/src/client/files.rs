//! Open files of a session.

use sharebench_model::{ErrorClass, FileRef, IoPolicy, OpError, Stability};

use crate::protocol::FileHandle;
use crate::results::WriteVerifier;

/// A file's index takes the lower bits of its [`FileRef`], the count of its reuses the others, so that
/// a reference to a closed file is noticed.
const INDEX_BITS: u32 = 20;

/// A file that is open.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) handle: FileHandle,
    /// What it was opened with.
    policy: IoPolicy,
    /// Which memory of the server holds writes that were not committed yet.
    verifier: Option<WriteVerifier>,
    changed: bool,
}

impl OpenFile {
    /// What a write to this file promises: as asked, and never less than the file's policy.
    #[inline]
    pub(crate) fn stability(&self, asked: Stability) -> Stability {
        if self.policy.writes_through() { Stability::Durable } else { asked }
    }

    /// Notes the verifier of a WRITE.
    #[inline]
    pub(crate) fn wrote(&mut self, verifier: WriteVerifier) {
        self.changed |= *self.verifier.get_or_insert(verifier) != verifier;
    }

    /// Ends a COMMIT: an error when the server may have forgotten writes since the last one
    /// (RFC 1813, 3.3.7).
    pub(crate) fn committed(&mut self, verifier: WriteVerifier) -> Result<(), OpError> {
        self.wrote(verifier);
        let changed = std::mem::take(&mut self.changed);
        self.verifier = None;
        if changed {
            return Err(OpError::new(
                ErrorClass::Io,
                "COMMIT",
                "write verifier changed: server restarted, unstable writes may be lost",
            ));
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
struct Place {
    reuses: u32,
    file: Option<OpenFile>,
}

/// The table of open files.
#[derive(Debug, Default)]
pub(crate) struct Files {
    places: Vec<Place>,
    free: Vec<u32>,
}

impl Files {
    /// Opens a file; an error when a million are open.
    pub(crate) fn open(&mut self, handle: FileHandle, policy: IoPolicy) -> Result<FileRef, OpError> {
        let index = self.free.pop().unwrap_or(self.places.len() as u32);
        if index >> INDEX_BITS != 0 {
            return Err(OpError::new(ErrorClass::Unsupported, "open", "too many open files"));
        }
        if index as usize == self.places.len() {
            self.places.push(Place::default());
        }
        let place = &mut self.places[index as usize];
        place.file = Some(OpenFile { handle, policy, verifier: None, changed: false });
        Ok(FileRef((place.reuses << INDEX_BITS) | index))
    }

    /// The open file behind a reference.
    #[inline]
    pub(crate) fn get(&mut self, file: FileRef) -> Result<&mut OpenFile, OpError> {
        let index = file.0 & ((1 << INDEX_BITS) - 1);
        match self.places.get_mut(index as usize) {
            Some(Place { reuses, file: Some(open) }) if (*reuses << INDEX_BITS) | index == file.0 => Ok(open),
            _ => Err(OpError::new(ErrorClass::Stale, "open file", "the file is not open in this session")),
        }
    }

    /// Closes a file.
    pub(crate) fn close(&mut self, file: FileRef) -> Result<(), OpError> {
        self.get(file)?;
        let index = file.0 & ((1 << INDEX_BITS) - 1);
        let place = &mut self.places[index as usize];
        place.file = None;
        place.reuses = place.reuses.wrapping_add(1);
        self.free.push(index);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle() -> FileHandle {
        FileHandle::new(b"h").unwrap()
    }

    #[test]
    fn a_closed_files_reference_stays_void() {
        let mut files = Files::default();
        let first = files.open(handle(), IoPolicy::default()).unwrap();
        files.close(first).unwrap();
        let second = files.open(handle(), IoPolicy::default()).unwrap();
        assert_ne!(first, second);
        assert!(files.get(first).is_err() && files.close(first).is_err());
        assert!(files.get(second).is_ok());
    }

    #[test]
    fn a_restart_between_write_and_commit_is_an_error_once() {
        let mut files = Files::default();
        let file = files.open(handle(), IoPolicy::default()).unwrap();
        let open = files.get(file).unwrap();
        open.wrote([1; 8]);
        assert_eq!(open.committed([1; 8]), Ok(()));
        open.wrote([1; 8]);
        let error = open.committed([2; 8]).unwrap_err();
        assert_eq!(error.class, ErrorClass::Io);
        assert!(error.detail.contains("server restarted"));
        open.wrote([2; 8]);
        assert_eq!(open.committed([2; 8]), Ok(()));
    }
}
