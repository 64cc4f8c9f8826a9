//! The bars of a gate, counted over series of nights in virtual time (docs/measure/gate.md, What it finds).
//!
//! Every commit counts 100 series per row with fixed seeds. The long form counts 1,000 with new seeds (or those of
//! `SHAREBENCH_SEED`), and writes its table on request:
//!
//! ```text
//! SHAREBENCH_LONG=1 SHAREBENCH_WRITE_DOCS=1 cargo test --release -p sharebench-analysis --test integration gate_bars -- --nocapture
//! ```
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::nights::{Gate, Nights};
use sharebench_analysis::{Gate as CompareGate, Options, Requirements, analyse};

const BEGIN: &str = "<!-- table of bars -->\n";
const END: &str = "<!-- end of bars -->";

/// Largest share of series of 20 equal nights with an alarm.
const FALSE_ALARMS: f64 = 0.02;
/// Largest share of series in which a fall is missed.
const MISSES: f64 = 0.05;

/// Nights of one kind, and which bars they are held to: alarms, falls of 10 %, falls of 5 %.
struct Row {
    name: &'static str,
    nights: fn(u64) -> Nights,
    bars: [bool; 3],
}

/// Series with an alarm in 20 equal nights, with a fall of 10 % that no alarm in its first two nights shows, and with one of
/// 5 % that none in its first five nights shows. Falls follow ten equal nights; an alarm in these finds nothing.
#[derive(Debug, Default)]
struct Counts([u32; 3]);

impl Counts {
    fn add(&mut self, mut nights: Nights) {
        let mut gate = Gate::new();
        let early = gate.first_alarm(&mut nights, [1.0; 10]).is_some();
        let misses = |levels: &[f64]| {
            let found = gate.clone().first_alarm(&mut nights.clone(), levels.iter().copied());
            u32::from(early || found.is_none())
        };
        self.0[1] += misses(&[0.9; 2]);
        self.0[2] += misses(&[0.95; 5]);
        self.0[0] += u32::from(early || gate.first_alarm(&mut nights, [1.0; 10]).is_some());
    }
}

/// Nights whose repetitions scatter so that the nights do by 2 %: each alone shows no fall of 5 %. The median of six normal
/// values has 0.463 times their deviation.
fn wide(seed: u64) -> Nights {
    Nights { drift: 0.02 / 0.463, noise: 0.002, ..Nights::new(seed, 0.0) }
}

fn rows() -> [Row; 4] {
    const SIX: &[&str] = &["write", "rewrite", "read", "reread", "random-read", "random-write"];
    [
        Row {
            name: "two tests, 2 % between nights",
            nights: |seed| Nights::new(seed, 0.02),
            bars: [true; 3],
        },
        Row {
            name: "one test, 2 % between nights",
            nights: |seed| Nights { tests: &["read"], noise: 0.005, ..Nights::new(seed, 0.02) },
            bars: [true; 3],
        },
        Row { name: "two tests, 2 % by noise of repetitions", nights: wide, bars: [true; 3] },
        Row {
            name: "one test of six falls, 1 % between nights",
            nights: |seed| Nights { tests: SIX, falls: Some("reread"), ..Nights::new(seed, 0.01) },
            bars: [true, true, false],
        },
    ]
}

/// First seed and number of series per row.
fn extent() -> (u64, u32) {
    if std::env::var_os("SHAREBENCH_LONG").is_none() {
        return (0, 100);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    (std::env::var("SHAREBENCH_SEED").map_or(now, |seed| seed.parse().unwrap()), 1_000)
}

/// The largest count of `n` series that chance explains if the share is `bar`: by the exact binomial distribution a rule that
/// is just good enough passes in 95 of 100 suites. That is 5 of 100 for 2 %, and 9 of 100 for 5 %.
fn most(n: u32, bar: f64) -> u32 {
    let mut probability = (1.0 - bar).powi(n.cast_signed());
    let mut below = probability;
    let mut count = 0;
    while below < 0.95 {
        probability *= f64::from(n - count) / f64::from(count + 1) * bar / (1.0 - bar);
        below += probability;
        count += 1;
    }
    count
}

#[test]
fn falls_are_found_and_equal_nights_raise_no_alarm() {
    let (seed, series) = extent();
    println!("SHAREBENCH_SEED={seed}");
    let mut table = format!(
        "| nights ({series} series each) | alarm within 20 equal nights | -10 % missed in the first two nights | -5 % missed within 5 nights |\n\
         |---|---:|---:|---:|\n"
    );
    let mut short = Vec::new();
    for (number, row) in rows().into_iter().enumerate() {
        let mut counts = Counts::default();
        let first = seed.wrapping_add(number as u64 * 1_000_000);
        (0..series).for_each(|next| counts.add((row.nights)(first.wrapping_add(u64::from(next)))));
        let [alarms, large, small] = counts.0;
        // Writing to a String cannot fail.
        let _ = writeln!(table, "| {} | {alarms} | {large} | {small} |", row.name);
        let allowed = [FALSE_ALARMS, MISSES, MISSES].map(|bar| most(series, bar));
        let holds = (0..3).all(|bar| !row.bars[bar] || counts.0[bar] <= allowed[bar]);
        short.extend((!holds).then(|| format!("{}: {counts:?}, allowed {allowed:?}", row.name)));
    }
    println!("{table}");
    if series == 1_000 && std::env::var_os("SHAREBENCH_WRITE_DOCS").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measure/gate.md");
        let text = fs::read_to_string(&path).unwrap();
        let (before, rest) = text.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    }
    assert!(short.is_empty(), "{short:#?}");
}

#[test]
fn most_pairs_of_nights_with_noisy_repetitions_are_inconclusive() {
    let limit = Requirements { not_slower: Some(0.05), sharpness: None };
    let open = |seed: &u64| {
        let mut nights = wide(*seed);
        let pair = [nights.next(1.0), nights.next(1.0)];
        analyse(&pair, &Options { resamples: 20, ..Options::default() }).gate(&limit)
            == CompareGate::Inconclusive
    };
    let open = (0..100).filter(open).count();
    // The others pass: the second night is the faster one by chance, so its interval excludes a fall of 5 %.
    assert!(open >= 60, "{open} of 100 pairs of nights are inconclusive");
}

#[test]
fn nights_that_scatter_as_much_as_the_limit_raise_alarms_in_less_than_half_of_the_series() {
    let has_alarm =
        |seed: &u64| Gate::new().first_alarm(&mut Nights::new(1000 + seed, 0.04), [1.0; 20]).is_some();
    let wild = (0..100).filter(has_alarm).count();
    println!("nights that scatter by 4 %: {wild} of 100 series of 20 with an alarm");
    assert!(wild < 50, "{wild}");
}
