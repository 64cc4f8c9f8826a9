//! Known answer K16 (docs/measure/measurement-rules.md K16): the share of storage estimated by probes ahead of the workload,
//! against a simulated server that logs its hits.

use std::collections::VecDeque;

use sharebench_model::Random;
use sharebench_stats::{Attribution, AttributionError, Probes, attribute};

/// Records that the server's cache holds, records it reads ahead, and how far probes look ahead.
const CACHE: usize = 4096;
const READ_AHEAD: usize = 8;
const LOOK_AHEAD: usize = 64;
/// Operations of the workload per triple of probes, and how many triples.
const SPACING: usize = 100;
const TRIPLES: usize = 300;
/// A request that meets an empty server and its cache, microseconds.
const HOT_US: f64 = 80.0;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Pattern {
    Sequential,
    Random,
    Zipf,
}

#[derive(Debug, Clone, Copy)]
struct Case {
    pattern: Pattern,
    /// File size over cache size.
    size: f64,
    device_us: f64,
    load_us: f64,
    /// Unbuffered reads are served from the cache all the same.
    lying: bool,
    /// What the cache needs longer for a record that was not used for a while.
    memory_us: f64,
}

/// The server: least recently used records leave; what was loaded since the workload last asked for it is storage's.
struct Server {
    stamps: Vec<u64>,
    queue: VecDeque<(usize, u64)>,
    held: usize,
    loaded: Vec<bool>,
    now: u64,
    random: Random,
    case: Case,
}

impl Server {
    fn new(records: usize, case: Case, seed: u64) -> Self {
        let stamps = vec![0; records];
        let loaded = vec![false; records];
        let random = Random::new(seed, 51);
        Self { stamps, queue: VecDeque::new(), held: 0, loaded, now: 0, random, case }
    }

    /// Brings a record to the front; true when it had to come from storage.
    fn touch(&mut self, record: usize) -> bool {
        self.now += 1;
        let miss = self.stamps[record] == 0;
        if miss {
            self.loaded[record] = true;
            self.held += 1;
        }
        self.stamps[record] = self.now;
        self.queue.push_back((record, self.now));
        while self.held > CACHE {
            let Some((old, stamp)) = self.queue.pop_front() else { break };
            if self.stamps[old] == stamp {
                self.stamps[old] = 0;
                self.held -= 1;
            }
        }
        miss
    }

    /// A read of the workload; true when its bytes came from storage since it last had them.
    fn work(&mut self, record: usize, file: usize) -> bool {
        self.touch(record);
        if self.case.pattern == Pattern::Sequential {
            for ahead in 1..=READ_AHEAD {
                let next = (record + ahead) % file;
                if self.stamps[next] == 0 {
                    self.touch(next);
                }
            }
        }
        std::mem::take(&mut self.loaded[record])
    }

    /// A probe's time.
    fn probe(&mut self, record: usize) -> f64 {
        let miss = self.touch(record);
        self.time(miss)
    }

    fn time(&mut self, miss: bool) -> f64 {
        let random = &mut self.random;
        let mut time = HOT_US * (0.1 * random.normal()).exp() + self.case.load_us * random.exponential();
        if miss {
            time += self.case.device_us * (0.35 * random.normal()).exp();
        }
        if random.unit() < 0.01 { time + 3000.0 * random.exponential() } else { time }
    }
}

/// The plan of the workload: which record each operation reads.
fn plan(case: Case, file: usize, operations: usize, random: &mut Random) -> Vec<usize> {
    match case.pattern {
        Pattern::Sequential => (0..operations).map(|n| n % file).collect(),
        Pattern::Random => (0..operations).map(|_| random.below(file as u64) as usize).collect(),
        Pattern::Zipf => {
            let mut sum = 0.0;
            let weights: Vec<f64> = (1..=file)
                .map(|rank| {
                    sum += (rank as f64).powf(-0.9);
                    sum
                })
                .collect();
            let mut order: Vec<usize> = (0..file).collect();
            random.shuffle(&mut order);
            let mut draw = || order[weights.partition_point(|w| *w < random.unit() * sum).min(file - 1)];
            (0..operations).map(|_| draw()).collect()
        }
    }
}

