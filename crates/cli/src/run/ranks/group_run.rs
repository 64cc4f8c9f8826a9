//! A plan measured by all processes of a launcher: agreed upon, led by rank 0, followed by the others.

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sharebench_cluster::{Division, Launched, launched};
use sharebench_engine::{Run, StartError, StopSignal};
use sharebench_model::{RunOutcome, StepResult};
use sharebench_plan::{Direction, Plan, ResolvedPlan, Work};
use sharebench_results::{RunSink, Store};
use sharebench_target::Target;

use super::RankGroup;
use super::rank_group::told;
use crate::exit::{self, Failure};
use crate::flags::GlobalFlags;
use crate::flags::measuring::MeasuringFlags;
use crate::flags::monitoring::MonitoringFlags;
use crate::flags::plan_file::RunArgs;
use crate::flags::ranks::RankFlags;
use crate::run::interrupts::Interrupts;
use crate::run::measure::{Measurement, finish};
use crate::run::plan_file::{allowed, planned, resumable};
use crate::run::ranks::world::World;
use crate::run::{environment, targets};

/// Where a plan comes from.
pub enum Source<'a> {
    /// From flags, which all processes have.
    Flags(&'a ResolvedPlan, &'a MeasuringFlags),
    /// From a file, which the leader must have and others may, or from the leader's results database.
    File(&'a RunArgs),
}

impl Source<'_> {
    fn flags(&self) -> &RankFlags {
        match self {
            Self::Flags(_, measuring) => &measuring.ranks,
            Self::File(args) => &args.ranks,
        }
    }

    fn monitoring(&self) -> &MonitoringFlags {
        match self {
            Self::Flags(_, measuring) => &measuring.monitoring,
            Self::File(args) => &args.monitoring,
        }
    }

    fn report(&self) -> Option<&Path> {
        match self {
            Self::Flags(_, measuring) => measuring.report.as_deref(),
            Self::File(args) => args.report.as_deref(),
        }
    }

    /// The plan as this process knows it; none where only the leader has it.
    fn own(&self) -> Result<Option<ResolvedPlan>, Failure> {
        match self {
            Self::Flags(plan, _) => Ok(Some((*plan).clone())),
            Self::File(RunArgs { plan: Some(path), .. }) if !path.exists() => Ok(None),
            Self::File(args) => args.plan.as_ref().map(|path| planned(path, args)).transpose(),
        }
    }
}

/// What the leader proposes to all. A password is never in a plan: each rank finds its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Proposal {
    plan: String,
    seed: u64,
    directory: String,
    resumed: bool,
    weights: Vec<u32>,
    shift: u32,
}

/// What the leader has to measure.
struct Job {
    plan: ResolvedPlan,
    done: Vec<StepResult>,
    directory: String,
    sink: RunSink,
    resumed: bool,
}

/// Measures with all processes of a launcher; none where no launcher started this one.
pub fn measure_together(source: &Source<'_>, flags: &GlobalFlags) -> Option<Result<ExitCode, Failure>> {
    let Some(launched) = launched(|name| std::env::var(name).ok()) else {
        let RankFlags { rank_weights, shift_ranks } = source.flags();
        return (*shift_ranks > 0 || !rank_weights.is_empty()).then(|| {
            let why =
                "--shift-ranks and --rank-weights are for several processes: start them by mpirun or srun";
            Err(Failure::usage(why))
        });
    };
    Some(start(&launched, source, flags))
}

fn start(launched: &Launched, source: &Source<'_>, flags: &GlobalFlags) -> Result<ExitCode, Failure> {
    let world = World::start(launched)?;
    let ended = RankGroup::join(world.transport(), source.flags()).and_then(|mut group| {
        if group.ranks.is_leader() {
            lead(&mut group, source, flags)
        } else {
            follow(&mut group, source, flags)
        }
    });
    let Err(failure) = ended else {
        world.end();
        return ended;
    };
    // Told before anybody is seen to end: a launcher ends all processes when the first one fails.
    crate::output::say(&failure);
    if matches!(failure, Failure::Internal(_)) {
        // Others may wait for what this one will never say.
        world.abort(1)
    }
    world.end();
    Ok(failure.code())
}

