//! Causes on this machine: other programs and quotas.

use super::*;

/// A share whose client waits for a CPU for a tenth of each small operation, with other threads on two CPUs.
fn waiting_client(other_threads: f64) -> Evidence {
    let mut evidence = share("smb", CLEAN);
    evidence.series = Series::default();
    for (operation, time, requests) in CLEAN {
        let elapsed_ns = time + 300.0 * US;
        let sample =
            Sample { elapsed_ns, cpu_ns: 20.0 * US, starved_ns: 60.0 * US, unseen_ns: 0.0, requests };
        (0..42).for_each(|_| evidence.series.add(operation, sample));
    }
    let limits = ClientLimits {
        cpus: 2,
        other_threads: Some(other_threads),
        pressure: Some(0.97),
        ..evidence.client_limits
    };
    evidence.client_limits = limits;
    evidence
}

#[test]
fn programs_that_need_all_cpus_are_a_cause_and_one_busy_loop_is_none() {
    let crowded = waiting_client(4.0);
    assert_eq!(causes(&crowded), [Cause::ClientBusy]);
    let evidence = &verdict(&crowded).findings[0].evidence;
    assert!(evidence.contains("4.0 threads of other programs wanted its 2 CPUs"), "{evidence}");
    assert_eq!(causes(&waiting_client(1.2)), [], "one of two CPUs is busy");
    let mut brief = waiting_client(4.0);
    brief.client_limits.pressure = Some(0.1);
    assert_eq!(causes(&brief), [], "others run between the rounds only");
    let mut unknown = waiting_client(4.0);
    unknown.client_limits = ClientLimits::default();
    assert_eq!(causes(&unknown), [], "the system counts no threads");
    // On a crowded machine several connections get more of the CPU.
    let mut connections = crowded;
    connections.comparisons.insert(Experiment::Connections, compared(2.1, 66e6));
    assert_eq!(causes(&connections), [Cause::ClientBusy]);
    assert!(verdict(&connections).unsettled.iter().any(|text| text.contains("one connection")));
}

#[test]
fn one_used_up_period_of_a_quota_is_a_cause() {
    let mut quota = share("smb", CLEAN);
    quota.client_limits.throttled = 0.003;
    quota.client_limits.throttled_ns = 70_000_000;
    quota.client_limits.throttled_periods = 1;
    let found = verdict(&quota);
    assert_eq!(found.findings[0].cause, Cause::ClientThrottled);
    assert!(found.findings[0].evidence.contains("in 1 period, which cost 70.0 ms"), "{:?}", found.findings);
    // It does not explain waiting for most of the time.
    let mut both = planted(Cause::ClientBusy);
    both.client_limits = quota.client_limits;
    assert_eq!(causes(&both), [Cause::ClientBusy, Cause::ClientThrottled]);
}
