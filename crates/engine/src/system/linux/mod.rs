//! Linux.

mod clocks;
mod descriptor_table;
mod network;
mod timer_slack;

pub(crate) use clocks::{TICKS_NS, clock_resolution_ns, thread_cpu};
pub(crate) use descriptor_table::no_descriptors;
pub use descriptor_table::own_descriptors;
pub(crate) use network::{device_speed, device_with, server_of_path};
pub use timer_slack::precise_timers;

/// The kernel's files of lost time: `/proc/stat` and `/proc/pressure/cpu`.
pub(crate) fn lost_time() -> [Option<String>; 2] {
    ["/proc/stat", "/proc/pressure/cpu"].map(|path| std::fs::read_to_string(path).ok())
}
