//! What the command line needs of the operating system: one file per system, with the same functions in each.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(target_os = "linux", windows))]
mod local_targets;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub use linux::*;
#[cfg(any(target_os = "linux", windows))]
pub use local_targets::*;
#[cfg(target_os = "macos")]
pub use macos::*;
#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;

/// Why other users could read or change a file with passwords.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(windows, expect(dead_code, reason = "access control lists are not examined"))]
pub enum Exposure {
    /// It belongs to another user.
    ForeignOwner(u32),
    /// Other users may read or change it.
    Readable,
}

/// Facts about this machine, each none where the system does not report it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineFacts {
    /// Version of the system.
    pub kernel: Option<String>,
    /// Name of the processor.
    pub cpu: Option<String>,
    /// Size of the memory, with its unit.
    pub memory: Option<String>,
    /// Load of the machine, in the system's own form.
    pub load_average: Option<String>,
}
