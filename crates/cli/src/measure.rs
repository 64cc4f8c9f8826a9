//! Running a plan: engine on its own thread, events into store and live view, signals, cleaning up.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sharebench_engine::{Clock, Run, RunEnd, StartError, StopSignal, own_descriptors};
use sharebench_model::{Facts, RepeatRule, RunEvent, RunHeader, RunOutcome, StepResult};
use sharebench_plan::{Plan, ResolvedPlan};
use sharebench_results::{RunId, RunReference, RunSink, Store};
use sharebench_target::Target;

use crate::args::{CleanArgs, GlobalFlags, Measuring, PlanArgs, PlanCommand, RunArgs};
use crate::ending::Ending;
use crate::environment::{self, DIRECTORY_FACT};
use crate::exit::{self, Failure};
use crate::follower::Follower;
use crate::interrupts::Interrupts;
use crate::live::LiveView;
use crate::outlets::{OutletFlags, Outlets};
use crate::outlook::outlook;
use crate::ranks::{Party, Source, measure_together};
use crate::told::say;
use crate::{book, loadfile, targets};

/// Runs a plan made from flags.
pub fn plan(plan: &ResolvedPlan, measuring: &Measuring, flags: &GlobalFlags) -> Result<ExitCode, Failure> {
    if let Some(ended) = measure_together(&Source::Flags(plan, measuring), flags) {
        return ended;
    }
    let targets = targets::open_all(plan, flags.password_file.as_deref())?;
    let measured = Measurement::new(plan, &targets).with(&measuring.outlets).run(flags)?;
    finish(&measured, measuring.report.as_deref(), flags)
}

/// Runs a plan file, or what is missing of an earlier run.
pub fn file(args: &RunArgs, flags: &GlobalFlags) -> Result<ExitCode, Failure> {
    if let Some(ended) = measure_together(&Source::File(args), flags) {
        return ended;
    }
    let measured = match (&args.plan, &args.resume) {
        (_, Some(reference)) => resume(reference, args, flags)?,
        (Some(path), None) => {
            let plan = planned(path, args)?;
            let targets = targets::open_all(&plan, flags.password_file.as_deref())?;
            Measurement::new(&plan, &targets).with(&args.outlets).run(flags)?
        }
        (None, None) => return Err(Failure::usage("name a plan file, or a run by --resume")),
    };
    finish(&measured, args.report.as_deref(), flags)
}

