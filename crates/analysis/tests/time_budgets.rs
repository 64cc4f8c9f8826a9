//! Reasons of differences and predictions over distances, as findings of a report.

mod synthetic;

use sharebench_analysis::{Options, RunData, analyse};
use sharebench_model::{Coordinates, CpuTime, TcpCounts, WireCount, axis};
use synthetic::{Synthetic, grid};

/// Small records at a time per operation that `time_s` gives for each target.
fn run(targets: &[&str], time_s: impl Fn(usize) -> f64) -> RunData {
    let mut run = Synthetic::new("budgets", targets, 5);
    (run.noise, run.drift) = (0.004, 0.004);
    let cells: Vec<Coordinates> = grid(&["random-read"], 4, 2);
    let record = |at: &Coordinates| at.number(axis::RECORD_SIZE).unwrap_or(1) as f64;
    run.sweep(&cells, 8, |target, at| record(at) / time_s(target));
    for step in &mut run.run.steps {
        let operations = step.measure.operations;
        step.measure.client_cpu = CpuTime { user_ns: operations * 10_000, kernel_ns: 0 };
        let wire = WireCount {
            requests: operations,
            payload_received: step.measure.bytes.read,
            ..WireCount::default()
        };
        step.measure.wire = Some(wire).into();
    }
    run.run
}

fn findings(run: RunData) -> Vec<String> {
    let analysis = analyse(&[run], &Options::default());
    analysis.findings.into_iter().map(|finding| finding.text).collect()
}

/// The one finding that contains the words.
fn finding(found: &[String], words: &str) -> String {
    let mut texts = found.iter().filter(|text| text.contains(words));
    texts.next().unwrap_or_else(|| panic!("no '{words}' in {found:#?}")).clone()
}

#[test]
fn fewer_round_trips_are_named_as_the_reason() {
    let mut run = run(&["smb", "nfs"], |target| if target == 0 { 1.5e-3 } else { 0.5e-3 });
    for step in run.steps.iter_mut().filter(|step| step.target == 0) {
        let operations = step.measure.operations;
        step.measure.wire.as_mut().unwrap().requests = operations * 3;
    }
    let text = finding(&findings(run), "mainly because");
    assert!(
        text.starts_with("random-read: nfs takes 67 % less time per operation than smb")
            && text.ends_with("mainly because its round trips per operation are 1.00 instead of 3.00."),
        "{text}"
    );
}

#[test]
fn client_cpu_is_named_as_the_reason() {
    let mut run = run(&["smb", "nfs"], |target| if target == 0 { 200e-6 } else { 100e-6 });
    for step in run.steps.iter_mut().filter(|step| step.target == 0) {
        step.measure.client_cpu.user_ns = step.measure.operations * 110_000;
    }
    let text = finding(&findings(run), "mainly because");
    assert!(text.contains("it costs this client 10.0 us of CPU instead of 110 us"), "{text}");
}

#[test]
fn figures_of_tcp_are_findings() {
    let mut run = run(&["nas"], |_| 21e-3);
    for step in &mut run.steps {
        let tcp = TcpCounts {
            min_rtt_us: 20_000,
            rtt_us: 20_500,
            rttvar_us: 100,
            cwnd: 10,
            pmtu: 1500,
            segments_sent: 1_000,
            retransmissions: 10,
            segments_received: 1_000,
            out_of_order: 0,
            busy_us: 1_000_000,
            rwnd_limited_us: 600_000,
            sndbuf_limited_us: 0,
        };
        step.measure.tcp = Some(tcp).into();
    }
    let found = findings(run);
    let lost = finding(&found, "sent again");
    assert!(lost.starts_with("random-read: nas: ") && lost.contains("(1.00 %)"), "{lost}");
    finding(&found, "the server's receive window was full for 60 % of the time of sending");
    finding(&found, "the network's round trip of 20.0 ms takes 95 % of an operation");
}

#[test]
fn times_over_a_distance_are_predicted_next_to_the_measured_ones() {
    let distances = [0.0, 5e-3, 20e-3];
    let mut run = run(&["nfs-0", "nfs-5ms", "nfs-20ms"], |target| 300e-6 + 2.0 * distances[target]);
    let far = ["0", "5ms", "20ms"];
    for (target, far) in run.header.targets.iter_mut().zip(far) {
        target.url = format!("nfs://nas/export?far={far}");
    }
    for step in &mut run.steps {
        let operations = step.measure.operations;
        step.measure.wire.as_mut().unwrap().requests = operations * 2;
    }
    let text = finding(&findings(run), "predicted");
    assert!(
        text.starts_with("random-read: from nfs-0 on, one operation needs 2.00 requests and 2.0")
            || text.starts_with("random-read: from nfs-0 on, one operation needs 2.00 requests and 1.9"),
        "{text}"
    );
    assert!(text.contains("at 20.0 ms predicted 40.") || text.contains("at 20.0 ms predicted 39."), "{text}");
    assert!(text.contains("at 100 ms it would take "), "{text}");
}

#[test]
fn steps_without_counted_requests_have_no_reasons() {
    let mut run = run(&["smb", "nfs"], |target| if target == 0 { 1.5e-3 } else { 0.5e-3 });
    for step in &mut run.steps {
        step.measure.wire = None.into();
    }
    assert!(findings(run).iter().all(|text| !text.contains("mainly because")));
}
