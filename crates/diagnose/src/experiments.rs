//! A/B comparisons of read streams in paired slices, on sessions of their own.

use std::sync::Arc;

use futures_util::future::join_all;
use sharebench_engine::Clock;
use sharebench_model::{FileRef, OpError};
use sharebench_stats::{hodges_lehmann, median};
use sharebench_target::{Target, TargetUrl};

use crate::evidence::{Comparison, Experiment};
use crate::files::{Connection, Files, READ, open, pump};
use crate::measure::Meter;
use crate::operations::{LARGE_BYTES, LEVEL, Operation, Sample, Series};

/// Pairs of slices of one comparison.
const PAIRS: usize = 10;
/// Time by which a large read exceeds a small one, from which it is slow, nanoseconds: 50 MB/s.
const SLOW_LARGE_NS: f64 = 20e6;
/// Shortest slice, nanoseconds.
const MIN_SLICE_NS: u64 = 20_000_000;

/// The experiments that the options of a URL permit, each with the changed URL. What the URL does not determine (number of
/// connections, requests in flight) needs no other URL.
pub fn variants(url: &TargetUrl) -> Vec<(Experiment, TargetUrl)> {
    let with = |experiment, option: &str, value: Option<&str>| {
        let mut url = url.clone();
        let before = url.options.remove(option);
        if let Some(value) = value {
            url.options.insert(option.to_owned(), value.to_owned());
        }
        (before.as_deref() != value).then_some((experiment, url))
    };
    let found = match url.scheme.as_str() {
        "smb" => vec![
            with(Experiment::Signing, "sign", Some("off")),
            with(Experiment::Encryption, "encrypt", Some("off")),
            with(Experiment::Dialect, "dialect", None),
        ],
        "ncp" => vec![with(Experiment::Signing, "sign", Some("0"))],
        _ => Vec::new(),
    };
    found.into_iter().flatten().collect()
}

/// Bytes of the requests of a stream: fewer where a large read takes long, so that slices stay short.
pub(crate) fn block_bytes(series: &Series) -> u32 {
    let slow = series.difference(Operation::LargeReadAgain, 1.0, Operation::SmallReadAgain);
    if slow.is_some_and(|longer| longer.value > SLOW_LARGE_NS) { LARGE_BYTES / 8 } else { LARGE_BYTES }
}

/// A changed target.
pub type Variant = (Experiment, Arc<dyn Target>);

/// Sessions with the open file, each with its own range of it.
pub(crate) struct Arm<'s> {
    connections: Vec<(&'s mut Connection, FileRef)>,
    /// Requests in flight per session.
    depth: u32,
    /// Bytes of a request.
    block_bytes: u32,
    /// Blocks read so far: the next slice continues there.
    position: u64,
}

impl<'s> Arm<'s> {
    /// Opens the file in each session.
    pub(crate) async fn new(
        connections: impl IntoIterator<Item = &'s mut Connection>,
        depth: u32,
        files: &Files,
        block_bytes: u32,
    ) -> Result<Self, OpError> {
        let mut opened = Vec::new();
        for connection in connections {
            let file = open(&mut *connection.session, &files.large).await?;
            opened.push((connection, file));
        }
        Ok(Self { connections: opened, depth, block_bytes, position: 0 })
    }

    /// Reads until `until`; returns bytes/s.
    async fn slice(&mut self, files: &Files, clock: &Clock, until: u64) -> Result<f64, OpError> {
        let start = clock.now();
        let bytes = u64::from(self.block_bytes).min(files.large_bytes) as u32;
        let blocks = (files.large_bytes / u64::from(bytes)).max(1);
        let count = self.connections.len() as u64;
        let first = self.position;
        let depth = self.depth;
        let streams = self.connections.iter_mut().enumerate().map(|(index, (connection, file))| {
            let slots = connection.slots;
            connection.slots = depth.min(slots);
            let mut block = first + index as u64;
            async move {
                let mut is_first = true;
                let moved = pump(connection, *file, READ, || {
                    let is_due = std::mem::take(&mut is_first) || clock.now() < until;
                    let at = block % blocks * u64::from(bytes);
                    block += count;
                    is_due.then_some((at, bytes))
                })
                .await;
                connection.slots = slots;
                moved
            }
        });
        let moved: Result<Vec<u64>, OpError> = join_all(streams).await.into_iter().collect();
        let moved: u64 = moved?.into_iter().sum();
        self.position += moved / u64::from(bytes) + 1;
        Ok(moved as f64 / ((clock.now() - start) as f64 / 1e9))
    }
}

