//! Each cause on synthetic evidence: it is found first, its text equals the snapshot, and a clean share has no cause.

mod client;
mod gains;

use std::fmt::Write;

use sharebench_model::units::show_nanos;
use sharebench_model::{Facts, ServerLoad, TcpCounts};
use sharebench_stats::{Estimate, Interval};

use super::*;
use crate::budget::budget;
use crate::client_limits::ClientLimits;
use crate::evidence::{Bulk, ClockOffset, Comparison, Experiment, MountTraffic, WriteRefusal};
use crate::mount::MountFacts;
use crate::operations::{Operation, Sample, Series};

const US: f64 = 1e3;
const MS: f64 = 1e6;

/// Times of the operations of a share, without noise; requests and client CPU are those of a fast share.
type Times = [(Operation, f64, u32); 15];

const CLEAN: Times = [
    (Operation::Empty, 60.0 * US, 1),
    (Operation::SmallRead, 75.0 * US, 1),
    (Operation::SmallReadAgain, 65.0 * US, 1),
    (Operation::LargeRead, 400.0 * US, 1),
    (Operation::LargeReadAgain, 390.0 * US, 1),
    (Operation::Burst, 120.0 * US, 8),
    (Operation::UnstableWrite, 70.0 * US, 1),
    (Operation::StableWrite, 100.0 * US, 1),
    (Operation::Open, 70.0 * US, 1),
    (Operation::OpenReadClose, 200.0 * US, 3),
    (Operation::Listing, 900.0 * US, 5),
    (Operation::NextRead, 66.0 * US, 1),
    (Operation::Create, 95.0 * US, 1),
    (Operation::MissingName, 66.0 * US, 1),
    (Operation::MissingInLarge, 68.0 * US, 1),
];

/// The evidence of a share of those times, with noise of 2 % that differs between operations.
fn share(protocol: &str, times: Times) -> Evidence {
    let mut evidence = Evidence {
        protocol: protocol.to_owned(),
        network_ns: Some(15.0 * US),
        burst: 8,
        max_read: 1 << 20,
        entries: 1000,
        has_sizes: true,
        ..Evidence::default()
    };
    for (index, (operation, time, requests)) in (0..).zip(times) {
        for round in 0..40 {
            let noise = 1.0 + f64::from((round * (2 * index + 3)) % 11 - 5) * 0.004;
            let sample = Sample {
                elapsed_ns: time * noise,
                cpu_ns: 20.0 * US * f64::from(requests),
                starved_ns: 0.0,
                unseen_ns: 0.0,
                requests,
            };
            evidence.series.add(operation, sample);
        }
    }
    evidence.comparisons.insert(Experiment::Connections, compared(1.05, 900e6));
    evidence
}

fn compared(ratio: f64, base_bytes_per_s: f64) -> Comparison {
    let interval = Some(Interval::new(ratio * 0.97, ratio * 1.03));
    Comparison { ratio: Estimate { value: ratio, interval, n: 10 }, base_bytes_per_s, client_share: 0.3 }
}

/// A share that a kernel of CIFS mounts with these options.
fn mounted(options: &str) -> Evidence {
    let facts = Facts::from([
        ("access".into(), "mounted".into()),
        ("file_system".into(), "cifs".into()),
        ("mount_options".into(), options.to_owned()),
    ]);
    let mount = MountFacts::from_facts(&facts);
    Evidence { facts, mount, network_ns: None, ..share("local", CLEAN) }
}

fn verdict(evidence: &Evidence) -> Verdict {
    let budgets: Vec<Budget> =
        Operation::TYPICAL.into_iter().filter_map(|operation| budget(evidence, operation)).collect();
    judge(evidence, &budgets)
}

/// Adds time to operations.
fn slower(mut times: Times, by_ns: f64, operations: &[Operation]) -> Times {
    for (operation, time, _) in &mut times {
        if operations.contains(operation) {
            *time += by_ns;
        }
    }
    times
}

