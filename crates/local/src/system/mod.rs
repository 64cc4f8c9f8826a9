//! What both targets need from the operating system below them: error codes and memory, with the same items in each file.

mod known_code;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

pub(crate) use known_code::KnownCode;
#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(windows)]
pub(crate) use windows::*;