fn lead(group: &mut RankGroup, source: &Source<'_>, flags: &GlobalFlags) -> Result<ExitCode, Failure> {
    let job = job(source, flags);
    let RankFlags { rank_weights, shift_ranks } = source.flags().clone();
    agree(group, &job)?;
    let Job { plan, done, directory, sink, resumed } = job?;
    let proposal = Proposal {
        plan: plan.typed.to_toml(),
        seed: plan.seed,
        directory: directory.clone(),
        resumed,
        weights: rank_weights,
        shift: shift_ranks,
    };
    group.ranks.broadcast(Some(&proposal)).map_err(lost)?;
    let plan = accept(group, Ok(plan), &proposal)?;
    let targets = open(group, &plan, flags)?;
    if !flags.quiet {
        tell(group);
    }
    let group: &RankGroup = group;
    let new = Measurement::new(&plan, &targets).with(source.monitoring());
    let measurement = Measurement { done, directory, resumed, group: Some(group), ..new };
    let measured = measurement.into_sink(sink, flags)?;
    finish(&measured, source.report(), flags)
}

/// Who measures, and how well their clocks are known.
fn tell(group: &RankGroup) {
    let (ranks, known) = (&group.ranks, group.ranks.aligned());
    eprintln!(
        "{} ranks on {}; longest round trip of their clocks {:.3} ms",
        ranks.size(),
        super::hosts::hosts(ranks.hosts()),
        known.round_trip_ns as f64 / 1e6
    );
    for difference in &group.differences {
        eprintln!("ranks differ in {difference}");
    }
}

fn job(source: &Source<'_>, flags: &GlobalFlags) -> Result<Job, Failure> {
    if let Source::File(args) = source
        && let Some(reference) = &args.resume
    {
        let (plan, done, directory, (store, run)) = resumable(reference, args, flags)?;
        return Ok(Job { plan, done, directory, sink: RunSink::resume(store, run)?, resumed: true });
    }
    let plan = match source {
        Source::Flags(plan, _) => (*plan).clone(),
        Source::File(RunArgs { plan: Some(path), .. }) => {
            let Source::File(args) = source else { return Err(Failure::usage("no plan")) };
            planned(path, args)?
        }
        Source::File(_) => return Err(Failure::usage("name a plan file, or a run by --resume")),
    };
    let sink = RunSink::new(Store::open(&flags.db)?);
    Ok(Job { plan, done: Vec::new(), directory: environment::new_directory(), sink, resumed: false })
}

fn follow(group: &mut RankGroup, source: &Source<'_>, flags: &GlobalFlags) -> Result<ExitCode, Failure> {
    group.ranks.agree(Ok(())).map_err(|error| told(&error))?;
    let proposal: Proposal = group.ranks.broadcast(None).map_err(lost)?;
    let plan = accept(group, accepted(source, &proposal), &proposal)?;
    let targets = open(group, &plan, flags)?;
    let group: &RankGroup = group;
    let (interrupts, stop) = (Interrupts::catch()?, StopSignal::default());
    let (events, nobody) = mpsc::channel();
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
            let asked = group.hear() || interrupts.count() > 0;
            if asked && !stop.is_stopped() {
                stop.stop();
                group.say_stopping();
            }
            // The leader tells and stores.
            nobody.try_iter().for_each(drop);
        }
        engine.join()
    });
    let end = end.map_err(|_| Failure::Internal(anyhow::anyhow!("the engine panicked")))?;
    Ok(ExitCode::from(match end?.outcome {
        RunOutcome::Complete => 0,
        RunOutcome::Stopped => exit::STOPPED,
        RunOutcome::TargetLost(_) => exit::TARGET,
        RunOutcome::HookFailed(_) => exit::USAGE,
        RunOutcome::EngineFailed(_) => 1,
    }))
}

