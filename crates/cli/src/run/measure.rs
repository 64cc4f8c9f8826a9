//! Runs a plan: the engine on a thread of its own, its events into results database and live view, signals, the end.

use std::io::{IsTerminal, stderr, stdin};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sharebench_engine::{Clock, Run, RunEnd, StartError, StopSignal, own_descriptors};
use sharebench_model::{
    ErrorClass, Facts, RepeatRule, RunEvent, RunHeader, RunOutcome, StepError, StepResult,
};
use sharebench_plan::ResolvedPlan;
use sharebench_results::{RunId, RunSink, RunState, Store};
use sharebench_target::Target;

use crate::dashboard::Dashboard;
use crate::exit::{self, Failure};
use crate::flags::monitoring::MonitoringFlags;
use crate::flags::output::OutputFlags;
use crate::live::LiveView;
use crate::live::plan_preview::plan_preview;
use crate::monitoring::Monitoring;
use crate::output::{line, message};
use crate::run::environment;
use crate::run::event_sink::EventSink;
use crate::run::hint::{database_option, quoted};
use crate::run::interrupts::Interrupts;
use crate::run::ranks::RankGroup;
use crate::run::run_store;
use crate::run::run_summary::{FinishedRun, SummaryWords};

/// Longest wait for an event before signals and keys are checked again.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Writes the report of a run, prints its summary, serves the report if there is a dashboard, and chooses the exit code.
pub fn finish(measured: &Measured, report: Option<&Path>, output: &OutputFlags) -> Result<ExitCode, Failure> {
    let code = print_result(measured, report, output, SummaryWords::default())?;
    measured.serve_report(output);
    Ok(code)
}

/// As [`finish`], but without serving the report, and with words of the command.
pub fn print_result(
    measured: &Measured,
    report: Option<&Path>,
    output: &OutputFlags,
    words: SummaryWords,
) -> Result<ExitCode, Failure> {
    let dashboard = measured.dashboard.as_ref();
    if let Some(run) = measured.run {
        let loaded = run_store::load_from(&measured.store, run)?;
        let complete = loaded.run.state == RunState::Ended(RunOutcome::Complete);
        let steps = loaded.run.steps.len();
        // JSON lines alone need no analysis.
        let is_wanted = report.is_some() || dashboard.is_some() || !output.json;
        let analysis = is_wanted.then(|| run_store::analyse_loaded(vec![loaded])).transpose()?;
        if let (Some(path), Some(analysis)) = (report, &analysis) {
            run_store::write_report(analysis, path)?;
        }
        if let Some(dashboard) = dashboard {
            dashboard.end(analysis.as_ref());
        }
        let finished = FinishedRun { id: run, complete, steps, store: measured.store.path(), report, words };
        match analysis {
            Some(analysis) if !output.json => finished.print(&analysis, output.quiet),
            _ => finished.print_object(),
        }
    } else if let Some(dashboard) = dashboard {
        dashboard.end(None);
    }
    Ok(measured.exit_code())
}

/// A run after its end, whatever the outcome.
pub struct Measured {
    /// The results database that contains it.
    pub store: Store,
    /// Its number; none if no step started, because such a run is not stored.
    pub run: Option<RunId>,
    outcome: RunOutcome,
    failures: Failures,
    /// The dashboard, which still shows the run until it gets the report.
    dashboard: Option<Dashboard>,
    interrupts: Interrupts,
    /// True if this process measured alone. With several ranks the launcher and the other ranks wait for its end.
    is_alone: bool,
}

impl Measured {
    /// Makes the report of this run for the dashboard, if there is one, and serves it.
    pub fn show_report(&self, output: &OutputFlags) -> Result<(), Failure> {
        let Some(dashboard) = &self.dashboard else { return Ok(()) };
        let loaded = self.run.map(|run| run_store::load_from(&self.store, run)).transpose()?;
        let analysis = loaded.map(|loaded| run_store::analyse_loaded(vec![loaded])).transpose()?;
        dashboard.end(analysis.as_ref());
        self.serve_report(output);
        Ok(())
    }

    /// Serves the report after the run: for a user at a terminal until a signal; in a script until open pages have loaded
    /// it, for a few seconds at most. A user who has stopped the run by a signal does not have to send another one.
    pub fn serve_report(&self, output: &OutputFlags) {
        let Some(dashboard) = &self.dashboard else { return };
        let is_watched = stdin().is_terminal() && stderr().is_terminal();
        let signals = self.interrupts.count();
        let _serving = self.interrupts.serving();
        if is_watched
            && self.is_alone
            && signals == 0
            && dashboard.has_report()
            && !output.quiet
            && !output.json
        {
            line(format_args!("dashboard: {} has the report until Ctrl-C", dashboard.url()));
            self.interrupts.wait();
        } else {
            dashboard.wait_for_pages(|| self.interrupts.count() > signals);
        }
    }

