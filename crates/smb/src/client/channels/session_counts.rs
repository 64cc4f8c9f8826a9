//! Events of the sessions of a target that are facts of the run: lost channels, repeated requests, leases.

use std::sync::atomic::{AtomicU64, Ordering};

use sharebench_model::{Fact, TargetFacts};

use crate::client::rights::lease_choice::state_name;
use crate::wire::oplock;

/// Sums over all sessions of a target. Each event is rare, so that counting it at once costs a measurement nothing.
#[derive(Debug, Default)]
pub(crate) struct SessionCounts {
    channels_lost: AtomicU64,
    requests_repeated: AtomicU64,
    logins_renewed: AtomicU64,
    /// Opens by the state of the lease that the server granted.
    leases: [AtomicU64; LEASE_STATES],
    leases_broken: AtomicU64,
    /// Opens by the level of the oplock that the server granted, in the order of [`OPLOCK_LEVELS`].
    oplocks: [AtomicU64; OPLOCK_LEVELS.len()],
    oplocks_broken: AtomicU64,
    oplock_breaks_acknowledged: AtomicU64,
    breaks_acknowledged: AtomicU64,
    durables_requested: AtomicU64,
    durables_granted: AtomicU64,
}

/// Number of states of a lease: each combination of read, handle and write.
pub(crate) const LEASE_STATES: usize = 8;

/// The levels of oplocks with their names in facts.
const OPLOCK_LEVELS: [(u8, &str); 4] = [
    (oplock::BATCH, "batch"),
    (oplock::EXCLUSIVE, "exclusive"),
    (oplock::LEVEL_II, "level II"),
    (oplock::NONE, "none"),
];

impl SessionCounts {
    /// A channel was lost, and its session continues on others.
    pub(crate) fn channel_lost(&self) {
        self.channels_lost.fetch_add(1, Ordering::Relaxed);
    }

    /// The login of an expired session was renewed.
    pub(crate) fn login_renewed(&self) {
        self.logins_renewed.fetch_add(1, Ordering::Relaxed);
    }

    /// A request was sent again, because its channel was lost or its session was expired.
    pub(crate) fn request_repeated(&self) {
        self.requests_repeated.fetch_add(1, Ordering::Relaxed);
    }

    /// A server answered an open that requests a lease; `state` is what it granted.
    pub(crate) fn lease_granted(&self, state: usize) {
        if let Some(count) = self.leases.get(state) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A lease was broken; `acknowledged` if the server waits for that.
    pub(crate) fn lease_broken(&self, acknowledged: bool) {
        self.leases_broken.fetch_add(1, Ordering::Relaxed);
        self.breaks_acknowledged.fetch_add(u64::from(acknowledged), Ordering::Relaxed);
    }

    /// A server answered an open that requests an oplock; a level that no server may grant counts as none.
    pub(crate) fn oplock_granted(&self, level: u8) {
        let place = OPLOCK_LEVELS.iter().position(|(known, _)| *known == level);
        if let Some(count) = self.oplocks.get(place.unwrap_or(OPLOCK_LEVELS.len() - 1)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// An oplock was broken; `acknowledged` if the server waits for that.
    pub(crate) fn oplock_broken(&self, acknowledged: bool) {
        self.oplocks_broken.fetch_add(1, Ordering::Relaxed);
        self.oplock_breaks_acknowledged.fetch_add(u64::from(acknowledged), Ordering::Relaxed);
    }

    /// A server answered an open that requests a durable handle.
    pub(crate) fn durable_requested(&self, granted: bool) {
        self.durables_requested.fetch_add(1, Ordering::Relaxed);
        self.durables_granted.fetch_add(u64::from(granted), Ordering::Relaxed);
    }

    /// True if an open has requested a lease.
    pub(crate) fn has_leases(&self) -> bool {
        self.leases.iter().any(|count| count.load(Ordering::Relaxed) > 0)
    }

    /// Adds the facts of sessions that request leases, such as `leases_granted: RWH 10, none 1`.
    pub(crate) fn add_lease_facts(&self, facts: &mut TargetFacts) {
        let counts = self.leases.iter().map(|count| count.load(Ordering::Relaxed)).enumerate();
        let granted = counts.rev().filter(|(_, count)| *count > 0);
        let granted = granted.map(|(state, count)| format!("{} {count}", state_name(state as u32)));
        let granted = granted.collect::<Vec<_>>().join(", ");
        facts.state(Fact::LeasesGranted, if granted.is_empty() { "0".to_owned() } else { granted });
        let mut add = |fact: Fact, count: &AtomicU64| {
            facts.state(fact, count.load(Ordering::Relaxed).to_string());
        };
        add(Fact::LeasesBroken, &self.leases_broken);
        add(Fact::LeaseBreaksAcknowledged, &self.breaks_acknowledged);
    }

    /// Adds the facts of sessions that have requested oplocks, such as `oplocks_granted: batch 10, none 1`.
    pub(crate) fn add_oplock_facts(&self, facts: &mut TargetFacts) {
        let counts = self.oplocks.iter().map(|count| count.load(Ordering::Relaxed)).zip(OPLOCK_LEVELS);
        let granted =
            counts.filter(|(count, _)| *count > 0).map(|(count, (_, name))| format!("{name} {count}"));
        let granted = granted.collect::<Vec<_>>().join(", ");
        if granted.is_empty() {
            return;
        }
        facts.state(Fact::OplocksGranted, granted);
        let mut add = |fact: Fact, count: &AtomicU64| {
            facts.state(fact, count.load(Ordering::Relaxed).to_string());
        };
        add(Fact::OplocksBroken, &self.oplocks_broken);
        add(Fact::OplockBreaksAcknowledged, &self.oplock_breaks_acknowledged);
    }

    /// Adds the facts of sessions that request durable handles.
    pub(crate) fn add_durable_facts(&self, facts: &mut TargetFacts) {
        let granted = self.durables_granted.load(Ordering::Relaxed);
        let requested = self.durables_requested.load(Ordering::Relaxed);
        facts.state(Fact::DurableHandlesGranted, format!("{granted} of {requested}"));
    }

    /// Adds the facts of sessions that were expired, if there were any.
    pub(crate) fn add_renewal_facts(&self, facts: &mut TargetFacts) {
        let renewed = self.logins_renewed.load(Ordering::Relaxed);
        if renewed > 0 {
            facts.state(Fact::LoginsRenewed, renewed.to_string());
            let repeated = self.requests_repeated.load(Ordering::Relaxed);
            facts.state(Fact::RequestsRepeated, repeated.to_string());
        }
    }

    /// Adds the facts of sessions with several channels.
    pub(crate) fn add_channel_facts(&self, facts: &mut TargetFacts) {
        let mut add = |fact: Fact, count: &AtomicU64| {
            facts.state(fact, count.load(Ordering::Relaxed).to_string());
        };
        add(Fact::ConnectionsLost, &self.channels_lost);
        add(Fact::RequestsRepeated, &self.requests_repeated);
    }
}
