//! Guesses at mechanisms: found where they are planted, and not in noise, in few cells or in the client's cache.

use crate::synthetic::{Synthetic, everything, grid};
use sharebench_analysis::{Analysis, Mechanism, Options, RunData, Tone, analyse};
use sharebench_model::{Coordinates, CpuTime, Facts, Histogram, axis};

/// One system with ten repetitions and little noise.
fn alone(records: u32, noise: f64, truth: impl Fn(f64) -> f64) -> Synthetic {
    let mut run = Synthetic::new("alone", &["nas"], 5);
    (run.noise, run.drift) = (noise, noise);
    let record = |at: &Coordinates| at.number(axis::RECORD_SIZE).unwrap_or(1) as f64;
    let cells: Vec<Coordinates> = grid(&["read"], 6, records)
        .into_iter()
        .filter(|at| at.number(axis::FILE_SIZE).is_some_and(|size| size >= 4 << 20))
        .collect();
    run.sweep(&cells, 10, |_, at| truth(record(at)));
    run
}

fn analysed(run: RunData) -> Analysis {
    analyse(&[run], &Options::default())
}

fn texts(run: RunData) -> Vec<String> {
    analysed(run).mechanisms.into_iter().map(|guess| guess.text).collect()
}

/// 200 us for each operation, and at most 112 MB/s.
fn capped(record: f64) -> f64 {
    (record / 200e-6).min(112e6)
}

/// A millisecond for each operation, whatever its size.
fn serial(record: f64) -> f64 {
    record / 1e-3
}

#[test]
fn a_level_of_bytes_per_second_is_guessed_to_be_a_bandwidth_cap() {
    let analysis = analysed(alone(5, 0.004, capped).run);
    let [guess] = analysis.mechanisms.as_slice() else { panic!("{:?}", analysis.mechanisms) };
    let Mechanism::BandwidthCap { rate, range, records } = guess.mechanism else { panic!("{guess:?}") };
    assert!((rate / 112e6 - 1.0).abs() < 0.01 && range.0 < 112e6 && range.1 > 112e6, "{guess:?}");
    assert_eq!((records, guess.cells), ((64 << 10, 1 << 20), 9));
    let text = &guess.text;
    assert!(text.starts_with("guess: a bandwidth cap: rates of nas in read level off at 11"), "{text}");
    assert!(text.ends_with("MB/s) over record sizes of 64KiB to 1MiB (9 cells)."), "{text}");
    let finding = analysis.findings.iter().find(|finding| finding.text == *text).expect("a finding");
    assert_eq!((finding.tone, finding.section), (Tone::Note, Some(0)));
}

#[test]
fn a_constant_rate_of_operations_is_guessed_to_be_a_round_trip() {
    let found = texts(alone(4, 0.004, serial).run);
    let [text] = found.as_slice() else { panic!("{found:?}") };
    assert!(text.starts_with("guess: a round trip for each operation: nas completes 9"), "{text}");
    assert!(text.contains("operations/s in read over record sizes of 4KiB to 256KiB (12 cells)"), "{text}");
    assert!(text.contains(" ms whatever its size.") || text.contains(" us whatever its size."), "{text}");
}

#[test]
fn nothing_is_guessed_of_noisy_or_few_cells() {
    assert_eq!(texts(alone(5, 0.1, capped).run), [""; 0]);
    assert_eq!(texts(alone(4, 0.1, serial).run), [""; 0]);
    assert_eq!(texts(alone(2, 0.004, serial).run), [""; 0]);
    // 4, 16 and 64 KiB reach the cap with one size only.
    assert_eq!(texts(alone(3, 0.004, capped).run), [""; 0]);
    // A rate that grows with every size has no level of either kind.
    assert_eq!(texts(alone(5, 0.004, |record| 1e6 * record.sqrt()).run), [""; 0]);
    // Repeated twice, no cell has an interval.
    let mut twice = alone(5, 0.004, capped).run;
    twice.steps.retain(|step| step.repetition < 2);
    assert_eq!(texts(twice), [""; 0]);
    assert_eq!(texts(everything(1)), [""; 0]);
}

