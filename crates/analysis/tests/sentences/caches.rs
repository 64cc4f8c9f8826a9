//! Caches of clients and servers, differing conditions and guesses at mechanisms.

use sharebench_analysis::Options;
use sharebench_model::{Coordinates, Facts, ProbeTimes, ServerEvidence, WhileProbed, WireCount, axis};
use sharebench_stats::{AttributionError, ForecastError};

use crate::sentences::{check, check_text, quick};
use crate::synthetic::{Synthetic, cell, cliff, grid, with_a_cache};

fn record(at: &Coordinates) -> u64 {
    at.number(axis::RECORD_SIZE).unwrap_or(1)
}

#[test]
fn cliffs_of_a_server_s_cache() {
    check("cache_cliff", &[with_a_cache(24 << 20)], &quick());
    check("cliff_without_states", &[cliff()], &quick());
}

#[test]
fn caches_of_clients() {
    let mounted = |cached: fn(&Coordinates) -> f64| {
        let mut run = Synthetic::new("mount", &["direct", "mount"], 31);
        run.sweep(&grid(&["read", "reread"], 3, 3), 10, |target, _| {
            1e8 * if target == 0 { 1.0 } else { 1.1 }
        });
        run.mount(1, cached);
        run
    };
    check("cached_on_one_side", &[mounted(|at| if record(at) > 4096 { 0.0 } else { 1.0 }).run], &quick());
    check("partly_cached", &[mounted(|at| if record(at) > 16_384 { 0.2 } else { 0.7 }).run], &quick());
    check("crossed_the_wire", &[mounted(|_| 0.0).run], &quick());
    let mut both = mounted(|at| if record(at) > 4096 { 0.0 } else { 1.0 });
    both.mount(0, |at| if record(at) > 4096 { 0.0 } else { 1.0 });
    check("cached_on_both_sides", &[both.run], &quick());
    let mut mixed = mounted(|at| if record(at) > 16_384 { 0.0 } else { 0.9 });
    mixed.mount(0, |at| if record(at) > 4096 { 0.0 } else { 0.9 });
    check("cached_partly_on_one_side", &[mixed.run], &quick());
    let mut uncounted = mounted(|_| 0.0);
    uncounted.run.steps.iter_mut().for_each(|step| step.measure.wire = None.into());
    check("uncounted_mount", &[uncounted.run], &quick());
    let mut fast = Synthetic::new("ten megabit", &["nas"], 8);
    fast.sweep(&grid(&["read"], 4, 4), 1, |_, at| if record(at) > 4096 { 8e6 } else { 5e5 });
    let link = Options { link: Some("10Mbit".parse().unwrap()), ..quick() };
    check("above_the_link", &[fast.run], &link);
    let mut one = Synthetic::new("ten megabit", &["nas"], 8);
    one.sweep(&[cell("read", 1 << 20, 8192)], 1, |_, _| 8e6);
    check("one_cell_above_the_link", &[one.run], &link);
}

/// Server evidence in each step: times of probes of which a share is slow, and counters.
fn probed(files: u32, evidence: impl Fn(u32, &Coordinates) -> ServerEvidence) -> Synthetic {
    let mut run = Synthetic::new("bands", &["smb", "nfs"], 8);
    run.sweep(&grid(&["read"], files, 3), 6, |_, _| 1e8);
    for step in &mut run.run.steps {
        step.measure.wire =
            Some(WireCount { payload_received: step.measure.bytes.read, ..WireCount::default() }).into();
        *step.measure.server = evidence(step.target, &step.coordinates);
    }
    run
}

fn times(slow: u64) -> Vec<u64> {
    (0..100).map(|n| if n * 37 % 100 < slow { 500_000 } else { 100_000 + n }).collect()
}

fn probes(slow: u64, cold: u64) -> ServerEvidence {
    let probes = ProbeTimes {
        ahead: times(slow),
        hot: times(1),
        cold: times(cold),
        cold_again: Vec::new(),
        known_hot: times(0),
        distances: vec![1 << 20; 100],
        next: times(slow),
    };
    ServerEvidence { probes, ..ServerEvidence::default() }
}

