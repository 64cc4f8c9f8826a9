//! What is known of a server's cache and storage: probes judged, counters of its storage, and whether the two agree (V3).

use sharebench_model::units::percent;
use sharebench_model::{StepResult, WhileProbed};
use sharebench_stats::{Attribution, AttributionError, attribute_times};

use crate::types::{CacheShares, CountedBytes, Grade, StorageEvidence, TimedPasses};

/// Largest difference of counters and probes that is no disagreement, unless two standard errors are more.
const AGREEMENT: f64 = 0.10;

/// Read-ahead of storage is reported from this factor on.
const READS_AHEAD: f64 = 1.05;

impl StorageEvidence {
    /// Remarks on counters compared with probes, if the client's cache served this share.
    pub(crate) fn words(&self, client: f64) -> Option<String> {
        let refused = self.rejected.as_ref().map(|why| format!("probes rejected: {why}"));
        let words = [refused, self.disagreement(client), self.change(), self.read_ahead()];
        let words: Vec<String> = words.into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join("; "))
    }

    /// V3: the server's counters compared with the probes, over the same reads if these were counted.
    fn disagreement(&self, client: f64) -> Option<String> {
        let probes = self.probes?;
        let error = self.error?;
        // Probes cannot determine whether the server has cached what the client's cache serves.
        let (counted, when, open) = match (self.while_probed, self.timed) {
            (Some(counted), _) => (counted.min(1.0), "while the probes ran", client),
            (None, Some(counted)) => (counted.min(1.0), "while the cell was timed", 0.0),
            (None, None) => return None,
        };
        let allowed = AGREEMENT.max(2.0 * error);
        (counted < probes - open - allowed || counted > probes + allowed).then(|| {
            format!(
                "the server counts {} from storage {when}, the probes {}: {}another program reads there, or the probes \
                 are wrong",
                percent(counted, 0),
                percent(probes, 0),
                if self.while_probed.is_some() { "it reads ahead, " } else { "its state changed, " }
            )
        })
    }

    /// The server's state while the cell was timed differs from that while probes ran.
    fn change(&self) -> Option<String> {
        let timed = self.timed?.min(1.0);
        let later = self.while_probed?.min(1.0);
        ((timed - later).abs() > AGREEMENT).then(|| {
            format!(
                "its state changed: the server counts {} from storage while the cell was timed, {} while the probes ran",
                percent(timed, 0),
                percent(later, 0)
            )
        })
    }

    fn read_ahead(&self) -> Option<String> {
        let most = self.timed.unwrap_or(0.0).max(self.while_probed.unwrap_or(0.0));
        (most > READS_AHEAD).then(|| format!("storage read {most:.2} bytes per byte delivered"))
    }
}

/// Bytes that storage read per byte that the workload read.
pub(crate) fn storage_per_byte(counted: WhileProbed) -> Option<f64> {
    (counted.read > 0).then(|| counted.storage_read as f64 / counted.read as f64)
}

/// Corrects for passes that began with an emptied server cache. Probes estimate the share of storage while the workload
/// continues; the passes after an emptied cache came from storage entirely.
pub(crate) fn after_cold(found: Attribution, passes: TimedPasses) -> Attribution {
    let TimedPasses { all: passes, emptied } = passes;
    if passes == 0 {
        return found;
    }
    let cold = emptied.min(passes) as f64 / passes as f64;
    Attribution { storage: cold + (1.0 - cold) * found.storage, error: (1.0 - cold) * found.error, ..found }
}

/// V7: the estimate, if the service times of the cell's own requests agree with it.
fn confirmed(
    found: Attribution,
    steps: &[&StepResult],
    passes: TimedPasses,
) -> Result<Attribution, AttributionError> {
    // The repetition with the probes speaks for all of them: they do the same work over the same path.
    if !steps.iter().any(|step| step.measure.server.own_times_comparable) {
        return Ok(found);
    }
    let count = |step: &&StepResult| step.measure.service.len() as f64;
    let above = |step: &&StepResult| step.measure.service.share_above(found.threshold as u64) * count(step);
    let requests: f64 = steps.iter().map(count).sum();
    let own_above = steps.iter().map(above).sum::<f64>() / requests.max(1.0);
    // The comparison is with the timed passes, some of which may have begun with an emptied cache.
    after_cold(found, passes).confirmed_by(own_above).map(|_| found)
}