#[test]
fn nothing_is_guessed_where_the_client_is_the_limit() {
    let mut cached = alone(5, 0.004, capped);
    cached.mount(0, |_| 0.5);
    assert_eq!(texts(cached.run), [""; 0]);
    let mut counted = alone(5, 0.004, capped);
    counted.mount(0, |_| 0.0);
    assert_eq!(texts(counted.run).len(), 1);
    // The page cache of a local file system may serve any cell.
    let mut local = alone(5, 0.004, capped).run;
    local.header.targets[0].url = "/srv/data".to_owned();
    assert_eq!(texts(local), [""; 0]);
    // The client's CPU is busy all the time.
    let mut busy = alone(5, 0.004, capped).run;
    for step in &mut busy.steps {
        step.measure.client_cpu = CpuTime { user_ns: step.measure.busy_ns, kernel_ns: 0 };
    }
    assert_eq!(texts(busy), [""; 0]);
}

/// 1000 service times around 300 us, and some more.
fn with_service_times(run: &mut RunData, cells: usize, more: &[(u64, u64)]) {
    let positions: Vec<Coordinates> = run.steps.iter().map(|step| step.coordinates.clone()).collect();
    let shown: Vec<&Coordinates> = positions.iter().take(cells).collect();
    for step in &mut run.steps {
        let mut times = Histogram::new();
        (0..1000).for_each(|n| times.record(280_000 + n * 40));
        for (nanos, count) in more.iter().filter(|_| shown.contains(&&step.coordinates)) {
            times.record_n(*nanos, *count);
        }
        step.measure.service = times.clone();
        step.measure.response = times;
    }
}

#[test]
fn a_second_group_of_times_at_40_ms_is_guessed_to_be_a_delayed_acknowledgement() {
    let stalled = |cells, more: &[(u64, u64)]| {
        let mut run = alone(5, 0.1, capped).run;
        with_service_times(&mut run, cells, more);
        texts(run)
    };
    assert_eq!(
        stalled(4, &[(40_300_000, 12), (41_900_000, 8)]),
        [
            "guess: a delayed acknowledgement: 1.96 % of the operations of nas in read take 38 to 46 ms, but only 0.00 % \
             take 19 to 38 ms; the median is 301 us (4 cells)."
        ]
    );
    assert_eq!(stalled(2, &[(40_300_000, 20)]), [""; 0]);
    assert_eq!(stalled(9, &[(21_000_000, 5), (30_000_000, 5), (41_000_000, 6), (55_000_000, 4)]), [""; 0]);
    assert_eq!(stalled(9, &[(200_000_000, 20)]), [""; 0]);
    // A slow disk: all operations take 40 ms.
    assert_eq!(stalled(9, &[(41_000_000, 5000)]), [""; 0]);
}

/// Two systems of which the first signs: 2 ns per byte for the signature, `cpu_ns` of them on the client.
fn signed(facts: [&[(&str, &str)]; 2], cpu_ns: f64, noise: f64) -> RunData {
    let mut run = Synthetic::new("signing", &["signed", "plain"], 5);
    (run.noise, run.drift) = (noise, noise);
    let truth = |target: usize, at: &Coordinates| {
        let record = at.number(axis::RECORD_SIZE).unwrap_or(1) as f64;
        record / (50e-6 + record * if target == 0 { 3e-9 } else { 1e-9 })
    };
    run.sweep(&grid(&["read"], 5, 4), 10, truth);
    for (of, facts) in run.run.facts.iter_mut().zip(facts) {
        *of = facts.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect::<Facts>();
    }
    for step in run.run.steps.iter_mut().filter(|step| step.target == 0) {
        step.measure.client_cpu.user_ns += (step.measure.bytes.read as f64 * cpu_ns) as u64;
    }
    run.run
}

#[test]
fn client_cpu_that_signing_takes_is_guessed_where_nothing_else_differs() {
    let on = [("signing", "AES-CMAC"), ("encryption", "off")];
    let off = [("signing", "off"), ("encryption", "off")];
    let signing = |run: RunData| {
        let guesses = analysed(run).mechanisms.into_iter();
        let signing = guesses.filter(|guess| matches!(guess.mechanism, Mechanism::SigningCpu { .. }));
        signing.map(|guess| guess.text).collect::<Vec<String>>()
    };
    let found = signing(signed([&on, &off], 1.0, 0.004));
    let [text] = found.as_slice() else { panic!("{found:?}") };
    assert!(
        text.starts_with(
            "guess: the CPU time of signing: signed needs 1.00 ns of client CPU per byte more than plain"
        ),
        "{text}"
    );
    // The client's CPU is no part of the difference; encryption differs too; nothing is known; noise.
    assert_eq!(signing(signed([&on, &off], 0.0, 0.004)), [""; 0]);
    let encrypted = [("signing", "AES-CMAC"), ("encryption", "AES-128-GCM")];
    assert_eq!(signing(signed([&encrypted, &off], 1.0, 0.004)), [""; 0]);
    assert_eq!(signing(signed([&on, &[]], 1.0, 0.004)), [""; 0]);
    // A setting that differs too may be the cause; an address is none.
    let with = |facts: &[(&'static str, &'static str)], more| [facts, &[more]].concat();
    let small = with(&on, ("max_write", "65536"));
    let large = with(&off, ("max_write", "1048576"));
    assert_eq!(signing(signed([&small, &large], 1.0, 0.004)), [""; 0]);
    let here = with(&on, ("local_address", "10.0.0.1:1"));
    let there = with(&off, ("local_address", "10.0.0.1:2"));
    assert_eq!(signing(signed([&here, &there], 1.0, 0.004)).len(), 1);
    assert_eq!(signing(signed([&on, &off], 1.0, 2.0)), [""; 0]);
}