/// Checks a plan and says what it would do.
pub fn check(args: &PlanArgs) -> Result<ExitCode, Failure> {
    let PlanCommand::Check { plan: path } = &args.command;
    let plan = read(path)?.resolve().map_err(|mistakes| in_file(path, mistakes))?;
    println!("{}: valid", path.display());
    println!("{} targets:", plan.targets.len());
    for target in &plan.targets {
        println!("  {}  {}", target.name, target.url);
    }
    for text in outlook(&plan) {
        println!("{text}");
    }
    if let Some(command) = &plan.pre_step_cmd {
        println!("before each step this machine runs: {command}");
    }
    for (coordinates, _) in plan.cells.iter().chain(&plan.loads) {
        println!("  {coordinates}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Removes what killed runs left behind.
pub fn clean(args: &CleanArgs, flags: &GlobalFlags) -> Result<ExitCode, Failure> {
    if let Some(directory) = &args.directory
        && (!directory.starts_with(sharebench_engine::DIRECTORY_PREFIX) || directory.contains('/'))
    {
        return Err(Failure::usage(format!(
            "--directory {directory}: not a directory of sharebench's own naming"
        )));
    }
    let target = targets::open(&args.target, flags.password_file.as_deref())?;
    let names = sharebench_engine::remove_remains(
        target.as_ref(),
        args.directory.as_deref(),
        Duration::from_secs(30),
    )?;
    for name in &names {
        println!("removed {name}");
    }
    if names.is_empty() {
        println!("nothing of sharebench's on {}", target.url());
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<Plan, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    loadfile::read_into(Plan::parse(&text).map_err(|mistakes| in_file(path, mistakes))?, path)
}

/// The plan of a file, with a seed.
pub fn planned(path: &Path, args: &RunArgs) -> Result<ResolvedPlan, Failure> {
    let mut plan = read(path)?;
    if plan.seed.is_none() {
        plan.seed = Some(environment::new_seed());
    }
    let plan = plan.resolve().map_err(|mistakes| in_file(path, mistakes))?;
    allowed(&plan, args).map_err(|why| in_file(path, why))?;
    Ok(plan)
}

fn in_file(path: &Path, mistakes: impl std::fmt::Display) -> Failure {
    Failure::usage(format!("{}: {mistakes}", path.display()))
}

/// A command in a file that somebody else may have written is not run unseen.
pub fn allowed(plan: &ResolvedPlan, args: &RunArgs) -> Result<(), String> {
    match &plan.pre_step_cmd {
        Some(command) if !args.allow_pre_step_cmd => Err(format!(
            "between: the plan runs a command on this machine before each step: {command}\n    \
             hint: if that is what you want, add --allow-pre-step-cmd"
        )),
        _ => Ok(()),
    }
}

fn resume(reference: &RunReference, args: &RunArgs, flags: &GlobalFlags) -> Result<Measured, Failure> {
    let (plan, done, directory, sink) = resumable(reference, args, flags)?;
    let targets = targets::open_all(&plan, flags.password_file.as_deref())?;
    let new = Measurement::new(&plan, &targets).with(&args.outlets);
    let measurement = Measurement { done, directory, resumed: true, ..new };
    measurement.into_sink(RunSink::resume(sink.0, sink.1)?, flags)
}

/// What can be continued: its plan, its finished steps, its directory on the targets, and where it is.
pub type Resumable = (ResolvedPlan, Vec<StepResult>, String, (Store, RunId));

/// Looks a run up to be continued.
pub fn resumable(
    reference: &RunReference,
    args: &RunArgs,
    flags: &GlobalFlags,
) -> Result<Resumable, Failure> {
    let path = reference.path.clone().unwrap_or_else(|| flags.db.clone());
    let store = Store::open(&path)?;
    let run = reference.resolve(&store)?;
    let stored = store.load(run)?;
    let plan = Plan::parse(&stored.header.plan)?.resolve()?;
    allowed(&plan, args).map_err(|why| Failure::usage(format!("run {run}: {why}")))?;
    let directory = stored.header.environment.get(DIRECTORY_FACT).cloned();
    Ok((plan, stored.steps, directory.unwrap_or_else(environment::new_directory), (store, run)))
}

/// Prints the result of a run, writes its report, and chooses the exit code.
pub fn finish(measured: &Measured, report: Option<&Path>, flags: &GlobalFlags) -> Result<ExitCode, Failure> {
    if let Some(run) = measured.run {
        let stored = measured.store.load(run)?;
        if let Some(path) = report {
            book::write_report(std::slice::from_ref(&stored), path)?;
        }
        let ending = Ending { run: &stored, store: measured.store.path(), report };
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
    pub outlets: OutletFlags,
    /// The other processes that measure it; none for one that is alone.
    pub party: Option<&'a Party>,
}

impl<'a> Measurement<'a> {
    /// A new run.
    pub fn new(plan: &'a ResolvedPlan, targets: &'a [Arc<dyn Target>]) -> Self {
        let (done, directory, outlets) = (Vec::new(), environment::new_directory(), OutletFlags::default());
        Self { plan, targets, done, directory, resumed: false, outlets, party: None }
    }

    /// Others look on.
    pub fn with(self, outlets: &OutletFlags) -> Self {
        Self { outlets: outlets.clone(), ..self }
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
        let (header, ranks) = (self.header(), self.party.map_or(1, |party| party.ranks.size()));
        let mut view = LiveView::new(self.plan, self.done.len(), ranks, flags);
        view.show(&RunEvent::Started(Box::new(header.clone())));
        for line in outlook(self.plan) {
            view.line(&line);
        }
        let outlets = Outlets::open(&self.outlets, self.plan)?;
        let mut follower = Follower::new(sink, view, header, outlets);
        let run = Run {
            plan: self.plan,
            targets: self.targets,
            done: &self.done,
            directory: &self.directory,
            resumed: self.resumed,
            stop: &stop,
            clock: &self.party.map_or_else(Clock::start, |party| party.clock.clone()),
            events: &sender,
            ranks: self.party.map(|party| &party.ranks),
        };
        let end = std::thread::scope(|scope| {
            let alone = self.party.is_none();
            let engine = scope.spawn(move || {
                // MPI connects when it is first needed, on whichever thread that is: those share one table.
                let _ = alone && own_descriptors();
                run.execute()
            });
            let mut noticed = 0;
            while !engine.is_finished() {
                match events.recv_timeout(Duration::from_millis(50)) {
                    Ok(event) => follower.take(&event, &stop),
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => follower.view.tick(),
                }
                // The key is a first Ctrl-C.
                if follower.view.wants_stop() && noticed == 0 {
                    interrupts.press();
                }
                let interrupted = interrupts.count();
                if interrupted > noticed {
                    noticed = interrupted;
                    self.interrupted(noticed, &stop, &mut follower);
                    match self.party {
                        Some(party) if interrupts.by_system() => {
                            self.call_the_roll(party, &mut follower, &stop);
                        }
                        Some(party) => party.stop_all(),
                        None => {}
                    }
                }
                if let Some(party) = self.party {
                    party.hear();
                }
            }
            for event in events.try_iter() {
                follower.take(&event, &stop);
            }
            engine.join()
        });
        let end = end.map_err(|_| Failure::Internal(anyhow::anyhow!("the engine panicked")))?;
        self.conclude(end, follower)
    }

    /// First Ctrl-C: stop and clean up. Second: leave at once, saying what is left.
    fn interrupted(&self, times: usize, stop: &StopSignal, follower: &mut Follower) {
        if times == 1 {
            stop.stop();
            follower.view.line("stopping: finished steps are kept, the targets are being cleaned (again Ctrl-C: leave at once)");
            return;
        }
        // Recording the end is quick and local; a store that hangs must not keep us.
        follower.take(&RunEvent::Finished(RunOutcome::Stopped), stop);
        follower.view.close();
        for index in 0..self.targets.len() {
            say(self.left_on(index));
        }
        std::process::exit(i32::from(exit::STOPPED));
    }

    fn conclude(&self, end: Result<RunEnd, StartError>, mut follower: Follower) -> Result<Measured, Failure> {
        follower.view.close();
        let end = end?;
        for (index, why) in &end.left_behind {
            say(format_args!("could not clean up ({why}): {}", self.left_on(*index as usize)));
        }
        if let Some(error) = follower.failed {
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
        let run = follower.sink.run();
        let goes_on = !matches!(end.outcome, RunOutcome::Complete | RunOutcome::EngineFailed(_));
        if let (Some(run), true) = (run, goes_on) {
            say(format_args!("finish it by: sharebench run --resume {run}"));
        }
        Ok(Measured {
            store: follower.sink.into_store(),
            run,
            outcome: end.outcome,
            data_errors: follower.data_errors,
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
        facts.extend(self.party.map(Party::facts).unwrap_or_default());
        facts
    }

    /// What a launcher ends because a rank died is no run that the user stopped: it is noted as failed, at once,
    /// because the launcher does not wait.
    fn call_the_roll(&self, party: &Party, follower: &mut Follower, stop: &StopSignal) {
        let Some(why) = party.missing() else { return };
        follower.take(&RunEvent::Finished(RunOutcome::EngineFailed(why.clone())), stop);
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
