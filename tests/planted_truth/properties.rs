//! The planted properties: devices of one or two servers, what is measured on them, and what the verdict must be.

use std::time::Duration;

use sharebench_model::{Coordinates, Random, axis};
use sharebench_simulated::{Device, Replacement, RequestClass, ServerCache, Service};

use crate::maps::maps;
use crate::time_courses::{PlantedPattern, time_courses};

/// Median of the service time of the usual server.
const USUAL: f64 = 400.0;
/// Standard deviation of its logarithm: of a quiet server, and of a noisy one.
pub const QUIET: f64 = 0.15;
const NOISY: f64 = 0.6;
/// Requests that a server works on at once.
pub const PARALLEL: u32 = 16;

pub const MIB: u64 = 1 << 20;
/// Record and cache block of the servers with a cache.
const BLOCK: u64 = 64 << 10;

/// What the analysis must not contradict.
pub enum Truth {
    /// The ratio of the rates of the second server and the first one, in each cell.
    Ratio(Box<dyn Fn(&Coordinates) -> f64 + Sync>),
    /// The cache of the only server; none without a cache that reads could show.
    Cache(Option<PlantedCache>),
    /// The share of the bytes of each cell that comes from storage.
    Storage(Box<dyn Fn(&Coordinates) -> f64 + Sync>),
    /// How the second of two servers, which are equal otherwise, changes over time.
    Time(PlantedPattern),
}

/// A planted cache.
#[derive(Debug, Clone, Copy)]
pub struct PlantedCache {
    /// Bytes that it holds.
    pub bytes: u64,
    /// What one pass over a file leaves in it depends on what it held before: all replacement but LRU.
    pub remembers: bool,
}

/// A planted property.
pub struct Property {
    pub name: &'static str,
    /// What is measured: the sections of the plan.
    pub sections: String,
    /// One device per server, drawn from the seed.
    pub devices: Box<dyn Fn(u64) -> Vec<Device> + Sync>,
    pub truth: Truth,
    /// The rates of a server fall where files no longer fit into its cache.
    pub falls: bool,
    /// The planted ratio is exact in each cell, so that the range of a part is judged too. Limits and rare stalls, whose effect
    /// the engine's own time changes, have only a direction.
    pub exact: bool,
}

pub fn us(time: f64) -> Duration {
    Duration::from_nanos((time * 1e3) as u64)
}

/// A server that needs this many microseconds per request, in the median.
fn server(seed: u64, median: f64, sigma: f64) -> Device {
    Device::new(seed)
        .without_log()
        .metadata(us(100.0))
        .service_center(PARALLEL, Service::Lognormal(us(median), sigma))
}

pub fn usual(seed: u64) -> Device {
    server(seed, USUAL, QUIET)
}

/// Mean service time of the usual server in microseconds.
pub fn mean() -> f64 {
    USUAL * f64::exp(QUIET * QUIET / 2.0)
}

pub fn record(at: &Coordinates) -> f64 {
    at.number(axis::RECORD_SIZE).unwrap_or(0) as f64
}

pub fn test(at: &Coordinates) -> &str {
    at.text(axis::TEST).unwrap_or("")
}

fn depth(at: &Coordinates) -> f64 {
    at.number(axis::QUEUE_DEPTH).unwrap_or(1) as f64
}

/// The usual tests on a small file.
const SWEEP: &str = "[sweep]\nfile_sizes = ['1MiB']\nrecord_sizes = ['4KiB', '64KiB']\n";

/// Fewer cells for properties whose spread takes all 60 repetitions.
const FEW: &str =
    "[sweep]\nfile_sizes = ['1MiB']\nrecord_sizes = ['4KiB', '64KiB']\ntests = ['read', 'rewrite']\n";

/// Two servers that differ, measured by `sections`.
pub fn pair(
    name: &'static str,
    sections: &str,
    first: impl Fn(u64) -> Device + Sync + 'static,
    second: impl Fn(u64) -> Device + Sync + 'static,
    ratio: impl Fn(&Coordinates) -> f64 + Sync + 'static,
) -> Property {
    Property {
        name,
        sections: sections.to_owned(),
        devices: Box::new(move |seed| vec![first(2 * seed), second(2 * seed + 1)]),
        truth: Truth::Ratio(Box::new(ratio)),
        falls: false,
        exact: false,
    }
}