/// A share that has exactly this cause.
#[expect(clippy::too_many_lines, reason = "one arm per cause")]
fn planted(cause: Cause) -> Evidence {
    use Operation::{
        Burst, Create, Empty, LargeRead, LargeReadAgain, Listing, MissingInLarge, NextRead, Open,
        OpenReadClose, SmallRead, SmallReadAgain, StableWrite, UnstableWrite,
    };
    let each = CLEAN.map(|(operation, ..)| operation);
    let tcp = TcpCounts {
        min_rtt_us: 20_000,
        rtt_us: 21_000,
        rttvar_us: 50,
        cwnd: 40,
        pmtu: 1500,
        segments_sent: 40_000,
        retransmissions: 0,
        segments_received: 20_000,
        out_of_order: 0,
        busy_us: 1_000_000,
        rwnd_limited_us: 0,
        sndbuf_limited_us: 0,
    };
    let bulk = |tcp| Some(Bulk { bytes_per_s: 11e6, client_share: 0.1, tcp: Some(tcp) });
    let mut evidence = share("smb", CLEAN);
    match cause {
        Cause::LongRoundTrip => {
            evidence = share(
                "nfs",
                CLEAN.map(|(operation, time, requests)| {
                    let trips = if operation == Burst { 1 } else { requests };
                    (operation, time + 20.0 * MS * f64::from(trips), requests)
                }),
            );
            evidence.network_ns = Some(20.0 * MS);
        }
        Cause::LowLinkRate => {
            evidence = share("smb", slower(CLEAN, 90.0 * MS, &[LargeRead, LargeReadAgain]));
            evidence.comparisons.insert(Experiment::Connections, compared(1.01, 11.6e6));
            evidence.write = bulk(tcp);
        }
        Cause::SmallWindow => {
            evidence.network_ns = Some(0.6 * MS);
            evidence.comparisons.insert(Experiment::Connections, compared(3.8, 30e6));
            evidence.write = bulk(TcpCounts { rwnd_limited_us: 900_000, ..tcp });
        }
        Cause::OneConnection => {
            evidence.comparisons.insert(Experiment::Connections, compared(3.8, 30e6));
        }
        Cause::Loss => evidence.write = bulk(TcpCounts { retransmissions: 400, ..tcp }),
        Cause::ProtocolWork => evidence = share("nfs", slower(CLEAN, 2.0 * MS, &each)),
        Cause::SlowStorage => {
            let reads = [SmallRead, SmallReadAgain, LargeRead, LargeReadAgain, Burst, OpenReadClose];
            evidence = share(
                "nfs",
                slower(slower(CLEAN, 5.0 * MS, &reads), 5.0 * MS, &[UnstableWrite, StableWrite]),
            );
        }
        Cause::ColdCache => evidence = share("smb", slower(CLEAN, 5.0 * MS, &[SmallRead, LargeRead])),
        Cause::StableWrites => evidence = share("smb", slower(CLEAN, 8.0 * MS, &[StableWrite])),
        Cause::SynchronousWrites => {
            evidence = share("nfs", slower(CLEAN, 8.0 * MS, &[UnstableWrite, StableWrite]));
            evidence.is_always_stable = true;
        }
        Cause::Signing => {
            evidence.facts.insert("signing".into(), "HMAC-SHA256".into());
            evidence.comparisons.insert(Experiment::Signing, compared(2.5, 200e6));
        }
        Cause::Encryption => {
            evidence.facts.insert("encryption".into(), "AES-128-CCM".into());
            evidence.comparisons.insert(Experiment::Encryption, compared(3.0, 150e6));
        }
        Cause::OldDialect => {
            evidence.facts.insert("dialect".into(), "2.0.2".into());
            evidence.comparisons.insert(Experiment::Dialect, compared(1.8, 250e6));
        }
        Cause::SmallRequests => {
            evidence = share("nfs", slower(CLEAN, 7.0 * MS, &[LargeRead, LargeReadAgain]));
            evidence.max_read = 8 << 10;
        }
        Cause::FewCredits => {
            evidence = share("smb", slower(CLEAN, 0.4 * MS, &[Empty, SmallRead, SmallReadAgain]));
            evidence.network_ns = Some(0.4 * MS);
            evidence.facts.insert("credits".into(), "4".into());
            evidence.comparisons.insert(Experiment::Connections, compared(1.1, 400e6));
        }
        Cause::ClientCpu => {
            let busy = Comparison { client_share: 0.98, ..compared(1.0, 90e6) };
            evidence.comparisons.insert(Experiment::Connections, busy);
        }
        Cause::ClientBusy | Cause::ForeignLoad => {
            evidence.series = Series::default();
            for (operation, time, requests) in CLEAN {
                for round in 0..42 {
                    let starved_ns = if cause == Cause::ClientBusy { time } else { 0.0 };
                    let foreign = if cause == Cause::ForeignLoad && round >= 30 { 4.0 * MS } else { 0.0 };
                    let elapsed_ns = time + starved_ns + foreign;
                    evidence.series.add(
                        operation,
                        Sample { elapsed_ns, cpu_ns: 20.0 * US, starved_ns, unseen_ns: 0.0, requests },
                    );
                }
            }
        }
        Cause::SlowLogin => {
            evidence.login.phases = vec![("name resolution", 5.0 * US), ("connect", 2_500.0 * MS)];
            evidence.login.total_ns = 2_501.0 * MS;
        }
        Cause::SlowNameResolution | Cause::SlowAuthentication | Cause::ReverseLookup => {
            let slow = match cause {
                Cause::SlowNameResolution => "name resolution",
                Cause::SlowAuthentication => "log-in",
                _ => "share",
            };
            evidence.login.phases =
                ["name resolution", "connect", "log-in", "share"].map(|phase| (phase, 50.0 * US)).to_vec();
            evidence.login.phases.push((slow, 5_000.0 * MS));
            evidence.login.total_ns = 5_001.0 * MS;
        }
        Cause::ExpensiveOpens => evidence = share("smb", slower(CLEAN, 6.0 * MS, &[Open, OpenReadClose])),
        Cause::PerEntryListing => {
            evidence = share("nfs", CLEAN);
            evidence.has_sizes = false;
        }
        Cause::SlowListing => evidence = share("smb", slower(CLEAN, 400.0 * MS, &[Listing])),
        Cause::HmacSigning => {
            evidence.facts.insert("signing".into(), "HMAC-SHA256".into());
            evidence.facts.insert("dialect".into(), "2.1".into());
            evidence.comparisons.insert(Experiment::Signing, compared(2.5, 200e6));
            evidence.comparisons.insert(Experiment::Dialect, compared(2.2, 200e6));
            let newest = Facts::from([("dialect".into(), "3.1.1".into())]);
            evidence.changed_facts.insert(Experiment::Dialect, newest);
        }
        Cause::RefusedLeases => evidence.is_caching_granted = Some(false),
        Cause::NoReadAhead => {
            evidence = share("smb", slower(CLEAN, 5.0 * MS, &[SmallRead, LargeRead, NextRead]));
        }
        Cause::SyncExport => {
            evidence = share("nfs", slower(slower(CLEAN, 8.0 * MS, &[Create]), 6.0 * MS, &[StableWrite]));
        }
        Cause::BusyServer => {
            evidence = share("nfs", slower(CLEAN, 2.0 * MS, &each));
            let load = ServerLoad { cpu: 0.97, cores: Some(4), source: "node_cpu_seconds_total".to_owned() };
            evidence.server_load = Some(load);
        }
        Cause::DelayedAcknowledgement => {
            evidence = share("nfs", slower(CLEAN, 40.0 * MS, &[Empty, SmallRead, SmallReadAgain, Open]));
            evidence.comparisons.insert(Experiment::Acknowledge, compared(20.0, 100e3));
        }
        Cause::Reordering => evidence.read = Some(TcpCounts { out_of_order: 900, ..tcp }),
        Cause::SmallMtu => evidence.read = Some(TcpCounts { pmtu: 576, ..tcp }),
        Cause::Jitter => {
            evidence.series = Series::default();
            for (operation, time, requests) in CLEAN {
                for round in 0..42 {
                    let elapsed_ns = time + f64::from(round * 5 % 7) * MS;
                    let sample =
                        Sample { elapsed_ns, cpu_ns: 20.0 * US, starved_ns: 0.0, unseen_ns: 0.0, requests };
                    evidence.series.add(operation, sample);
                }
            }
            evidence.read = Some(TcpCounts { rttvar_us: 1_900, ..tcp });
        }
        Cause::SlowAddressFamily => {
            evidence.comparisons.insert(Experiment::AddressFamily, compared(3.0, 50e6));
        }
        Cause::LinearDirectory => evidence = share("smb", slower(CLEAN, 3.0 * MS, &[MissingInLarge])),
        Cause::RootSquash | Cause::WrongUid => {
            evidence = share("nfs", CLEAN);
            let uid = if cause == Cause::RootSquash { 0 } else { 1_000 };
            let error = "MKDIR: NFS3ERR_ACCES".to_owned();
            evidence.refusal = Some(WriteRefusal { error, is_read_only: false, uid: Some(uid) });
        }
        Cause::ClockOffset => evidence.clock = Some(ClockOffset { ahead_s: -420.0, error_s: 2.0 }),
        Cause::ClientThrottled => {
            evidence.client_limits = ClientLimits {
                throttled: 0.6,
                throttled_ns: 6_000_000_000,
                throttled_periods: 90,
                stolen: 0.2,
                thermal_events: 3,
                ..ClientLimits::default()
            };
        }
        Cause::NoAttributeCache => evidence = mounted("noac,acregmax=0"),
        Cause::NoClientCache => {
            evidence = mounted("cache=none");
            evidence.mount_traffic = MountTraffic { read_again: 40 << 20, received: 40 << 20 };
        }
    }
    evidence
}

