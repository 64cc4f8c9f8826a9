//! The open files of a session, found by a reference that is invalid once the file is closed.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use sharebench_model::{ErrorClass, FileRef, OpError, OpStep};

/// Low half of a [`FileRef`]: the slot of the table; high half: the slot's generation.
const PLACE_BITS: u32 = 16;

/// The open files of a session. A reference contains the generation of its place in the table, so that a reference to
/// a closed file is recognised without a search.
#[derive(Debug, Default)]
pub(crate) struct Files {
    places: Vec<(u32, Option<OwnedFd>)>,
    /// Oldest first, so that an invalid reference stays invalid for as long as possible.
    free: VecDeque<u32>,
}

impl Files {
    /// Adds an open file to the table.
    pub fn insert(&mut self, fd: OwnedFd) -> Result<FileRef, OpError> {
        // A few places are held back so that closing and opening in turn does not reuse one at once.
        let full = self.places.len() >> PLACE_BITS > 0;
        let reused = if full || self.free.len() > 64 { self.free.pop_front() } else { None };
        let place = match reused {
            Some(place) => place,
            None if !full => {
                self.places.push((0, None));
                self.places.len() as u32 - 1
            }
            None => return Err(OpError::new(ErrorClass::Refused, OpStep::OpenFile, "65536 files are open")),
        };
        let Some(entry) = self.places.get_mut(place as usize) else { return Err(OpError::not_open()) };
        entry.1 = Some(fd);
        Ok(FileRef(entry.0 << PLACE_BITS | place))
    }

    #[inline]
    pub fn fd(&self, file: FileRef) -> Result<RawFd, OpError> {
        match self.places.get((file.0 & 0xFFFF) as usize) {
            Some((uses, Some(fd))) if *uses == file.0 >> PLACE_BITS => Ok(fd.as_raw_fd()),
            _ => Err(OpError::not_open()),
        }
    }

    /// Removes the file for closing; its reference is invalid from now on.
    pub fn remove(&mut self, file: FileRef) -> Result<OwnedFd, OpError> {
        self.fd(file)?;
        let place = file.0 & 0xFFFF;
        let (uses, fd) = self.places.get_mut(place as usize).ok_or_else(OpError::not_open)?;
        *uses = (*uses + 1) & 0xFFFF;
        self.free.push_back(place);
        fd.take().ok_or_else(OpError::not_open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any() -> OwnedFd {
        std::fs::File::open("/dev/null").unwrap().into()
    }

    #[test]
    fn a_closed_reference_stays_void_while_others_come_and_go() {
        let mut files = Files::default();
        let first = files.insert(any()).unwrap();
        drop(files.remove(first).unwrap());
        for _ in 0..300 {
            let next = files.insert(any()).unwrap();
            assert_ne!(next, first);
            assert!(files.fd(next).is_ok() && files.fd(first).is_err());
            drop(files.remove(next).unwrap());
        }
        assert!(files.places.len() < 100, "places are used again");
        assert_eq!(files.remove(first).unwrap_err().class, ErrorClass::Stale);
    }
}
