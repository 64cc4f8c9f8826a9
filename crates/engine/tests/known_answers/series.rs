//! Consecutive load steps that keep their users (docs/design/load-steps.md): what is counted in which window, and who
//! logs on and off between two of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sharebench_engine::{Clock, CollectedRun, StopSignal};
use sharebench_model::{
    ErrorClass, Fact, LoadCounts, RunEvent, RunOutcome, StepError, StepResult, USERS_STAY, Verdict,
};
use sharebench_plan::Plan;
use sharebench_simulated::{Device, Served, Service, SimulatedTarget};
use sharebench_target::{
    Alteration, Altered, ConnectError, Connecting, NullTarget, SessionSpec, Target, UrlPart,
};

use crate::known_answers::lab::{GRACE_NS, close, load_plan, loads, mean_ms, millis, verdict, window_start};

const SECOND: u64 = 1_000_000_000;

/// Begin and end of the measured part of each step, where logins and logouts take no time.
fn windows(log: &[Served], steps: usize, warm_up: u64, measure: u64) -> Vec<(u64, u64)> {
    let mut start = window_start(log);
    let window = |_| {
        let begin = start + warm_up;
        let end = begin + measure;
        start = end + GRACE_NS;
        (begin, end)
    };
    (0..steps).map(window).collect()
}

fn reads(log: &[Served]) -> impl Iterator<Item = &Served> {
    log.iter().filter(|served| !served.write)
}

/// Reads that the server ended from one instant until before another.
fn ended(log: &[Served], from: u64, to: u64) -> u64 {
    reads(log).filter(|read| (from..to).contains(&read.end)).count() as u64
}

fn outside(step: &StepResult) -> LoadCounts {
    step.measure.load.outside.expect("the step belongs to a series")
}

/// Every read of the server is counted in one window or outside them, and nothing else is.
fn accounts_close(steps: &[StepResult], log: &[Served], windows: &[(u64, u64)]) {
    let mut from = 0;
    for (index, (step, (begin, end))) in steps.iter().zip(windows).enumerate() {
        assert_eq!(step.measure.transactions, ended(log, *begin, *end), "window {index}");
        assert_eq!(step.measure.operations, step.measure.transactions);
        assert_eq!(step.measure.bytes.read, 512 * step.measure.operations);
        let rest = if index + 1 == steps.len() { ended(log, *end, u64::MAX) } else { 0 };
        assert_eq!(outside(step).transactions, ended(log, from, *begin) + rest, "outside window {index}");
        from = *end;
    }
    let inside: u64 = steps.iter().map(|step| step.measure.operations).sum();
    let outside: u64 = steps.iter().map(|step| outside(step).operations).sum();
    assert_eq!(inside + outside, reads(log).count() as u64);
    let last = steps.last().unwrap();
    assert_eq!(verdict(last, "series"), Verdict::Valid, "{:?}", last.checks);
}

#[test]
fn the_server_is_never_idle_between_steps_and_each_user_logs_on_once() {
    let device = Device::new(5).service_center(1, Service::Fixed(millis(2)));
    let pace = "users = [30, 40, 50]\nkeep_users = true\nthink = 'exp 20ms'\nwarm_up = '5s'\nmeasure = '10s'";
    let (steps, log) = loads(5, pace, device);
    let windows = windows(&log, 3, 5 * SECOND, 10 * SECOND);
    accounts_close(&steps, &log, &windows);
    let tenth = SECOND / 10;
    for (_, end) in &windows[..2] {
        // A service center that is never idle ends 50 in a tenth of a second, on either side of the border.
        assert_eq!((ended(&log, end - tenth, *end), ended(&log, *end, end + tenth)), (50, 50));
        let in_flight = reads(&log).filter(|read| read.arrival < *end && read.end >= *end).count();
        assert!(in_flight >= 10, "{in_flight} in flight at the border");
    }
    let sessions: BTreeSet<u32> = reads(&log).map(|read| read.session).collect();
    assert_eq!(sessions.len(), 50, "one login per user of the largest step");
    for (step, users) in steps.iter().zip([30, 40, 50]) {
        assert_eq!((step.measure.users_assigned, step.measure.users_reported), (users, users));
        assert_eq!(step.measure.load.fairness.users, u64::from(users));
        for check in ["little", "lag", "participation"] {
            assert_eq!(verdict(step, check), Verdict::Valid, "{:?}", step.checks);
        }
    }
}

