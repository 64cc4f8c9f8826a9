//! What the operating system counted on the wire while a mount was measured.

use serde::{Deserialize, Serialize};
use sharebench_model::WireCount;
use sharebench_target::Session;

/// The kernel's wire count of a mount, summed over the measured windows of a step.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct MountWire {
    sum: Option<WireCount>,
    /// A window could not be counted: the counter went back (a new mount) or away.
    lost: bool,
}

impl MountWire {
    /// Adds a window: what was counted `before` it, and what the session's system counts now.
    pub fn add(&mut self, before: Option<WireCount>, session: &dyn Session) {
        let Some(before) = before else { return };
        match session.mount_wire().and_then(|now| now.checked_since(before)) {
            Some(window) => *self.sum.get_or_insert_default() += window,
            None => self.lost = true,
        }
    }

    /// Joins the count of a thread that measured at the same time. Both counts include all users of the mount, each
    /// other too, so the larger one stands for both.
    pub fn join(&mut self, other: Self) {
        self.lost |= other.lost;
        if other.sum.map(WireCount::payload) > self.sum.map(WireCount::payload) {
            self.sum = other.sum;
        }
    }

    /// Adds what another machine counted on a mount of its own.
    pub fn add_machine(&mut self, other: Self) {
        self.lost |= other.lost;
        if let Some(more) = other.sum {
            *self.sum.get_or_insert_default() += more;
        }
    }

    /// The count; none when nothing was counted or a part is missing.
    pub fn total(self) -> Option<WireCount> {
        self.sum.filter(|_| !self.lost)
    }
}
