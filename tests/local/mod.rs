//! Local directories and mounts of the Linux kernel.

pub mod attribution;
pub mod client_cache;
pub mod kernel_mounts;
pub mod policies;
