//! What is known of a server's cache and storage: probes judged, counters of its storage, and whether the two agree (V3).

use sharebench_model::{ProbeTimes, StepResult, WhileProbed};
use sharebench_stats::{Attribution, AttributionError, Probes, attribute};

use crate::types::{CacheShares, CountedBytes, Grade, StorageEvidence};

/// Most points by which counters and probes may disagree, unless two standard errors are more.
const AGREEMENT: f64 = 0.10;

/// From here on what storage read beyond what was asked of the server is told.
const READS_AHEAD: f64 = 1.05;

impl StorageEvidence {
    /// What is to be minded of counters beside the probes, where a client's cache served this share.
    pub(crate) fn words(&self, client: f64) -> Option<String> {
        let refused = self.rejected.as_ref().map(|why| format!("probes refused: {why}"));
        let words = [refused, self.disagreement(client), self.change(), self.read_ahead()];
        let words: Vec<String> = words.into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join("; "))
    }

    /// V3: the server's counters against the probes, over the same reads where they were counted there too.
    fn disagreement(&self, client: f64) -> Option<String> {
        let probes = self.probes?;
        let error = self.error?;
        // Of what the client's cache serves, probes cannot know whether the server would have had to fetch it.
        let (counted, when, open) = match (self.while_probed, self.timed) {
            (Some(counted), _) => (counted.min(1.0), "as the workload went on", client),
            (None, Some(counted)) => (counted.min(1.0), "while the cell was timed", 0.0),
            (None, None) => return None,
        };
        let allowed = AGREEMENT.max(2.0 * error);
        (counted < probes - open - allowed || counted > probes + allowed).then(|| {
            format!(
                "the server counts {:.0} % from storage {when}, probes say {:.0} %: {}something else reads there, or the probes are \
                 wrong",
                counted * 100.0,
                probes * 100.0,
                if self.while_probed.is_some() { "it reads ahead what nobody asks for, " } else { "its state changed, " }
            )
        })
    }

    /// The cell and what came after it are two states of the server.
    fn change(&self) -> Option<String> {
        let timed = self.timed?.min(1.0);
        let later = self.while_probed?.min(1.0);
        ((timed - later).abs() > AGREEMENT).then(|| {
            format!(
                "its state changed: the server counts {:.0} % from storage while the cell was timed, {:.0} % as the workload went on",
                timed * 100.0,
                later * 100.0
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

/// Probes tell what the workload finds as it goes on. What was timed began, so many times, with the server's cache emptied:
/// those passes came from storage whole, as the cold reserve, emptied with them, shows.
pub(crate) fn after_cold(found: Attribution, (passes, emptied): (u64, u64)) -> Attribution {
    if passes == 0 {
        return found;
    }
    let cold = emptied.min(passes) as f64 / passes as f64;
    Attribution { storage: cold + (1.0 - cold) * found.storage, error: (1.0 - cold) * found.error, ..found }
}

/// What the steps of one position saw behind the server.
pub(crate) struct Behind {
    /// The probes judged; none where there were none.
    pub probes: Option<Result<Attribution, AttributionError>>,
    /// What was counted there.
    pub counted: CountedBytes,
    without: Option<String>,
}

impl Behind {
    pub fn of(steps: &[&StepResult]) -> Self {
        let seen = || steps.iter().map(|step| &step.measure.server);
        let times = |of: fn(&ProbeTimes) -> &Vec<u64>| -> Vec<f64> {
            seen().flat_map(|server| of(&server.probes)).map(|time| *time as f64).collect()
        };
        let ahead = times(|probes| &probes.ahead);
        let hot = times(|probes| &probes.hot);
        let cold = times(|probes| &probes.cold);
        let known_hot = times(|probes| &probes.known_hot);
        let probes = Probes { ahead: &ahead, hot: &hot, cold: &cold, known_hot: &known_hot };
        let probes = (!ahead.is_empty()).then(|| attribute(&probes));
        let passes = steps.iter().map(|step| step.measure.passes).sum();
        let emptied = seen().map(|server| server.cold_passes).sum();
        // One repetition without a count leaves the others without meaning.
        let storage = seen().map(|server| server.storage_read).sum();
        let add = |sum: WhileProbed, more: WhileProbed| WhileProbed {
            read: sum.read + more.read,
            storage_read: sum.storage_read + more.storage_read,
        };
        let while_probed = seen().filter_map(|server| server.while_probed).reduce(add);
        let counted =
            CountedBytes { storage, while_probed, passes: (passes, emptied), ..CountedBytes::default() };
        Self { probes, counted, without: seen().find_map(|server| server.without_probes.clone()) }
    }

    /// Says why there were no probes where some were asked for.
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
        }
    }

    fn seen(timed: f64, while_probed: f64, probes: f64) -> StorageEvidence {
        let timed = Some(timed);
        let while_probed = Some(while_probed);
        StorageEvidence { timed, while_probed, probes: Some(probes), error: Some(0.02), rejected: None }
    }

    #[test]
    fn passes_that_began_with_an_emptied_cache_came_from_storage() {
        let mixed = after_cold(found(0.2, 0.04), (8, 2));
        assert!((mixed.storage - 0.4).abs() < 1e-12 && (mixed.error - 0.03).abs() < 1e-12, "{mixed:?}");
        assert!((after_cold(mixed, (3, 3)).storage - 1.0).abs() < 1e-12, "every pass was the first");
        assert_eq!(after_cold(mixed, (0, 0)), mixed);
    }

    #[test]
    fn probes_are_held_against_what_was_counted_while_they_were_made() {
        assert_eq!(seen(0.83, 0.95, 0.97).change().map(|told| told.contains("83 %")), Some(true));
        assert_eq!(seen(0.83, 0.95, 0.97).disagreement(0.0), None, "the timed passes were another state");
        let told = seen(0.2, 0.6, 0.2).words(0.0).unwrap();
        assert!(
            told.starts_with("the server counts 60 % from storage as the workload went on, probes say 20 %")
        );
        assert!(told.contains("its state changed: the server counts 20 %"), "{told}");
        assert_eq!(seen(0.3, 0.3, 0.3).words(0.0), None);
        // The client's cache hides up to its share of what probes find cold.
        assert_eq!(seen(0.3, 0.3, 0.8).disagreement(0.5), None);
        assert!(seen(0.3, 0.3, 0.8).disagreement(0.3).is_some());
    }

    #[test]
    fn what_the_server_reads_ahead_is_told() {
        assert_eq!(seen(1.31, 1.2, 1.0).words(0.0).unwrap(), "storage read 1.31 bytes per byte delivered");
    }
}
