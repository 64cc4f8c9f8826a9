//! Cache shares (docs/measure/measurement-rules.md R8): where the bytes delivered to the application came from, as far as the
//! evidence goes.
//!
//! Bytes that did not cross the wire came from the client's cache. Bytes that did came from the server's cache or from
//! storage: counters of the server separate the two (grade A), or probes of records ahead of the workload (grade B).
//! Without either only bounds are known (grade C).

use sharebench_model::units::BitRate;
use sharebench_model::{CLIENT_CACHED_FROM, Measure, StepResult, WireCount};
use sharebench_stats::{Attribution, AttributionError, Confidence};

use crate::cache::server_evidence::{ServerEvidence, after_cold, storage_per_byte};
use crate::types::{CacheShares, CountedBytes, Grade, ShareRange, StorageEvidence};

/// The bands of a read. None without counters.
pub fn read_cache_shares(
    counted: &CountedBytes,
    probes: Option<&Result<Attribution, AttributionError>>,
) -> Option<CacheShares> {
    let wire = counted.wire.filter(|_| counted.application > 0)?;
    let application = counted.application as f64;
    let ratio = wire as f64 / application;
    let client = (1.0 - ratio).max(0.0);
    let open = counted.read_ahead as f64 / application;
    let client_band = ShareRange::about(client, open, 1.0);
    let rest = 1.0 - client;
    let found = probes.and_then(|found| found.as_ref().ok());
    let timed = counted.storage.filter(|_| wire > 0).map(|storage| storage as f64 / wire as f64);
    let base = CacheShares {
        client: client_band,
        server: ShareRange { low: 0.0, high: rest },
        storage: ShareRange { low: 0.0, high: rest },
        grade: Grade::C,
        separation: found.map(|found| found.separation),
        amplification: Some(ratio).filter(|ratio| *ratio > 1.0),
        note: None,
        server_examined: probes.is_some() || counted.storage.is_some(),
        storage_evidence: StorageEvidence {
            timed,
            while_probed: counted.while_probed.and_then(storage_per_byte),
            probes: found.map(|found| found.storage),
            error: found.map(|found| found.error),
            rejected: probes.and_then(|found| found.as_ref().err()).map(ToString::to_string),
        },
    };
    let by_probes = probes.map(|found| match found {
        Ok(found) => {
            let found = after_cold(*found, counted.passes);
            let shares = split(&base, rest, found.storage, 1.96 * found.error, Grade::B, low(&found));
            if client < CLIENT_CACHED_FROM { shares } else { uncached_by_client(shares, client, &found) }
        }
        Err(refused) => {
            let note = format!("server cache and storage not separable: {refused}");
            CacheShares { note: Some(note), ..base.clone() }
        }
    });
    let Some(timed) = timed else {
        let none = || CacheShares {
            note: Some("server cache and storage not separated: no probes".to_owned()),
            ..base.clone()
        };
        return Some(by_probes.unwrap_or_else(none));
    };
    Some(split(&base, rest, timed.min(1.0), 0.0, Grade::A, base.storage_evidence.words(client)))
}

/// Probes also read records that the client's cache will serve. Whether the server caches those is unknown, so that the
/// share of storage in all bytes is at least `w - f_C` and at most `w`.
fn uncached_by_client(shares: CacheShares, client: f64, found: &Attribution) -> CacheShares {
    let rest = 1.0 - client;
    let error = 1.96 * found.error;
    let low = (found.storage - client - error).clamp(0.0, rest);
    let high = (found.storage + error).clamp(low, rest);
    CacheShares {
        storage: ShareRange { low, high },
        server: ShareRange { low: rest - high, high: rest - low },
        ..shares
    }
}

fn low(found: &Attribution) -> Option<String> {
    (found.confidence == Confidence::Low).then(|| "low confidence: hot and cold probes overlap".to_owned())
}

fn split(
    base: &CacheShares,
    rest: f64,
    storage: f64,
    error: f64,
    grade: Grade,
    note: Option<String>,
) -> CacheShares {
    CacheShares {
        server: ShareRange::about(rest * (1.0 - storage), rest * error, rest),
        storage: ShareRange::about(rest * storage, rest * error, rest),
        grade,
        note,
        ..base.clone()
    }
}

