//! Open files of a session, with one handle per connection.

use sharebench_model::{FileRef, OpError};

use crate::client::File;

/// A [`FileRef`] has the slot index in its lower bits and the reuse count in the others, so that a reference to a
/// closed file is detected.
const INDEX_BITS: u32 = 20;

/// An open file: one handle per connection of the session, because handles belong to a connection.
#[derive(Debug, Clone)]
pub(crate) struct OpenFile {
    /// Handles by connection.
    pub(crate) handles: Vec<File>,
    /// True when it was opened for write-through.
    pub(crate) through: bool,
    /// True when it may be written.
    pub(crate) writable: bool,
}

#[derive(Debug, Default)]
struct FileSlot {
    reuses: u32,
    file: Option<OpenFile>,
}

/// The table of open files.
#[derive(Debug, Default)]
pub(crate) struct Files {
    places: Vec<FileSlot>,
    free: Vec<u32>,
}

impl Files {
    /// Adds an open file; fails when 2^20 files are open.
    pub(crate) fn open(&mut self, file: OpenFile) -> Result<FileRef, OpError> {
        let index = self.free.pop().unwrap_or(self.places.len() as u32);
        if index >> INDEX_BITS != 0 {
            return Err(OpError::too_many_open_files());
        }
        if index as usize == self.places.len() {
            self.places.push(FileSlot::default());
        }
        let place = &mut self.places[index as usize];
        place.file = Some(file);
        Ok(FileRef((place.reuses << INDEX_BITS) | index))
    }

    /// The open file of a reference.
    pub(crate) fn get(&self, file: FileRef) -> Result<&OpenFile, OpError> {
        let place = self.places.get((file.0 & ((1 << INDEX_BITS) - 1)) as usize);
        let place = place.filter(|place| place.reuses << INDEX_BITS == file.0 & !((1 << INDEX_BITS) - 1));
        place.and_then(|place| place.file.as_ref()).ok_or_else(OpError::not_open)
    }

    /// Removes a file; its reference becomes invalid.
    pub(crate) fn close(&mut self, file: FileRef) -> Result<OpenFile, OpError> {
        self.get(file)?;
        let index = file.0 & ((1 << INDEX_BITS) - 1);
        let place = &mut self.places[index as usize];
        // The count wraps after 4096 reuses; an older reference is then mistaken for a current one.
        place.reuses = (place.reuses + 1) % (1 << (32 - INDEX_BITS));
        self.free.push(index);
        place.file.take().ok_or_else(OpError::not_open)
    }
}
