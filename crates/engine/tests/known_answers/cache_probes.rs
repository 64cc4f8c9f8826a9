//! Known answer K16 (docs/measure/measurement-rules.md K16): the engine's cache probes distinguish server cache and storage,
//! against a simulated server that knows.

use std::time::Duration;

use sharebench_doubles::MemoryTarget;
use sharebench_engine::Clock;
use sharebench_model::{ProbeTimes, StepResult};
use sharebench_simulated::{Device, Replacement, Served, ServerCache, Service, SimulatedTarget};
use sharebench_stats::{Attribution, AttributionError, attribute_times};
use sharebench_target::NullTarget;

use crate::known_answers::cached_client::CachedClient;
use crate::known_answers::lab::steps;

/// Blocks of the server's cache, and bytes of one.
const CACHE: u64 = 4096;
const BLOCK: u64 = 4096;
/// What pushes everything out of it.
const PUSH: u64 = 2 * CACHE * BLOCK;

#[derive(Debug, Clone, Copy)]
struct Case {
    test: &'static str,
    /// File size over cache size.
    size: f64,
    device_us: u64,
    load_us: u64,
}

impl Case {
    fn device(self, seed: u64) -> Device {
        self.device_with(seed, CACHE as usize, false)
    }

    fn device_with(self, seed: u64, blocks: usize, lies: bool) -> Device {
        let cache = ServerCache {
            blocks,
            block_bytes: BLOCK as u32,
            read_ahead: 8,
            lies,
            replacement: Replacement::LeastRecentlyUsed,
        };
        let us = Duration::from_micros;
        // One request in 97 meets a stall of milliseconds, wherever it goes.
        let mut stalls = vec![Duration::ZERO; 97];
        stalls[41] = Duration::from_millis(3);
        let device = Device::new(seed)
            .cache(cache, Service::Lognormal(us(80), 0.1), Service::Lognormal(us(self.device_us), 0.35))
            .service_center(256, Service::Listed(stalls));
        if self.load_us == 0 {
            device
        } else {
            device.service_center(256, Service::Exponential(us(self.load_us)))
        }
    }

    fn plan(self, seed: u64, cold: &str) -> String {
        let file = (self.size * CACHE as f64) as u64 * BLOCK;
        format!(
            "seed = {seed}\nrepetitions = 1\nmin_sample_time = '1ms'\nverify = 'off'\n[[target]]\nurl = '/simulated'\n\
             [sweep]\nfile_sizes = [{file}]\nrecord_sizes = [{BLOCK}]\ntests = ['{}']\n\
             [cache_probes]\ncold = '{cold}'\ndistance = '128KiB'\n",
            self.test
        )
    }
}

fn judged(probes: &ProbeTimes) -> Result<Attribution, AttributionError> {
    attribute_times(&std::iter::once(probes))
}

/// Share of the workload's bytes that came from storage while probes were made, by the server's log.
fn truth(log: &[Served]) -> f64 {
    let of = |session: u32| move |served: &&Served| served.stage == 0 && served.session == session;
    let probing = log.iter().filter(of(1)).nth((PUSH / BLOCK) as usize).unwrap().arrival;
    let reads: Vec<bool> = log
        .iter()
        .filter(of(0))
        .filter(|served| !served.write && served.arrival > probing)
        .map(|served| served.from_storage)
        .collect();
    reads.iter().filter(|stored| **stored).count() as f64 / reads.len() as f64
}

fn measured(case: Case, seed: u64) -> (f64, Result<Attribution, AttributionError>) {
    let clock = Clock::virtual_at(0);
    let target = SimulatedTarget::new(NullTarget, &clock, case.device(seed));
    let steps = steps(&case.plan(seed, &PUSH.to_string()), target.clone(), &clock);
    assert_eq!(steps[0].measure.server.without_probes, None);
    assert!(steps[0].measure.server.probes.cold_again.is_empty(), "the second read comes from the cache");
    (truth(&target.log()), judged(&steps[0].measure.server.probes))
}

/// A fifth of the cells, which has every kind of them; all with `SHAREBENCH_LONG=1`.
fn grid() -> Vec<Case> {
    let mut cases = Vec::new();
    for test in ["read", "random-read"] {
        for size in [0.5, 0.9, 1.1, 2.0, 4.0] {
            for device_us in [60, 120, 400] {
                for load_us in [0, 200] {
                    cases.push(Case { test, size, device_us, load_us });
                }
            }
        }
    }
    let long = std::env::var_os("SHAREBENCH_LONG").is_some();
    cases.into_iter().step_by(if long { 1 } else { 5 }).collect()
}

/// Of the first cell; others than those the limits were found with by `SHAREBENCH_SEED`.
fn first_seed() -> u64 {
    std::env::var("SHAREBENCH_SEED").map_or(0, |seed| seed.parse().unwrap())
}