/// The usual server, and one with another service time.
fn slower(name: &'static str, factor: f64, sigma: f64) -> Property {
    let first = move |seed| server(seed, USUAL, sigma);
    let second = move |seed| server(seed, USUAL * factor, sigma);
    Property { exact: true, ..pair(name, SWEEP, first, second, move |_| 1.0 / factor) }
}

/// The usual server, and one with an additional stage.
fn with_stage(
    name: &'static str,
    sections: &str,
    stage: impl Fn(Device) -> Device + Sync + 'static,
    ratio: impl Fn(&Coordinates) -> f64 + Sync + 'static,
) -> Property {
    pair(name, sections, usual, move |seed| stage(usual(seed)), ratio)
}

/// The time of a transfer in microseconds.
fn transfer(at: &Coordinates, bytes_per_us: f64) -> f64 {
    record(at) / bytes_per_us
}

fn equal() -> Vec<Property> {
    vec![
        slower("none", 1.0, QUIET),
        slower("none; both noisy", 1.0, NOISY),
        pair(
            "none; both become 0.1 % slower per second",
            SWEEP,
            |seed| usual(seed).wearing(0.001),
            |seed| usual(seed).wearing(0.001),
            |_| 1.0,
        ),
        pair(
            "none; the first one stops once for 3 s",
            SWEEP,
            |seed| usual(seed).stalled(30_000_000_000, Duration::from_secs(3)),
            usual,
            |_| 1.0,
        ),
        with_stage(
            "metadata 50 times as slow, which no cell includes",
            SWEEP,
            |device| device.metadata(us(5_000.0)),
            |_| 1.0,
        ),
        pair(
            "bimodal latency with the same mean",
            FEW,
            |seed| Device::new(seed).without_log().service_center(PARALLEL, Service::Fixed(us(400.0))),
            |seed| {
                let bimodal = Service::Bimodal(us(300.0), us(1_300.0), 0.1);
                Device::new(seed).without_log().service_center(PARALLEL, bimodal)
            },
            |_| 1.0,
        ),
    ]
}

fn service_times() -> Vec<Property> {
    vec![
        slower("service time +1 %", 1.01, QUIET),
        slower("service time +2 %", 1.02, QUIET),
        slower("service time +3 %", 1.03, QUIET),
        slower("service time +5 %", 1.05, QUIET),
        slower("service time +5 %, noisy", 1.05, NOISY),
        slower("service time -5 %", 0.95, QUIET),
        slower("service time +50 %", 1.5, QUIET),
        pair(
            "service time of writes +10 %",
            SWEEP,
            usual,
            |seed| {
                let writes = RequestClass { writes: Some(true), ..RequestClass::default() };
                usual(seed).delay(writes, Service::Fixed(us(0.1 * mean())))
            },
            |at| if test(at).contains("write") { 1.0 / 1.1 } else { 1.0 },
        ),
        pair(
            "reads of 64 KiB and more +20 %",
            SWEEP,
            usual,
            |seed| {
                let reads = RequestClass { writes: Some(false), ..RequestClass::default() };
                let large = RequestClass { records: 65_536..=u32::MAX, ..reads };
                usual(seed).delay(large, Service::Fixed(us(0.2 * mean())))
            },
            |at| if test(at).contains("read") && record(at) >= 65_536.0 { 1.0 / 1.2 } else { 1.0 },
        ),
        with_stage(
            "bimodal latency: 1 ms more in one of ten requests",
            FEW,
            |device| device.delay(RequestClass::default(), Service::Bimodal(us(0.0), us(1_000.0), 0.1)),
            |_| mean() / (mean() + 100.0),
        ),
        with_stage(
            "stall of 40 ms in one of 100 requests",
            FEW,
            |device| device.delay(RequestClass::default(), Service::Bimodal(us(0.0), us(40_000.0), 0.01)),
            |_| mean() / (mean() + 400.0),
        ),
        with_stage(
            "stall of 40 ms in one of 1000 requests",
            FEW,
            |device| device.delay(RequestClass::default(), Service::Bimodal(us(0.0), us(40_000.0), 0.001)),
            |_| mean() / (mean() + 40.0),
        ),
        with_stage(
            "metadata 50 times as slow, with --include close",
            &format!("{SWEEP}include = ['close']\n"),
            |device| device.metadata(us(5_000.0)),
            |at| {
                let records = MIB as f64 / record(at);
                (records * mean() + 100.0) / (records * mean() + 5_000.0)
            },
        ),
    ]
}

