//! The inside of a simulated server: service centers and links that an operation passes one after the other.

use std::collections::BTreeMap;
use std::time::Duration;

use sharebench_model::Random;

use super::request_class::{Asked, FileUse, FileUses, RequestClass};
use super::server_cache::{Content, ServerCache};
use super::time_course::{TimeCourse, nanos};

/// How long a service center works on one operation.
#[derive(Debug, Clone, PartialEq)]
pub enum Service {
    /// Always the same.
    Fixed(Duration),
    /// Exponential with this mean.
    Exponential(Duration),
    /// Lognormal: the median, and the standard deviation of the logarithm.
    Lognormal(Duration, f64),
    /// These, in turn, from the first one again when they are used up.
    Listed(Vec<Duration>),
    /// Mostly the first time, and with this probability the second one.
    Bimodal(Duration, Duration, f64),
}

/// One stage of an operation's way, as it did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// Which session asked, in the order of their connecting.
    pub session: u32,
    /// Which stage of the device, in the order of its building.
    pub stage: u32,
    /// True for a write.
    pub write: bool,
    /// First byte asked for.
    pub offset: u64,
    /// Bytes asked for.
    pub bytes: u32,
    /// When the operation came to the stage, nanoseconds of the clock.
    pub arrival: u64,
    /// When work on it began.
    pub start: u64,
    /// When it left.
    pub end: u64,
    /// How long the work took, a stall not counted: what was drawn.
    pub service: u64,
    /// After a cache stage: some bytes came from storage.
    pub from_storage: bool,
}

/// The plan of a simulated server. Reads and writes pass its stages in the order of building; operations on
/// names take the time of [`Self::metadata`], and flushes none.
#[derive(Debug, Clone)]
pub struct Device {
    seed: u64,
    stages: Vec<Stage>,
    course: TimeCourse,
    /// Factors of the service times of some requests.
    factors: Vec<(RequestClass, f64)>,
    files: FileUses,
    pub(super) mute_every: Option<u32>,
    pub(super) client_cost: u64,
    pub(super) metadata_ns: u64,
    /// Spread of the time of operations on names: the standard deviation of its logarithm.
    pub(super) metadata_spread: f64,
    pub(super) entry_ns: f64,
    pub(super) logs: bool,
}

#[derive(Debug, Clone)]
enum Stage {
    ServiceCenter {
        free_at: Vec<u64>,
        service: Service,
        random: Random,
        served: usize,
    },
    /// A service center for each session.
    SessionCenter {
        servers: usize,
        free_at: BTreeMap<u32, Vec<u64>>,
        service: Service,
        random: Random,
    },
    Link {
        bytes_per_second: u64,
        burst_ns: u64,
        empty_at: u64,
    },
    /// A link for each session.
    SessionLink {
        bytes_per_second: u64,
        burst_ns: u64,
        empty_at: BTreeMap<u32, u64>,
    },
    Delay {
        delayed: RequestClass,
        service: Service,
        random: Random,
    },
    Cache {
        content: Box<Content>,
        hit: Service,
        storage: Service,
        random: Random,
    },
}