/// What the server's log says came from storage, and what the probes say.
fn run(case: Case, seed: u64) -> (f64, Result<Attribution, AttributionError>) {
    let mut random = Random::new(seed, 52);
    let file = (case.size * CACHE as f64) as usize;
    let warm = 2 * file.max(CACHE);
    let measured = SPACING * TRIPLES;
    let plan = plan(case, file, warm + measured + 4 * LOOK_AHEAD, &mut random);
    let mut server = Server::new(file + TRIPLES, case, seed);
    for record in &plan[..warm] {
        server.work(*record, file);
    }
    let mut ahead = Vec::new();
    let mut hot = Vec::new();
    let mut cold = Vec::new();
    let mut cold_again = Vec::new();
    let mut storage = 0;
    let mut next = warm;
    for (at, record) in plan.iter().enumerate().skip(warm).take(measured) {
        storage += usize::from(server.work(*record, file));
        if at >= next && ahead.len() < TRIPLES {
            let probed = plan[at + LOOK_AHEAD + random.below(LOOK_AHEAD as u64) as usize];
            ahead.push(server.probe(probed));
            hot.push(server.probe(probed));
            let reserve = file + ahead.len() - 1;
            let miss = server.touch(reserve) && !case.lying;
            cold.push(server.time(miss) + case.memory_us);
            cold_again.push(server.time(!case.lying));
            next = at + SPACING / 2 + random.below(SPACING as u64) as usize;
        }
    }
    let found = attribute(&Probes {
        ahead: &ahead,
        distances: &[],
        next: &[],
        hot: &hot,
        cold: &cold,
        cold_again: &cold_again,
        known_hot: &[],
    });
    (storage as f64 / measured as f64, found)
}

fn grid() -> Vec<Case> {
    let mut cases = Vec::new();
    for pattern in [Pattern::Sequential, Pattern::Random, Pattern::Zipf] {
        for size in [0.5, 0.9, 1.1, 2.0, 4.0] {
            for device_us in [60.0, 120.0, 400.0] {
                for load_us in [0.0, 200.0] {
                    cases.push(Case { pattern, size, device_us, load_us, lying: false, memory_us: 0.0 });
                }
            }
        }
    }
    cases
}

#[test]
fn probes_ahead_of_the_workload_estimate_the_share_of_storage() {
    let mut clear = 0u32;
    let mut clear_right = 0u32;
    let mut fair = 0u32;
    let mut fair_right = 0u32;
    let mut rejected = 0u32;
    let mut worst = 0.0f64;
    let mut covered = 0;
    let mut accepted = 0;
    for (seed, case) in grid().into_iter().enumerate() {
        let (truth, found) = run(case, seed as u64);
        let Ok(found) = found else {
            rejected += 1;
            continue;
        };
        let error = (found.storage - truth).abs();
        accepted += 1;
        covered += i32::from(error <= 1.96 * found.error + 0.02);
        if found.separation >= 0.9 {
            clear += 1;
            clear_right += u32::from(error <= 0.05);
            worst = worst.max(error);
        } else {
            fair += 1;
            fair_right += u32::from(error <= 0.10);
        }
        assert!(found.separation >= 0.5, "J {} was not rejected: {case:?}", found.separation);
    }
    println!(
        "K16 {accepted} of 90 cases estimated, {rejected} rejected: J >= 0.9 within 5 points {clear_right} of {clear} (worst {:.1}), \
         J 0.5..0.9 within 10 points {fair_right} of {fair}, within 1.96 se + 2 points {covered}",
        worst * 100.0
    );
    assert!(clear >= 30 && f64::from(clear_right) >= 0.9 * f64::from(clear), "{clear_right} of {clear}");
    assert!(f64::from(fair_right) >= 0.9 * f64::from(fair), "{fair_right} of {fair}");
    assert!(f64::from(covered) >= 0.9 * f64::from(accepted), "{covered} of {accepted}");
}

#[test]
fn a_server_that_ignores_unbuffered_reads_is_rejected() {
    for case in grid().into_iter().filter(|case| case.size > 1.0 && case.load_us == 0.0) {
        let (_, found) = run(Case { lying: true, ..case }, 7);
        assert!(matches!(found, Err(AttributionError::ReserveWarm(_))), "{case:?}: {found:?}");
        // Memory as slow as the device: only the second read shows that no device was involved.
        let slow_memory = Case { lying: true, memory_us: case.device_us.max(120.0), ..case };
        let (_, found) = run(slow_memory, 7);
        assert!(matches!(found, Err(AttributionError::UnbufferedCached(_))), "{slow_memory:?}: {found:?}");
    }
}
