//! Reasons of differences, the kernel's figures of TCP, and times over a distance.

use sharebench_analysis::RunData;

use crate::sentences::{check, quick};
use crate::synthetic::budgets::{distant, lossy, more_client_cpu, more_round_trips, run};

/// Two systems that differ in the time outside this client, with these round trips of the network, microseconds.
fn at(round_trips_us: [u32; 2]) -> RunData {
    let mut run = run(&["far", "near"], |target| [2e-3, 0.5e-3][target]);
    for step in &mut run.steps {
        let mut tcp = lossy(round_trips_us[step.target as usize]);
        tcp.retransmissions = 0;
        tcp.rwnd_limited_us = 0;
        step.measure.tcp = Some(tcp).into();
    }
    run
}

#[test]
fn reasons_of_differences() {
    check("more_round_trips", &[more_round_trips(&["random-read"])], &quick());
    check("more_round_trips_in_two_tests", &[more_round_trips(&["random-read", "random-write"])], &quick());
    check("more_client_cpu", &[more_client_cpu()], &quick());
    check("longer_round_trip", &[at([1_500, 100])], &quick());
    check("slower_server", &[at([100, 100])], &quick());
}

#[test]
fn figures_of_tcp() {
    let mut run = run(&["lossy", "disordered"], |_| 21e-3);
    for step in &mut run.steps {
        let mut tcp = lossy(20_000);
        if step.target == 1 {
            tcp.retransmissions = 0;
            tcp.out_of_order = 20;
        }
        step.measure.tcp = Some(tcp).into();
    }
    check("figures_of_tcp", &[run], &quick());
}

#[test]
fn times_over_a_distance() {
    check("times_over_a_distance", &[distant()], &quick());
}