impl Device {
    /// A server without stages: everything is answered at once. `seed` decides all its draws.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            stages: Vec::new(),
            course: TimeCourse::default(),
            factors: Vec::new(),
            files: FileUses::default(),
            mute_every: None,
            client_cost: 0,
            metadata_ns: 0,
            metadata_spread: 0.0,
            entry_ns: 0.0,
            logs: true,
        }
    }

    /// Adds a service center: one queue, first come first served, `servers` (at least one) at work.
    #[must_use]
    pub fn service_center(mut self, servers: u32, service: Service) -> Self {
        let random = self.stage_random();
        let free_at = vec![0; servers.max(1) as usize];
        self.stages.push(Stage::ServiceCenter { free_at, service, random, served: 0 });
        self
    }

    /// Adds a link: a token bucket filled with `bytes_per_second` (at least one), that holds `burst` bytes.
    #[must_use]
    pub fn link(mut self, bytes_per_second: u64, burst: u64) -> Self {
        let bytes_per_second = bytes_per_second.max(1);
        let burst_ns = transfer_ns(burst, bytes_per_second);
        self.stages.push(Stage::Link { bytes_per_second, burst_ns, empty_at: 0 });
        self
    }

    /// Adds a service center per session, each with `servers` at work: a limit of requests in flight, such as credits.
    #[must_use]
    pub fn session_center(mut self, servers: u32, service: Service) -> Self {
        let random = self.stage_random();
        let servers = servers.max(1) as usize;
        self.stages.push(Stage::SessionCenter { servers, free_at: BTreeMap::new(), service, random });
        self
    }

    /// Adds a link per session, as a limit of each connection.
    #[must_use]
    pub fn session_link(mut self, bytes_per_second: u64, burst: u64) -> Self {
        let bytes_per_second = bytes_per_second.max(1);
        let burst_ns = transfer_ns(burst, bytes_per_second);
        self.stages.push(Stage::SessionLink { bytes_per_second, burst_ns, empty_at: BTreeMap::new() });
        self
    }

    /// Adds a delay without a queue for some of the requests; the others pass it at once.
    #[must_use]
    pub fn delay(mut self, delayed: RequestClass, service: Service) -> Self {
        let random = self.stage_random();
        self.stages.push(Stage::Delay { delayed, service, random });
        self
    }

    /// Operations on names and handles take this time.
    #[must_use]
    pub fn metadata(mut self, time: Duration) -> Self {
        self.metadata_ns = time.as_nanos() as u64;
        self
    }

    /// Operations on names and handles take a lognormal time with this median, whose logarithm has this standard deviation.
    #[must_use]
    pub fn varying_metadata(mut self, median: Duration, sigma: f64) -> Self {
        self.metadata_ns = median.as_nanos() as u64;
        self.metadata_spread = sigma;
        self
    }

    /// Directories are searched linearly: an operation on a name takes `entry_ns` nanoseconds more for each entry of its
    /// directory.
    #[must_use]
    pub fn linear_directories(mut self, entry_ns: f64) -> Self {
        self.entry_ns = entry_ns;
        self
    }

    /// The device keeps no log of its work, for runs of millions of requests.
    #[must_use]
    pub fn without_log(mut self) -> Self {
        self.logs = false;
        self
    }

    /// The random numbers of the times of operations on names.
    pub(super) fn metadata_random(&self) -> Random {
        Random::new(self.seed, 0x51FF)
    }

    fn stage_random(&self) -> Random {
        Random::new(self.seed, 0x51A0 + self.stages.len() as u64)
    }

    /// Adds a cache without a queue: every request takes `hit`, and what misses `storage` besides.
    #[must_use]
    pub fn cache(mut self, cache: ServerCache, hit: Service, storage: Service) -> Self {
        let random = self.stage_random();
        let content = Box::new(Content::new(cache));
        self.stages.push(Stage::Cache { content, hit, storage, random });
        self
    }

    /// All service centers need `factor` times as long for requests of a class. Factors of several classes multiply.
    #[must_use]
    pub fn scaled(mut self, class: RequestClass, factor: f64) -> Self {
        self.factors.push((class, factor));
        self
    }

    /// Once, from `at_ns` of the clock on, all service centers stop for `length`.
    #[must_use]
    pub fn stalled(mut self, at_ns: u64, length: Duration) -> Self {
        self.course.stall = Some((at_ns, nanos(length)));
        self
    }

    /// All service centers stop for `length` at the end of each `period` of the clock, as when a server flushes its cache.
    #[must_use]
    pub fn stopped_every(mut self, period: Duration, length: Duration) -> Self {
        self.course.stops = Some((nanos(period), nanos(length.min(period))));
        self
    }

    /// All service centers need `factor` times as long for the last `length` of each `period` of the clock.
    #[must_use]
    pub fn slower_every(mut self, period: Duration, length: Duration, factor: f64) -> Self {
        self.course.slow_turns = Some((nanos(period), nanos(length.min(period)), factor));
        self
    }

    /// After `bytes` of requests, all service centers need `factor` times as long: the burst of a throttled volume is used up.
    #[must_use]
    pub fn slower_after(mut self, bytes: u64, factor: f64) -> Self {
        self.course.burst = Some((bytes, factor));
        self
    }

    /// From `at_ns` of the clock on, all service centers need `factor` times as long, as when a cache is full.
    #[must_use]
    pub fn slower_from(mut self, at_ns: u64, factor: f64) -> Self {
        self.course.slower = Some((at_ns, factor));
        self
    }

    /// All service centers need longer and longer: by this share of the first time in each second of the clock.
    #[must_use]
    pub fn wearing(mut self, share_per_s: f64) -> Self {
        self.course.wear_per_s = share_per_s;
        self
    }

    /// The last of every `n` sessions gets no reply to a read or write: the work is done, the reply is lost.
    #[must_use]
    pub fn mute_every(mut self, n: u32) -> Self {
        self.mute_every = Some(n.max(1));
        self
    }

    /// Every submission costs the user's thread so much time: a slow generator, not a slow server.
    #[must_use]
    pub fn client_cost(mut self, cost: Duration) -> Self {
        self.client_cost = cost.as_nanos() as u64;
        self
    }

    /// What is known of the file of a request that arrives now; nothing where no stage needs it.
    pub(super) fn record_use(&mut self, file: u64, offset: u64, bytes: u32) -> FileUse {
        let has_delays = self.stages.iter().any(|stage| matches!(stage, Stage::Delay { .. }));
        if self.factors.is_empty() && !has_delays {
            return FileUse::default();
        }
        self.files.record(file, offset, bytes)
    }

    /// Lets an operation enter a stage at `arrival`, which must not go back; none after the last stage.
    pub(super) fn enter(&mut self, stage: usize, arrival: u64, asked: Asked) -> Option<Served> {
        let bytes = asked.bytes;
        let mut from_storage = false;
        let course = &mut self.course;
        let factors = self.factors.iter().filter(|(class, _)| class.contains(&asked));
        let factor: f64 = factors.map(|(_, factor)| factor).product();
        let scaled = |drawn: u64| (drawn as f64 * factor).round() as u64;
        let (start, service, end) = match self.stages.get_mut(stage)? {
            Stage::ServiceCenter { free_at, service, random, served } => {
                let drawn = scaled(draw(service, random, *served));
                *served += 1;
                // `free_at` is never empty.
                let free = free_at.iter_mut().min()?;
                let start = arrival.max(*free);
                let (service, end) = course.finish(start, drawn, bytes);
                *free = end;
                (start, service, end)
            }
            Stage::Link { bytes_per_second, burst_ns, empty_at } => {
                // The bucket as a virtual queue (GCRA): it runs empty at `empty_at`, and lets traffic through
                // early by as much as it holds.
                let service = transfer_ns(u64::from(bytes), *bytes_per_second);
                let start = arrival.max(*empty_at);
                *empty_at = start + service;
                (start, service, (start + service).saturating_sub(*burst_ns).max(arrival))
            }
            Stage::SessionCenter { servers, free_at, service, random } => {
                let drawn = scaled(draw(service, random, 0));
                let free_at = free_at.entry(asked.session).or_insert_with(|| vec![0; *servers]);
                let free = free_at.iter_mut().min()?;
                let start = arrival.max(*free);
                let (service, end) = course.finish(start, drawn, bytes);
                *free = end;
                (start, service, end)
            }
            Stage::SessionLink { bytes_per_second, burst_ns, empty_at } => {
                let service = transfer_ns(u64::from(bytes), *bytes_per_second);
                let empty_at = empty_at.entry(asked.session).or_default();
                let start = arrival.max(*empty_at);
                *empty_at = start + service;
                (start, service, (start + service).saturating_sub(*burst_ns).max(arrival))
            }
            Stage::Delay { delayed, service, random } => {
                let drawn = if delayed.contains(&asked) { draw(service, random, 0) } else { 0 };
                (arrival, drawn, arrival + drawn)
            }
            Stage::Cache { content, hit, storage, random } => {
                let met = content.serve(asked);
                from_storage = met.from_storage;
                let fetched = if met.miss { draw(storage, random, 0) } else { 0 };
                let service = draw(hit, random, 0) + fetched;
                (arrival, service, arrival + service)
            }
        };
        let stage = stage as u32;
        let start = start.min(end);
        Some(Served {
            session: 0,
            stage,
            write: asked.write,
            offset: asked.offset,
            bytes,
            arrival,
            start,
            end,
            service,
            from_storage,
        })
    }
}