/// How long a comparison lasts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeLimits {
    /// Time that both arms are meant to take together.
    pub time_ns: u64,
    /// No pair begins later than this (clock).
    pub deadline: u64,
}

/// What the pairs of a comparison measured.
#[derive(Debug, Default)]
pub(crate) struct MeasuredPairs {
    log_ratios: Vec<f64>,
    base_bytes_per_s: Vec<f64>,
    client_shares: Vec<f64>,
}

impl MeasuredPairs {
    /// Adds a slice of the base arm.
    pub fn add_base(&mut self, bytes_per_s: f64, sample: &Sample) {
        self.base_bytes_per_s.push(bytes_per_s);
        self.client_shares.push(sample.cpu_ns / sample.elapsed_ns.max(1.0));
    }

    /// Adds how many times as fast as its base the changed arm was.
    pub fn add_ratio(&mut self, ratio: f64) {
        self.log_ratios.push(ratio.ln());
    }

    /// The result; none without a pair.
    pub fn comparison(mut self) -> Option<Comparison> {
        Some(Comparison {
            ratio: hodges_lehmann(&self.log_ratios, LEVEL)?.map(f64::exp),
            base_bytes_per_s: median(&mut self.base_bytes_per_s).unwrap_or(0.0),
            client_share: median(&mut self.client_shares).unwrap_or(0.0),
        })
    }
}

/// Compares two arms in pairs of slices, whose order alternates. Slow shares take longer than the limit, because a slice reads
/// at least one block per session.
pub(crate) async fn compare(
    base: &mut Arm<'_>,
    changed: &mut Arm<'_>,
    files: &Files,
    clock: &Clock,
    limits: TimeLimits,
) -> Result<Option<Comparison>, OpError> {
    let slice_ns = (limits.time_ns / (2 * PAIRS as u64)).max(MIN_SLICE_NS);
    let meter = Meter::new(clock);
    let mut pairs = MeasuredPairs::default();
    for pair in 0..PAIRS {
        if clock.now() >= limits.deadline {
            break;
        }
        let mut rate = [0.0; 2];
        for turn in 0..2 {
            let arm = (pair + turn) % 2;
            let until = clock.now() + slice_ns;
            let before = meter.before();
            rate[arm] = if arm == 0 {
                let rate = base.slice(files, clock, until).await?;
                pairs.add_base(rate, &meter.sample(&before, 0));
                rate
            } else {
                changed.slice(files, clock, until).await?
            };
        }
        pairs.add_ratio(rate[1] / rate[0]);
    }
    Ok(pairs.comparison())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(url: &str) -> Vec<String> {
        let found = variants(&TargetUrl::parse(url).unwrap());
        found.into_iter().map(|(experiment, url)| format!("{}: {url}", experiment.name())).collect()
    }

    #[test]
    fn only_options_of_the_url_are_varied() {
        assert_eq!(
            changed("smb://nas/s?dialect=2.1"),
            [
                "signing off: smb://nas/s?dialect=2.1&sign=off",
                "encryption off: smb://nas/s?dialect=2.1&encrypt=off",
                "highest dialect: smb://nas/s"
            ]
        );
        assert_eq!(changed("smb://nas/s?encrypt=off&sign=off"), [""; 0]);
        assert_eq!(changed("ncp://nas/SYS?sign=3"), ["signing off: ncp://nas/SYS?sign=0"]);
        assert_eq!(changed("nfs://nas/x?uid=1"), [""; 0]);
    }
}