    fn exit_code(&self) -> ExitCode {
        ExitCode::from(code_of(&self.outcome, self.failures))
    }

    /// True if the user stopped the run.
    pub fn was_stopped(&self) -> bool {
        self.outcome == RunOutcome::Incomplete(StepError::Stopped)
    }

    /// The reason if the run does not count as a measurement of the whole plan.
    pub fn invalid_reason(&self) -> Option<String> {
        let reason = match &self.outcome {
            RunOutcome::Incomplete(StepError::Stopped) => "the run was stopped".to_owned(),
            RunOutcome::Incomplete(error) => {
                format!("the run ended early ({}): {}", error.name(), error.reason().unwrap_or_default())
            }
            RunOutcome::Complete if self.failures.data => {
                "a read returned other data than was written".to_owned()
            }
            RunOutcome::Complete if self.failures.all_of_a_step => {
                "every operation of a load step failed".to_owned()
            }
            RunOutcome::Complete if self.failures.leftovers => "a directory stays on a target".to_owned(),
            RunOutcome::Complete => return None,
        };
        Some(reason)
    }
}

/// What went wrong in a run although it may be complete.
#[derive(Debug, Clone, Copy, Default)]
struct Failures {
    /// A read returned other data than was written.
    data: bool,
    /// Every operation of a load step failed.
    all_of_a_step: bool,
    /// A directory stays on a target.
    leftovers: bool,
}

/// The exit code of a run.
fn code_of(outcome: &RunOutcome, failures: Failures) -> u8 {
    match outcome {
        RunOutcome::Incomplete(StepError::EngineFailed(_)) => exit::INTERNAL,
        RunOutcome::Incomplete(StepError::TargetLost { .. }) => exit::TARGET,
        RunOutcome::Incomplete(StepError::PreStepCommandFailed(_)) => exit::USAGE,
        _ if failures.data => exit::DATA,
        RunOutcome::Incomplete(StepError::Stopped) => exit::STOPPED,
        // A step of failures measures nothing: a script must not take it for a result.
        RunOutcome::Complete if failures.all_of_a_step || failures.leftovers => exit::TARGET,
        RunOutcome::Complete => 0,
    }
}

/// A run as the command line performs it: plan, targets and what a resumed run has measured already.
///
/// [`Self::into_sink`] consumes it. It starts the engine on a thread of its own, and the calling thread moves the
/// engine's events into the [`EventSink`], draws the live view and counts signals, until the engine has ended.
/// Measuring has its own thread so that neither the results database nor the terminal can delay an operation. The
/// first Ctrl-C stops and cleans up, the second one exits at once.
pub struct Measurement<'a> {
    pub plan: &'a ResolvedPlan,
    pub targets: &'a [Arc<dyn Target>],
    /// Steps of a resumed run that are already measured.
    pub done: Vec<StepResult>,
    /// Name of the run's directory on the targets.
    pub directory: String,
    pub resumed: bool,
    pub monitoring: MonitoringFlags,
    /// The other processes of the run; none if this process measures alone.
    pub group: Option<&'a RankGroup>,
}

impl<'a> Measurement<'a> {
    /// A new run by this process alone.
    pub fn new(plan: &'a ResolvedPlan, targets: &'a [Arc<dyn Target>]) -> Self {
        Self {
            plan,
            targets,
            done: Vec::new(),
            directory: environment::new_directory(""),
            resumed: false,
            monitoring: MonitoringFlags::default(),
            group: None,
        }
    }

    /// The same run in directories whose names begin with one of the user.
    pub fn in_directory(self, name: &str) -> Self {
        Self { directory: environment::new_directory(name), ..self }
    }

    /// The same run with monitoring.
    pub fn monitored(self, monitoring: &MonitoringFlags) -> Self {
        Self { monitoring: monitoring.clone(), ..self }
    }

    /// Measures into the results database.
    pub fn run(self, output: &OutputFlags) -> Result<Measured, Failure> {
        let store = Store::open(&output.database.db)?;
        self.into_sink(RunSink::new(store), output)
    }

