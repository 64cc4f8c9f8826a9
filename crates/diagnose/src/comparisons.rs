//! Which experiments a diagnosis makes, on sessions of their own.

use sharebench_model::{Fact, OpError};
use sharebench_stats::{Estimate, bootstrap_intervals, median};

use crate::evidence::{Comparison, Evidence, Experiment};
use crate::experiments::{Arm, TimeLimits, block_bytes, compare};
use crate::files::{Connection, Files, READ, open, pump};
use crate::measure::Meter;
use crate::operations::{LEVEL, RESAMPLES, SEED};
use crate::work::{MORE_SESSIONS, WIDE_SLOTS, Work};

/// Bytes of the smaller requests with which large ones are compared.
const SMALL_REQUEST_BYTES: u32 = 64 << 10;
/// Bytes of a request below which no smaller ones are compared.
const MIN_REQUEST_BYTES: u32 = 2 << 10;
/// Pairs of requests of two sizes.
const MIN_SIZE_PAIRS: usize = 20;
const MAX_SIZE_PAIRS: usize = 1_000;

impl Work<'_> {
    pub(crate) async fn experiments(
        &self,
        connections: &mut [Connection],
        files: &Files,
        evidence: &mut Evidence,
        deadline: u64,
    ) -> Result<(), OpError> {
        let wanted = 3 + self.variants.len() as u64;
        let time_ns = (deadline.saturating_sub(self.clock.now()) / wanted).min(2_000_000_000);
        let limits = TimeLimits { time_ns, deadline };
        let block = block_bytes(&evidence.series);
        if connections.len() == 1 + MORE_SESSIONS
            && connections.iter().all(|connection| connection.slots == WIDE_SLOTS)
        {
            match self.target.connect(&self.spec(WIDE_SLOTS)).await {
                Ok(session) => {
                    let mut single = Connection::new(session, WIDE_SLOTS);
                    let tcp = single.session.tcp();
                    let mut base = Arm::new([&mut single], WIDE_SLOTS, files, block).await?;
                    let mut changed = Arm::new(connections.iter_mut(), WIDE_SLOTS / 4, files, block).await?;
                    let experiment = Experiment::Connections;
                    self.compare(experiment, &mut base, &mut changed, files, evidence, limits).await?;
                    // The session of one slot requests fewer credits than the server would grant.
                    if let Some(credits) = single.session.facts().remove(Fact::Credits) {
                        evidence.facts.insert(Fact::Credits.name().to_owned(), credits);
                    }
                    evidence.read = tcp.and_then(|tcp| single.session.tcp()?.since(tcp));
                    single.session.close().await;
                }
                Err(error) => {
                    evidence.not_compared.insert(Experiment::Connections, error.to_string());
                }
            }
        }
        if let [wide, other, ..] = &mut *connections
            && wide.slots > 1
        {
            let mut changed = Arm::new([wide], WIDE_SLOTS, files, block).await?;
            let mut base = Arm::new([other], 1, files, block).await?;
            self.compare(Experiment::Depth, &mut base, &mut changed, files, evidence, limits).await?;
        }
        for (experiment, target) in self.variants {
            let is_used = match experiment {
                Experiment::Signing => evidence.is_on("signing") || evidence.is_on_true("signed"),
                Experiment::Encryption => evidence.is_on("encryption"),
                _ => true,
            };
            if !is_used || connections.is_empty() {
                continue;
            }
            let slots = connections[0].slots;
            match target.connect(&self.spec(slots)).await {
                Ok(session) => {
                    evidence.changed_facts.insert(*experiment, session.facts().stored());
                    let mut other = Connection::new(session, slots);
                    let mut base = Arm::new([&mut connections[0]], slots, files, block).await?;
                    match Arm::new([&mut other], slots, files, block).await {
                        Ok(mut changed) => {
                            self.compare(*experiment, &mut base, &mut changed, files, evidence, limits)
                                .await?;
                        }
                        Err(error) => drop(evidence.not_compared.insert(*experiment, error.to_string())),
                    }
                    other.session.close().await;
                }
                Err(error) => drop(evidence.not_compared.insert(*experiment, error.detail)),
            }
        }
        Ok(())
    }

    /// Compares requests of 1 MiB with smaller ones, where the server permits both. Where it does not, a comparison with
    /// requests of a quarter of the size shows what a request takes for itself.
    pub(crate) async fn compare_requests(
        &self,
        connection: &mut Connection,
        connections: &mut [Connection],
        files: &Files,
        evidence: &mut Evidence,
        deadline: u64,
    ) -> Result<(), OpError> {
        let Some(other) = connections.first_mut() else { return Ok(()) };
        if evidence.max_read < MIN_REQUEST_BYTES || self.target.capabilities().blocking {
            return Ok(());
        }
        let time_ns = (deadline.saturating_sub(self.clock.now()) / 4).min(1_500_000_000);
        if evidence.max_read <= SMALL_REQUEST_BYTES {
            return self.compare_quarters(connection, files, evidence, self.clock.now() + time_ns).await;
        }
        let mut base = Arm::new([connection], 1, files, SMALL_REQUEST_BYTES).await?;
        let mut changed = Arm::new([other], 1, files, block_bytes(&evidence.series)).await?;
        let limits = TimeLimits { time_ns, deadline };
        self.compare(Experiment::LargeRequests, &mut base, &mut changed, files, evidence, limits).await
    }

    /// Compares requests of the largest size with those of a quarter of it, one by one, until `until` (clock).
    ///
    /// The ratio is that of medians, not of slices: a request for which this client or the server waited for a CPU is an outlier,
    /// and the difference of both sizes is small.
    async fn compare_quarters(
        &self,
        connection: &mut Connection,
        files: &Files,
        evidence: &mut Evidence,
        until: u64,
    ) -> Result<(), OpError> {
        let sizes = [evidence.max_read, evidence.max_read / 4];
        let file = open(&mut *connection.session, &files.large).await?;
        let blocks = (files.large_bytes / u64::from(sizes[0])).max(1);
        let meter = Meter::new(self.clock);
        let mut times = [Vec::new(), Vec::new()];
        let mut client = Vec::new();
        for pair in 0..MAX_SIZE_PAIRS {
            if pair >= MIN_SIZE_PAIRS && self.clock.now() >= until {
                break;
            }
            let offset = pair as u64 % blocks * u64::from(sizes[0]);
            for turn in 0..2 {
                let arm = (pair + turn) % 2;
                let mut block = [(offset, sizes[arm])].into_iter();
                let before = meter.before();
                pump(connection, file, READ, || block.next()).await?;
                let sample = meter.sample(&before, 1);
                times[arm].push(sample.elapsed_ns);
                if arm == 0 {
                    client.push(sample.cpu_ns / sample.elapsed_ns.max(1.0));
                }
            }
        }
        let statistic = |drawn: &mut [Vec<f64>]| {
            let [whole, quarter] = [0, 1].map(|index| median(&mut drawn[index]).unwrap_or(f64::NAN));
            [whole / (4.0 * quarter)]
        };
        let [value] = statistic(&mut times.clone());
        let interval = bootstrap_intervals(&[&times[0], &times[1]], LEVEL, RESAMPLES, SEED, statistic);
        let ratio = Estimate { value, interval: interval.map(|[interval]| interval), n: times[0].len() };
        let whole_ns = median(&mut times[0]).unwrap_or(f64::NAN);
        if value.is_finite() && whole_ns > 0.0 {
            let base_bytes_per_s = f64::from(sizes[0]) * 1e9 / whole_ns;
            let client_share = median(&mut client).unwrap_or(0.0);
            let comparison = Comparison { ratio, base_bytes_per_s, client_share };
            evidence.comparisons.insert(Experiment::QuarterRequests, comparison);
        }
        Ok(())
    }

    async fn compare(
        &self,
        experiment: Experiment,
        base: &mut Arm<'_>,
        changed: &mut Arm<'_>,
        files: &Files,
        evidence: &mut Evidence,
        limits: TimeLimits,
    ) -> Result<(), OpError> {
        match compare(base, changed, files, self.clock, limits).await? {
            Some(comparison) => drop(evidence.comparisons.insert(experiment, comparison)),
            None => drop(evidence.not_compared.insert(experiment, "no time was left".to_owned())),
        }
        Ok(())
    }
}