/// The bands of a write: kept by the client at the end of the timed part, acknowledged as stable, and the rest in
/// the server's cache. None without counters.
pub fn write_cache_shares(application: u64, wire: Option<u64>, stable_share: f64) -> Option<CacheShares> {
    let wire = wire.filter(|_| application > 0)? as f64 / application as f64;
    let client = (1.0 - wire).max(0.0);
    let rest = 1.0 - client;
    let storage = rest * stable_share.clamp(0.0, 1.0);
    Some(CacheShares {
        client: ShareRange::exactly(client),
        server: ShareRange::exactly(rest - storage),
        storage: ShareRange::exactly(storage),
        grade: Grade::A,
        separation: None,
        amplification: Some(wire).filter(|ratio| *ratio > 1.0),
        note: (storage > 0.0).then(|| "reported as stable by the server, not verified".to_owned()),
        server_examined: false,
        storage_evidence: StorageEvidence::default(),
    })
}

/// The bands of one system's steps at one position: counted where the wire was, bounded by the link where it was
/// not and the system uses one. None for mixes of reads and writes, and where nothing is known.
pub(crate) fn cache_shares_of(
    steps: &[&StepResult],
    rate: f64,
    link: Option<BitRate>,
) -> Option<CacheShares> {
    let sum = |of: &dyn Fn(&Measure) -> u64| steps.iter().map(|step| of(&step.measure)).sum::<u64>();
    let read = sum(&|m| m.bytes.read);
    let written = sum(&|m| m.bytes.written);
    let counted = !steps.is_empty() && steps.iter().all(|step| step.measure.wire.is_some());
    let wire = |of: fn(&WireCount) -> u64| {
        counted.then(|| steps.iter().filter_map(|step| step.measure.wire.as_ref()).map(of).sum::<u64>())
    };
    let cache_shares = match (read, written) {
        (1.., 0) => {
            let wire = wire(|wire| wire.payload_received);
            let evidence = ServerEvidence::from_steps(steps);
            let counted = CountedBytes { application: read, wire, ..evidence.counted };
            read_cache_shares(&counted, evidence.probes.as_ref())
                .map(|cache_shares| evidence.explain(cache_shares))
        }
        (0, 1..) => {
            let stable = |m: &Measure| m.evidence.sent.stable.max(m.evidence.sent.through).min(m.operations);
            // A flush inside of the timed part made all of it durable.
            let flushed = steps.iter().all(|step| step.measure.evidence.flushes > 0);
            let share = sum(&stable) as f64 / sum(&|m| m.operations).max(1) as f64;
            write_cache_shares(written, wire(|wire| wire.payload_sent), if flushed { 1.0 } else { share })
        }
        _ => return None,
    };
    cache_shares.or_else(|| Some(bound_cache_shares(rate, link?)))
}

