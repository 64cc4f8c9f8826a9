//! Running a plan: engine on its own thread, events into store and live view, signals, cleaning up.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sharebench_engine::{Clock, Run, RunEnd, StartError, StopSignal, own_descriptors};
use sharebench_model::{Facts, RepeatRule, RunEvent, RunHeader, RunOutcome, StepResult};
use sharebench_plan::ResolvedPlan;
use sharebench_results::{RunId, RunSink, Store};
use sharebench_target::Target;

use crate::exit::{self, Failure};
use crate::flags::GlobalFlags;
use crate::flags::monitoring::MonitoringFlags;
use crate::live::LiveView;
use crate::live::plan_preview::plan_preview;
use crate::monitoring::Monitoring;
use crate::output::say;
use crate::run::environment;
use crate::run::event_sink::EventSink;
use crate::run::interrupts::Interrupts;
use crate::run::ranks::RankGroup;
use crate::run::run_store;
use crate::run::run_summary::FinishedRun;

/// Prints the result of a run, writes its report, and chooses the exit code.
pub fn finish(measured: &Measured, report: Option<&Path>, flags: &GlobalFlags) -> Result<ExitCode, Failure> {
    if let Some(run) = measured.run {
        let stored = measured.store.load(run)?;
        if let Some(path) = report {
            run_store::write_report(std::slice::from_ref(&stored), path)?;
        }
        let ending = FinishedRun { run: &stored, store: measured.store.path(), report };
        if flags.json {
            ending.print_object();
        } else {
            ending.print(flags.quiet);
        }
    }
    Ok(measured.exit_code())
}

/// A run that ended, well or not.
pub struct Measured {
    /// Where it is.
    pub store: Store,
    /// Its number; none when nothing was begun.
    pub run: Option<RunId>,
    outcome: RunOutcome,
    data_errors: bool,
    left_behind: bool,
}

impl Measured {
    fn exit_code(&self) -> ExitCode {
        ExitCode::from(match &self.outcome {
            RunOutcome::EngineFailed(_) => 1,
            RunOutcome::TargetLost(_) => exit::TARGET,
            RunOutcome::HookFailed(_) => exit::USAGE,
            _ if self.data_errors => exit::DATA,
            RunOutcome::Stopped => exit::STOPPED,
            RunOutcome::Complete if self.left_behind => exit::TARGET,
            RunOutcome::Complete => 0,
        })
    }
}

/// A plan about to be measured.
pub struct Measurement<'a> {
    pub plan: &'a ResolvedPlan,
    pub targets: &'a [Arc<dyn Target>],
    pub done: Vec<StepResult>,
    pub directory: String,
    pub resumed: bool,
    pub monitoring: MonitoringFlags,
    /// The other processes that measure it; none for one that is alone.
    pub group: Option<&'a RankGroup>,
}

impl<'a> Measurement<'a> {
    /// A new run.
    pub fn new(plan: &'a ResolvedPlan, targets: &'a [Arc<dyn Target>]) -> Self {
        let (done, directory, monitoring) =
            (Vec::new(), environment::new_directory(), MonitoringFlags::default());
        Self { plan, targets, done, directory, resumed: false, monitoring, group: None }
    }

    /// Others look on.
    pub fn with(self, monitoring: &MonitoringFlags) -> Self {
        Self { monitoring: monitoring.clone(), ..self }
    }

    /// Runs it into the results database.
    pub fn run(self, flags: &GlobalFlags) -> Result<Measured, Failure> {
        let store = Store::open(&flags.db)?;
        self.into_sink(RunSink::new(store), flags)
    }

