//! The engine: runs the steps of a resolved plan in order, and reports everything as events.

pub(crate) mod cache_probes;
pub(crate) mod cell_limits;
pub(crate) mod collected;
pub(crate) mod directory_check;
pub(crate) mod first_connection;
pub(crate) mod follow;
pub(crate) mod leftovers;
pub(crate) mod load;
pub(crate) mod own_directory;
pub(crate) mod pre_step_command;
pub(crate) mod preflight;
pub(crate) mod ranked;
pub(crate) mod ranked_data_set;
pub(crate) mod rounds;
pub(crate) mod search;
pub(crate) mod series;
pub(crate) mod start_error;
pub(crate) mod step;
pub(crate) mod step_begin;
pub(crate) mod stopper;
pub(crate) mod survey;
pub(crate) mod target_state;
pub(crate) mod turns;
pub(crate) mod unsupported_tests;

use std::sync::Arc;
use std::sync::mpsc::Sender;

use sharebench_cluster::Ranks;
use sharebench_model::units::{counted, show_seconds};
use sharebench_model::{
    ErrorClass, Fact, OpError, RunEvent, RunOutcome, Slot, StepError, StepResult, USERS_STAY,
};
use sharebench_plan::{ResolvedPlan, SkippedCells, StepPlan, Work};
use sharebench_target::{Session, SessionSpec, Target};

use crate::cell::record_step;
use crate::cell::target_files::{TargetFiles, Units};
use crate::cell::throughput_step;
use crate::data::context::PassContext;
use crate::data::directory::directory_on;
use crate::data::progress_reports::ProgressReports;
use crate::data::recycle_bins::remove_completely;
use crate::data::request_splitting;
use crate::machine::measuring_machine::Machine;
use crate::metadata::connected::Connected;
use crate::metadata::directory_set::DirectorySet;
use crate::metadata::step as metadata_step;
use crate::ranks::agreement::agreed;
use crate::run::cell_limits::Limits;
use crate::run::first_connection::connect_first;
use crate::run::rounds::RunResources;
use crate::run::start_error::StartError;
use crate::run::target_state::{TargetState, release_all};
use crate::time::clock::{Clock, ClockError};
use crate::time::deadline::Deadline;
use crate::time::stop::StopSignal;
use crate::time::until_stopped::until_stopped;

/// A target that has not replied for a whole timeout gets this part of it for each reply while its directory is removed,
/// so that the run ends within two timeouts.
const SILENT_CLEANUP_PART: u32 = 4;

/// Nanoseconds below which an exceeded time budget and its removal are not worth a warning: a budget ends between the
/// repetitions of a cell, never within one.
const NOTICEABLE_NS: u64 = 1_000_000_000;

/// One execution of a resolved plan against its targets: the entry point of the engine.
///
/// A run borrows everything: the plan, the targets, the clock, the stop signal and the channel for events. What it
/// makes while it measures (sessions, files, tallies) lives inside of [`Self::execute`], which prepares the targets,
/// works through rounds of cells and then through the load steps, and removes its directories in the end, also after
/// an error and after a request to stop.
///
/// Invariants: it writes only below its own directory of each target. It reports everything that it measures as
/// events, and returns only how it ended. The order of steps follows from the plan, the seed and the results so far,
/// so that a run that is given its finished steps (`done`) continues where it was interrupted. With several ranks
/// every process executes the same run; rank 0 decides which step comes next (docs/design/several-machines.md).
pub struct Run<'a> {
    /// The plan to execute.
    pub plan: &'a ResolvedPlan,
    /// The plan's targets, in its order.
    pub targets: &'a [Arc<dyn Target>],
    /// Steps that an earlier, interrupted part of the run finished, in any order.
    pub done: &'a [StepResult],
    /// Name of the run on its targets, see [`crate::data::directory::directory_on`]; starts with [`sharebench_target::DIRECTORY_PREFIX`].
    pub directory: &'a str,
    /// True if the directory may hold leftovers of this run.
    pub resumed: bool,
    /// Requests the run to stop.
    pub stop: &'a StopSignal,
    /// The clock of all its instants: [`Clock::start`], or a virtual one.
    pub clock: &'a Clock,
    /// The channel for events. A receiver that has been dropped does not stop the run.
    pub events: &'a Sender<RunEvent>,
    /// The other processes that measure the same plan at the same time; none for one that is alone.
    pub ranks: Option<&'a Ranks>,
}

