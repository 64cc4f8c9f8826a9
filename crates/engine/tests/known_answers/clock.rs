//! Known answer K20 (docs/measure/measurement-rules.md K20) and repeatability: a stepped wall clock changes labels only, and
//! a seed decides everything.

use std::fmt::Write;

use sharebench_doubles::MemoryTarget;
use sharebench_engine::Clock;
use sharebench_model::RunEvent;
use sharebench_simulated::{Device, Service, SimulatedTarget};

use crate::known_answers::lab::{self, millis};

const UNIX_MS: u64 = 1_700_000_000_000;

/// A sweep, a depth study, users and an open load: every kind of step.
fn plan(seed: u64) -> String {
    format!(
        "seed = {seed}\nrepetitions = 2\nmin_sample_time = '50ms'\n[[target]]\nurl = '/simulated'\n[sweep]\n\
         file_sizes = ['16KiB']\nrecord_sizes = ['4KiB']\n[depth]\nfile_size = '64KiB'\nrecord_sizes = ['4KiB']\n\
         depths = [4]\n[load]\nusers = [3]\nthink = 'exp 5ms'\nwarm_up = '100ms'\nmeasure = '2s'\nscale = '100KB'\n\
         block = '1000'\n"
    )
}

fn run(seed: u64, clock: &Clock) -> Vec<RunEvent> {
    let device =
        Device::new(seed).service_center(2, Service::Lognormal(millis(1), 0.35)).link(100_000_000, 0);
    lab::run(&plan(seed), SimulatedTarget::new(MemoryTarget::new(), clock, device), clock).events
}

/// Events as bytes: everything that a results database would keep.
fn bytes(events: &[RunEvent]) -> String {
    let mut text = String::new();
    for event in events {
        writeln!(text, "{event:?}").unwrap();
        if let RunEvent::StepFinished(step) = event {
            let measure = &step.measure;
            for histogram in [&measure.response, &measure.service, &measure.lag] {
                writeln!(text, "{:?}", histogram.to_v2()).unwrap();
            }
        }
    }
    text
}

#[test]
fn two_runs_of_one_plan_and_seed_send_the_same_events_to_the_byte() {
    let once = bytes(&run(7, &Clock::virtual_at(UNIX_MS)));
    assert!(once.len() > 10_000);
    assert!(once == bytes(&run(7, &Clock::virtual_at(UNIX_MS))), "a repeated run differs");
    assert!(once != bytes(&run(8, &Clock::virtual_at(UNIX_MS))), "the seed decides nothing");
}

#[test]
fn k20_a_wall_clock_set_back_by_an_hour_changes_labels_only() {
    let steady = run(7, &Clock::virtual_at(UNIX_MS));
    let stepped = run(7, &Clock::virtual_at(UNIX_MS).with_wall_step(1_000_000_000, -3_600_000));
    let mut labels = 0;
    let unlabelled = |events: Vec<RunEvent>, labels: &mut u32| -> Vec<RunEvent> {
        let strip = |mut event| {
            if let RunEvent::StepFinished(step) = &mut event {
                *labels += u32::from(step.started_unix_ms < UNIX_MS);
                (step.started_unix_ms, step.measure.load.window_unix_ms) = (0, 0);
            }
            event
        };
        events.into_iter().map(strip).collect()
    };
    let steady = unlabelled(steady, &mut labels);
    assert_eq!(labels, 0);
    let stepped = unlabelled(stepped, &mut labels);
    assert!(labels > 0, "the step was met");
    assert!(bytes(&steady) == bytes(&stepped), "a measured time came from the wall clock");
    println!("K20 clock set back by 1 h: {labels} labels differ, no measure does");
}