fn limits() -> Vec<Property> {
    let jobs = "[sweep]\nfile_sizes = ['1MiB']\nrecord_sizes = ['64KiB']\ntests = ['read', 'rewrite']\njobs = [1, 4]\n";
    let depths = "[depth]\nfile_size = '1MiB'\nrecord_sizes = ['4KiB']\ndepths = [1, 4, 16]\ntests = ['random-read', 'random-write']\n";
    vec![
        with_stage(
            "bandwidth cap of 100 MB/s",
            SWEEP,
            |device| device.link(100_000_000, 0),
            |at| mean() / (mean() + transfer(at, 100.0)),
        ),
        pair(
            "bandwidth cap of 100 instead of 105 MB/s",
            SWEEP,
            |seed| usual(seed).link(105_000_000, 0),
            |seed| usual(seed).link(100_000_000, 0),
            |at| (mean() + transfer(at, 105.0)) / (mean() + transfer(at, 100.0)),
        ),
        with_stage(
            "cap of 100 MB/s per connection, 1 and 4 jobs",
            jobs,
            |device| device.session_link(100_000_000, 0),
            |at| mean() / (mean() + transfer(at, 100.0)),
        ),
        pair(
            "4 instead of 16 credits, depths 1 to 16",
            depths,
            |seed| Device::new(seed).without_log().session_center(16, Service::Lognormal(us(USUAL), QUIET)),
            |seed| Device::new(seed).without_log().session_center(4, Service::Lognormal(us(USUAL), QUIET)),
            |at| (4.0 / depth(at)).min(1.0),
        ),
        pair(
            "one request at a time, depths 1 to 16",
            depths,
            usual,
            |seed| Device::new(seed).without_log().service_center(1, Service::Lognormal(us(USUAL), QUIET)),
            |at| 1.0 / depth(at),
        ),
    ]
}

/// A server with a cache of this many MiB: 100 us per hit, 400 us more from storage.
fn cached(seed: u64, mib: u64, replacement: Replacement, read_ahead_kib: u64, sigma: f64) -> Device {
    let cache = ServerCache {
        blocks: (mib * MIB / BLOCK) as usize,
        block_bytes: BLOCK as u32,
        read_ahead: (read_ahead_kib << 10) / BLOCK,
        lies: false,
        replacement,
    };
    Device::new(seed).without_log().cache(
        cache,
        Service::Lognormal(us(100.0), sigma),
        Service::Lognormal(us(400.0), sigma),
    )
}

const LRU: Replacement = Replacement::LeastRecentlyUsed;

/// Reads of files of 2 to 16 MiB.
fn sizes() -> String {
    format!(
        "[sweep]\nfile_sizes = ['2MiB', '4MiB', '8MiB', '16MiB']\nrecord_sizes = [{BLOCK}]\ntests = ['read', 'random-read']\n"
    )
}

/// The share of a file's records that an LRU cache lacks, when each pass reads every record once in random order.
fn missed_at_random(cache: u64, file: u64) -> f64 {
    let records = file / BLOCK;
    let held = (cache / BLOCK) as usize;
    let mut random = Random::new(7, 7);
    let mut order: Vec<u64> = (0..records).collect();
    let mut recent: Vec<u64> = Vec::new();
    let mut missed = 0;
    let passes = 40;
    for pass in 0..=passes {
        random.shuffle(&mut order);
        for record in &order {
            let place = recent.iter().rev().position(|known| known == record);
            missed += u64::from(pass > 0 && place.is_none_or(|newer| newer >= held));
            recent.retain(|known| known != record);
            recent.push(*record);
        }
    }
    missed as f64 / (passes * records) as f64
}