    /// Measures into a run of a results database.
    pub fn into_sink(self, sink: RunSink, output: &OutputFlags) -> Result<Measured, Failure> {
        // Before the engine starts: a Ctrl-C must never leave a directory on a target.
        let interrupts = Interrupts::catch()?;
        let stop = StopSignal::default();
        let (sender, events) = mpsc::channel();
        let monitoring = self.monitoring.open(self.plan)?;
        let dashboard = Dashboard::open(self.monitoring.dashboard, &self.plan.title)?;
        // From here on the first signal stops the engine; until here it ends the process.
        let _measuring = interrupts.measuring();
        let mut events_sink = self.open_sink(sink, output, monitoring, dashboard);
        self.done.iter().for_each(|step| events_sink.judge_failures(step));
        let run = Run {
            plan: self.plan,
            targets: self.targets,
            done: &self.done,
            directory: &self.directory,
            resumed: self.resumed,
            stop: &stop,
            clock: &self.group.map_or_else(Clock::start, |group| group.clock.clone()),
            events: &sender,
            ranks: self.group.map(|group| &group.ranks),
        };
        let end = std::thread::scope(|scope| {
            let alone = self.group.is_none();
            let engine = scope.spawn(move || {
                // MPI opens connections when it first needs them, on any thread. All threads must then share one table of
                // file descriptors.
                let _ = alone && own_descriptors();
                run.execute()
            });
            let is_running = || !engine.is_finished();
            self.pass_events(&events, is_running, &interrupts, &stop, &mut events_sink);
            engine.join()
        });
        let end = end.map_err(|_| Failure::Internal(anyhow::anyhow!("the engine panicked")))?;
        self.conclude(end, events_sink, interrupts)
    }

    /// Opens everything that receives events, and shows the preview of the plan.
    fn open_sink(
        &self,
        sink: RunSink,
        output: &OutputFlags,
        monitoring: Monitoring,
        dashboard: Option<Dashboard>,
    ) -> EventSink {
        let header = self.header();
        let ranks = self.group.map_or(1, |group| group.ranks.size());
        let mut view = LiveView::new(self.plan, self.done.len(), ranks, output);
        view.show(&RunEvent::Started(Box::new(header.clone())));
        for line in plan_preview(self.plan) {
            view.line(&line);
        }
        EventSink::new(sink, view, dashboard, header, monitoring)
    }

    /// Passes events on and reacts to signals and keys until the engine has ended.
    fn pass_events(
        &self,
        events: &Receiver<RunEvent>,
        is_running: impl Fn() -> bool,
        interrupts: &Interrupts,
        stop: &StopSignal,
        events_sink: &mut EventSink,
    ) {
        let mut noticed = 0;
        while is_running() {
            match events.recv_timeout(POLL_INTERVAL) {
                Ok(event) => events_sink.take(&event, stop),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => events_sink.tick(),
            }
            // The key acts as the first Ctrl-C.
            if events_sink.view.wants_stop() && noticed == 0 {
                interrupts.press();
            }
            let interrupted = interrupts.count();
            if interrupted > noticed {
                noticed = interrupted;
                self.interrupted(noticed, stop, events_sink);
                match self.group {
                    Some(group) if interrupts.by_system() => self.check_ranks(group, events_sink, stop),
                    Some(group) => group.stop_all(),
                    None => {}
                }
            }
            if let Some(group) = self.group {
                group.receive_alerts();
            }
        }
        // The engine has ended; what it sent last is still in the channel.
        for event in events.try_iter() {
            events_sink.take(&event, stop);
        }
    }

    /// First Ctrl-C: stop and clean up. Second Ctrl-C: exit at once and print the leftovers.
    fn interrupted(&self, times: usize, stop: &StopSignal, events_sink: &mut EventSink) {
        if times == 1 {
            stop.stop();
            events_sink.view.line(
                "stopping: finished steps are kept, cleaning up the targets (Ctrl-C again: exit at once)",
            );
            return;
        }
        // Storing the end is quick and local.
        events_sink.take(&RunEvent::Finished(RunOutcome::Incomplete(StepError::Stopped)), stop);
        events_sink.view.close();
        for index in 0..self.targets.len() {
            // Nothing cleans up any more, so the user gets the command that does.
            message(self.leftovers_on(index));
        }
        // The second Ctrl-C has to work while the cleanup of the first one hangs
        // (docs/design/command-line.md).
        std::process::exit(i32::from(exit::STOPPED));
    }

    fn conclude(
        &self,
        end: Result<RunEnd, StartError>,
        mut events_sink: EventSink,
        interrupts: Interrupts,
    ) -> Result<Measured, Failure> {
        events_sink.view.close();
        let end = match end {
            Err(StartError::Stopped) => return Err(Failure::Stopped),
            end => end?,
        };
        for (index, why) in &end.leftovers {
            message(format_args!("could not clean up ({why}): {}", self.leftovers_on(*index as usize)));
        }
        if let Some(error) = events_sink.failed {
            return Err(Failure::Storing(error));
        }
        if let Some(reason) = reason(&end.outcome) {
            message(reason);
        }
        if let Some(why) = &events_sink.all_failed {
            message(why);
        }
        let failures = Failures {
            data: events_sink.data_errors,
            all_of_a_step: events_sink.all_failed.is_some(),
            leftovers: !end.leftovers.is_empty(),
        };
        let run = events_sink.sink.run();
        let is_resumable =
            !matches!(end.outcome, RunOutcome::Complete | RunOutcome::Incomplete(StepError::EngineFailed(_)));
        if let Some(run) = run.filter(|_| is_resumable) {
            message(format_args!(
                "finish it by: sharebench run --resume {run}{}",
                database_option(events_sink.sink.store().path())
            ));
        }
        Ok(Measured {
            store: events_sink.sink.into_store(),
            run,
            outcome: end.outcome,
            failures,
            dashboard: events_sink.dashboard,
            interrupts,
            is_alone: self.group.is_none(),
        })
    }

