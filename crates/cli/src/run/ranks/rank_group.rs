//! This process among the other ranks: their machines, a common clock, and which of them still answer.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use sharebench_cluster::{AgreementError, Alert, LivenessCheck, RankInfo, Ranks, differences};
use sharebench_engine::Clock;
use sharebench_model::Facts;

use crate::exit::Failure;
use crate::flags::ranks::RankFlags;
use crate::run::environment;
use crate::system::host_name;

/// Exchanges with each clock at the start of a run.
const EXCHANGES: u32 = 32;
/// Longest wait for the ranks to confirm a stop. Open MPI kills the remaining processes after one second.
const STOP_TIMEOUT: Duration = Duration::from_millis(500);
/// Pause between two checks for alerts.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Facts that should be equal on all machines of a run.
const COMPARED_FACTS: [&str; 4] = ["kernel", "cpu", "cores", "memory"];

/// The ranks of one run, as seen by this rank.
///
/// It exists from the start of MPI until the end of the run. When it is created, all ranks exchange descriptions of their
/// machines and align their clocks to that of rank 0; afterwards instants of different ranks are comparable within half
/// of the longest round trip. Alerts can arrive at any time outside the collective operations of the engine, so whoever
/// waits calls [`RankGroup::receive_alerts`] regularly; the alerts are kept for [`RankGroup::missing`].
pub struct RankGroup {
    /// Collective operations of all ranks.
    pub ranks: Ranks,
    /// The clock of this rank, aligned to that of rank 0.
    pub clock: Clock,
    /// Differences between the machines; only on rank 0.
    pub differences: Vec<String>,
    flags: RankFlags,
    received: Mutex<Vec<(u32, Alert)>>,
}

impl RankGroup {
    /// Exchanges descriptions with the other ranks and aligns the clocks.
    pub fn join(
        transport: Box<dyn sharebench_cluster::Transport>,
        flags: &RankFlags,
    ) -> Result<Self, Failure> {
        let facts = environment::facts("");
        let compared = COMPARED_FACTS.iter();
        let compared = compared.filter_map(|name| Some(((*name).to_owned(), facts.get(*name)?.clone())));
        let own = RankInfo {
            host: host(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            facts: compared.collect(),
        };
        let (ranks, descriptions) = Ranks::join(transport, &own).map_err(|error| disagreement(&error))?;
        let clock = Clock::start();
        let lost = |lost| Failure::Internal(anyhow::Error::new(lost));
        ranks.align(EXCHANGES, &|| clock.now()).map_err(lost)?;
        let clock =
            if ranks.is_leader() { clock } else { Clock::showing(ranks.to_leader_clock(clock.now())) };
        ranks.align(EXCHANGES, &|| clock.now()).map_err(lost)?;
        Ok(Self {
            differences: differences(&descriptions),
            ranks,
            clock,
            flags: flags.clone(),
            received: Mutex::default(),
        })
    }

    /// Facts about the ranks for the header of the run.
    pub fn facts(&self) -> Facts {
        let mut facts = Facts::new();
        facts.insert("ranks".into(), self.ranks.size().to_string());
        facts.insert("rank_hosts".into(), self.ranks.hosts().join(","));
        facts.insert("rank_clock_error_ns".into(), (self.ranks.aligned().round_trip_ns / 2).to_string());
        if !self.flags.rank_weights.is_empty() {
            let weights: Vec<String> = self.flags.rank_weights.iter().map(ToString::to_string).collect();
            facts.insert("rank_weights".into(), weights.join(","));
        }
        if self.flags.shift_ranks > 0 {
            facts.insert("shift_ranks".into(), self.flags.shift_ranks.to_string());
        }
        if !self.differences.is_empty() {
            facts.insert("rank_differences".into(), self.differences.join("; "));
        }
        facts
    }

    /// Receives alerts of other ranks; true if one of them requests a stop.
    pub fn receive_alerts(&self) -> bool {
        let alerts = self.ranks.transport().alerts();
        let stop = alerts.iter().any(|(_, alert)| *alert == Alert::Stop);
        if let Ok(mut received) = self.received.lock() {
            received.extend(alerts);
        }
        stop
    }

    /// Requests a stop of all other ranks; for rank 0.
    pub fn stop_all(&self) {
        for rank in 1..self.ranks.size() {
            self.ranks.transport().alert(rank, Alert::Stop);
        }
    }

    /// Confirms to rank 0 that this rank stops.
    pub fn confirm_stop(&self) {
        self.ranks.transport().alert(0, Alert::Stopping);
    }

    /// Waits until all ranks confirm that they stop. Returns a message with the ranks that did not, if any.
    pub fn missing(&self) -> Option<String> {
        // The launcher has sent SIGTERM to all ranks. A message to a rank that is gone would end this process too.
        let mut check = LivenessCheck::new(self.ranks.transport());
        let end = Instant::now() + STOP_TIMEOUT;
        while Instant::now() < end {
            self.receive_alerts();
            let received = self.received.lock().map(|received| received.clone()).unwrap_or_default();
            if check.record(&received) {
                return None;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        let host = |rank: u32| self.ranks.hosts().get(rank as usize).map_or("", String::as_str);
        let names: Vec<String> =
            check.missing().into_iter().map(|rank| format!("rank {rank} ({})", host(rank))).collect();
        Some(format!(
            "the launcher ended the run and {} did not answer within {STOP_TIMEOUT:?}: it died, or its machine is stuck",
            names.join(", ")
        ))
    }
}

/// The failure of an exchange between ranks: an error in their arguments, or a lost rank.
pub fn disagreement(error: &AgreementError) -> Failure {
    match error {
        AgreementError::Lost(lost) => Failure::Internal(anyhow::Error::new(lost.clone())),
        AgreementError::Mismatches(_) => Failure::usage(error),
    }
}

/// Name of this machine. `SHAREBENCH_RANK_HOST` distinguishes ranks in different networks of one machine.
fn host() -> String {
    let named = std::env::var("SHAREBENCH_RANK_HOST").ok();
    named.map_or_else(host_name, |name| name.trim().to_owned())
}
