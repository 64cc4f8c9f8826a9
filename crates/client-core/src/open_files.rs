//! Open files of a session, referred to by index and generation.

use sharebench_model::{FileRef, OpError};

/// The entry's index takes the lower bits of a [`FileRef`], its generation takes the upper bits.
const INDEX_BITS: u32 = 20;

#[derive(Debug)]
struct Entry<T> {
    generation: u32,
    file: Option<T>,
}

/// The table of open files of one session.
///
/// It owns what the protocol needs to know about each open file (`T`: a file id or a file handle, and its state) and
/// gives the engine a [`FileRef`] in exchange. Closing a file frees its entry and increments the entry's generation,
/// which is part of the reference. A reference to a closed file is therefore reported as stale and never reaches the
/// file that took the entry, without a search on the measured path.
#[derive(Debug)]
pub struct OpenFileTable<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
}

impl<T> Default for OpenFileTable<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }
}

impl<T> OpenFileTable<T> {
    /// Adds an open file. Fails if about a million files are open.
    pub fn open(&mut self, file: T) -> Result<FileRef, OpError> {
        let index = self.free.pop().unwrap_or(self.entries.len() as u32);
        if index >> INDEX_BITS != 0 {
            return Err(OpError::too_many_open_files());
        }
        if index as usize == self.entries.len() {
            self.entries.push(Entry { generation: 0, file: None });
        }
        let entry = &mut self.entries[index as usize];
        entry.file = Some(file);
        Ok(reference(entry.generation, index))
    }

    /// True if no file is open.
    pub fn is_empty(&self) -> bool {
        self.entries.iter().all(|entry| entry.file.is_none())
    }

    /// The open file that `file` refers to.
    #[inline]
    pub fn get(&self, file: FileRef) -> Result<&T, OpError> {
        let index = index(file);
        match self.entries.get(index as usize) {
            Some(Entry { generation, file: Some(open) }) if reference(*generation, index) == file => Ok(open),
            _ => Err(OpError::not_open()),
        }
    }

    /// The open file that `file` refers to, to be changed.
    #[inline]
    pub fn get_mut(&mut self, file: FileRef) -> Result<&mut T, OpError> {
        let index = index(file);
        match self.entries.get_mut(index as usize) {
            Some(Entry { generation, file: Some(open) }) if reference(*generation, index) == file => Ok(open),
            _ => Err(OpError::not_open()),
        }
    }

    /// Removes all files and returns them.
    pub fn drain(&mut self) -> Vec<T> {
        self.free.clear();
        std::mem::take(&mut self.entries).into_iter().filter_map(|entry| entry.file).collect()
    }

    /// Removes a file and returns it. From then on every reference to it is stale.
    pub fn close(&mut self, file: FileRef) -> Result<T, OpError> {
        self.get(file)?;
        let index = index(file);
        let entry = &mut self.entries[index as usize];
        let open = entry.file.take().ok_or_else(OpError::not_open)?;
        // Only the lower 12 bits of the generation fit into a reference: an old one becomes valid again after
        // 4096 reuses of its entry.
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(index);
        Ok(open)
    }
}

const fn index(file: FileRef) -> u32 {
    file.0 & ((1 << INDEX_BITS) - 1)
}

const fn reference(generation: u32, index: u32) -> FileRef {
    FileRef((generation << INDEX_BITS) | index)
}

#[cfg(test)]
mod tests {
    use sharebench_model::ErrorClass;

    use super::*;

    #[test]
    fn a_reference_to_a_closed_file_stays_stale_when_its_entry_is_reused() {
        let mut files = OpenFileTable::default();
        let first = files.open('a').unwrap();
        assert_eq!(files.close(first), Ok('a'));
        let second = files.open('b').unwrap();
        assert_ne!(first, second);
        assert_eq!(files.get(second), Ok(&'b'));
        assert_eq!(files.get_mut(second), Ok(&mut 'b'));
        assert_eq!(files.get(first).unwrap_err().class, ErrorClass::Stale);
        assert_eq!(files.get_mut(first).unwrap_err().class, ErrorClass::Stale);
        assert_eq!(files.close(first).unwrap_err().class, ErrorClass::Stale);
    }
}
