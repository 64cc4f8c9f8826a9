//! One plan measured by all ranks of a launcher. The ranks agree on the plan; rank 0 leads and stores, the others follow.

use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sharebench_cluster::{AgreementError, Division, Launched, RankProcess, StartRank, launched};
use sharebench_engine::{Run, StartError, StopSignal};
use sharebench_model::{RunOutcome, StepError, StepResult};
use sharebench_plan::{Direction, Plan, ResolvedPlan, Work};
use sharebench_results::{RunSink, Store};
use sharebench_target::Target;

use super::RankGroup;
use super::rank_group::disagreement;
use crate::exit::{self, Failure};
use crate::flags::plan_file::RunArgs;
use crate::flags::ranks::RankFlags;
use crate::flags::run_flags::RunFlags;
use crate::output::{line, message};
use crate::run::interrupts::Interrupts;
use crate::run::measure::{Measurement, finish};
use crate::run::plan_file::{Resumable, allowed, planned, resumable};
use crate::run::{environment, targets};

/// Source of a plan.
pub enum Source<'a> {
    /// Options, which all ranks have.
    Flags(&'a ResolvedPlan),
    /// A file, which rank 0 needs and other ranks may have, or the results database of rank 0.
    File(&'a RunArgs),
}

impl Source<'_> {
    fn ranks(&self) -> RankFlags {
        match self {
            Self::Flags(_) => RankFlags::default(),
            Self::File(args) => args.ranks.clone(),
        }
    }

    /// The plan of this rank; none if only rank 0 has it.
    fn own(&self) -> Result<Option<ResolvedPlan>, Failure> {
        match self {
            Self::Flags(plan) => Ok(Some((*plan).clone())),
            // A plan file need not be on every machine: the leader sends the plan.
            Self::File(RunArgs { plan: Some(path), .. }) if !path.exists() => Ok(None),
            Self::File(args) => {
                args.plan.as_ref().map(|path| planned(path, args.allow_pre_step_cmd)).transpose()
            }
        }
    }
}

/// The message of rank 0 that starts a run. Passwords are not part of it; each rank reads its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Proposal {
    plan: String,
    seed: u64,
    directory: String,
    resumed: bool,
    weights: Vec<u32>,
    shift: u32,
}

/// The work of rank 0.
struct LeaderRun {
    plan: ResolvedPlan,
    done: Vec<StepResult>,
    directory: String,
    sink: RunSink,
    resumed: bool,
}

/// Measures with all ranks of a launcher; none if no launcher started this process.
pub fn measure_together(
    source: &Source<'_>,
    flags: &RunFlags,
    mpi: Option<StartRank>,
) -> Option<Result<ExitCode, Failure>> {
    if let Some(launched) = launched(|name| std::env::var(name).ok()) {
        return Some(started(mpi, &launched).and_then(|process| measure_in(process, source, flags)));
    }
    let ranks = source.ranks();
    let needs_ranks = ranks.shift_ranks > 0 || !ranks.rank_weights.is_empty();
    needs_ranks.then(|| {
        let why = "--shift-ranks and --rank-weights need several processes: start them with mpirun or srun";
        Err(Failure::usage(why))
    })
}

fn started(mpi: Option<StartRank>, launched: &Launched) -> Result<Box<dyn RankProcess>, Failure> {
    let Some(start) = mpi else {
        return Err(Failure::usage(format!(
            "this is one of {} processes ({} is set), but this sharebench was built without MPI, so each process would \
             measure alone: build it with `cargo build --release --features mpi` (on Debian with libopenmpi-dev and \
             libclang-dev), or start it without the launcher",
            launched.size, launched.variable
        )));
    };
    start().map_err(Failure::usage)
}

fn measure_in(
    process: Box<dyn RankProcess>,
    source: &Source<'_>,
    flags: &RunFlags,
) -> Result<ExitCode, Failure> {
    let ended = RankGroup::join(process.transport(), &source.ranks()).and_then(|mut group| {
        if group.ranks.is_leader() {
            lead(&mut group, source, flags)
        } else {
            follow(&mut group, source, flags)
        }
    });
    let Err(failure) = ended else {
        process.end();
        return ended;
    };
    // Print the message before this process ends, because the launcher ends all processes when the first one fails.
    message(&failure);
    if matches!(failure, Failure::Internal(_)) {
        // Other ranks may wait for a message that this rank will never send.
        process.abort(exit::INTERNAL)
    }
    process.end();
    Ok(failure.code())
}

