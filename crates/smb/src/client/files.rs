//! Open files of a session.

use sharebench_model::{ErrorClass, FileRef, IoPolicy, OpError};

use crate::wire::FileId;

/// A file's index takes the lower bits of its [`FileRef`], the count of its reuses the others, so that
/// a reference to a closed file is noticed.
const INDEX_BITS: u32 = 20;

/// A file that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenFile {
    pub(crate) id: FileId,
    /// What it was opened with.
    pub(crate) policy: IoPolicy,
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
    /// Notes an open file; an error when a million are open.
    pub(crate) fn open(&mut self, id: FileId, policy: IoPolicy) -> Result<FileRef, OpError> {
        let index = self.free.pop().unwrap_or(self.places.len() as u32);
        if index >> INDEX_BITS != 0 {
            return Err(OpError::new(ErrorClass::Unsupported, "open", "too many open files"));
        }
        if index as usize == self.places.len() {
            self.places.push(Place::default());
        }
        let place = &mut self.places[index as usize];
        place.file = Some(OpenFile { id, policy });
        Ok(FileRef((place.reuses << INDEX_BITS) | index))
    }

    /// The open file behind a reference.
    #[inline]
    pub(crate) fn get(&self, file: FileRef) -> Result<OpenFile, OpError> {
        let index = file.0 & ((1 << INDEX_BITS) - 1);
        match self.places.get(index as usize) {
            Some(Place { reuses, file: Some(open) }) if (*reuses << INDEX_BITS) | index == file.0 => {
                Ok(*open)
            }
            _ => Err(OpError::new(ErrorClass::Stale, "open file", "the file is not open in this session")),
        }
    }

    /// Forgets a file and gives what it was.
    pub(crate) fn close(&mut self, file: FileRef) -> Result<FileId, OpError> {
        let open = self.get(file)?.id;
        let index = file.0 & ((1 << INDEX_BITS) - 1);
        let place = &mut self.places[index as usize];
        place.file = None;
        place.reuses = place.reuses.wrapping_add(1);
        self.free.push(index);
        Ok(open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_file_stays_closed_when_its_place_is_used_again() {
        let mut files = Files::default();
        let [a, b] = [1, 2].map(|volatile| FileId { persistent: 0, volatile });
        let first = files.open(a, IoPolicy::default()).unwrap();
        assert_eq!(files.close(first), Ok(a));
        let second = files.open(b, IoPolicy::default()).unwrap();
        assert_eq!(files.get(second).map(|open| open.id), Ok(b));
        assert_eq!(files.get(first).unwrap_err().class, ErrorClass::Stale);
        assert_eq!(files.close(first).unwrap_err().class, ErrorClass::Stale);
    }
}