    pub fn into_sink(self, sink: RunSink, flags: &GlobalFlags) -> Result<Measured, Failure> {
        let interrupts = Interrupts::catch()?;
        let stop = StopSignal::default();
        let (sender, events) = mpsc::channel();
        let (header, ranks) = (self.header(), self.group.map_or(1, |group| group.ranks.size()));
        let mut view = LiveView::new(self.plan, self.done.len(), ranks, flags);
        view.show(&RunEvent::Started(Box::new(header.clone())));
        for line in plan_preview(self.plan) {
            view.line(&line);
        }
        let monitoring =
            Monitoring::open(self.monitoring.prometheus, &self.monitoring.server_metrics, self.plan)?;
        let mut events_sink = EventSink::new(sink, view, header, monitoring);
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
                // MPI connects when it is first needed, on whichever thread that is: those share one table.
                let _ = alone && own_descriptors();
                run.execute()
            });
            let mut noticed = 0;
            while !engine.is_finished() {
                match events.recv_timeout(Duration::from_millis(50)) {
                    Ok(event) => events_sink.take(&event, &stop),
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                        events_sink.view.tick()
                    }
                }
                // The key is a first Ctrl-C.
                if events_sink.view.wants_stop() && noticed == 0 {
                    interrupts.press();
                }
                let interrupted = interrupts.count();
                if interrupted > noticed {
                    noticed = interrupted;
                    self.interrupted(noticed, &stop, &mut events_sink);
                    match self.group {
                        Some(group) if interrupts.by_system() => {
                            self.call_the_roll(group, &mut events_sink, &stop);
                        }
                        Some(group) => group.stop_all(),
                        None => {}
                    }
                }
                if let Some(group) = self.group {
                    group.hear();
                }
            }
            for event in events.try_iter() {
                events_sink.take(&event, &stop);
            }
            engine.join()
        });
        let end = end.map_err(|_| Failure::Internal(anyhow::anyhow!("the engine panicked")))?;
        self.conclude(end, events_sink)
    }

    /// First Ctrl-C: stop and clean up. Second: leave at once, saying what is left.
    fn interrupted(&self, times: usize, stop: &StopSignal, events_sink: &mut EventSink) {
        if times == 1 {
            stop.stop();
            events_sink.view.line("stopping: finished steps are kept, the targets are being cleaned (again Ctrl-C: leave at once)");
            return;
        }
        // Recording the end is quick and local; a store that hangs must not keep us.
        events_sink.take(&RunEvent::Finished(RunOutcome::Stopped), stop);
        events_sink.view.close();
        for index in 0..self.targets.len() {
            say(self.left_on(index));
        }
        std::process::exit(i32::from(exit::STOPPED));
    }

    fn conclude(
        &self,
        end: Result<RunEnd, StartError>,
        mut events_sink: EventSink,
    ) -> Result<Measured, Failure> {
        events_sink.view.close();
        let end = end?;
        for (index, why) in &end.left_behind {
            say(format_args!("could not clean up ({why}): {}", self.left_on(*index as usize)));
        }
        if let Some(error) = events_sink.failed {
            return Err(Failure::Storing(error));
        }
        let told = match &end.outcome {
            RunOutcome::TargetLost(why) => Some(format!("target lost: {why}; finished steps are kept")),
            RunOutcome::HookFailed(why) => Some(format!("{why}; finished steps are kept")),
            RunOutcome::EngineFailed(why) => Some(format!("the engine failed: {why}")),
            RunOutcome::Stopped => Some("stopped; finished steps are kept".to_owned()),
            RunOutcome::Complete => None,
        };
        if let Some(told) = told {
            say(told);
        }
        let run = events_sink.sink.run();
        let goes_on = !matches!(end.outcome, RunOutcome::Complete | RunOutcome::EngineFailed(_));
        if let (Some(run), true) = (run, goes_on) {
            say(format_args!("finish it by: sharebench run --resume {run}"));
        }
        Ok(Measured {
            store: events_sink.sink.into_store(),
            run,
            outcome: end.outcome,
            data_errors: events_sink.data_errors,
            left_behind: !end.left_behind.is_empty(),
        })
    }

    /// What is left on a target, and the command that removes it.
    fn left_on(&self, index: usize) -> String {
        let url = &self.plan.targets[index].url;
        let directory = sharebench_engine::directory_on(&self.directory, index);
        format!("left on {url}: {directory}; remove it by: sharebench clean '{url}' --directory {directory}")
    }

    /// Of this machine, and of the others that measure with it.
    fn facts(&self) -> Facts {
        let mut facts = environment::facts(&self.directory);
        facts.extend(self.group.map(RankGroup::facts).unwrap_or_default());
        facts
    }

    /// What a launcher ends because a rank died is no run that the user stopped: it is noted as failed, at once,
    /// because the launcher does not wait.
    fn call_the_roll(&self, group: &RankGroup, events_sink: &mut EventSink, stop: &StopSignal) {
        let Some(why) = group.missing() else { return };
        events_sink.take(&RunEvent::Finished(RunOutcome::EngineFailed(why.clone())), stop);
        eprintln!("sharebench: {why}; finished steps are kept");
        for index in 0..self.targets.len() {
            eprintln!("sharebench: {}", self.left_on(index));
        }
        std::process::exit(1);
    }

    /// What decides how many steps there are; none when their number is fixed.
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
