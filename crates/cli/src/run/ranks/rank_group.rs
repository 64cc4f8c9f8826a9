//! This process among the others: who they are, what time it is for them, and who of them is still there.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use sharebench_cluster::{AgreementError, Alert, LivenessCheck, RankInfo, Ranks, differences};
use sharebench_engine::Clock;
use sharebench_model::Facts;

use crate::exit::Failure;
use crate::flags::ranks::RankFlags;
use crate::run::environment;

/// Exchanges with each clock when a run begins.
const EXCHANGES: u32 = 32;
/// How long a rank may take to say that it stops; Open MPI kills what is left after a second.
const PATIENCE: Duration = Duration::from_millis(500);
/// Facts of a machine that should be the same on all.
const ALIKE: [&str; 4] = ["kernel", "cpu", "cores", "memory"];

/// The processes of a run.
pub struct RankGroup {
    /// What they do together.
    pub ranks: Ranks,
    /// This one's clock, set by the leader's.
    pub clock: Clock,
    /// How machines differ; on the leader.
    pub differences: Vec<String>,
    flags: RankFlags,
    heard: Mutex<Vec<(u32, Alert)>>,
}

impl RankGroup {
    /// Meets the others and sets the clock by the leader's.
    pub fn join(
        transport: Box<dyn sharebench_cluster::Transport>,
        flags: &RankFlags,
    ) -> Result<Self, Failure> {
        let facts = environment::facts("");
        let alike = ALIKE.iter().filter_map(|name| Some(((*name).to_owned(), facts.get(*name)?.clone())));
        let own =
            RankInfo { host: host(), version: env!("CARGO_PKG_VERSION").to_owned(), facts: alike.collect() };
        let (ranks, descriptions) = Ranks::join(transport, &own).map_err(|error| told(&error))?;
        let clock = Clock::start();
        let lost = |lost| Failure::Internal(anyhow::Error::new(lost));
        ranks.align(EXCHANGES, &|| clock.now()).map_err(lost)?;
        let clock =
            if ranks.is_leader() { clock } else { Clock::showing(ranks.to_leader_clock(clock.now())) };
        ranks.align(EXCHANGES, &|| clock.now()).map_err(lost)?;
        let heard = Mutex::default();
        Ok(Self { differences: differences(&descriptions), ranks, clock, flags: flags.clone(), heard })
    }

    /// What the run's header tells of them.
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

    /// Listens to what is told out of turn; true when this rank was told to stop.
    pub fn hear(&self) -> bool {
        let alerts = self.ranks.transport().alerts();
        let stop = alerts.iter().any(|(_, alert)| *alert == Alert::Stop);
        if let Ok(mut heard) = self.heard.lock() {
            heard.extend(alerts);
        }
        stop
    }

    /// Tells all others to stop; on the leader.
    pub fn stop_all(&self) {
        for rank in 1..self.ranks.size() {
            self.ranks.transport().alert(rank, Alert::Stop);
        }
    }

    /// Tells the leader that this rank stops.
    pub fn say_stopping(&self) {
        self.ranks.transport().alert(0, Alert::Stopping);
    }

    /// Waits for all to say that they stop; none when they do, otherwise who does not.
    pub fn missing(&self) -> Option<String> {
        // The launcher has told all of them to stop; a message to one that is gone would end this process too.
        let mut check = LivenessCheck::new(self.ranks.transport());
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            self.hear();
            let heard = self.heard.lock().map(|heard| heard.clone()).unwrap_or_default();
            if check.record(&heard) {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let host = |rank: u32| self.ranks.hosts().get(rank as usize).map_or("", String::as_str);
        let names: Vec<String> =
            check.missing().into_iter().map(|rank| format!("rank {rank} ({})", host(rank))).collect();
        Some(format!(
            "the launcher ended the run and {} did not answer within {PATIENCE:?}: it died, or its machine is stuck",
            names.join(", ")
        ))
    }
}

/// What ranks could not agree on is a mistake of the user's; a lost one is nobody's.
pub fn told(error: &AgreementError) -> Failure {
    match error {
        AgreementError::Lost(lost) => Failure::Internal(anyhow::Error::new(lost.clone())),
        AgreementError::Mismatches(_) => Failure::usage(error),
    }
}

/// Name of this machine; ranks on one machine in networks of their own are told apart by `SHAREBENCH_RANK_HOST`.
fn host() -> String {
    let named = std::env::var("SHAREBENCH_RANK_HOST").ok();
    let kernel = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    named.or_else(kernel).map_or_else(|| "unknown".into(), |name| name.trim().to_owned())
}
