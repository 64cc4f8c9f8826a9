//! The announced time of a run: its real time lies within the range, for a grid of plans and servers.

use std::sync::Arc;
use std::time::Duration;

use sharebench_doubles::MemoryTarget;
use sharebench_engine::{Clock, CollectedRun};
use sharebench_model::RunOutcome;
use sharebench_plan::{Plan, ResolvedPlan, SlowestTarget};
use sharebench_simulated::{Device, Service, SimulatedTarget};
use sharebench_target::Target;

/// The virtual time of a run on servers that need `service` per request.
#[expect(clippy::unwrap_used, reason = "a run that cannot start fails its test")]
fn time_of(plan: &ResolvedPlan, service: Duration) -> Duration {
    let clock = Clock::virtual_at(0);
    let device = || Device::new(7).service_center(4, Service::Fixed(service));
    let target = || Arc::new(SimulatedTarget::new(MemoryTarget::new(), &clock, device())) as Arc<dyn Target>;
    let targets: Vec<Arc<dyn Target>> = plan.targets.iter().map(|_| target()).collect();
    let run = CollectedRun::new(plan, &targets, &clock);
    assert_eq!(run.end.unwrap().outcome, RunOutcome::Complete);
    Duration::from_nanos(clock.now())
}

#[expect(clippy::unwrap_used, reason = "plans of these tests are right")]
fn plan(what: &str) -> ResolvedPlan {
    let targets = "[[target]]\nname = 'a'\nurl = '/a'\n[[target]]\nname = 'b'\nurl = '/b'\n";
    let (rules, sections) = what.split_once('|').unwrap_or(("", what));
    let text = format!("seed = 7\ntimeout = '1000s'\n{rules}\n{targets}{sections}");
    Plan::parse(&text).unwrap().resolve().unwrap()
}

#[test]
fn the_time_of_a_run_lies_within_its_announced_range() {
    let sweep = "[sweep]\nfile_sizes = ['256KiB', '4MiB']\nrecord_sizes = ['4KiB', '64KiB']\n\
                 tests = ['write', 'rewrite', 'read', 'reread', 'random-read']\n";
    let plans = [
        format!("repetitions = 2\nmin_sample_time = '20ms'|{sweep}"),
        format!("min_sample_time = '10ms'|{}", sweep.replace("'256KiB', '4MiB'", "'64KiB'")),
        format!("time_budget = '20s'\nmin_sample_time = '10ms'|{sweep}"),
        "repetitions = 1|[sweep]\nfile_sizes = ['2MiB']\nrecord_sizes = ['16KiB']\ntests = ['read', 'write']\n\
         jobs = [1, 4]\n"
            .to_owned(),
        "|[load]\nusers = [2, 8]\nthink = '100ms'\nwarm_up = '500ms'\nmeasure = '2500ms'\nscale = '5.6MB'\n\
         block = 100000\n"
            .to_owned(),
        "|[load]\nusers = [1, 2]\nthink = 'exp 50ms'\nwarm_up = '1s'\nmeasure = '30s'\nscale = '1MB'\nblock = 4096\n\
         max_extensions = 1\n"
            .to_owned(),
    ];
    for text in &plans {
        let plan = plan(text);
        let announced = plan.wall_time(SlowestTarget::ASSUMED);
        for service in [50, 500, 1500].map(Duration::from_micros) {
            let taken = time_of(&plan, service);
            println!("{service:?}: {:?} <= {taken:?} <= {:?}", announced.least, announced.most);
            assert!(announced.least <= taken && taken <= announced.most, "{text}\n{service:?}: {taken:?}");
        }
    }
}

#[test]
fn the_range_without_what_surrounds_the_samples_does_not_hold() {
    // Files of two record sizes are laid out anew in each repetition, which takes longer than the samples.
    let plan = plan(
        "repetitions = 2\nmin_sample_time = '20ms'|[sweep]\nfile_sizes = ['4MiB']\nrecord_sizes = ['4KiB', '64KiB']\n\
         tests = ['read', 'random-read']\n",
    );
    let taken = time_of(&plan, Duration::from_micros(500));
    assert!(taken > plan.measured_time().most * 3 / 2, "{taken:?} {:?}", plan.measured_time());
    assert!(taken <= plan.wall_time(SlowestTarget::ASSUMED).most);
}