    /// Leftovers on a target, with the command that removes them.
    fn leftovers_on(&self, index: usize) -> String {
        let url = &self.plan.targets[index].url;
        let directory = sharebench_engine::directory_on(&self.directory, index);
        let target = quoted(url);
        format!("left on {url}: {directory}; remove it by: sharebench clean {target} --directory {directory}")
    }

    /// Facts about this machine and the other ranks.
    fn facts(&self) -> Facts {
        let mut facts = environment::facts(&self.directory);
        facts.extend(self.group.map(RankGroup::facts).unwrap_or_default());
        facts
    }

    /// Handles the SIGTERM of a launcher. A launcher that ends the run because a rank died does not wait, so the run is
    /// stored as failed at once; the user did not stop it.
    fn check_ranks(&self, group: &RankGroup, events_sink: &mut EventSink, stop: &StopSignal) {
        let Some(why) = group.missing() else { return };
        events_sink
            .take(&RunEvent::Finished(RunOutcome::Incomplete(StepError::EngineFailed(why.clone()))), stop);
        message(format_args!("{why}; finished steps are kept"));
        for index in 0..self.targets.len() {
            message(self.leftovers_on(index));
        }
        std::process::exit(i32::from(exit::INTERNAL));
    }

    /// The rule that decides the number of steps; none if the number is fixed.
    fn rule(&self) -> Option<RepeatRule> {
        let repeat = self.plan.repeat;
        (!repeat.is_fixed() || self.plan.search.is_some()).then(|| RepeatRule {
            steps_least: u32::try_from(self.plan.steps().least).unwrap_or(u32::MAX),
            half_width: repeat.precision.map(sharebench_plan::Precision::share),
            repetitions: (repeat.least, repeat.most),
            budget_ns: repeat.budget.map(|budget| budget.as_nanos() as u64),
        })
    }

    fn header(&self) -> RunHeader {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let identity = |(index, target): (usize, &Arc<dyn Target>)| sharebench_model::TargetIdentity {
            name: self.plan.targets[index].name.clone(),
            url: target.url(),
        };
        RunHeader {
            title: self.plan.title.clone(),
            started_unix_ms: since.as_millis() as u64,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            plan: self.plan.typed.to_toml(),
            seed: self.plan.seed,
            steps_planned: u32::try_from(self.plan.steps().most).unwrap_or(u32::MAX),
            repeat: self.rule(),
            environment: self.facts(),
            targets: self.targets.iter().enumerate().map(identity).collect(),
        }
    }
}

/// Why a run is incomplete.
fn reason(outcome: &RunOutcome) -> Option<String> {
    match outcome {
        RunOutcome::Incomplete(StepError::TargetLost { class: ErrorClass::NoSpace, reason: why }) => {
            Some(format!(
                "volume full, or its quota: {why}; free space there, or plan smaller files or fewer users; \
                 finished steps are kept"
            ))
        }
        RunOutcome::Incomplete(StepError::TargetLost { reason: why, .. }) => {
            Some(format!("target lost: {why}; finished steps are kept"))
        }
        RunOutcome::Incomplete(StepError::PreStepCommandFailed(why)) => {
            Some(format!("{why}; finished steps are kept"))
        }
        RunOutcome::Incomplete(StepError::EngineFailed(why)) => Some(format!("the engine failed: {why}")),
        RunOutcome::Incomplete(StepError::Stopped) => Some("stopped; finished steps are kept".to_owned()),
        RunOutcome::Complete => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complete_run_with_a_step_of_failures_has_a_failure_code() {
        let complete = |failures| code_of(&RunOutcome::Complete, failures);
        let none = Failures::default();
        assert_eq!(complete(none), 0);
        assert_eq!(complete(Failures { all_of_a_step: true, ..none }), exit::TARGET);
        assert_eq!(complete(Failures { all_of_a_step: true, data: true, ..none }), exit::DATA);
        let stopped = RunOutcome::Incomplete(StepError::Stopped);
        assert_eq!(code_of(&stopped, Failures { all_of_a_step: true, ..none }), exit::STOPPED);
    }
}
