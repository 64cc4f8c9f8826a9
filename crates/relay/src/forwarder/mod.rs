//! The thread of a relay, which needs Linux; other systems state that they have none.

use std::sync::atomic::AtomicBool;

use crate::counters::SharedCounters;

#[cfg(target_os = "linux")]
mod connection;
#[cfg(target_os = "linux")]
mod direction;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
pub(crate) use linux::{Forwarder, allowed_connections};
#[cfg(not(target_os = "linux"))]
pub(crate) use unsupported::{Forwarder, allowed_connections};

/// What the handle and the thread share. No descriptors: see [`Forwarder`].
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) stop: AtomicBool,
    pub(crate) counters: SharedCounters,
}
