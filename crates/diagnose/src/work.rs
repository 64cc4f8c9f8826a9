//! What the parts of a diagnosis share: the target, the options and the clock.

use std::time::Duration;

use sharebench_engine::{Clock, StopSignal};
use sharebench_model::ServerLoad;
use sharebench_target::{SessionSpec, Target};

use crate::experiments::Variant;
use crate::operations::LARGE_BYTES;

/// Slots of the session for streams, where the protocol has one connection for all of them.
pub(crate) const WIDE_SLOTS: u32 = 8;
/// Sessions in addition to that for streams, so that there are four.
pub(crate) const MORE_SESSIONS: usize = 3;

/// How to diagnose.
#[derive(Debug, Clone)]
pub struct Options {
    /// Time for measuring; a slow share needs longer for the least number of rounds, at most as long again.
    pub time: Duration,
    /// Write nothing, and read the files that are there.
    pub read_only: bool,
    /// Name of the directory on the target.
    pub directory: String,
    /// Longest time of opening a session, and of each request of the removal.
    pub timeout: Duration,
    /// Ends the diagnosis early; what was made is removed.
    pub stop: StopSignal,
}

/// The CPU load of the server between two instants in milliseconds since 1970, if somebody knows it.
pub type LoadOfServer<'a> = dyn Fn(u64, u64) -> Option<ServerLoad> + 'a;

/// A diagnosis in progress.
pub(crate) struct Work<'a> {
    pub(crate) target: &'a dyn Target,
    pub(crate) variants: &'a [Variant],
    pub(crate) options: &'a Options,
    pub(crate) server_load: &'a LoadOfServer<'a>,
    pub(crate) clock: &'a Clock,
}

impl Work<'_> {
    /// The instant at which this share of the time is used up.
    pub(crate) fn at(&self, start: u64, share: f64) -> u64 {
        start + (self.options.time.as_nanos() as f64 * share) as u64
    }

    pub(crate) fn spec(&self, slots: u32) -> SessionSpec {
        SessionSpec {
            slots,
            slot_bytes: LARGE_BYTES,
            connect_timeout: self.options.timeout,
            allow_split: true,
        }
    }
}