#[test]
fn caches_of_servers() {
    check("server_cache", &[probed(2, |target, _| probes(40 * u64::from(target), 98)).run], &quick());
    let by_record = |_: u32, at: &Coordinates| match record(at) {
        4096 => probes(0, 98),
        16_384 => probes(30, 98),
        _ => probes(95, 98),
    };
    check("server_cache_regions", &[probed(4, by_record).run], &quick());
    check("probes_rejected", &[probed(2, |_, _| probes(40, 10)).run], &quick());
    let without = |_: u32, _: &Coordinates| ServerEvidence {
        without_probes: Some("the target has no second connection".into()),
        ..ServerEvidence::default()
    };
    check("without_probes", &[probed(2, without).run], &quick());
    let counted = |storage: u64, while_probed: u64| {
        move |_: u32, _: &Coordinates| ServerEvidence {
            storage_read: Some(storage),
            while_probed: Some(WhileProbed { read: 1000, storage_read: while_probed }),
            ..probes(40, 98)
        }
    };
    check("counters_disagree", &[probed(2, counted(1 << 40, 900)).run], &quick());
    check("counters_of_an_emptied_cache", &[probed(2, counted(0, 1400)).run], &quick());
    let rejected = |_: u32, _: &Coordinates| ServerEvidence { storage_read: Some(1 << 40), ..probes(40, 10) };
    check("counters_without_probes", &[probed(2, rejected).run], &quick());
    let timed = |_: u32, _: &Coordinates| ServerEvidence { storage_read: Some(1 << 40), ..probes(5, 98) };
    check("counters_while_timed", &[probed(2, timed).run], &quick());
    let unequal = |target: u32, _: &Coordinates| probes(if target == 0 { 0 } else { 90 }, 98);
    check("unequal_storage", &[probed(2, unequal).run], &quick());
    let half =
        |target: u32, at: &Coordinates| probes(if target == 0 || record(at) == 4096 { 0 } else { 90 }, 98);
    check("unequal_storage_of_some", &[probed(2, half).run], &quick());
    let low = |_: u32, _: &Coordinates| {
        let mut evidence = probes(40, 98);
        evidence.probes.hot = (0..100).map(|n| if n < 20 { 480_000 } else { 100_000 + n }).collect();
        evidence.probes.cold = (0..100).map(|n| if n < 20 { 120_000 } else { 500_000 + n }).collect();
        evidence
    };
    check("probes_overlap", &[probed(2, low).run], &quick());
}

#[test]
fn stable_writes() {
    let mut run = Synthetic::new("stable", &["a", "b"], 8);
    run.sweep(&grid(&["write"], 2, 2), 6, |_, _| 1e8);
    for step in &mut run.run.steps {
        let measure = &mut step.measure;
        measure.wire = Some(WireCount { payload_sent: measure.bytes.written, ..WireCount::default() }).into();
        measure.evidence.sent.stable =
            if step.target == 0 { measure.operations } else { measure.operations / 2 };
    }
    check("stable_writes", &[run.run], &quick());
}

/// Every reason, so that a further one does not compile without a line here.
fn rejected_estimates() -> Vec<AttributionError> {
    use AttributionError::{
        DistancesDisagree, KnownHotCold, NotSeparable, OwnTimesDisagree, ReserveWarm, ReserveWarms,
        ThirdState, TooFew, UnbufferedCached,
    };
    let all = vec![
        TooFew(12),
        NotSeparable(0.31),
        ThirdState(0.22),
        ReserveWarm(1.1),
        ReserveWarms(0.4),
        DistancesDisagree { near: 0.1, far: 0.9 },
        OwnTimesDisagree { own: 0.7, probes: 0.2 },
        KnownHotCold(0.3),
        UnbufferedCached(0.08),
    ];
    for error in &all {
        match error {
            TooFew(_)
            | NotSeparable(_)
            | ThirdState(_)
            | ReserveWarm(_)
            | ReserveWarms(_)
            | DistancesDisagree { .. }
            | OwnTimesDisagree { .. }
            | KnownHotCold(_)
            | UnbufferedCached(_) => {}
        }
    }
    all
}

fn rejected_forecasts() -> Vec<ForecastError> {
    use ForecastError::{NeverBent, NoFit, TooFar, TooFewSteps};
    let all = vec![TooFewSteps(3), TooFar(40.0), NeverBent(0.97), NoFit];
    for error in &all {
        match error {
            TooFewSteps(_) | TooFar(_) | NeverBent(_) | NoFit => {}
        }
    }
    all
}

#[test]
fn reasons_of_rejected_estimates() {
    let mut lines: Vec<String> = rejected_estimates().iter().map(ToString::to_string).collect();
    lines.extend(rejected_forecasts().iter().map(ToString::to_string));
    check_text("rejected_estimates", &lines.join("\n"));
}