#[test]
fn k16_probes_distinguish_server_cache_from_storage_or_reject_the_estimate() {
    println!("test         F/K  device  load   truth  estimate       J");
    let mut clear = 0;
    let mut clear_right = 0;
    let mut fair = 0;
    let mut fair_right = 0;
    let mut refused = 0;
    for (seed, case) in (first_seed()..).zip(grid()) {
        let (truth, found) = measured(case, seed);
        let Case { test, size, device_us, load_us } = case;
        let reported = match &found {
            Ok(found) => format!(
                "{:>5.1} % +-{:>4.1}  {:.2}",
                found.storage * 100.0,
                196.0 * found.error,
                found.separation
            ),
            Err(refused) => format!("refused: {refused}"),
        };
        println!(
            "{test:<12} {size:.1} {device_us:>4} us {load_us:>3} us {:>6.1} %  {reported}",
            truth * 100.0
        );
        match found {
            Err(_) => refused += 1,
            Ok(found) => {
                assert!(found.separation >= 0.5, "J {} was not refused", found.separation);
                let error = (found.storage - truth).abs();
                if found.separation >= 0.9 {
                    clear += 1;
                    clear_right += usize::from(error <= 0.05);
                } else if found.separation >= 0.7 {
                    fair += 1;
                    fair_right += usize::from(error <= 0.10);
                }
            }
        }
    }
    println!(
        "K16 J >= 0.9: {clear_right} of {clear} within 5 points; J 0.7..0.9: {fair_right} of {fair} within 10; \
         {refused} refused"
    );
    assert!(clear >= 4 && 10 * clear_right >= 9 * clear, "{clear_right} of {clear}");
    assert!(10 * fair_right >= 9 * fair, "{fair_right} of {fair}");
}

#[test]
fn k16_a_server_that_lies_about_unbuffered_reads_is_caught() {
    let case = Case { test: "read", size: 0.5, device_us: 400, load_us: 0 };
    for lies in [false, true] {
        let clock = Clock::virtual_at(0);
        let target =
            SimulatedTarget::new(MemoryTarget::new(), &clock, case.device_with(1, 8 * CACHE as usize, lies));
        let steps = steps(&case.plan(1, "unbuffered"), target, &clock);
        let mut probes = steps[0].measure.server.probes.clone();
        assert_eq!(probes.cold_again.len(), probes.cold.len());
        let found = judged(&probes);
        if lies {
            assert!(matches!(found, Err(AttributionError::ReserveWarm(_))), "{found:?}");
            // Memory that was not used for a while may be as slow as the device, but not twice.
            probes.cold.iter_mut().for_each(|time| *time += 400_000);
            let found = judged(&probes);
            assert!(matches!(found, Err(AttributionError::UnbufferedCached(_))), "{found:?}");
        } else {
            assert!(found.as_ref().is_ok_and(|found| found.storage < 0.02), "{found:?}");
        }
    }
}

#[test]
fn k16_client_cache_bytes_are_counted_and_the_server_is_probed() {
    // The client keeps half of the file, and so does the server: no more than what the client lets go.
    let case = Case { test: "random-read", size: 2.0, device_us: 400, load_us: 0 };
    let clock = Clock::virtual_at(0);
    let server = SimulatedTarget::new(NullTarget, &clock, case.device(3));
    let client = CachedClient::new(server.clone(), CACHE as usize);
    let plan = case.plan(3, &PUSH.to_string()).replace("min_sample_time = '1ms'", "min_sample_time = '20s'");
    let plan = format!("{plan}count = 1000\n");
    let steps: Vec<StepResult> = steps(&plan, client.clone(), &clock);
    let measure = &steps[0].measure;
    let share = measure.client_cache_share().unwrap();
    // The pass that warmed the server's cache is not in the cell.
    let unmeasured = 2 * CACHE as usize;
    let timed = unmeasured + measure.operations as usize;
    let (hits, all) = client.counted(unmeasured..timed);
    assert!((share - hits as f64 / all as f64).abs() < 1e-9, "{share}: {hits} of {all}");
    assert!((0.05..0.3).contains(&share), "{share}");
    assert_eq!(measure.server.without_probes, None);
    let truth = truth(&server.log());
    let found = judged(&measure.server.probes).unwrap();
    println!(
        "K16 client {:.1} %, storage {:.1} % of the rest, estimated {found:?}",
        share * 100.0,
        truth * 100.0
    );
    // Client cache hits never reach the server, and probes cannot know whether it caches them too. Its cache was empty
    // before the first pass, and is full when probes are made.
    let (hits, all) = client.counted(timed..);
    let share = hits as f64 / all as f64;
    let stored = (1.0 - share) * truth;
    assert!(found.storage - share - 0.05 <= stored && stored <= found.storage + 0.05, "{found:?}, {stored}");
}

/// A cell at default settings: file and record sizes, and the cache of its server.
#[derive(Debug, Clone, Copy)]
struct DefaultCase {
    test: &'static str,
    /// Cache size over file size.
    cache: f64,
    replacement: Replacement,
    /// Read-ahead in MiB.
    read_ahead: u64,
}