/// What a link leaves open where nothing was counted: no more than its rate crossed it.
pub fn bound_cache_shares(rate: f64, link: BitRate) -> CacheShares {
    let client = (1.0 - link.bytes_per_s() / rate).max(0.0);
    let rest = ShareRange { low: 0.0, high: 1.0 - client };
    CacheShares {
        client: ShareRange { low: client, high: 1.0 },
        server: rest,
        storage: rest,
        grade: Grade::C,
        separation: None,
        amplification: None,
        note: Some(format!("bounded by the link of {link} alone")),
        server_examined: false,
        storage_evidence: StorageEvidence::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Estimated = Result<Attribution, AttributionError>;

    fn attribution(storage: f64, error: f64, separation: f64) -> Attribution {
        let confidence = if separation < 0.7 { Confidence::Low } else { Confidence::High };
        Attribution {
            storage,
            error,
            separation,
            confidence,
            between: 0.0,
            known_hot: None,
            threshold: 1.0,
            hot_above: 0.0,
            next: None,
        }
    }

    fn counted(application: u64, wire: u64, storage: Option<u64>) -> CountedBytes {
        CountedBytes { application, wire: Some(wire), storage, ..CountedBytes::default() }
    }

    #[test]
    fn probes_split_what_crossed_the_wire() {
        let cache_shares = read_cache_shares(
            &counted(1000, 1000, None),
            Some(&Estimated::Ok(attribution(0.78, 0.0255, 0.99))),
        )
        .unwrap();
        assert_eq!(
            cache_shares.label(),
            "0 % client / 22 % server cache / 78 % storage ±5 (grade B, J 0.99)"
        );
        let half =
            read_cache_shares(&counted(1000, 500, None), Some(&Estimated::Ok(attribution(0.5, 0.01, 0.9))))
                .unwrap();
        assert_eq!((half.client, half.grade), (ShareRange::exactly(0.5), Grade::B));
        let sum = half.client.middle() + half.server.middle() + half.storage.middle();
        assert!((sum - 1.0).abs() < 1e-9 && (half.storage.middle() - 0.25).abs() < 1e-9);
        let low =
            read_cache_shares(&counted(1000, 1000, None), Some(&Estimated::Ok(attribution(0.5, 0.01, 0.6))))
                .unwrap();
        assert!(low.note.unwrap().starts_with("low confidence"));
    }

    #[test]
    fn counters_win_and_disagreement_is_reported() {
        let agreed = read_cache_shares(
            &counted(1000, 1000, Some(700)),
            Some(&Estimated::Ok(attribution(0.78, 0.02, 0.9))),
        )
        .unwrap();
        assert_eq!((agreed.grade, agreed.note.clone()), (Grade::A, None));
        assert_eq!(agreed.label(), "0 % client / 30 % server cache / 70 % storage (grade A, J 0.90)");
        let apart = read_cache_shares(
            &counted(1000, 1000, Some(100)),
            Some(&Estimated::Ok(attribution(0.78, 0.02, 0.9))),
        )
        .unwrap();
        assert!(
            apart
                .note
                .unwrap()
                .contains("the server counts 10 % from storage while the cell was timed, the probes 78 %")
        );
        // Read-ahead of the server is no more than all.
        assert!(
            (read_cache_shares(&counted(1000, 1000, Some(5000)), None).unwrap().storage.middle() - 1.0).abs()
                < 1e-9
        );
    }

    #[test]
    fn refusals_and_missing_probes_leave_the_sum_only() {
        let refused =
            read_cache_shares(&counted(1000, 400, None), Some(&Err(AttributionError::NotSeparable(0.3))))
                .unwrap();
        assert!(refused.note.as_ref().unwrap().contains("not separable: hot and cold probes look alike"));
        assert_eq!(refused.label(), "60 % client / 40 % server cache or storage (grade C)");
        assert_eq!(read_cache_shares(&CountedBytes { wire: None, ..counted(1000, 0, None) }, None), None);
        let ahead =
            read_cache_shares(&CountedBytes { read_ahead: 50, ..counted(1000, 1200, None) }, None).unwrap();
        assert_eq!((ahead.client.low, ahead.amplification), (0.0, Some(1.2)));
        assert!((ahead.client.high - 0.05).abs() < 1e-9, "read-ahead may have been delivered from the cache");
    }

    #[test]
    fn writes_are_kept_cached_or_stable() {
        let cache_shares = write_cache_shares(1000, Some(600), 0.5).unwrap();
        let shares = [cache_shares.client, cache_shares.server, cache_shares.storage]
            .map(|band| (band.middle() * 100.0).round() as u32);
        assert_eq!(shares, [40, 30, 30]);
        assert_eq!(write_cache_shares(1000, None, 0.0), None);
    }

    #[test]
    fn ten_megabit_cannot_carry_eight_megabytes() {
        let cache_shares = bound_cache_shares(8_070_000.0, "10Mbit".parse().unwrap());
        assert!((cache_shares.client.low - 0.845).abs() < 5e-4, "{cache_shares:?}");
        assert_eq!(cache_shares.label(), "at least 85 % client / 15 % server cache or storage (grade C)");
    }
}