#[test]
fn unlike_conditions() {
    let facts = |stated: &[(&str, &str)]| -> Facts {
        stated.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let mut run = Synthetic::new("conditions", &["a", "b"], 3);
    run.sweep(&grid(&["write"], 2, 2), 6, |_, _| 1e8);
    for target in &mut run.run.header.targets {
        target.url = "smb://nas/share".to_owned();
    }
    run.run.facts[0] = facts(&[
        ("dialect", "3.1.1"),
        ("signing", "AES-CMAC"),
        ("encryption", "off"),
        ("client_cache", "none"),
        ("space_total_bytes", "1099511627776"),
        ("space_available_bytes", "21990232555"),
    ]);
    run.run.facts[1] = facts(&[
        ("dialect", "2.1"),
        ("signing", "off"),
        ("encryption", "AES-128-GCM"),
        ("commit", "on request, and on close"),
        ("connections", "4"),
        ("client_cache", "10 buffers of 1024 bytes for each file"),
        ("space_total_bytes", "1099511627776"),
        ("space_available_bytes", "549755813888"),
    ]);
    check("unlike_conditions", &[run.run], &quick());
    let mut stable = Synthetic::new("conditions", &["a", "b", "c"], 3);
    stable.sweep(&grid(&["write"], 2, 2), 6, |_, _| 1e8);
    for (target, facts) in stable.run.facts.iter_mut().enumerate() {
        *facts = self::facts_of_mount(["rw,sync", "rw", "rw"][target]);
    }
    for step in stable.run.steps.iter_mut().filter(|step| step.target == 1) {
        step.measure.evidence.sent.stable = step.measure.operations / 2;
    }
    for facts in &mut stable.run.facts[1..] {
        facts.insert("direct_io".to_owned(), "yes".to_owned());
    }
    check("stability_of_writes", &[stable.run], &quick());
}

fn facts_of_mount(options: &str) -> Facts {
    let stated =
        [("access", "mounted"), ("file_system", "nfs4"), ("mount_options", options), ("direct_io", "no")];
    stated.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn guesses_at_mechanisms() {
    let mut run = Synthetic::new("mechanisms", &["capped", "serial", "stalls"], 5);
    (run.noise, run.drift) = (0.004, 0.004);
    let cells: Vec<Coordinates> = grid(&["read"], 6, 5)
        .into_iter()
        .filter(|at| at.number(axis::FILE_SIZE).unwrap() >= 16 << 20)
        .collect();
    run.sweep(&cells, 10, |target, at| {
        let record = record(at) as f64;
        [(record / 200e-6).min(112e6), record / 1e-3, 1e6 * record.sqrt()][target]
    });
    for step in run.run.steps.iter_mut().filter(|step| step.target == 2) {
        step.measure.service.record_n(300_000, 1000);
        step.measure.service.record_n(40_500_000, 25);
    }
    check("mechanisms", &[run.run], &quick());
    let mut signing = Synthetic::new("signing", &["signed", "plain"], 5);
    (signing.noise, signing.drift) = (0.004, 0.004);
    signing.sweep(&grid(&["read"], 3, 3), 10, |target, at| {
        let record = record(at) as f64;
        record / (50e-6 + record * if target == 0 { 3e-9 } else { 1e-9 })
    });
    for (facts, kind) in signing.run.facts.iter_mut().zip(["AES-CMAC", "off"]) {
        *facts = [("signing".to_owned(), kind.to_owned())].into();
    }
    for step in signing.run.steps.iter_mut().filter(|step| step.target == 0) {
        step.measure.client_cpu.user_ns += step.measure.bytes.read;
    }
    check("signing_cpu", &[signing.run], &quick());
    let mut connections = Synthetic::new("connections", &["four", "one"], 5);
    (connections.noise, connections.drift) = (0.004, 0.004);
    connections.sweep(&grid(&["read"], 3, 3), 10, |target, at| {
        let record = record(at) as f64;
        [1.8, 1.0][target] * record / (50e-6 + record * 1e-9)
    });
    for (facts, number) in connections.run.facts.iter_mut().zip(["4", "1"]) {
        *facts = [("connections".to_owned(), number.to_owned())].into();
    }
    for target in &mut connections.run.header.targets {
        "smb://server/share".clone_into(&mut target.url);
    }
    check("one_connection", &[connections.run], &quick());
}
