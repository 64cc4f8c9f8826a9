//! What findings say about the time that remains after the removal of their cause.

use super::*;

fn saving_of(evidence: &Evidence, cause: Cause) -> Saving {
    let found = verdict(evidence);
    let finding = found.findings.iter().find(|finding| finding.cause == cause).unwrap();
    match finding.gain.clone() {
        Gain::Measured { saving, .. } | Gain::Computed { saving: Some(saving), .. } => saving,
        gain @ Gain::Computed { .. } => panic!("{gain:?}"),
    }
}

#[test]
fn saving_of_small_requests_leaves_the_time_of_the_bytes() {
    let mut evidence = planted(Cause::SmallRequests);
    // A request of 8 KiB takes 9 parts for itself and 1 for its bytes: one of 2 KiB 9.25 parts for a quarter of the bytes.
    let quarter = 10.0 / (4.0 * 9.25);
    evidence.comparisons.insert(Experiment::QuarterRequests, compared(quarter, 100e6));
    let share = saving_of(&evidence, Cause::SmallRequests).share;
    assert!((share.value - 0.9 * 127.0 / 128.0).abs() < 1e-9, "{share:?}");
    assert!(share.interval.is_some_and(|interval| interval.low < share.value && share.value < interval.high));
}

#[test]
fn saving_of_slow_storage_leaves_a_read_from_the_cache() {
    let reads =
        [Operation::SmallRead, Operation::SmallReadAgain, Operation::LargeRead, Operation::OpenReadClose];
    let evidence = share("smb", slower(CLEAN, 5.0 * MS, &reads));
    let saving = saving_of(&evidence, Cause::SlowStorage);
    let saved = saving.saved_ns().unwrap().value;
    assert!((saved - 5.0 * MS).abs() < 0.02 * MS, "{saved}");
    let rest = saving.total_ns.unwrap() - saved;
    assert!((rest - 70.0 * US).abs() < 2.0 * US, "a write takes 70 us, an empty request 60: {rest}");
}

#[test]
fn saving_of_slow_listings_leaves_a_look_up_of_each_entry() {
    let saving = saving_of(&planted(Cause::SlowListing), Cause::SlowListing);
    let rest = saving.total_ns.unwrap() - saving.saved_ns().unwrap().value;
    // 1,000 look-ups of 6 us, and the round trips.
    assert!((6.0 * MS..8.0 * MS).contains(&rest), "{rest}");
}

#[test]
fn saving_by_credits_ends_where_the_bytes_take_the_time() {
    let mut evidence = planted(Cause::FewCredits);
    let reads =
        [Operation::SmallRead, Operation::SmallReadAgain, Operation::LargeRead, Operation::LargeReadAgain];
    evidence.series =
        share("smb", slower(slower(CLEAN, 0.4 * MS, &reads), 0.4 * MS, &[Operation::Empty])).series;
    let stream = evidence.comparisons[&Experiment::Connections].base_bytes_per_s;
    let bytes = f64::from(crate::operations::LARGE_BYTES - crate::operations::SMALL_BYTES);
    let expected = 1.0 - stream * ((390.0 - 65.0) * US / bytes) / 1e9;
    let share = saving_of(&evidence, Cause::FewCredits).share.value;
    assert!((share - expected).abs() < 0.01, "{share}, expected {expected}");
}

#[test]
fn requests_that_credits_keep_small_are_a_matter_of_credits() {
    let mut evidence = planted(Cause::SmallRequests);
    evidence.protocol = "smb".to_owned();
    evidence.max_read = 64 << 10;
    evidence.negotiated_read = 8 << 20;
    evidence.comparisons.insert(Experiment::QuarterRequests, compared(0.28, 100e6));
    evidence.facts.insert("credits".into(), "8".into());
    assert_eq!(causes(&evidence), [Cause::FewCredits]);
    let saving = saving_of(&evidence, Cause::FewCredits);
    assert_eq!(saving.per, Operation::LargeRead.name());
    evidence.facts.insert("credits".into(), "512".into());
    assert_eq!(causes(&evidence), [Cause::SmallRequests], "enough credits");
}

#[test]
fn jitter_is_seen_without_what_the_client_waits() {
    let mut evidence = planted(Cause::Jitter);
    let mut waiting = Series::default();
    for (operation, ..) in CLEAN {
        for (round, sample) in (0..).zip(evidence.series.samples(operation)) {
            // Each third sample waits 40 ms for a CPU.
            let starved_ns = if round % 3 == 0 { 40.0 * MS } else { 0.0 };
            waiting
                .add(operation, Sample { elapsed_ns: sample.elapsed_ns + starved_ns, starved_ns, ..*sample });
        }
    }
    evidence.series = waiting;
    assert!(causes(&evidence).contains(&Cause::Jitter));
    evidence.read = evidence.read.map(|tcp| TcpCounts { pmtu: 65_535, ..tcp });
    assert!(!causes(&evidence).contains(&Cause::Jitter), "loopback");
    let mut lost = planted(Cause::Loss);
    lost.write =
        lost.write.map(|write| Bulk { tcp: write.tcp.map(|tcp| TcpCounts { pmtu: 65_535, ..tcp }), ..write });
    assert_eq!(causes(&lost), [], "loopback");
}