fn transfer_ns(bytes: u64, bytes_per_second: u64) -> u64 {
    (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(bytes_per_second)) as u64
}

fn draw(service: &Service, random: &mut Random, nth: usize) -> u64 {
    match service {
        Service::Fixed(time) => nanos(*time),
        Service::Exponential(mean) => (nanos(*mean) as f64 * random.exponential()).round() as u64,
        Service::Lognormal(median, sigma) => {
            (nanos(*median) as f64 * libm::exp(sigma * random.normal())).round() as u64
        }
        Service::Bimodal(usual, slow, share) => nanos(if random.unit() < *share { *slow } else { *usual }),
        Service::Listed(times) => times.get(nth % times.len().max(1)).map_or(0, |time| nanos(*time)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn asked(bytes: u32) -> Asked {
        Asked {
            session: 0,
            file: 0,
            offset: 0,
            bytes,
            write: false,
            unbuffered: false,
            workload: true,
            known: FileUse::default(),
        }
    }

    fn ends(device: &mut Device, arrivals: &[u64], bytes: u32) -> Vec<u64> {
        arrivals.iter().map(|at| device.enter(0, at * MS, asked(bytes)).unwrap().end / MS).collect()
    }

    #[test]
    fn one_queue_feeds_the_server_that_is_free_first() {
        let listed = [10, 2, 3, 1].map(Duration::from_millis).to_vec();
        let mut two = Device::new(1).service_center(2, Service::Listed(listed));
        assert_eq!(ends(&mut two, &[0, 0, 0, 4, 20], 0), [10, 2, 5, 6, 30]);
        assert_eq!(two.enter(1, 0, asked(0)), None);
    }

    #[test]
    fn a_stall_stops_work_under_way_and_delays_what_follows() {
        let fixed = Service::Fixed(Duration::from_millis(4));
        let mut device = Device::new(1).service_center(1, fixed).stalled(10 * MS, Duration::from_millis(100));
        assert_eq!(ends(&mut device, &[0, 8, 50, 300], 0), [4, 112, 116, 304]);
    }

    #[test]
    fn a_device_may_be_slower_from_an_instant_on_or_wear() {
        let device = || Device::new(1).service_center(1, Service::Fixed(Duration::from_millis(4)));
        assert_eq!(ends(&mut device().slower_from(100 * MS, 2.5), &[0, 99, 200], 0), [4, 103, 210]);
        assert_eq!(ends(&mut device().wearing(0.5), &[0, 1000, 4000], 0), [4, 1006, 4012]);
    }

    #[test]
    fn a_token_bucket_lets_its_burst_through_and_then_its_rate() {
        let mut device = Device::new(1).link(1_000_000, 2_000);
        assert_eq!(ends(&mut device, &[0, 0, 0, 0, 100], 1_000), [0, 0, 1, 2, 100]);
    }

    #[test]
    fn limits_of_a_session_concern_each_session_alone() {
        let fixed = Service::Fixed(Duration::from_millis(10));
        let mut credits = Device::new(1).session_center(2, fixed);
        assert_eq!(ends(&mut credits, &[0, 0, 0], 512), [10, 10, 20]);
        let other = Asked { session: 1, ..asked(512) };
        assert_eq!(credits.enter(0, 0, other).unwrap().end, 10 * MS);
        let mut capped = Device::new(1).session_link(1_000_000, 0);
        assert_eq!(ends(&mut capped, &[0, 0], 1_000), [1, 2]);
        assert_eq!(capped.enter(0, 0, Asked { session: 1, ..asked(1_000) }).unwrap().end, MS);
    }

    #[test]
    fn a_delay_concerns_the_requests_it_names() {
        let delayed =
            RequestClass { writes: Some(true), records: 1_000..=u32::MAX, ..RequestClass::default() };
        let mut device = Device::new(1).delay(delayed, Service::Fixed(Duration::from_millis(5)));
        let mut end = |write, bytes| device.enter(0, 0, Asked { write, ..asked(bytes) }).unwrap().end / MS;
        assert_eq!([end(true, 1_000), end(true, 999), end(false, 1_000)], [5, 0, 0]);
    }

    #[test]
    fn factors_of_classes_multiply_the_service_time() {
        let fixed = Service::Fixed(Duration::from_millis(4));
        let large = RequestClass { records: 1_000..=u32::MAX, ..RequestClass::default() };
        let writes = RequestClass { writes: Some(true), ..RequestClass::default() };
        let mut device = Device::new(1).service_center(9, fixed).scaled(large, 2.5).scaled(writes, 2.0);
        let mut end = |write, bytes| device.enter(0, 0, Asked { write, ..asked(bytes) }).unwrap().end / MS;
        assert_eq!([end(false, 999), end(false, 1_000), end(true, 999), end(true, 1_000)], [4, 10, 8, 20]);
    }

    #[test]
    fn a_bimodal_service_is_slow_as_frequently_as_stated() {
        let law = Service::Bimodal(Duration::from_millis(1), Duration::from_millis(40), 0.1);
        let mut random = Random::new(1, 1);
        let slow = (0..10_000).filter(|nth| draw(&law, &mut random, *nth) == 40 * MS).count();
        assert!((900..1_100).contains(&slow), "{slow}");
    }

    #[test]
    fn a_lognormal_service_has_its_median() {
        let law = Service::Lognormal(Duration::from_millis(2), 0.35);
        let mut random = Random::new(1, 1);
        let mut drawn: Vec<u64> = (0..20_001).map(|nth| draw(&law, &mut random, nth)).collect();
        drawn.sort_unstable();
        let ratio = |rank: usize| drawn[rank] as f64 / 2e6;
        assert!((ratio(10_000) - 1.0).abs() < 0.02, "{}", ratio(10_000));
        assert!((ratio(16_828) - 0.35f64.exp()).abs() < 0.04, "84 %: {}", ratio(16_828));
    }
}
