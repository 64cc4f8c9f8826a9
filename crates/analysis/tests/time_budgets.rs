//! Reasons of differences and predictions over distances, as findings of a report.

use crate::synthetic::budgets::{
    distant, equal_systems, lossy, more_client_cpu, more_round_trips, names, run,
};
use sharebench_analysis::{Options, RunData, analyse};

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
    let run = more_round_trips(&["random-read"]);
    let text = finding(&findings(run), "mainly because");
    assert!(
        text.starts_with("random-read: nfs takes 67 % less time per operation than smb")
            && text.ends_with("mainly because its round trips per operation are 1.00 instead of 3.00."),
        "{text}"
    );
}

#[test]
fn client_cpu_is_named_as_the_reason() {
    let run = more_client_cpu();
    let text = finding(&findings(run), "mainly because");
    assert!(text.contains("it costs this client 10.0 us of CPU instead of 110 us"), "{text}");
}

#[test]
fn figures_of_tcp_are_findings() {
    let mut run = run(&["nas"], |_| 21e-3);
    for step in &mut run.steps {
        step.measure.tcp = Some(lossy(20_000)).into();
    }
    let found = findings(run);
    let lost = finding(&found, "sent again");
    assert!(lost.starts_with("random-read: nas: ") && lost.contains("(1.00 %)"), "{lost}");
    finding(&found, "the server's receive window was full for 60 % of the time of sending");
    finding(&found, "the network's round trip of 20.0 ms takes 95 % of an operation");
}

#[test]
fn times_over_a_distance_are_predicted_next_to_the_measured_ones() {
    let run = distant();
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

#[test]
fn server_that_is_compared_with_itself_takes_no_less_time() {
    let options = Options { resamples: 20, ..Options::default() };
    let claims = (0..500).filter(|seed| {
        let analysis = analyse(&[equal_systems(*seed)], &options);
        analysis.findings.iter().any(|finding| finding.text.contains("less time per operation"))
    });
    let claims: Vec<u64> = claims.collect();
    assert!(claims.len() <= 5, "{claims:?}");
}

#[test]
fn round_trip_is_a_share_of_the_window_where_no_busy_time_is_known() {
    let share = |rtt| {
        let found = findings(names(rtt));
        found.into_iter().find(|text| text.contains("the network's round trip of"))
    };
    assert_eq!(share(6), None, "6 of 30 us are no half");
    let text = share(20).unwrap();
    assert!(text.ends_with("the network's round trip of 20.0 us takes 67 % of an operation."), "{text}");
    // Requests that overlap each other take longer together than their operation.
    assert_eq!(share(60), None);
}

#[test]
fn loopback_loses_no_segments() {
    let lost = |pmtu: u32, min_rtt_us: u32| {
        let mut run = run(&["nas"], |_| 21e-3);
        for step in &mut run.steps {
            step.measure.tcp = Some(sharebench_model::TcpCounts { pmtu, ..lossy(min_rtt_us) }).into();
        }
        findings(run).iter().any(|text| text.contains("sent again") || text.contains("out of order"))
    };
    assert!(!lost(65_536, 6), "the kernel sent again what a busy machine acknowledged late");
    assert!(lost(65_536, 20_000), "something delays the packets of this loopback, and may drop them");
    assert!(lost(1_500, 60) && lost(9_000, 60));
}