/// One server whose cache holds `planted` bytes.
fn one(
    name: &'static str,
    planted: Option<(u64, bool)>,
    device: impl Fn(u64) -> Device + Sync + 'static,
) -> Property {
    Property {
        name,
        sections: sizes(),
        devices: Box::new(move |seed| vec![device(seed)]),
        truth: Truth::Cache(planted.map(|(mib, remembers)| PlantedCache { bytes: mib * MIB, remembers })),
        falls: planted.is_some(),
        exact: false,
    }
}

fn caches() -> Vec<Property> {
    let larger = |at: &Coordinates| {
        let file = at.number(axis::FILE_SIZE).unwrap_or(0);
        let time = |cache: u64| match test(at) {
            "read" => 100.0 + 400.0 * f64::from(u8::from(file > cache)),
            _ => 100.0 + 400.0 * missed_at_random(cache, file),
        };
        time(3 * MIB) / time(12 * MIB)
    };
    vec![
        one("cache of 3 MiB, LRU", Some((3, false)), |seed| cached(seed, 3, LRU, 0, QUIET)),
        one("cache of 6 MiB, LRU", Some((6, false)), |seed| cached(seed, 6, LRU, 0, QUIET)),
        one("cache of 12 MiB, LRU", Some((12, false)), |seed| cached(seed, 12, LRU, 0, QUIET)),
        one("cache of 6 MiB, LRU, noisy", Some((6, false)), |seed| cached(seed, 6, LRU, 0, NOISY)),
        one("cache of 6 MiB, FIFO", Some((6, true)), |seed| cached(seed, 6, Replacement::FirstIn, 0, QUIET)),
        one("cache of 6 MiB, random replacement", Some((6, true)), |seed| {
            cached(seed, 6, Replacement::Random, 0, QUIET)
        }),
        one("cache of 6 MiB, read-ahead of 1 MiB", Some((6, false)), |seed| {
            cached(seed, 6, LRU, 1024, QUIET)
        }),
        one("cache above every file", None, |seed| cached(seed, 64, LRU, 0, QUIET)),
        one("no cache", None, |seed| cached(seed, 0, LRU, 0, QUIET)),
        pair(
            "read-ahead of 1 MiB instead of none, no cache",
            "[sweep]\nfile_sizes = ['8MiB']\nrecord_sizes = ['64KiB']\ntests = ['read', 'random-read']\n",
            |seed| cached(seed, 0, LRU, 0, QUIET),
            |seed| cached(seed, 2, LRU, 1024, QUIET),
            |at| match test(at) {
                "read" => 5.0,
                _ => 500.0 / (100.0 + 400.0 * missed_at_random(2 * MIB, 8 * MIB)),
            },
        ),
        Property {
            falls: true,
            exact: false,
            ..pair(
                "cache of 12 instead of 3 MiB",
                &sizes(),
                |seed| cached(seed, 3, LRU, 0, QUIET),
                |seed| cached(seed, 12, LRU, 0, QUIET),
                larger,
            )
        },
    ]
}

fn storage_shares() -> Vec<Property> {
    let probed = |name, mib: u64, read_ahead_kib| Property {
        name,
        sections: format!(
            "[sweep]\nfile_sizes = ['16MiB']\nrecord_sizes = [{BLOCK}]\ntests = ['read', 'random-read']\n\
             [cache_probes]\ncold = '64MiB'\n"
        ),
        devices: Box::new(move |seed| vec![cached(seed, mib, LRU, read_ahead_kib, QUIET)]),
        truth: Truth::Storage(Box::new(move |at| match test(at) {
            "read" => f64::from(u8::from(mib < 16)),
            _ => missed_at_random(mib * MIB, 16 * MIB),
        })),
        falls: false,
        exact: false,
    };
    vec![
        probed("probes, file of 16 MiB: cache of 4 MiB", 4, 0),
        probed("probes, file of 16 MiB: cache of 12 MiB", 12, 0),
        probed("probes, file of 16 MiB: cache of 32 MiB", 32, 0),
        probed("probes, file of 16 MiB: cache of 12 MiB, read-ahead of 1 MiB", 12, 1024),
    ]
}

/// Every property of the table, in its order.
pub fn properties() -> Vec<Property> {
    [equal(), service_times(), limits(), maps(), time_courses(), caches(), storage_shares()]
        .into_iter()
        .flatten()
        .collect()
}
