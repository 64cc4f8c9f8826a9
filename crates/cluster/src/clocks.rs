//! Clock alignment: the offset of every rank's clock from the leader's, with its maximum error.

use serde::{Deserialize, Serialize};
use sharebench_stats::{ClockOffset, Exchange, clock_offset};

use crate::transport::{Lost, Transport, WaitMode};
use crate::tree;

/// Offset of a rank's clock from the leader's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClockAlignment {
    /// Add it to the leader's clock to get this rank's.
    pub offset_ns: i64,
    /// Maximum error of the offset: the sum of half the shortest round trip on each branch to the leader.
    pub error_ns: u64,
    /// The longest of those round trips.
    pub round_trip_ns: u64,
}

/// Returns how far ahead a common start is announced: ten round trips, but at least `min_ns`.
///
/// A rank that receives the announcement too late starts late. Every step measures that, so the announcement need
/// only be in time nearly always.
pub fn start_lead_ns(round_trip_ns: u64, min_ns: u64) -> u64 {
    round_trip_ns.saturating_mul(10).max(min_ns)
}

/// Aligns the clocks of all ranks along the tree, by `exchanges` exchanges of four timestamps on each branch.
///
/// A rank first receives its own offset, then measures the ranks that report to it. Collective.
pub(crate) fn align(
    transport: &dyn Transport,
    exchanges: u32,
    now: &dyn Fn() -> u64,
) -> Result<ClockAlignment, Lost> {
    let mut own = ClockAlignment::default();
    if let Some(parent) = tree::parent(transport.rank()) {
        for _ in 0..exchanges {
            // Spinning, because a sleep before the time stamp would count as travel time of the message.
            transport.receive(parent, WaitMode::Spin)?;
            let received = now();
            transport.send(parent, &stamps(received, now()))?;
        }
        let result = transport.receive(parent, WaitMode::Sleep)?;
        // A rank knows its own offset before it measures its children, so that offsets add up along the path.
        own = read(&result).ok_or_else(|| unreadable(parent))?;
    }
    for child in tree::children(transport.rank(), transport.size()) {
        let seen = offset_of(transport, child, exchanges, now)?;
        let theirs = ClockAlignment {
            offset_ns: own.offset_ns.saturating_add(seen.offset_ns),
            // The errors of the branches of a path add up in the worst case.
            error_ns: own.error_ns.saturating_add(seen.error_ns),
            round_trip_ns: own.round_trip_ns.max(seen.error_ns.saturating_mul(2)),
        };
        let words = [theirs.offset_ns.cast_unsigned(), theirs.error_ns, theirs.round_trip_ns];
        transport.send(child, &words.map(u64::to_le_bytes).concat())?;
    }
    Ok(own)
}

fn offset_of(
    transport: &dyn Transport,
    child: u32,
    exchanges: u32,
    now: &dyn Fn() -> u64,
) -> Result<ClockOffset, Lost> {
    let mut seen = Vec::with_capacity(exchanges as usize);
    for _ in 0..exchanges {
        let asked = now();
        transport.send(child, &[])?;
        let answer = transport.receive(child, WaitMode::Spin)?;
        let returned = now();
        let [received, answered] = words(&answer).ok_or_else(|| unreadable(child))?;
        let signed = u64::cast_signed;
        seen.push(Exchange {
            asked: signed(asked),
            received: signed(received),
            answered: signed(answered),
            returned: signed(returned),
        });
    }
    Ok(clock_offset(&seen).unwrap_or(ClockOffset { offset_ns: 0, error_ns: u64::MAX }))
}

fn stamps(received: u64, answered: u64) -> Vec<u8> {
    [received, answered].map(u64::to_le_bytes).concat()
}

fn words<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let mut words = [0; N];
    let (chunks, rest) = bytes.as_chunks::<8>();
    if chunks.len() != N || !rest.is_empty() {
        return None;
    }
    for (word, chunk) in words.iter_mut().zip(chunks) {
        *word = u64::from_le_bytes(*chunk);
    }
    Some(words)
}

fn read(bytes: &[u8]) -> Option<ClockAlignment> {
    let [offset, error_ns, round_trip_ns] = words(bytes)?;
    Some(ClockAlignment { offset_ns: offset.cast_signed(), error_ns, round_trip_ns })
}

fn unreadable(rank: u32) -> Lost {
    Lost { rank, why: "it sent no timestamps".into() }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::threads;

    #[test]
    fn offset_of_seconds_is_measured_within_its_error() {
        let origin = Instant::now();
        let wrong = |rank: u32| i64::from(rank) * 5_000_000_000 * if rank.is_multiple_of(2) { 1 } else { -1 };
        let base = 3_600_000_000_000_u64;
        let found: Vec<ClockAlignment> = std::thread::scope(|scope| {
            let started: Vec<_> = threads(6)
                .into_iter()
                .map(|rank| {
                    scope.spawn(move || {
                        let own = wrong(rank.rank());
                        let now = || (base + origin.elapsed().as_nanos() as u64).saturating_add_signed(own);
                        align(&rank, 32, &now).unwrap()
                    })
                })
                .collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (rank, aligned) in found.into_iter().enumerate() {
            let off = aligned.offset_ns.abs_diff(wrong(rank as u32));
            assert!(off <= aligned.error_ns, "rank {rank}: off by {off}, {aligned:?}");
            assert_eq!(aligned.error_ns == 0, rank == 0);
        }
    }

    #[test]
    fn bytes_that_are_no_timestamps_are_rejected() {
        assert_eq!(words::<2>(&[0; 15]), None);
        assert_eq!(words::<2>(&[0; 24]), None);
        assert_eq!(words::<2>(&stamps(3, 4)), Some([3, 4]));
        assert_eq!(start_lead_ns(1_000_000, 5_000_000), 10_000_000);
    }
}