#[test]
fn one_nfs_connection_of_50_megabytes_per_second_is_the_limit_of_one_next_to_two_and_four() {
    // What a relay of 50 MB/s per connection gives: 20 ns per byte, shared by the connections.
    let mut run = Synthetic::new("connections", &["nfs-1", "nfs-2", "nfs-4"], 5);
    (run.noise, run.drift) = (0.004, 0.004);
    let connections = [1.0, 2.0, 3.9];
    run.sweep(&grid(&["read"], 3, 3), 10, |target, _| connections[target] * 50e6);
    for (facts, (target, number)) in run.run.facts.iter_mut().zip(["1", "2", "4"].iter().enumerate()) {
        let facts_of = [
            ("vers", "4.1"),
            ("transport", "tcp"),
            ("nconnect", *number),
            ("slots_granted", "17"),
            ("client_cache", "none"),
            ("simulated_distance", "0 ms round trip without loss, 400 Mbit/s"),
        ];
        *facts = facts_of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        // Place, not setting: each session has a port of its own.
        facts.insert("local_address".to_owned(), format!("10.0.0.1:5010{target}"));
    }
    for target in &mut run.run.header.targets {
        "nfs://server/share".clone_into(&mut target.url);
    }
    let guesses = analysed(run.run).mechanisms.into_iter();
    let limits = guesses.filter(|guess| matches!(guess.mechanism, Mechanism::OneConnection { .. }));
    let texts: Vec<String> = limits.map(|guess| guess.text).collect();
    let [two, four] = texts.as_slice() else { panic!("{texts:?}") };
    let starts = |text: &str, more: &str| {
        assert!(text.starts_with(&format!("one connection was the limit: with {more} to ")), "{text}");
        assert!(text.contains(" times as fast as nfs-1 with one in read ("), "{text}");
    };
    starts(two, "2 connections nfs-2 is 2.00");
    starts(four, "4 connections nfs-4 is 3.89");
}

#[test]
fn one_connection_is_the_limit_where_nothing_else_differs_and_more_are_faster() {
    let connected = |number: [&str; 2], gain: f64| {
        let mut run = Synthetic::new("connections", &["four", "one"], 5);
        (run.noise, run.drift) = (0.004, 0.004);
        let faster = |target: usize| if target == 0 { gain } else { 1.0 };
        run.sweep(&grid(&["read"], 3, 3), 10, |target, at| {
            faster(target) * serial(at.number(axis::RECORD_SIZE).unwrap_or(1) as f64)
        });
        for (of, number) in run.run.facts.iter_mut().zip(number) {
            *of = Facts::from([("connections".to_owned(), number.to_owned())]);
        }
        for target in &mut run.run.header.targets {
            "smb://server/share".clone_into(&mut target.url);
        }
        let guesses = analysed(run.run).mechanisms.into_iter();
        let limits = guesses.filter(|guess| matches!(guess.mechanism, Mechanism::OneConnection { .. }));
        limits.map(|guess| guess.text).collect::<Vec<String>>()
    };
    let found = connected(["4", "1"], 1.8);
    let [text] = found.as_slice() else { panic!("{found:?}") };
    assert!(text.starts_with("one connection was the limit: with 4 connections four is 1."), "{text}");
    assert!(text.contains("times as fast as one with one in read ("), "{text}");
    // The one system may be listed first; a small gain and two systems with several connections show nothing.
    assert_eq!(connected(["1", "4"], 1.0 / 1.8).len(), 1);
    assert_eq!(connected(["4", "1"], 1.15), [""; 0]);
    assert_eq!(connected(["4", "2"], 1.8), [""; 0]);
}
