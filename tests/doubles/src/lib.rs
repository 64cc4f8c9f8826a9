//! Targets that stand in for others in tests: [`MemoryTarget`] is correct, [`FaultyTarget`] makes mistakes on schedule. The
//! [`conformance`] suite tests every adapter in the same way.

mod faulty;
mod memory;
mod memory_content;
mod memory_leases;
mod memory_names;
mod memory_semaphores;
mod memory_sharing;
mod memory_watches;

pub mod conformance;

pub use faulty::{Fault, FaultyTarget};
pub use memory::MemoryTarget;