/// Server evidence of the steps of one position: probes, and counters of its storage.
pub(crate) struct ServerEvidence {
    /// The estimate by probes; none without probes.
    pub probes: Option<Result<Attribution, AttributionError>>,
    /// Bytes counted by the server's system.
    pub counted: CountedBytes,
    without: Option<String>,
}

impl ServerEvidence {
    pub fn from_steps(steps: &[&StepResult]) -> Self {
        let seen = || steps.iter().map(|step| &step.measure.server);
        let passes = TimedPasses {
            all: steps.iter().map(|step| step.measure.passes).sum(),
            emptied: seen().map(|server| server.cold_passes).sum(),
        };
        let probes = seen().any(|server| !server.probes.ahead.is_empty()).then(|| {
            let found = attribute_times(&seen().map(|server| &server.probes))?;
            confirmed(found, steps, passes)
        });
        // The sum is meaningful only if every repetition was counted.
        let storage = seen().map(|server| server.storage_read).sum();
        let add = |sum: WhileProbed, more: WhileProbed| WhileProbed {
            read: sum.read + more.read,
            storage_read: sum.storage_read + more.storage_read,
        };
        let while_probed = seen().filter_map(|server| server.while_probed).reduce(add);
        let counted = CountedBytes { storage, while_probed, passes, ..CountedBytes::default() };
        Self { probes, counted, without: seen().find_map(|server| server.without_probes.clone()) }
    }

    /// Adds the reason why requested probes are missing.
    pub fn explain(&self, cache_shares: CacheShares) -> CacheShares {
        match &self.without {
            Some(why) if self.probes.is_none() => {
                let note = Some(format!("server cache and storage not separated: {why}"));
                CacheShares {
                    note: cache_shares.note.filter(|_| cache_shares.grade == Grade::A).or(note),
                    server_examined: true,
                    ..cache_shares
                }
            }
            _ => cache_shares,
        }
    }
}

#[cfg(test)]
mod tests {
    use sharebench_stats::Confidence;

    use super::*;

    fn found(storage: f64, error: f64) -> Attribution {
        Attribution {
            storage,
            error,
            separation: 0.9,
            confidence: Confidence::High,
            between: 0.0,
            known_hot: None,
            threshold: 1.0,
            hot_above: 0.0,
            next: None,
        }
    }

    fn seen(timed: f64, while_probed: f64, probes: f64) -> StorageEvidence {
        let timed = Some(timed);
        let while_probed = Some(while_probed);
        StorageEvidence { timed, while_probed, probes: Some(probes), error: Some(0.02), rejected: None }
    }

    #[test]
    fn passes_that_began_with_an_emptied_cache_came_from_storage() {
        let mixed = after_cold(found(0.2, 0.04), TimedPasses { all: 8, emptied: 2 });
        assert!((mixed.storage - 0.4).abs() < 1e-12 && (mixed.error - 0.03).abs() < 1e-12, "{mixed:?}");
        assert!(
            (after_cold(mixed, TimedPasses { all: 3, emptied: 3 }).storage - 1.0).abs() < 1e-12,
            "every pass was the first"
        );
        assert_eq!(after_cold(mixed, TimedPasses { all: 0, emptied: 0 }), mixed);
    }

    #[test]
    fn probes_are_compared_with_the_count_of_the_same_reads() {
        assert_eq!(seen(0.83, 0.95, 0.97).change().map(|remark| remark.contains("83 %")), Some(true));
        assert_eq!(seen(0.83, 0.95, 0.97).disagreement(0.0), None, "the timed passes were another state");
        let remark = seen(0.2, 0.6, 0.2).words(0.0).unwrap();
        assert!(
            remark.starts_with("the server counts 60 % from storage while the probes ran, the probes 20 %")
        );
        assert!(remark.contains("its state changed: the server counts 20 %"), "{remark}");
        assert_eq!(seen(0.3, 0.3, 0.3).words(0.0), None);
        // The client's cache hides up to its share of what probes find cold.
        assert_eq!(seen(0.3, 0.3, 0.8).disagreement(0.5), None);
        assert!(seen(0.3, 0.3, 0.8).disagreement(0.3).is_some());
    }

    #[test]
    fn read_ahead_of_the_server_is_reported() {
        assert_eq!(seen(1.31, 1.2, 1.0).words(0.0).unwrap(), "storage read 1.31 bytes per byte delivered");
    }
}