/// The leader's plan, if this process would have made the same of its own arguments.
fn accepted(source: &Source<'_>, proposal: &Proposal) -> Result<ResolvedPlan, String> {
    let RankFlags { rank_weights, shift_ranks } = source.flags();
    if (rank_weights, shift_ranks) != (&proposal.weights, &proposal.shift) {
        return Err(
            "--rank-weights or --shift-ranks are not those of rank 0: give all ranks the same arguments"
                .into(),
        );
    }
    let leaders = Plan::parse(&proposal.plan)
        .and_then(|plan| plan.resolve())
        .map_err(|mistakes| mistakes.to_string())?;
    if let Some(own) = source.own().map_err(|failure| failure.to_string())? {
        let own = Plan { seed: Some(proposal.seed), ..own.typed };
        let own = own.resolve().map_err(|mistakes| mistakes.to_string())?;
        if let Some((mine, theirs)) = difference(&own.typed.to_toml(), &proposal.plan) {
            return Err(format!(
                "its plan says '{mine}' where rank 0 has '{theirs}': give all ranks the same arguments"
            ));
        }
    }
    if let Source::File(args) = source {
        allowed(&leaders, args)?;
    }
    Ok(leaders)
}

/// The first line in which two plans differ.
fn difference<'a>(mine: &'a str, theirs: &'a str) -> Option<(&'a str, &'a str)> {
    let (mut mine, mut theirs) = (mine.lines(), theirs.lines());
    loop {
        match (mine.next(), theirs.next()) {
            (None, None) => return None,
            (a, b) if a == b => {}
            (a, b) => return Some((a.unwrap_or("nothing more"), b.unwrap_or("nothing more"))),
        }
    }
}

/// Goes on if every rank has the same plan, and users can be divided so.
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
        shifted(&plan, &division)?;
        Ok((plan, division))
    });
    let said = divided.as_ref().map(drop).map_err(Clone::clone);
    ranks.agree(said).map_err(|error| told(&error))?;
    let (plan, division) = divided.map_err(Failure::usage)?;
    ranks.divide_by(division);
    Ok(plan)
}

/// Whether every test that reads can read what another rank wrote, where that is asked for.
fn shifted(plan: &ResolvedPlan, division: &Division) -> Result<(), String> {
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
    let none = "--shift-ranks: no test of the plan reads files of users' own; leave it out";
    if any { Ok(()) } else { Err(none.into()) }
}

/// Opens all targets on all ranks, each with a password of its own.
fn open(
    group: &RankGroup,
    plan: &ResolvedPlan,
    flags: &GlobalFlags,
) -> Result<Vec<Arc<dyn Target>>, Failure> {
    let opened = targets::open_all(plan, flags.password_file.as_deref());
    agree(group, &opened)?;
    opened
}

/// Goes on only if no rank has failed; all fail alike otherwise.
fn agree<T>(group: &RankGroup, own: &Result<T, Failure>) -> Result<(), Failure> {
    let said = own.as_ref().map(drop).map_err(ToString::to_string);
    group.ranks.agree(said).map_err(|error| match own {
        Err(Failure::Target(_)) | Ok(_) => Failure::Target(error.to_string()),
        Err(_) => told(&error),
    })
}

/// For `map_err`, which hands it over.
#[expect(clippy::needless_pass_by_value)]
fn lost(lost: sharebench_cluster::Lost) -> Failure {
    Failure::from(StartError::Runtime(lost.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_that_differ_are_told_by_their_first_line() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\n", "a\nc\n"), Some(("b", "c")));
        assert_eq!(difference("a\n", "a\nc\n"), Some(("nothing more", "c")));
    }

    #[test]
    fn a_shift_needs_something_to_read_and_even_ranks() {
        let plan = |sweep: &str| {
            let text = format!(
                "repetitions = 1\n[[target]]\nurl = '/a'\n[sweep]\nfile_sizes = ['64KiB']\n{sweep}\n"
            );
            Plan::parse(&text).unwrap().resolve().unwrap().on_ranks(6)
        };
        let division = Division::new(6, &[], 1).unwrap();
        assert_eq!(shifted(&plan("tests = ['write', 'read']"), &division), Ok(()));
        assert!(shifted(&plan("tests = ['write']"), &division).unwrap_err().contains("no test"));
        assert!(shifted(&plan("jobs = [50]"), &division).unwrap_err().contains("multiple of 6"));
    }
}