#[test]
fn k5_rising_and_falling_steps_of_a_series_have_the_rates_of_single_ones() {
    // The answers of K5: users, transactions per second, mean response in milliseconds.
    let answers = [(5, 218.02, 2.933), (20, 499.07, 20.075), (8, 330.84, 4.181)];
    let device = Device::new(7).service_center(1, Service::Exponential(millis(2)));
    let pace = "users = [5, 20, 8]\nkeep_users = true\nthink = 'exp 20ms'\nwarm_up = '5s'\nmeasure = '400s'";
    let (steps, log) = loads(7, pace, device);
    for (step, (users, rate, response)) in steps.iter().zip(answers) {
        let measure = &step.measure;
        assert_eq!(measure.users_assigned, users);
        close(&format!("series N = {users}: X/s"), measure.transaction_rate().unwrap(), rate, 0.01);
        close(&format!("series N = {users}: R ms"), mean_ms(&measure.response), response, 0.02);
        assert_eq!(verdict(step, "little"), Verdict::Valid, "{:?}", step.checks);
    }
    assert_eq!(reads(&log).map(|read| read.session).collect::<BTreeSet<_>>().len(), 20);
}

#[test]
fn users_of_a_smaller_step_leave_in_order_and_finish_their_transactions() {
    let device = Device::new(1).service_center(16, Service::Fixed(millis(50)));
    let pace =
        "users = [6, 2]\nkeep_users = true\nthink = '0ms'\nramp = '2s'\nwarm_up = '2s'\nmeasure = '10s'";
    let (steps, log) = loads(3, pace, device);
    let (begin, end) = windows(&log, 1, 2 * SECOND, 10 * SECOND)[0];
    assert_eq!(steps[0].measure.transactions, ended(&log, begin, end));
    let mut last: BTreeMap<u32, u64> = BTreeMap::new();
    for read in reads(&log) {
        last.insert(read.session, read.arrival);
    }
    let mut leaving: Vec<u64> = last.into_values().collect();
    let stayed = leaving.drain(..2).min().unwrap();
    assert!(leaving.iter().all(|last| *last < stayed), "the first users stay");
    // The last one leaves at the border, the next one half a second later: each starts nothing more from then on.
    for (place, last) in leaving.iter().rev().enumerate() {
        let leaves = end + place as u64 * SECOND / 2;
        assert!((leaves - SECOND / 10..leaves).contains(last), "user in place {place} started at {last}");
    }
    let counted: u64 = steps.iter().map(|step| step.measure.transactions + outside(step).transactions).sum();
    assert_eq!(counted, reads(&log).count() as u64, "what was in flight is finished and counted");
    assert_eq!((steps[1].measure.users_reported, verdict(&steps[1], "series")), (2, Verdict::Valid));
}

#[test]
fn a_transaction_that_spans_a_window_is_unfinished_in_each_and_counted_where_it_ends() {
    let device = Device::new(1).service_center(4, Service::Fixed(millis(25_000)));
    let pace = "users = [1, 2, 3]\nkeep_users = true\nthink = '0ms'\nwarm_up = '1s'\nmeasure = '10s'";
    let (steps, log) = loads(3, pace, device);
    // The first user's transaction begins with the series and takes 25 s; windows are 1 s to 11 s, 12 s to 22 s, 23 s to 33 s.
    let counts: Vec<_> =
        steps.iter().map(|step| (step.measure.transactions, step.measure.censored)).collect();
    assert_eq!(counts, [(0, 1), (0, 2), (1, 3)]);
    let third = &steps[2].measure;
    assert!(third.lag.max() <= 1, "it began when it was due");
    close("series, 25 s: R ms", mean_ms(&third.load.transactions[0].response), 25_000.0, 0.002);
    assert_eq!(verdict(&steps[2], "little"), Verdict::Valid, "{:?}", steps[2].checks);
    accounts_close(&steps, &log, &windows(&log, 3, SECOND, 10 * SECOND));
}

/// A server that rejects a login, or requests the run to stop at one. Logins are counted from 0; the first one is the
/// engine's own.
#[derive(Clone)]
struct Gate {
    logins: Arc<AtomicU32>,
    rejects: Option<u32>,
    stops: Option<u32>,
    stop: StopSignal,
}