fn lead(group: &mut RankGroup, source: &Source<'_>, flags: &RunFlags) -> Result<ExitCode, Failure> {
    let own = leader_run(source, flags);
    agree(group, &own)?;
    let LeaderRun { plan, done, directory, sink, resumed } = own?;
    let proposal = Proposal {
        plan: plan.typed.to_toml(),
        seed: plan.seed,
        directory: directory.clone(),
        resumed,
        weights: source.ranks().rank_weights,
        shift: source.ranks().shift_ranks,
    };
    group.ranks.broadcast(Some(&proposal)).map_err(lost)?;
    let plan = accept(group, Ok(plan), &proposal)?;
    let targets = open(group, &plan, flags)?;
    if !flags.output.quiet {
        print_ranks(group);
    }
    let group: &RankGroup = group;
    let new = Measurement::new(&plan, &targets).monitored(&flags.monitoring);
    let measurement = Measurement { done, directory, resumed, group: Some(group), ..new };
    let measured = measurement.into_sink(sink, &flags.output)?;
    finish(&measured, flags.report.as_deref(), &flags.output)
}

/// Prints the machines, the error of their clocks, and their differences.
fn print_ranks(group: &RankGroup) {
    let ranks = &group.ranks;
    line(format_args!(
        "{} ranks on {}; longest round trip between their clocks {:.3} ms",
        ranks.size(),
        super::hosts::hosts(ranks.hosts()),
        ranks.aligned().round_trip_ns as f64 / 1e6
    ));
    for difference in &group.differences {
        line(format_args!("ranks differ in {difference}"));
    }
}

fn leader_run(source: &Source<'_>, flags: &RunFlags) -> Result<LeaderRun, Failure> {
    if let Source::File(args) = source
        && let Some(reference) = &args.resume
    {
        let Resumable { plan, done, again, directory, store, run } = resumable(reference, args)?;
        let sink = RunSink::resume(store, run, &again)?;
        return Ok(LeaderRun { plan, done, directory, sink, resumed: true });
    }
    let plan = match source {
        Source::Flags(plan) => (*plan).clone(),
        Source::File(RunArgs { plan: Some(path), .. }) => {
            let Source::File(args) = source else { return Err(Failure::usage("no plan")) };
            planned(path, args.allow_pre_step_cmd)?
        }
        Source::File(_) => return Err(Failure::usage("give a plan file, or --resume RUN")),
    };
    let sink = RunSink::new(Store::open(&flags.output.database.db)?);
    Ok(LeaderRun {
        plan,
        done: Vec::new(),
        directory: environment::new_directory(flags.work_dir.name()),
        sink,
        resumed: false,
    })
}

fn follow(group: &mut RankGroup, source: &Source<'_>, flags: &RunFlags) -> Result<ExitCode, Failure> {
    match group.ranks.agree(Ok(())) {
        // The leader has nothing to measure, and says why.
        Err(AgreementError::Mismatches(_)) => return Ok(ExitCode::from(exit::USAGE)),
        agreed => agreed.map_err(|error| disagreement(&error))?,
    }
    let proposal: Proposal = group.ranks.broadcast(None).map_err(lost)?;
    let plan = accept(group, accepted(source, &proposal), &proposal)?;
    let targets = open(group, &plan, flags)?;
    let group: &RankGroup = group;
    let interrupts = Interrupts::catch()?;
    let _measuring = interrupts.measuring();
    let stop = StopSignal::default();
    let (events, unused) = mpsc::channel();
    let run = Run {
        plan: &plan,
        targets: &targets,
        done: &[],
        directory: &proposal.directory,
        resumed: proposal.resumed,
        stop: &stop,
        clock: &group.clock,
        events: &events,
        ranks: Some(&group.ranks),
    };
    let end = std::thread::scope(|scope| {
        let engine = scope.spawn(|| run.execute());
        while !engine.is_finished() {
            std::thread::sleep(Duration::from_millis(20));
            let is_requested = group.receive_alerts() || interrupts.count() > 0;
            if is_requested && !stop.is_stopped() {
                stop.stop();
                group.confirm_stop();
            }
            // Rank 0 shows and stores the events of the run.
            unused.try_iter().for_each(drop);
        }
        engine.join()
    });
    let end = end.map_err(|_| Failure::Internal(anyhow::anyhow!("the engine panicked")))?;
    Ok(ExitCode::from(match end?.outcome {
        RunOutcome::Complete => 0,
        RunOutcome::Incomplete(StepError::Stopped) => exit::STOPPED,
        RunOutcome::Incomplete(StepError::TargetLost { .. }) => exit::TARGET,
        RunOutcome::Incomplete(StepError::PreStepCommandFailed(_)) => exit::USAGE,
        RunOutcome::Incomplete(StepError::EngineFailed(_)) => exit::INTERNAL,
    }))
}