/// How a run ended, in addition to its events. The outcome is part of the results; leftovers are for the user, who
/// can remove them with `sharebench clean`.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    /// How the run ended; the last event contains it as well.
    pub outcome: RunOutcome,
    /// Targets (by index) on which our directory could not be removed, and why.
    pub leftovers: Vec<(u32, String)>,
}

impl RunEnd {
    /// The end of a run that measured everything and left nothing.
    pub const CLEAN: Self = Self { outcome: RunOutcome::Complete, leftovers: Vec::new() };
}

impl Run<'_> {
    /// Runs the plan on the calling thread until all steps are measured, or an error or a request to stop ends it. It
    /// sends every event except [`RunEvent::Started`], which the caller sends, because only the caller knows the
    /// header.
    pub fn execute(&self) -> Result<RunEnd, StartError> {
        match self.clock.block_on(self.drive()) {
            Ok(end) => end,
            Err(ClockError::Runtime(why)) => Err(StartError::Runtime(why)),
            Err(deadlock @ ClockError::Deadlock { .. }) => {
                let outcome = RunOutcome::Incomplete(StepError::EngineFailed(deadlock.to_string()));
                self.emit(RunEvent::Finished(outcome.clone()));
                let left = |index| (index as u32, deadlock.to_string());
                Ok(RunEnd { outcome, leftovers: (0..self.targets.len()).map(left).collect() })
            }
        }
    }

    /// Prepares the targets, measures, and cleans up in every case. Each phase that can fail is agreed upon by all
    /// ranks.
    async fn drive(&self) -> Result<RunEnd, StartError> {
        let clock = self.clock;
        let verify = self.plan.verify;
        let deadline = Deadline::new(clock, self.plan.timeout);
        let mut context = PassContext::new(clock, self.stop, verify, deadline);
        let probes = self.plan.cache_probes.as_ref();
        context.server_disk_stat = probes.and_then(|probes| probes.server_disk_stat.as_deref());
        let send = |event| self.emit(event);
        let reports = ProgressReports::new(&send);
        context.reports = Some(&reports);
        let mut states = Vec::new();
        let mut skipped = SkippedCells::default();
        let prepared = self.prepare(&mut states, &mut skipped, &mut context).await;
        if let Err(error) = self.prepared_together(prepared) {
            for (index, state) in states.into_iter().enumerate() {
                reports.begin(index as u32, clock.now());
                // The first error is the one to report.
                let _ = if self.leads() {
                    state.files.clean(&mut context).await
                } else {
                    state.files.leave(&mut context).await
                };
            }
            return Err(error);
        }
        // In virtual time there is no machine that could disturb it.
        let mut machine = (!clock.is_virtual()).then(|| Machine::start(clock, self.plan, self.targets));
        let mut budget_ends_ns = None;
        let resources = RunResources {
            states: &mut states,
            skipped: &skipped,
            machine: &mut machine,
            context: &mut context,
            budget_ends_ns: &mut budget_ends_ns,
        };
        let outcome = match self.ranks {
            Some(ranks) if !ranks.is_leader() => self.follow(ranks, resources).await,
            _ => self.schedule(resources).await,
        };
        drop(machine);
        self.finish_together(&outcome);
        // Cleaning up must not be cut short by the request to stop.
        let go_on = StopSignal::default();
        context.stop = &go_on;
        if is_silent(&outcome) {
            context.deadline = Deadline::new(clock, self.plan.timeout / SILENT_CLEANUP_PART);
        }
        let mut leftovers = Vec::new();
        if !self.leads() {
            for state in states {
                // What it leaves open ends with its session; the leader reports what could not be removed.
                let _ = state.files.leave(&mut context).await;
            }
            self.wait_for_all();
            return Ok(RunEnd { outcome, leftovers });
        }
        // The leader removes the directory only after every rank has closed its files in it.
        self.wait_for_all();
        let removal_begins = clock.now();
        for (index, state) in states.into_iter().enumerate() {
            reports.begin(index as u32, clock.now());
            let mut facts = state.files.facts.clone();
            let target = index as u32;
            if let Err(error) = self.clean(index, state, &mut context).await {
                leftovers.push((target, error));
            }
            let counted = self.targets[index].final_facts();
            if !counted.is_empty() {
                facts.extend(counted);
                self.emit(RunEvent::TargetDone { target, facts: facts.stored() });
            }
        }
        if let (RunOutcome::Complete, Some(ends)) = (&outcome, budget_ends_ns) {
            self.report_exceeded_budget(ends, removal_begins, clock.now());
        }
        self.emit(RunEvent::Finished(outcome.clone()));
        Ok(RunEnd { outcome, leftovers })
    }

    /// Warns if the removal of the directories lasted beyond the time budget. It is never cut short, because nothing of
    /// the run may stay on a target.
    fn report_exceeded_budget(&self, ends: u64, removal_begins: u64, now: u64) {
        let removal_ns = now.saturating_sub(removal_begins);
        let beyond_ns = now.saturating_sub(ends);
        if beyond_ns.min(removal_ns) >= NOTICEABLE_NS {
            let seconds = |nanos: u64| show_seconds(nanos as f64 / 1e9);
            let beyond = seconds(beyond_ns);
            let removal = seconds(removal_ns);
            self.emit(RunEvent::Warning(format!(
                "time_budget: exceeded by {beyond}; removing the directories of the run took {removal}"
            )));
        }
    }

    /// Connects to every target, makes the run's directory on it and examines it. `states` has the targets that were reached when
    /// one of them fails.
    async fn prepare(
        &self,
        states: &mut Vec<TargetState>,
        skipped: &mut SkippedCells,
        context: &mut PassContext<'_>,
    ) -> Result<(), StartError> {
        self.check_plan()?;
        let follows = self.ranks.filter(|ranks| !ranks.is_leader());
        for (index, target) in self.targets.iter().enumerate() {
            if let Some(reports) = context.reports {
                reports.begin(index as u32, self.clock.now());
            }
            // A peer that accepts a connection and never answers must not delay the stop.
            let spec = self.spec(target.as_ref());
            let connecting = connect_first(target.as_ref(), &spec);
            let connected = until_stopped(self.clock, self.stop, connecting).await;
            let session = connected.ok_or(StartError::Stopped)??;
            let directory = directory_on(self.directory, index);
            let mut files = match follows {
                Some(ranks) => TargetFiles::join(session, directory, self.units(), ranks),
                None => self.make_directory(index, session, directory, context).await?,
            };
            files.paged = target.capabilities().blocking;
            states.push(TargetState::new(files));
            if let (None, Some(state)) = (follows, states.last_mut()) {
                self.examine(index, &mut state.files, skipped, context).await?;
            }
        }
        Ok(())
    }

    /// Compares the plan with all targets before the first is connected, so that a mistake leaves no trace on any of them.
    fn check_plan(&self) -> Result<(), StartError> {
        if self.plan.keeps_users() && self.ranks.is_some() {
            let reason = "load.keep_users: several ranks cannot keep their users from step to step; leave it out, or use one \
                          process";
            return Err(StartError::Ranks(reason.into()));
        }
        for (planned, target) in self.plan.targets.iter().zip(self.targets) {
            preflight::check(self.plan, &planned.name, target.as_ref())?;
        }
        Ok(())
    }

    async fn make_directory(
        &self,
        index: usize,
        session: Box<dyn Session>,
        directory: String,
        context: &mut PassContext<'_>,
    ) -> Result<TargetFiles, StartError> {
        let shown = format!("{directory} of {}", self.targets[index].url());
        let files = TargetFiles::prepare(session, directory, self.units(), self.resumed, context).await;
        files.map_err(|error| StartError::Prepare {
            target: self.plan.targets[index].name.clone(),
            directory: shown,
            error,
        })
    }

    /// Reports what is special about a target, and skips the cells that it cannot measure. Its facts are complete then, also if
    /// the run cannot begin.
    async fn examine(
        &self,
        index: usize,
        files: &mut TargetFiles,
        skipped: &mut SkippedCells,
        context: &mut PassContext<'_>,
    ) -> Result<(), StartError> {
        let name = &self.plan.targets[index].name;
        let warn = |text: String| self.emit(RunEvent::Warning(format!("{name}: {text}")));
        if let Some(missing) = files.facts.get(Fact::NotGranted) {
            warn(format!("not granted: {missing}"));
        }
        if let Some(reason) = files.facts.get(Fact::Unsafe) {
            warn(format!("unsafe: {reason}"));
        }
        self.report_splitting(name, files);
        self.report_sharing(name, self.targets[index].as_ref());
        if self.plan.keeps_users() {
            files.facts.state(Fact::UsersBetweenSteps, USERS_STAY);
        }
        let fits = match self.skip_cells(index, files, skipped) {
            Ok(()) => self.skip_unsupported(index, files, skipped, context).await,
            exceeding => exceeding,
        };
        let available = files.examine_space(context).await;
        files.examine_keepers(context).await.into_iter().for_each(warn);
        self.emit(RunEvent::TargetReady { target: index as u32, facts: files.facts.stored() });
        fits?;
        let needed = self.plan.bytes_needed();
        match available {
            Some(available) if available < needed => {
                Err(StartError::NoSpace { target: name.clone(), needed, available })
            }
            _ => Ok(()),
        }
    }

    /// Runs the user's pre-step command while no file is open and no session is connected. The files of the step are
    /// made before, so that afterwards no cache holds them unless the command leaves them there.
    pub(crate) async fn between(
        &self,
        step: &StepPlan,
        states: &mut [TargetState],
        context: &mut PassContext<'_>,
    ) -> Result<(), StepError> {
        let Some(command) = &self.plan.pre_step_cmd else { return Ok(()) };
        let state = &mut states[step.target as usize];
        let ranks = self.ranks;
        let made = match &step.work {
            Work::Records(work) if work.jobs.is_some() => {
                throughput_step::prepare(work, ranks, &mut state.files, context).await
            }
            Work::Records(work) => match record_step::prepare(work, &mut state.files, context).await {
                Ok(()) => self.lay_reserve(step, work, &mut state.files, context).await,
                Err(end) => Err(end),
            },
            Work::Metadata(work) => {
                let set = DirectorySet::new(work, &state.files.directory);
                let session = state.files.session.as_mut();
                let mut at = Connected::new(session, context);
                metadata_step::prepare(work, &set, &mut state.directories, ranks, &mut at).await
            }
            Work::Transactions(work) => self.lay_out(work, step, state, context).await,
        };
        // Open files and sessions keep caches alive and block an unmount.
        let released = match made {
            Ok(()) => release_all(states, context).await,
            Err(end) => Err(end),
        };
        // No rank's command may meet another rank's session.
        agreed(ranks, released)?;
        agreed(ranks, pre_step_command::run(command, self.stop))?;
        agreed(ranks, self.connect_again(states).await)
    }

    async fn connect_again(&self, states: &mut [TargetState]) -> Result<(), StepError> {
        for (state, target) in states.iter_mut().zip(self.targets) {
            let session = target.connect(&self.spec(target.as_ref())).await;
            state.files.take(session.map_err(OpError::from)?);
        }
        Ok(())
    }

    /// What a session must be able to hold, within the limits of the target's protocol. A record of a cell is one
    /// request or the cell is skipped ([`cell_limits`]); a block of a load may be several (docs/design/user-sessions.md).
    pub(crate) fn spec(&self, target: &dyn Target) -> SessionSpec {
        let capabilities = target.capabilities();
        let slot_bytes = self.plan.max_record().max(self.plan.max_block()).min(capabilities.max_record);
        let slots = self.plan.max_depth().min(capabilities.max_queue_depth);
        SessionSpec { slots, slot_bytes, connect_timeout: self.plan.timeout, allow_split: true }
    }

    /// Skips the cells that exceed what the session of a target negotiated, and reports them. Fails if that leaves
    /// nothing to measure.
    fn skip_cells(
        &self,
        index: usize,
        files: &mut TargetFiles,
        skipped: &mut SkippedCells,
    ) -> Result<(), StartError> {
        let name = &self.plan.targets[index].name;
        let capabilities = self.targets[index].capabilities();
        let protocol = capabilities.protocol;
        let calls = self.targets[index].call_depth();
        let exceeding =
            Limits::Negotiated(capabilities, calls, files.session.as_ref()).exceeded_by(self.plan);
        preflight::some_cell_remains(self.plan, name, &exceeding, protocol)?;
        let of = self.plan.cells.len();
        if let Some(reason) = cell_limits::skip(skipped, index as u32, protocol, &exceeding, of) {
            self.emit(RunEvent::Warning(format!("{name}: skipped {reason}")));
            files.facts.state(Fact::SkippedCells, reason);
        }
        Ok(())
    }

    /// Reports how blocks of the load are sent that one request does not carry.
    fn report_splitting(&self, name: &str, files: &mut TargetFiles) {
        let slot_bytes = files.session.buffer(Slot(0)).len() as u32;
        if let Some(said) = request_splitting::fact(files.session.as_ref(), self.plan.max_block(), slot_bytes)
        {
            self.emit(RunEvent::Warning(format!("{name}: a block of {said}")));
            files.facts.state(Fact::Block, said);
        }
    }

    /// Reports where users of one session have to wait for each other.
    fn report_sharing(&self, name: &str, target: &dyn Target) {
        let carried = target.shared_queue_depth();
        let users = self.plan.works().map(|work| match work {
            Work::Transactions(work) => work.users_per_session,
            Work::Records(_) | Work::Metadata(_) => 1,
        });
        if let Some(users) = users.max().filter(|users| *users > carried) {
            self.emit(RunEvent::Warning(format!(
                "{name}: {users} users share a session that carries {} at a time: the others wait",
                counted(carried, "request")
            )));
        }
    }

    /// The units in which the states of the files of the plan's cells are tracked.
    fn units(&self) -> Units {
        let mut units = Units::default();
        for work in self.plan.works() {
            if let Work::Records(work) = work {
                units.note(work);
            }
        }
        units
    }

    /// Removes the run's directory from a target, over a new session if the first one was lost.
    async fn clean(
        &self,
        index: usize,
        state: TargetState,
        context: &mut PassContext<'_>,
    ) -> Result<(), String> {
        // The session may be the very thing that failed, so cleaning up is tried once more over a new one.
        let Err(first) = state.files.clean(context).await else { return Ok(()) };
        tracing::debug!(error = %first, "cleaning up over a new session");
        let connect_timeout = context.deadline.limit();
        let spec = SessionSpec { slots: 1, slot_bytes: 4096, connect_timeout, allow_split: true };
        let mut session = self.targets[index].connect(&spec).await.map_err(|error| error.to_string())?;
        let result = remove_completely(session.as_mut(), &directory_on(self.directory, index), context).await;
        session.close().await;
        result.map_err(|error| error.to_string())
    }

    pub(crate) fn emit(&self, event: RunEvent) {
        // A receiver may end first; the stop signal then ends the run.
        let _ = self.events.send(event);
    }
}

/// True if a target was lost because it did not reply within the timeout.
fn is_silent(outcome: &RunOutcome) -> bool {
    matches!(outcome, RunOutcome::Incomplete(StepError::TargetLost { class: ErrorClass::Timeout, .. }))
}
