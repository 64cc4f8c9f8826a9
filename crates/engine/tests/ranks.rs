//! Runs of several ranks, which are threads here: one result, from all of them, that is the sum of its parts.

use std::sync::{Arc, mpsc};

use sharebench_cluster::{Division, Ranks, threads};
use sharebench_doubles::{Fault, FaultyTarget, MemoryTarget};
use sharebench_engine::{Clock, Run, RunEnd, StartError, StopSignal};
use sharebench_model::{
    ErrorClass, Histogram, RankShare, RunEvent, RunOutcome, StepError, StepResult, Verdict,
};
use sharebench_plan::{Plan, ResolvedPlan};
use sharebench_target::Target;

const HEAD: &str =
    "seed = 7\nrepetitions = 1\nmin_sample_time = '5ms'\ntimeout = '2s'\n[[target]]\nurl = '/a'\n";

struct Ran {
    end: Result<RunEnd, StartError>,
    steps: Vec<StepResult>,
}

fn plan(text: &str) -> ResolvedPlan {
    Plan::parse(&format!("{HEAD}{text}")).unwrap().resolve().unwrap()
}

/// Runs a plan on N ranks, each with its target from `target`, and returns the result of each.
fn on_ranks(size: u32, shift: u32, text: &str, target: impl Fn(u32) -> Arc<dyn Target> + Sync) -> Vec<Ran> {
    let plan = plan(text);
    std::thread::scope(|scope| {
        let plan = &plan;
        let target = &target;
        let start = |rank: sharebench_cluster::ThreadRank| {
            scope.spawn(move || {
                let mut ranks = Ranks::unnamed(Box::new(rank));
                ranks.divide_by(Division::new(size, &[], shift).unwrap());
                let clock = Clock::start();
                ranks.align(32, &|| clock.now()).unwrap();
                let (sender, events) = mpsc::channel();
                let run = Run {
                    plan,
                    targets: &[target(ranks.rank())],
                    done: &[],
                    directory: ".sharebench-ranks",
                    resumed: false,
                    stop: &StopSignal::default(),
                    clock: &clock,
                    events: &sender,
                    ranks: Some(&ranks),
                };
                let end = run.execute();
                let steps = events.try_iter().filter_map(|event| match event {
                    RunEvent::StepFinished(step) => Some(*step),
                    _ => None,
                });
                Ran { end, steps: steps.collect() }
            })
        };
        let started: Vec<_> = threads(size).into_iter().map(start).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Complete runs of which the leader alone has steps; gives those.
fn complete(ran: Vec<Ran>) -> Vec<StepResult> {
    let mut ran = ran.into_iter();
    let leader = ran.next().unwrap();
    for follower in ran {
        assert_eq!(follower.end.unwrap().outcome, RunOutcome::Complete);
        assert!(follower.steps.is_empty(), "followers send no events");
    }
    let end = leader.end.unwrap();
    assert_eq!((end.outcome, end.leftovers), (RunOutcome::Complete, vec![]));
    leader.steps
}

fn sum(shares: &[RankShare], of: impl Fn(&RankShare) -> u64) -> u64 {
    shares.iter().map(of).sum()
}

/// The step holds what its ranks counted, to the byte.
fn adds_up(step: &StepResult, size: usize) {
    let measure = &step.measure;
    let shares = &step.measure.ranks;
    assert_eq!(shares.len(), size);
    assert!(shares.iter().enumerate().all(|(rank, share)| share.rank as usize == rank));
    assert_eq!(sum(shares, |share| share.bytes.read), measure.bytes.read);
    assert_eq!(sum(shares, |share| share.bytes.written), measure.bytes.written);
    assert_eq!(sum(shares, |share| share.operations), measure.operations);
    assert_eq!(sum(shares, |share| share.transactions), measure.transactions);
    assert_eq!(sum(shares, |share| u64::from(share.users)), u64::from(measure.users_assigned));
    assert_eq!(measure.verified, measure.bytes.read);
    assert!(measure.errors.is_empty(), "{:?}", measure.errors);
    let start = step.checks.iter().find(|check| check.name == "start").unwrap();
    // How far apart they started is the machine's affair; that it is judged is ours.
    let skew = RankShare::start_skew_ns(shares).unwrap();
    let limit = (measure.window_ns / 100).max(100_000_000);
    assert_eq!(start.verdict == Verdict::Invalid, skew > limit, "{}", start.detail);
}

fn memory() -> (MemoryTarget, impl Fn(u32) -> Arc<dyn Target> + Sync) {
    let target = MemoryTarget::new();
    (target.clone(), move |_| Arc::new(target.clone()) as Arc<dyn Target>)
}

#[test]
fn all_ranks_lock_and_hand_over_no_lock() {
    let (target, each) = memory();
    let steps = complete(on_ranks(3, 0, "[sweep]\ntests = ['locks']\njobs = [3]\n", each));
    let mut tests: Vec<&str> = steps.iter().map(|step| step.coordinates.text("test").unwrap()).collect();
    tests.sort_unstable();
    // The jobs of several processes know nothing of each other.
    let caching = ["delegation-grant", "delegation-recall", "lease-break", "lease-grant"];
    let others = ["lock", "lock-neighbours", "notify", "share-conflict"];
    assert_eq!(tests, [caching, others].concat());
    for step in &steps {
        assert_eq!(step.coordinates.number("jobs"), Some(3));
        adds_up(step, 3);
    }
    assert_eq!(target.names(), Vec::<String>::new());
}

#[test]
fn ranks_reject_a_plan_that_keeps_its_users() {
    let (_, each) = memory();
    for ran in on_ranks(2, 0, "[load]\nusers = [2, 4]\nkeep_users = true\n", each) {
        let rejected = ran.end.unwrap_err().to_string();
        assert!(rejected.contains("load.keep_users"), "{rejected}");
    }
}

#[test]
fn cells_of_jobs_on_ranks_move_every_byte_once_and_leave_nothing() {
    let sweep = "[sweep]\nfile_sizes = ['64KiB']\nrecord_sizes = ['4KiB']\njobs = [2, 7]\n\
                 tests = ['write', 'rewrite', 'read', 'random-mix', 'random-read']\n";
    let (target, each) = memory();
    let steps = complete(on_ranks(3, 0, sweep, each));
    assert_eq!(steps.len(), 10);
    for step in &steps {
        adds_up(step, 3);
        let jobs = step.coordinates.number("jobs").unwrap() as usize;
        assert_eq!(step.measure.shares.len(), jobs);
        let passes = step.measure.shares[0].passes;
        assert!(passes > 0 && step.measure.shares.iter().all(|share| share.passes == passes));
        assert_eq!(step.measure.bytes.total(), passes * jobs as u64 * (64 << 10), "{}", step.coordinates);
        let given: Vec<u32> = step.measure.ranks.iter().map(|share| share.users).collect();
        assert_eq!(given, if jobs == 2 { [1, 1, 0] } else { [3, 2, 2] });
    }
    assert!(target.names().is_empty(), "{:?}", target.names());
}

#[test]
fn a_shared_file_is_known_to_every_rank_whoever_wrote_its_parts() {
    // Parts move from rank to rank as the number of users changes; every read is verified.
    let sweep = "[sweep]\nfile_sizes = ['64KiB']\nrecord_sizes = ['4KiB']\njobs = [2, 3, 5]\nshared_file = true\n\
                 tests = ['rewrite', 'read', 'random-mix']\n";
    let steps = complete(on_ranks(3, 0, sweep, memory().1));
    assert_eq!(steps.len(), 9);
    for step in &steps {
        adds_up(step, 3);
    }
}

#[test]
fn shifted_ranks_read_and_verify_what_their_neighbour_wrote() {
    let sweep =
        "[sweep]\nfile_sizes = ['64KiB']\nrecord_sizes = ['4KiB']\njobs = [6]\ntests = ['rewrite', 'read']\n";
    let steps = complete(on_ranks(3, 1, sweep, memory().1));
    for step in &steps {
        adds_up(step, 3);
    }
    // What nobody wrote for the reader is not known to be right: with each rank's own memory the names are not there.
    let ran = on_ranks(3, 1, sweep, |_| Arc::new(MemoryTarget::new()));
    assert!(!matches!(&ran[0].end, Ok(RunEnd { outcome: RunOutcome::Complete, .. })));
}

#[test]
fn users_on_ranks_share_one_window_one_data_set_and_one_histogram() {
    let load = "[load]\nworkload = 'copy'\nusers = [1, 7]\nthink = '2ms'\nwarm_up = '20ms'\n\
                measure = '300ms'\nscale = '100KB'\nblock = '1000'\n";
    let (target, each) = memory();
    let steps = complete(on_ranks(3, 0, load, each));
    assert_eq!(steps.len(), 2);
    for step in &steps {
        adds_up(step, 3);
        let mut merged = Histogram::new();
        step.measure.ranks.iter().for_each(|share| merged.merge(&share.response));
        let mut parts = Histogram::new();
        step.measure.load.transactions.iter().for_each(|part| parts.merge(&part.response));
        assert_eq!(merged, parts, "to the bucket");
        assert_eq!(step.measure.window_ns, 300_000_000);
        assert_eq!(step.measure.load.fairness.users, u64::from(step.measure.users_assigned));
    }
    assert!(target.names().is_empty(), "{:?}", target.names());
}

#[test]
fn an_open_load_starts_as_often_on_several_ranks_as_on_one() {
    let load = "[load]\nworkload = 'single'\nusers = [6]\narrivals = 'constant'\nrates = [100]\n\
                warm_up = '0s'\nmeasure = '2s'\nscale = '100KB'\n";
    let steps = complete(on_ranks(3, 0, load, memory().1));
    let measure = &steps[0].measure;
    assert_eq!(measure.transactions + measure.censored, 199, "every start of the schedule, once");
    // A third each, but for what was to start while the machine stood still at the end.
    assert!(measure.ranks.iter().all(|share| share.transactions > 25), "{:?}", measure.ranks);
}

const READ: &str =
    "[sweep]\nfile_sizes = ['64KiB']\nrecord_sizes = ['4KiB']\njobs = [3]\ntests = ['rewrite', 'read']\n";

#[test]
fn a_leader_that_cannot_begin_is_named_on_every_rank() {
    let (target, _) = memory();
    let each = |rank| {
        let faulty = FaultyTarget::new(target.clone());
        let faulty = if rank == 0 { faulty.meta(0, ErrorClass::Refused) } else { faulty };
        Arc::new(faulty) as Arc<dyn Target>
    };
    for ran in on_ranks(3, 0, READ, each) {
        let Err(StartError::Ranks(reported)) = ran.end else { panic!("{:?}", ran.end) };
        assert!(reported.starts_with("rank 0 (rank0): "), "{reported}");
    }
}

#[test]
fn a_rank_that_loses_the_target_ends_the_run_on_all_and_finished_steps_are_kept() {
    let (target, _) = memory();
    let each = |rank| {
        let faulty = FaultyTarget::new(target.clone());
        // Enough for its file and the first cell.
        let faulty = if rank == 2 { faulty.data(17, Fault::Fail(ErrorClass::Disconnected)) } else { faulty };
        Arc::new(faulty) as Arc<dyn Target>
    };
    for (rank, ran) in on_ranks(3, 0, READ, each).into_iter().enumerate() {
        let end = ran.end.unwrap();
        let RunOutcome::Incomplete(StepError::TargetLost { reason: reported, .. }) = &end.outcome else {
            panic!("{end:?}")
        };
        assert!(reported.contains("rank 2 (rank2): "), "{reported}");
        assert!(end.leftovers.is_empty() && (rank == 0 || ran.steps.is_empty()));
    }
    assert_eq!(target.names(), Vec::<String>::new());
}

#[test]
fn a_rank_that_is_gone_ends_the_run_as_failed() {
    let plan = plan(READ);
    let mut ranks = threads(2);
    drop(ranks.pop());
    let ranks = Ranks::unnamed(Box::new(ranks.remove(0)));
    let (sender, _events) = mpsc::channel();
    let end = Run {
        plan: &plan,
        targets: &[Arc::new(MemoryTarget::new())],
        done: &[],
        directory: ".sharebench-ranks",
        resumed: false,
        stop: &StopSignal::default(),
        clock: &Clock::start(),
        events: &sender,
        ranks: Some(&ranks),
    };
    let reported = end.execute().unwrap_err().to_string();
    assert!(reported.contains("rank 1 was lost"), "{reported}");
}
