//! What only Linux reports.

use std::net::IpAddr;

/// False: all threads of a process share one table of descriptors or handles.
pub fn own_descriptors() -> bool {
    false
}

/// False, as [`own_descriptors`].
pub(crate) fn no_descriptors() -> bool {
    false
}

/// Not reported: stolen time, and time spent waiting for a processor.
pub(crate) fn lost_time() -> [Option<String>; 2] {
    [None, None]
}

/// Not known: the device that has an address.
pub(crate) fn device_with(_: IpAddr) -> Option<String> {
    None
}

/// Not known: the rate of a device.
pub(crate) fn device_speed(_: &str) -> Option<String> {
    None
}