impl Alteration for Gate {
    fn connect<'a>(&'a self, inner: &'a dyn Target, spec: &'a SessionSpec) -> Connecting<'a> {
        let login = self.logins.fetch_add(1, Ordering::Relaxed);
        if self.stops == Some(login) {
            self.stop.stop();
        }
        if self.rejects == Some(login) {
            let detail = "this login is rejected".to_owned();
            let class = ErrorClass::Refused;
            return Box::pin(async move {
                Err(ConnectError { url: "gate".into(), part: UrlPart::Credentials, class, detail })
            });
        }
        inner.connect(spec)
    }
}

/// Events and outcome of steps of 4, 8 and 9 users; and the server's log.
fn gated(
    rejects: Option<u32>,
    stops: Option<u32>,
    done: &[StepResult],
) -> (Vec<RunEvent>, RunOutcome, Vec<Served>, u32) {
    let pace = "users = [4, 8, 9]\nkeep_users = true\nthink = 'exp 20ms'\nwarm_up = '1s'\nmeasure = '10s'";
    let plan = Plan::parse(&load_plan(2, pace)).unwrap().resolve().unwrap();
    let clock = Clock::virtual_at(0);
    let stop = StopSignal::default();
    let device = Device::new(2).service_center(2, Service::Exponential(millis(1)));
    let inner = SimulatedTarget::new(NullTarget, &clock, device);
    let gate = Gate { logins: Arc::default(), rejects, stops, stop: stop.clone() };
    let gated = Altered::new(inner.clone(), gate.clone());
    let run = CollectedRun::until(&plan, &[Arc::new(gated)], &clock, &stop, done);
    let end = run.end.unwrap();
    assert_eq!(end.leftovers, []);
    let logins = gate.logins.load(Ordering::Relaxed);
    (run.events, end.outcome, inner.log(), logins)
}

fn finished(events: Vec<RunEvent>) -> Vec<StepResult> {
    let finished = |event| match event {
        RunEvent::StepFinished(step) => Some(*step),
        _ => None,
    };
    events.into_iter().filter_map(finished).collect()
}

#[test]
fn a_login_that_fails_in_a_later_step_is_a_failure_of_that_step() {
    let (events, outcome, log, logins) = gated(Some(6), None, &[]);
    assert_eq!(outcome, RunOutcome::Complete);
    assert_eq!(logins, 1 + 9 + 1, "the engine, nine users, and one of them again");
    let ready = events.iter().find_map(|event| match event {
        RunEvent::TargetReady { facts, .. } => Fact::UsersBetweenSteps.value(facts).map(str::to_owned),
        _ => None,
    });
    assert_eq!(ready.as_deref(), Some(USERS_STAY));
    let steps = finished(events);
    let errors: Vec<u64> = steps.iter().map(|step| step.measure.errors.values().sum()).collect();
    assert_eq!(errors, [0, 1, 0]);
    let verdicts: Vec<Verdict> = steps.iter().map(|step| verdict(step, "errors")).collect();
    assert_eq!(verdicts, [Verdict::Valid, Verdict::Invalid, Verdict::Valid]);
    assert_eq!(steps.iter().map(|step| step.measure.users_reported).collect::<Vec<_>>(), [4, 8, 9]);
    let counted: u64 = steps.iter().map(|step| step.measure.transactions + outside(step).transactions).sum();
    assert_eq!(counted, reads(&log).count() as u64);
}

#[test]
fn a_stop_between_two_steps_keeps_the_finished_one_and_logs_everybody_off() {
    let (events, outcome, _, logins) = gated(None, Some(6), &[]);
    assert_eq!(outcome, RunOutcome::Incomplete(StepError::Stopped));
    assert_eq!(logins, 1 + 8, "users that have begun to log on do so, and then log off");
    let started = events.iter().filter(|event| matches!(event, RunEvent::StepStarted { .. })).count();
    assert_eq!((started, finished(events).len()), (2, 1));
}

#[test]
fn an_interrupted_series_starts_again_and_a_finished_one_does_not() {
    let (events, ..) = gated(None, None, &[]);
    let whole = finished(events);
    assert_eq!(whole.len(), 3);
    let (events, outcome, _, logins) = gated(None, None, &whole[..1]);
    assert_eq!((outcome, logins), (RunOutcome::Complete, 1 + 9));
    assert_eq!(finished(events), whole, "all steps, and the same in virtual time");
    let (events, outcome, _, logins) = gated(None, None, &whole);
    assert_eq!((outcome, logins, finished(events).len()), (RunOutcome::Complete, 1, 0));
}