const ALL: [Cause; 42] = [
    Cause::LongRoundTrip,
    Cause::LowLinkRate,
    Cause::SmallWindow,
    Cause::OneConnection,
    Cause::Loss,
    Cause::ProtocolWork,
    Cause::SlowStorage,
    Cause::ColdCache,
    Cause::StableWrites,
    Cause::SynchronousWrites,
    Cause::Signing,
    Cause::Encryption,
    Cause::OldDialect,
    Cause::SmallRequests,
    Cause::FewCredits,
    Cause::ClientCpu,
    Cause::ClientBusy,
    Cause::SlowLogin,
    Cause::ExpensiveOpens,
    Cause::PerEntryListing,
    Cause::SlowListing,
    Cause::ForeignLoad,
    Cause::HmacSigning,
    Cause::RefusedLeases,
    Cause::NoReadAhead,
    Cause::SyncExport,
    Cause::BusyServer,
    Cause::DelayedAcknowledgement,
    Cause::Reordering,
    Cause::SmallMtu,
    Cause::Jitter,
    Cause::SlowAddressFamily,
    Cause::SlowNameResolution,
    Cause::SlowAuthentication,
    Cause::ReverseLookup,
    Cause::LinearDirectory,
    Cause::RootSquash,
    Cause::WrongUid,
    Cause::ClockOffset,
    Cause::ClientThrottled,
    Cause::NoAttributeCache,
    Cause::NoClientCache,
];

