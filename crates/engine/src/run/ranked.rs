//! Where a run of several processes begins, where its steps become one, and where it ends.

use sharebench_cluster::{AgreementError, Ranks};
use sharebench_model::{RunOutcome, StepError};
use sharebench_plan::{StepPlan, Work};

use crate::check;
use crate::machine::measuring_machine::Machine;
use crate::ranks::agreement::rank_lost;
use crate::ranks::contribution::Contribution;
use crate::ranks::leader_command::LeaderCommand;
use crate::record::tally::Tally;
use crate::run::Run;
use crate::run::start_error::StartError;

impl Run<'_> {
    /// True for the process that decides and stores: one without other ranks, or rank 0.
    pub(crate) fn leads(&self) -> bool {
        self.ranks.is_none_or(Ranks::is_leader)
    }

    /// Numbers of the step's users that work in this process.
    pub(crate) fn own_users(&self, users: u32) -> Vec<u32> {
        self.ranks.map_or_else(|| (0..users).collect(), |ranks| ranks.users(users))
    }

    /// Succeeds only if all ranks are prepared. A process without other ranks keeps its own error.
    pub(crate) fn prepared_together(&self, own: Result<(), StartError>) -> Result<(), StartError> {
        let Some(ranks) = self.ranks else { return own };
        let said = own.map_err(|error| error.to_string());
        ranks.agree(said).map_err(|error| match error {
            AgreementError::Lost(lost) => StartError::Runtime(lost.to_string()),
            AgreementError::Mismatches(_) => StartError::Ranks(error.to_string()),
        })
    }

    /// Sends the end of the run, and its outcome, to the other ranks.
    pub(crate) fn finish_together(&self, outcome: &RunOutcome) {
        if let Some(ranks) = self.ranks.filter(|ranks| ranks.is_leader()) {
            // A lost rank cannot be reached.
            let _ = ranks.broadcast(Some(&LeaderCommand::Finish(outcome.clone())));
        }
    }

    /// Waits until all ranks have closed their files and sessions.
    pub(crate) fn wait_for_all(&self) {
        if let Some(ranks) = self.ranks {
            // Who is lost has nothing open any more.
            let _ = ranks.barrier();
        }
    }

    /// Merges what all ranks counted; the leader gets the result. If one rank has an error, every rank returns that
    /// error.
    pub(crate) fn reduce(
        &self,
        ranks: &Ranks,
        step: &StepPlan,
        measured: Result<Tally, StepError>,
        machine: Option<&Machine>,
    ) -> Result<Option<Contribution>, StepError> {
        let own = match measured {
            Ok(tally) => self.contribution(ranks, step, tally, machine),
            Err(error) => Contribution::failed(error, ranks),
        };
        // A rank that failed contributes its error: it must take part, because the others wait in the same
        // reduction.
        let all = ranks.reduce(own, Contribution::merge).map_err(rank_lost)?;
        if let Some(error) = ranks.broadcast(all.as_ref().map(|all| &all.error)).map_err(rank_lost)? {
            return Err(error);
        }
        Ok(all.map(|mut all| {
            all.settle();
            all
        }))
    }

    fn contribution(
        &self,
        ranks: &Ranks,
        step: &StepPlan,
        tally: Tally,
        machine: Option<&Machine>,
    ) -> Contribution {
        let numbers = self.own_users(match &step.work {
            Work::Records(work) => work.jobs.unwrap_or(1),
            Work::Metadata(work) => work.jobs(),
            Work::Transactions(work) => work.users,
        });
        let blocking = self.targets[step.target as usize].capabilities().blocking;
        // A rank without users has nothing to say of its machine.
        let checks = machine.filter(|_| !numbers.is_empty()).map_or_else(Vec::new, |machine| {
            let machinery = machine.during(step, blocking, &tally);
            check::machine::checks(&self.measure_of(step, tally.clone()), &step.work, &machinery)
        });
        let users = numbers.len() as u32;
        Contribution::new(ranks, tally, &numbers, users, checks)
    }
}
