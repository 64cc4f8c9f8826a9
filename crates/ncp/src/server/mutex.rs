//! Locking of mutexes.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also after a panic.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // State after a panic is consistent, because every change is a single assignment.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