#[test]
fn clean_share_has_no_cause() {
    for protocol in ["smb", "nfs", "ncp", "local"] {
        assert_eq!(verdict(&share(protocol, CLEAN)), Verdict::default(), "{protocol}");
    }
}

#[test]
fn each_cause_is_listed_first_and_its_text_equals_the_snapshot() {
    for cause in ALL {
        let found = verdict(&planted(cause));
        let causes: Vec<Cause> = found.findings.iter().map(|finding| finding.cause).collect();
        assert_eq!(causes.first(), Some(&cause), "{causes:?}");
        let Finding { title, evidence, gain, settings, .. } = &found.findings[0];
        let mut text = format!("{title}\nevidence: {evidence}\n");
        let _ = match gain {
            Gain::Measured { what, factor, saving } => {
                writeln!(text, "measured: {:.2} times, {what}\n{}", factor.value, saved(Some(saving)))
            }
            Gain::Computed { what, factor, factor_at_least, saving } => {
                let least = factor_at_least.map_or(String::new(), |least| format!(", at least {least:.2}"));
                writeln!(text, "computed: {factor:.2} times{least}, {what}\n{}", saved(saving.as_ref()))
            }
        };
        for setting in settings {
            let _ = writeln!(text, "setting: {setting}");
        }
        insta::with_settings!({ snapshot_path => "../../tests/snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(cause.id(), text);
        });
    }
}

/// A saving for the snapshots.
fn saved(saving: Option<&Saving>) -> String {
    let Some(saving) = saving else { return "saves no time".to_owned() };
    let ns = saving.saved_ns().map_or(String::new(), |saved| show_nanos(saved.value) + ", ");
    format!("saves {ns}{:.1} % per {}", saving.share.value * 100.0, saving.per)
}

