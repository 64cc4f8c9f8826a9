//! What the servers need of the operating system, one file per system.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use linux::{be_precise, machine_memory, private_file};
#[cfg(target_os = "macos")]
pub(crate) use macos::{be_precise, machine_memory, private_file};
#[cfg(windows)]
pub(crate) use windows::{be_precise, machine_memory, private_file};