/// The plan of rank 0, if it equals the plan from this rank's own arguments.
fn accepted(source: &Source<'_>, proposal: &Proposal) -> Result<ResolvedPlan, String> {
    let ranks = source.ranks();
    if ranks.rank_weights != proposal.weights || ranks.shift_ranks != proposal.shift {
        return Err(
            "--rank-weights or --shift-ranks differ from those of rank 0: give all ranks the same arguments"
                .into(),
        );
    }
    let leaders = Plan::parse(&proposal.plan)
        .and_then(|plan| plan.resolve())
        .map_err(|mistakes| mistakes.to_string())?;
    if let Some(own) = source.own().map_err(|failure| failure.to_string())? {
        let own = Plan { seed: Some(proposal.seed), ..own.typed };
        let own = own.resolve().map_err(|mistakes| mistakes.to_string())?;
        // Compared as text, so that the message can name the first line that differs.
        if let Some((mine, theirs)) = difference(&own.typed.to_toml(), &proposal.plan) {
            return Err(format!(
                "its plan contains '{mine}' where rank 0 has '{theirs}': give all ranks the same arguments"
            ));
        }
    }
    if let Source::File(args) = source {
        allowed(&leaders, args.allow_pre_step_cmd)?;
    }
    Ok(leaders)
}

/// The first line in which two plans differ.
fn difference<'a>(mine: &'a str, theirs: &'a str) -> Option<(&'a str, &'a str)> {
    let mut mine = mine.lines();
    let mut theirs = theirs.lines();
    loop {
        match (mine.next(), theirs.next()) {
            (None, None) => return None,
            (a, b) if a == b => {}
            (a, b) => return Some((a.unwrap_or("end of plan"), b.unwrap_or("end of plan"))),
        }
    }
}

/// Checks that every rank has the same plan and that it can be divided between the ranks.
fn accept(
    group: &mut RankGroup,
    plan: Result<ResolvedPlan, String>,
    proposal: &Proposal,
) -> Result<ResolvedPlan, Failure> {
    let ranks = &mut group.ranks;
    let divided = plan.and_then(|plan| {
        let size = ranks.size();
        let division =
            Division::new(size, &proposal.weights, proposal.shift).map_err(|error| error.to_string())?;
        let plan = plan.on_ranks(division.min_users());
        check_shift(&plan, &division)?;
        Ok((plan, division))
    });
    let own = divided.as_ref().map(drop).map_err(Clone::clone);
    ranks.agree(own).map_err(|error| disagreement(&error))?;
    let (plan, division) = divided.map_err(Failure::usage)?;
    ranks.divide_by(division);
    Ok(plan)
}

/// Checks that every test that reads can read files of another rank, if --shift-ranks is given.
fn check_shift(plan: &ResolvedPlan, division: &Division) -> Result<(), String> {
    if division.shift() == 0 {
        return Ok(());
    }
    let mut any = false;
    for work in plan.works() {
        let Work::Records(work) = work else { continue };
        if work.test.direction() == Direction::Read && !work.shared_file {
            any = true;
            division.read_from(0, work.jobs.unwrap_or(1)).map_err(|error| error.to_string())?;
        }
    }
    let none = "--shift-ranks: no test of the plan reads files that belong to one job; leave it out";
    if any { Ok(()) } else { Err(none.into()) }
}

/// Opens all targets on all ranks; each rank reads the passwords itself.
fn open(group: &RankGroup, plan: &ResolvedPlan, flags: &RunFlags) -> Result<Vec<Arc<dyn Target>>, Failure> {
    let opened = flags.login.read().and_then(|login| targets::open_all(plan, &login));
    agree(group, &opened)?;
    opened
}

/// Continues only if no rank has failed; otherwise all ranks fail with the same messages.
fn agree<T>(group: &RankGroup, own: &Result<T, Failure>) -> Result<(), Failure> {
    let said = own.as_ref().map(drop).map_err(ToString::to_string);
    group.ranks.agree(said).map_err(|error| match own {
        Err(Failure::Target(_)) | Ok(_) => Failure::Target(error.to_string()),
        Err(_) => disagreement(&error),
    })
}

/// The failure of a rank that does not answer.
#[expect(clippy::needless_pass_by_value, reason = "map_err passes the error by value")]
fn lost(lost: sharebench_cluster::Lost) -> Failure {
    Failure::from(StartError::Runtime(lost.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_is_the_first_unequal_line() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\n", "a\nc\n"), Some(("b", "c")));
        assert_eq!(difference("a\n", "a\nc\n"), Some(("end of plan", "c")));
    }

    #[test]
    fn shift_needs_a_reading_test_and_jobs_divisible_by_ranks() {
        let plan = |sweep: &str| {
            let text = format!(
                "repetitions = 1\n[[target]]\nurl = '/a'\n[sweep]\nfile_sizes = ['64KiB']\n{sweep}\n"
            );
            Plan::parse(&text).unwrap().resolve().unwrap().on_ranks(6)
        };
        let division = Division::new(6, &[], 1).unwrap();
        assert_eq!(check_shift(&plan("tests = ['write', 'read']"), &division), Ok(()));
        assert!(check_shift(&plan("tests = ['write']"), &division).unwrap_err().contains("no test"));
        assert!(check_shift(&plan("jobs = [50]"), &division).unwrap_err().contains("multiple of 6"));
    }
}
