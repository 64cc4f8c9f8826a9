//! The semaphores of the memory target.

use std::collections::BTreeMap;

use sharebench_model::{ErrorClass, OpError, OpStep};

/// A counting semaphore that is open.
#[derive(Debug)]
struct Semaphore {
    value: u32,
    opens: u32,
}

/// The open semaphores of all sessions, by name. One ends with its last close.
#[derive(Debug, Default)]
pub(crate) struct Semaphores(BTreeMap<String, Semaphore>);

impl Semaphores {
    /// Opens a semaphore, with the value 1 if it is new.
    pub(crate) fn open(&mut self, name: &str) {
        self.0.entry(name.to_owned()).or_insert(Semaphore { value: 1, opens: 0 }).opens += 1;
    }

    fn get(&mut self, name: &str) -> Result<&mut Semaphore, OpError> {
        self.0.get_mut(name).ok_or_else(OpError::no_open_semaphore)
    }

    /// Decrements it, if its value is positive. Nobody waits: the caller tries again.
    pub(crate) fn take(&mut self, name: &str) -> Result<(), OpError> {
        let semaphore = self.get(name)?;
        if semaphore.value == 0 {
            return Err(OpError::new(ErrorClass::Busy, OpStep::Request("semaphore"), "it is taken"));
        }
        semaphore.value -= 1;
        Ok(())
    }

    /// Increments it.
    pub(crate) fn signal(&mut self, name: &str) -> Result<(), OpError> {
        self.get(name).map(|semaphore| semaphore.value += 1)
    }

    /// Closes it once.
    pub(crate) fn close(&mut self, name: &str) -> Result<(), OpError> {
        let semaphore = self.get(name)?;
        semaphore.opens -= 1;
        if semaphore.opens == 0 {
            self.0.remove(name);
        }
        Ok(())
    }
}