const FILE: u64 = 32 << 20;
const RECORD: u64 = 64 << 10;
/// Three times the file fits into the largest cache, and this pushes it out.
const DEFAULT_PUSH: u64 = 128 << 20;

impl DefaultCase {
    /// The share of storage while the cell was timed, and as its workload continued.
    fn measured(self, seed: u64) -> ([f64; 2], Result<Attribution, AttributionError>) {
        let cache = ServerCache {
            blocks: (self.cache * (FILE / RECORD) as f64) as usize,
            block_bytes: RECORD as u32,
            read_ahead: (self.read_ahead << 20) / RECORD,
            lies: false,
            replacement: self.replacement,
        };
        let us = Duration::from_micros;
        let device = Device::new(seed).cache(
            cache,
            Service::Lognormal(us(80), 0.1),
            Service::Lognormal(us(1000), 0.1),
        );
        let plan = format!(
            "seed = {seed}\nrepetitions = 1\nverify = 'off'\n[[target]]\nurl = '/simulated'\n[sweep]\n\
             file_sizes = [{FILE}]\nrecord_sizes = [{RECORD}]\ntests = ['{}']\n[cache_probes]\ncold = '{DEFAULT_PUSH}'\n",
            self.test
        );
        let clock = Clock::virtual_at(0);
        let target = SimulatedTarget::new(NullTarget, &clock, device);
        let steps = steps(&plan, target.clone(), &clock);
        let measure = &steps[0].measure;
        assert_eq!(measure.server.without_probes, None);
        let found = judged(&measure.server.probes).and_then(|found| {
            let above = measure.service.share_above(found.threshold as u64);
            found.confirmed_by(above)
        });
        (truths(&target.log()), found)
    }
}

/// Shares of the bytes of the cell's reads that came from storage: before the first probe, and after the reserve was
/// pushed out.
fn truths(log: &[Served]) -> [f64; 2] {
    let mut probes = log.iter().filter(|served| served.session == 1).map(|served| served.arrival);
    let first = probes.next().unwrap();
    let pushed = probes.nth((DEFAULT_PUSH / RECORD) as usize).unwrap();
    let share = |within: &dyn Fn(u64) -> bool| {
        let own = |served: &&Served| served.session == 0 && !served.write && within(served.arrival);
        let reads: Vec<bool> = log.iter().filter(own).map(|served| served.from_storage).collect();
        reads.iter().filter(|stored| **stored).count() as f64 / reads.len() as f64
    };
    [share(&|at| at < first), share(&|at| at > pushed)]
}

fn default_grid() -> Vec<DefaultCase> {
    let mut cases = Vec::new();
    for test in ["read", "reread", "random-read"] {
        for cache in [0.3, 0.5, 0.75, 0.9, 0.97, 1.03, 1.2, 2.0, 3.0] {
            for replacement in [Replacement::LeastRecentlyUsed, Replacement::FirstIn, Replacement::Random] {
                for read_ahead in [0, 1, 8] {
                    cases.push(DefaultCase { test, cache, replacement, read_ahead });
                }
            }
        }
    }
    let long = std::env::var_os("SHAREBENCH_LONG").is_some();
    cases.into_iter().step_by(if long { 1 } else { 7 }).collect()
}

#[test]
fn k16_at_default_settings_an_estimate_is_right_or_rejected() {
    println!("test         cache  replacement        read-ahead   timed, continuing  estimate");
    let mut right = 0;
    let mut rejected = 0;
    let mut wrong = Vec::new();
    for (seed, case) in (first_seed()..).zip(default_grid()) {
        let ([timed, continuing], found) = case.measured(seed);
        let DefaultCase { test, cache, replacement, read_ahead } = case;
        let reported = match &found {
            Ok(found) => format!("{:.1} % ±{:.1}", found.storage * 100.0, 196.0 * found.error),
            Err(why) => format!("rejected: {why}"),
        };
        let row = format!(
            "{test:<12} {cache:>5} {:<18} {read_ahead:>5} MiB {:>6.1} % {:>6.1} %  {reported}",
            format!("{replacement:?}"),
            timed * 100.0,
            continuing * 100.0
        );
        println!("{row}");
        let Ok(found) = found else {
            rejected += 1;
            continue;
        };
        // The cell's own times confirm the estimate. Where read-ahead hides storage from them, the probes can but see
        // the state that the workload causes as it continues.
        let allowed = 0.10_f64.max(1.96 * found.error) + 0.05;
        let off = |truth: f64| (found.storage - truth).abs() > allowed;
        // Between the two states, when the cell was on its way from one to the other.
        let between = (timed.min(continuing)..timed.max(continuing)).contains(&found.storage);
        if off(timed) && !between && (read_ahead == 0 || off(continuing)) {
            wrong.push(row);
        } else {
            right += 1;
        }
    }
    println!("K16 at default settings: {right} right, {rejected} rejected, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(right > rejected, "{right} right, {rejected} rejected");
}