#[test]
fn interval_that_contains_the_limit_is_reported_as_not_settled() {
    let mut evidence = share("smb", CLEAN);
    // Half of the writes are fast and half are slow, so that the median may be either.
    for round in 0..40 {
        let elapsed_ns = if round % 2 == 0 { 100.0 * US } else { 1.3 * MS };
        let sample = Sample { elapsed_ns, cpu_ns: 0.0, starved_ns: 0.0, unseen_ns: 0.0, requests: 1 };
        evidence.series.add(Operation::StableWrite, sample);
    }
    for _ in 0..41 {
        let sample =
            Sample { elapsed_ns: 1.3 * MS, cpu_ns: 0.0, starved_ns: 0.0, unseen_ns: 0.0, requests: 1 };
        evidence.series.add(Operation::StableWrite, sample);
    }
    let found = verdict(&evidence);
    assert!(found.findings.is_empty(), "{:?}", found.findings);
    assert!(
        found.unsettled[0].contains("slow stable writes: the interval is too wide"),
        "{:?}",
        found.unsettled
    );
}

/// Almost each cause: what is close to it and must not be taken for it.
#[test]
fn evidence_below_the_limit_is_no_cause() {
    let tcp = TcpCounts { out_of_order: 50, pmtu: 1_500, rttvar_us: 900, ..counts() };
    let mut near = share("smb", CLEAN);
    near.read = Some(tcp);
    near.is_caching_granted = Some(true);
    near.clock = Some(ClockOffset { ahead_s: 6.0, error_s: 2.0 });
    near.server_load =
        Some(ServerLoad { cpu: 0.8, cores: Some(2), source: "node_cpu_seconds_total".to_owned() });
    near.client_limits = ClientLimits { throttled: 0.09, stolen: 0.09, ..ClientLimits::default() };
    near.facts.insert("signing".into(), "HMAC-SHA256".into());
    near.comparisons.insert(Experiment::Signing, compared(1.05, 200e6));
    near.comparisons.insert(Experiment::AddressFamily, compared(1.08, 200e6));
    near.comparisons.insert(Experiment::Acknowledge, compared(1.02, 200e6));
    let error = "STATUS_ACCESS_DENIED".to_owned();
    near.refusal = Some(WriteRefusal { error, is_read_only: false, uid: None });
    near.login.phases = vec![("name resolution", 150.0 * MS), ("log-in", 450.0 * MS), ("share", 450.0 * MS)];
    assert_eq!(verdict(&near), Verdict::default());

    // A read-only share is no matter of rights, and data that this client caches need no other option.
    let mut cached = mounted("cache=strict");
    cached.mount_traffic = MountTraffic { read_again: 40 << 20, received: 1 << 20 };
    let error = "EROFS".to_owned();
    cached.refusal = Some(WriteRefusal { error, is_read_only: true, uid: Some(0) });
    assert_eq!(verdict(&cached), Verdict::default());
}

fn counts() -> TcpCounts {
    TcpCounts {
        min_rtt_us: 100,
        rtt_us: 120,
        rttvar_us: 10,
        cwnd: 40,
        pmtu: 1_500,
        segments_sent: 40_000,
        retransmissions: 0,
        segments_received: 40_000,
        out_of_order: 0,
        busy_us: 1_000_000,
        rwnd_limited_us: 0,
        sndbuf_limited_us: 0,
    }
}

