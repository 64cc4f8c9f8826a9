//! A/B comparisons of small reads, one at a time, with other options of the session's own socket.

use std::time::Duration;

use sharebench_engine::Clock;
use sharebench_model::{FileRef, OpError};

use crate::evidence::{Comparison, Evidence, Experiment};
use crate::experiments::MeasuredPairs;
use crate::files::{Connection, Files, READ, pump};
use crate::measure::Meter;
use crate::operations::{Operation, SMALL_BYTES};
use crate::system::SocketOptions;

/// A reply that takes this much longer than the network may have waited for an acknowledgement: Linux delays them by up to
/// 40 ms, other systems by up to 200 ms.
const STALL_NS: f64 = 30e6;
/// Share of the reads from which stalls are examined.
const STALLED: f64 = 0.1;
/// Pairs of slices of one comparison, and reads of a slice.
const PAIRS: usize = 8;
const READS: u64 = 4;
/// Time that the comparison gets in any case, nanoseconds.
const MIN_TIME_NS: u64 = 5_000_000_000;
/// Time between two acknowledgements that are sent at once: a delayed one lasts 40 times as long.
const ACKNOWLEDGE_INTERVAL: Duration = Duration::from_millis(1);

/// The share of the small operations that take so long as if they had waited for a delayed acknowledgement.
pub(crate) fn stalled_share(evidence: &Evidence) -> f64 {
    let network = evidence.network_ns.unwrap_or(0.0);
    let share = |operation| {
        let samples = evidence.series.samples(operation);
        let is_stalled =
            |sample: &&crate::operations::Sample| sample.elapsed_ns - sample.starved_ns - network >= STALL_NS;
        let stalled = samples.iter().filter(is_stalled).count();
        if samples.is_empty() { 0.0 } else { stalled as f64 / samples.len() as f64 }
    };
    [Operation::Empty, Operation::SmallReadAgain].into_iter().map(share).fold(0.0, f64::max)
}

/// Compares small reads with the options that concern acknowledgements, if reads stall.
pub(crate) async fn compare_acknowledgements(
    connection: &mut Connection,
    file: FileRef,
    files: &Files,
    evidence: &mut Evidence,
    clock: &Clock,
    deadline: u64,
) -> Result<(), OpError> {
    if stalled_share(evidence) < STALLED {
        return Ok(());
    }
    let socket = connection.session.socket().and_then(SocketOptions::from_stream);
    let Some(socket) = socket else { return Ok(()) };
    // Stalls make the rounds slow as well, and the one experiment is the proof.
    let deadline = deadline.max(clock.now() + MIN_TIME_NS);
    let reads = SmallReads { file, blocks: (files.large_bytes / u64::from(SMALL_BYTES)).max(1) };
    for experiment in [Experiment::Acknowledge, Experiment::Nagle] {
        let option = ChangedOption { socket: &socket, experiment };
        let compared = compare(connection, reads, &option, clock, deadline).await?;
        match compared {
            Some(comparison) => drop(evidence.comparisons.insert(experiment, comparison)),
            None => drop(evidence.not_compared.insert(experiment, "no time was left".to_owned())),
        }
    }
    Ok(())
}

/// Small reads of a large file.
#[derive(Debug, Clone, Copy)]
struct SmallReads {
    file: FileRef,
    /// Blocks of the file.
    blocks: u64,
}

/// The option of a socket that one arm of a comparison changes.
struct ChangedOption<'a> {
    socket: &'a SocketOptions,
    experiment: Experiment,
}

async fn compare(
    connection: &mut Connection,
    reads: SmallReads,
    option: &ChangedOption<'_>,
    clock: &Clock,
    deadline: u64,
) -> Result<Option<Comparison>, OpError> {
    let meter = Meter::new(clock);
    let mut pairs = MeasuredPairs::default();
    for pair in 0..PAIRS {
        if clock.now() >= deadline {
            break;
        }
        let mut elapsed = [0.0; 2];
        for turn in 0..2 {
            let arm = (pair + turn) % 2;
            let before = meter.before();
            slice(connection, reads, (arm == 1).then_some(option)).await?;
            let sample = meter.sample(&before, 0);
            elapsed[arm] = sample.elapsed_ns;
            if arm == 0 {
                pairs.add_base(READS as f64 * f64::from(SMALL_BYTES) * 1e9 / sample.elapsed_ns, &sample);
            }
        }
        pairs.add_ratio(elapsed[0] / elapsed[1]);
    }
    Ok(pairs.comparison())
}

/// Reads some blocks, with the changed option if there is one. The option is taken back.
async fn slice(
    connection: &mut Connection,
    reads: SmallReads,
    changed: Option<&ChangedOption<'_>>,
) -> Result<(), OpError> {
    let nagle = changed.filter(|option| option.experiment == Experiment::Nagle);
    if let Some(option) = nagle {
        option.socket.send_at_once(false);
    }
    let acknowledge = async {
        let Some(ChangedOption { socket, experiment: Experiment::Acknowledge }) = changed else {
            return std::future::pending().await;
        };
        loop {
            socket.acknowledge();
            tokio::time::sleep(ACKNOWLEDGE_INTERVAL).await;
        }
    };
    let read = async {
        for number in 0..READS {
            let mut block = [(number % reads.blocks * u64::from(SMALL_BYTES), SMALL_BYTES)].into_iter();
            pump(connection, reads.file, READ, || block.next()).await?;
        }
        Ok(())
    };
    let done = tokio::select! {
        biased;
        done = read => done,
        () = acknowledge => Ok(()),
    };
    if let Some(option) = nagle {
        option.socket.send_at_once(true);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::Sample;

    #[test]
    fn only_time_beyond_the_network_and_with_a_cpu_is_a_stall() {
        let mut evidence = Evidence::default();
        let sample = |elapsed_ns, starved_ns| Sample {
            elapsed_ns,
            cpu_ns: 0.0,
            starved_ns,
            unseen_ns: 0.0,
            requests: 1,
        };
        for _ in 0..3 {
            evidence.series.add(Operation::SmallReadAgain, sample(41e6, 0.0));
            evidence.series.add(Operation::SmallReadAgain, sample(41e6, 40e6));
        }
        assert!((stalled_share(&evidence) - 0.5).abs() < 1e-9);
        evidence.network_ns = Some(40e6);
        assert!(stalled_share(&evidence) < 1e-9);
        assert!(stalled_share(&Evidence::default()) < 1e-9);
    }
}
