//! File bytes on the wire compared with the bytes of the application.

use serde::{Deserialize, Serialize};
use sharebench_model::{CLIENT_CACHED_FROM, StepResult};

/// File bytes on the wire compared with those of the application, over the repetitions with a count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WireTraffic {
    /// Bytes the application read and wrote.
    pub application_bytes: u64,
    /// File bytes on the wire.
    pub wire_bytes: u64,
    /// Share of the application's bytes that did not cross the wire: `max(0, 1 - W/B)` in each direction.
    pub client_cache_share: f64,
    /// W/B: above 1 the client fetched or wrote more than it was asked for.
    pub amplification: f64,
}

impl WireTraffic {
    /// None without bytes or without a count.
    pub(crate) fn from_steps(steps: &[&StepResult]) -> Option<Self> {
        let mut application_bytes = 0;
        let mut wire_bytes = 0;
        let mut uncrossed = 0;
        for measure in steps.iter().map(|step| &step.measure) {
            let Some(wire) = *measure.wire else { continue };
            application_bytes += measure.bytes.total();
            wire_bytes += wire.payload();
            uncrossed += wire.uncrossed(measure.bytes);
        }
        let share = |part: u64| part as f64 / application_bytes as f64;
        (application_bytes > 0).then(|| Self {
            application_bytes,
            wire_bytes,
            client_cache_share: share(uncrossed),
            amplification: share(wire_bytes),
        })
    }

    /// True if the client's cache served so much that the rate is not that of the server.
    pub fn is_client_cached(&self) -> bool {
        self.client_cache_share >= CLIENT_CACHED_FROM
    }
}