#[test]
fn neighbours_are_distinguished() {
    // Server work that varies is no jitter: TCP's own round trip is steady.
    let mut work = planted(Cause::Jitter);
    work.read = Some(counts());
    assert!(!causes(&work).contains(&Cause::Jitter));
    // Lost segments are out of order as well.
    let mut lost = planted(Cause::Loss);
    lost.read = Some(TcpCounts { out_of_order: 900, ..counts() });
    assert!(!causes(&lost).contains(&Cause::Reordering));
    // HMAC of a server that knows nothing else is the cost of signing.
    let mut old = planted(Cause::HmacSigning);
    old.changed_facts.clear();
    old.comparisons.remove(&Experiment::Dialect);
    assert_eq!(causes(&old).first(), Some(&Cause::Signing));
    // Cold data with read-ahead of the server.
    assert!(!causes(&planted(Cause::ColdCache)).contains(&Cause::NoReadAhead));
    // A quota explains why this client had no CPU.
    let mut quota = planted(Cause::ClientBusy);
    quota.client_limits.throttled = 0.5;
    quota.client_limits.throttled_periods = 50;
    assert_eq!(causes(&quota).first(), Some(&Cause::ClientThrottled));
    assert!(!causes(&quota).contains(&Cause::ClientBusy));
    // Creating is durable in SMB only where writing is.
    let mut created = planted(Cause::SyncExport);
    created.protocol = "smb".to_owned();
    assert!(!causes(&created).contains(&Cause::SyncExport));
    // Names that are searched entry by entry make listings slow as well.
    let times = slower(CLEAN, 3.0 * MS, &[Operation::MissingInLarge]);
    let linear = share("smb", slower(times, 400.0 * MS, &[Operation::Listing]));
    assert_eq!(causes(&linear), [Cause::LinearDirectory, Cause::SlowListing]);
    // A spread as large as the median is more than a distance.
    let mut varying = planted(Cause::Jitter);
    varying.network_ns = Some(1.5 * MS);
    assert_eq!(causes(&varying), [Cause::Jitter, Cause::LongRoundTrip]);
    // Microseconds are the server's end of a request, on the same machine.
    let mut shared = share("smb", CLEAN);
    shared.series = Series::default();
    for (operation, time, requests) in CLEAN {
        let sample =
            Sample { elapsed_ns: time, cpu_ns: 9.0 * US, starved_ns: 20.0 * US, unseen_ns: 0.0, requests };
        (0..42).for_each(|_| shared.series.add(operation, sample));
    }
    assert!(!causes(&shared).contains(&Cause::ClientBusy));
}

fn causes(evidence: &Evidence) -> Vec<Cause> {
    verdict(evidence).findings.iter().map(|finding| finding.cause).collect()
}

/// Evidence around each limit that has an interval: neither a cause nor silence.
#[test]
fn wide_intervals_are_not_settled() {
    let wide = Comparison {
        ratio: Estimate { value: 1.4, interval: Some(Interval::new(0.9, 2.0)), n: 5 },
        base_bytes_per_s: 100e6,
        client_share: 0.3,
    };
    for (experiment, word) in [
        (Experiment::Signing, "Signing"),
        (Experiment::Encryption, "Encryption"),
        (Experiment::Dialect, "dialect"),
        (Experiment::AddressFamily, "address family"),
        (Experiment::Acknowledge, "delayed acknowledgements"),
    ] {
        let mut evidence = share("smb", CLEAN);
        evidence.comparisons.insert(experiment, wide);
        let found = verdict(&evidence);
        assert!(found.findings.is_empty(), "{experiment:?}: {:?}", found.findings);
        assert!(
            found.unsettled.iter().any(|text| text.contains(word)),
            "{experiment:?}: {:?}",
            found.unsettled
        );
    }
    for (operation, protocol, word) in [
        (Operation::Create, "nfs", "sync export"),
        (Operation::MissingInLarge, "smb", "entry by entry"),
        (Operation::Open, "smb", "expensive opens"),
    ] {
        let mut evidence = share(protocol, CLEAN);
        for round in 0..45 {
            let elapsed_ns = if round % 9 < 5 { 3.0 * MS } else { 100.0 * US };
            let sample = Sample { elapsed_ns, cpu_ns: 0.0, starved_ns: 0.0, unseen_ns: 0.0, requests: 1 };
            evidence.series.add(operation, sample);
        }
        // As many slow ones as fast ones.
        for _ in 0..30 {
            let sample =
                Sample { elapsed_ns: 3.0 * MS, cpu_ns: 0.0, starved_ns: 0.0, unseen_ns: 0.0, requests: 1 };
            evidence.series.add(operation, sample);
        }
        for _ in 0..12 {
            let sample =
                Sample { elapsed_ns: 3.0 * MS, cpu_ns: 0.0, starved_ns: 0.0, unseen_ns: 0.0, requests: 1 };
            evidence.series.add(operation, sample);
        }
        let found = verdict(&evidence);
        assert!(
            found.unsettled.iter().any(|text| text.contains(word)),
            "{operation:?}: {:?} {:?}",
            found.unsettled,
            found.findings
        );
    }
}
