//! Server cache or storage, distinguished by probes ahead of the workload (docs/measure/measurement-rules.md R8).
//!
//! Every probe is a triple under the same load: a record the workload will need later, the same record again
//! (certainly in the cache by now), and a record that was not accessed since it was purged (certainly not cached). The
//! estimate is the share of the first kind that is slower than a threshold, corrected for the errors of the threshold:
//! Rogan and Gladen, American Journal of Epidemiology 107 (1978) 71.

use sharebench_model::ProbeTimes;
use sharebench_model::units::percent;
use statrs::distribution::{Binomial, DiscreteCDF};

use crate::{median, median_of_sorted, median_or_zero};

/// Fewest triples for an estimate.
const FEWEST: usize = 30;
/// Separation of hot and cold from which confidence is high, and below which the estimate is rejected.
const SEPARATION: (f64, f64) = (0.7, 0.5);
/// Largest share of probes whose times may lie between hot and cold.
const THIRD_STATE: f64 = 0.10;
/// Smallest ratio of the cold median to the hot median.
const COLD: f64 = 1.3;
/// Largest share by which cold probes may become faster from the first to the last.
const COLD_DRIFT: f64 = 0.10;
/// Largest share of storage that a file known to be in the cache may seem to have.
const KNOWN_HOT: f64 = 0.05;
/// Largest difference of two shares of storage that is no disagreement, unless their errors are greater.
const AGREEMENT: f64 = 0.10;
/// Groups of probes from near to far.
const DISTANCE_GROUPS: usize = 8;
/// Groups of them that must agree; the others may lie within the server's read-ahead, or beyond the eviction.
const AGREEING_GROUPS: usize = 5;
/// Neighbouring probes that are searched for a cluster of slow ones.
const CLUSTER: usize = 16;
/// Chance at which a cluster counts as one: a few hundred windows are searched in each estimate.
const CLUSTER_BY_CHANCE: f64 = 1e-6;
/// Standard errors by which the greatest of several groups must differ from another one (Bonferroni, seven pairs).
const SURE_OF_GROUPS: f64 = 2.7;
/// Standard errors by which a check must exceed its limit before it rejects the estimate.
const SURE: f64 = 1.96;

/// Times of probes in the order in which they were made; any unit, the same for all.
#[derive(Debug, Clone, Copy)]
pub struct Probes<'a> {
    /// Records that the workload will read later.
    pub ahead: &'a [f64],
    /// How much later each of them is due, in any unit; empty where that is not known, and then not examined.
    pub distances: &'a [f64],
    /// Records that the workload needs next; may be empty.
    pub next: &'a [f64],
    /// The same records again: certainly in the server's cache.
    pub hot: &'a [f64],
    /// Records that were not accessed since they were purged.
    pub cold: &'a [f64],
    /// The cold records again, as slow as before if the server reads them from storage every time; empty where the
    /// second read comes from the cache on every server.
    pub cold_again: &'a [f64],
    /// Records of a small file known to be in the cache; empty without such a file.
    pub known_hot: &'a [f64],
}

/// Confidence in a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidence {
    /// Hot and cold probes are well separated.
    High,
    /// Hot and cold probes overlap.
    Low,
}

/// Where the bytes that a server delivered came from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attribution {
    /// Share that came from storage, 0..1; the rest came from the server's cache.
    pub storage: f64,
    /// Its standard error.
    pub error: f64,
    /// J (Youden): how well the threshold separates cold from hot, 0..1.
    pub separation: f64,
    /// Low if the separation is below 0.7.
    pub confidence: Confidence,
    /// Share of the probes between hot and cold.
    pub between: f64,
    /// Share of storage that the known-hot file seemed to have; none without such a file.
    pub known_hot: Option<f64>,
    /// Time that separates hot from cold, in the unit of the probes.
    pub threshold: f64,
    /// Share of the hot probes that are slower than the threshold.
    pub hot_above: f64,
    /// The share of storage in the records that the workload needs next, as it finds them; none without such probes.
    pub next: Option<Share>,
}

impl Attribution {
    /// V7: this estimate, if the workload's own service times agree with it; `own_above` is the share of its requests
    /// that are slower than [`Self::threshold`].
    ///
    /// Requests as slow as storage did come from storage, so that a smaller estimate is wrong: what was found in the
    /// cache was evicted before it was due, or the cell was measured in another state. A greater one is wrong unless
    /// the server reads ahead, which the probes of the next record show.
    pub fn confirmed_by(self, own_above: f64) -> Result<Self, AttributionError> {
        let own = ((own_above - self.hot_above) / self.separation).clamp(0.0, 1.0);
        let allowed = AGREEMENT.max(SURE * self.error);
        let reads_ahead = self.next.is_some_and(|next| !agree(next, self.share()));
        if self.storage < own - allowed || (self.storage > own + allowed && !reads_ahead) {
            return Err(AttributionError::OwnTimesDisagree { own, probes: self.storage });
        }
        Ok(self)
    }

    const fn share(&self) -> Share {
        Share { storage: self.storage, error: self.error }
    }
}

/// A share of storage and its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// 0..1.
    pub storage: f64,
    /// Its standard error.
    pub error: f64,
}

/// True if the two differ by no more than [`AGREEMENT`], or than their errors explain.
fn agree(one: Share, other: Share) -> bool {
    (one.storage - other.storage).abs() <= AGREEMENT.max(SURE_OF_GROUPS * one.error.hypot(other.error))
}

/// Why server cache and storage cannot be separated.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum AttributionError {
    /// Too few probes, or times that are not positive.
    #[error("{0} triples of probes are too few (at least 30)")]
    TooFew(usize),
    /// V1: hot and cold look alike.
    #[error("hot and cold probes look alike (separation {0:.2}, at least 0.5)")]
    NotSeparable(f64),
    /// V2: a third kind of time.
    #[error("{} of the probes are neither hot nor cold: a third state", percent(*.0, 0))]
    ThirdState(f64),
    /// V4: the cold records are not cold.
    #[error(
        "cold records are only {0:.2} times as slow as hot ones (at least 1.3): the cold reserve is cached"
    )]
    ReserveWarm(f64),
    /// V4: the cold records become warm.
    #[error("cold records became {} faster meanwhile: something reads the cold reserve ahead", percent(*.0, 0))]
    ReserveWarms(f64),
    /// V8: the server does not read unbuffered records from storage every time.
    #[error(
        "unbuffered records are not clearly slower than hot ones when they are read again (separation {0:.2}, at least \
         0.5): the server or its storage serves them from a cache"
    )]
    UnbufferedCached(f64),
    /// V6: the share depends on how far ahead the probes look.
    #[error(
        "near probes find {} from storage, far ones {}: the server reads ahead, or evicts \
         records before they are due",
        percent(*.near, 0), percent(*.far, 0)
    )]
    DistancesDisagree {
        /// Share of storage by the nearest eighth of the probes.
        near: f64,
        /// By the farthest eighth.
        far: f64,
    },
    /// V7: the workload's own service times do not fit.
    #[error(
        "the cell's own service times show {} from storage, the probes {}", percent(*.own, 0), percent(*.probes, 0)
    )]
    OwnTimesDisagree {
        /// Share of storage by the workload's own requests.
        own: f64,
        /// By the probes.
        probes: f64,
    },
    /// V5: a file known to be cached looks like storage.
    #[error("{} of a file known to be cached seems to come from storage", percent(*.0, 0))]
    KnownHotCold(f64),
}

/// Estimates the share of storage as [`attribute`] does, from the stored times of one or more series of probes.
pub fn attribute_times<'a>(
    series: &(impl Iterator<Item = &'a ProbeTimes> + Clone),
) -> Result<Attribution, AttributionError> {
    let all = |of: fn(&ProbeTimes) -> &Vec<u64>| -> Vec<f64> {
        series.clone().flat_map(of).map(|time| *time as f64).collect()
    };
    attribute(&Probes {
        ahead: &all(|times| &times.ahead),
        distances: &all(|times| &times.distances),
        next: &all(|times| &times.next),
        hot: &all(|times| &times.hot),
        cold: &all(|times| &times.cold),
        cold_again: &all(|times| &times.cold_again),
        known_hot: &all(|times| &times.known_hot),
    })
}

/// Estimates the share of storage in what the server delivered, with the checks V1, V2, V4, V5, V6 and V8. V3 needs the
/// counters of the server, and V7 ([`Attribution::confirmed_by`]) the service times of the cell.
pub fn attribute(probes: &Probes<'_>) -> Result<Attribution, AttributionError> {
    let few = probes.ahead.len().min(probes.hot.len()).min(probes.cold.len());
    let all = [probes.ahead, probes.hot, probes.cold, probes.cold_again, probes.known_hot].concat();
    // Logarithms and geometric means follow, so every time has to be positive.
    if few < FEWEST || all.iter().any(|time| !time.is_finite() || *time <= 0.0) {
        return Err(AttributionError::TooFew(few));
    }
    let hot = sorted(probes.hot);
    let cold = sorted(probes.cold);
    let hot_median = median_of_sorted(&hot).unwrap_or(1.0);
    let cold_median = median_of_sorted(&cold).unwrap_or(1.0);
    if cold_median < COLD * hot_median {
        return Err(AttributionError::ReserveWarm(cold_median / hot_median));
    }
    let (trend, noise) = trend(probes.cold);
    let drift = -trend.exp_m1();
    if drift > COLD_DRIFT + SURE * noise {
        return Err(AttributionError::ReserveWarms(drift));
    }
    // The geometric mean: times of caches differ by factors, so the middle between them is one of
    // logarithms (docs/measure/measurement-rules.md 2.2).
    let threshold = (hot_median * cold_median).sqrt();
    let above = |times: &[f64]| times.iter().filter(|t| **t > threshold).count() as f64 / times.len() as f64;
    let a = above(probes.hot);
    let b = above(probes.cold);
    let separation = b - a;
    if separation < SEPARATION.1 {
        return Err(AttributionError::NotSeparable(separation));
    }
    // A server that ignores the flag has its own slowness of first reads: memory that was not used for a while.
    if !probes.cold_again.is_empty() {
        let again = above(probes.cold_again) - a;
        if again < SEPARATION.1 {
            return Err(AttributionError::UnbufferedCached(again));
        }
    }
    let low = quantile(&hot, 0.95);
    let high = quantile(&cold, 0.05);
    let inside = probes.ahead.iter().filter(|time| low < **time && **time < high).count();
    let between = inside as f64 / probes.ahead.len() as f64;
    if between > THIRD_STATE {
        return Err(AttributionError::ThirdState(between));
    }
    // Rogan-Gladen: `a` of the hot and `1 - b` of the cold probes are on the wrong side of the threshold,
    // and the share is corrected for both. Chance can carry the result outside 0..1.
    let share = |p: f64| ((p - a) / separation).clamp(0.0, 1.0);
    let binomial = |p: f64, n: usize| p * (1.0 - p) / n as f64;
    let error = |p: f64, n: usize| {
        let w = share(p);
        let anchors =
            (1.0 - w).powi(2) * binomial(a, probes.hot.len()) + w.powi(2) * binomial(b, probes.cold.len());
        (binomial(p, n) + anchors).sqrt() / separation
    };
    let known_hot = (!probes.known_hot.is_empty()).then(|| above(probes.known_hot));
    if let Some(seen) = known_hot.filter(|p| share(*p) - SURE * error(*p, probes.known_hot.len()) > KNOWN_HOT)
    {
        return Err(AttributionError::KnownHotCold(share(seen)));
    }
    let confidence = if separation < SEPARATION.0 { Confidence::Low } else { Confidence::High };
    let estimate = |times: &[f64]| {
        let p = above(times);
        Share { storage: share(p), error: error(p, times.len()) }
    };
    let ahead = same_at_any_distance(probes, threshold, estimate)?;
    let found = estimate(&ahead);
    Ok(Attribution {
        storage: found.storage,
        error: found.error,
        separation,
        confidence,
        between,
        known_hot: known_hot.map(share),
        threshold,
        hot_above: a,
        next: (!probes.next.is_empty()).then(|| estimate(probes.next)),
    })
}

/// V6: the probes ahead whose share of storage does not depend on their distance.
///
/// A record that is cold at any distance will come from storage, because the workload does not read it before. One that
/// is hot may have been read ahead by the server (near probes) or may be evicted before it is due (far probes). The
/// greatest share is therefore the right one, if most of the groups confirm it.
fn same_at_any_distance(
    probes: &Probes<'_>,
    threshold: f64,
    estimate: impl Fn(&[f64]) -> Share,
) -> Result<Vec<f64>, AttributionError> {
    if probes.distances.len() != probes.ahead.len() {
        return Ok(probes.ahead.to_vec());
    }
    let mut by_distance: Vec<(f64, f64)> =
        probes.distances.iter().copied().zip(probes.ahead.iter().copied()).collect();
    by_distance.sort_by(|one, other| one.0.total_cmp(&other.0));
    let times: Vec<f64> = by_distance.into_iter().map(|(_, time)| time).collect();
    let groups: Vec<&[f64]> = times.chunks(times.len().div_ceil(DISTANCE_GROUPS)).collect();
    let shares: Vec<Share> = groups.iter().map(|group| estimate(group)).collect();
    let near = shares[0];
    let far = shares[shares.len() - 1];
    let Some(top) = (0..shares.len()).max_by(|a, b| shares[*a].storage.total_cmp(&shares[*b].storage)) else {
        return Ok(times);
    };
    let agreeing: Vec<usize> = (0..shares.len()).filter(|group| agree(shares[*group], shares[top])).collect();
    let agreed: Vec<f64> = agreeing.iter().flat_map(|group| groups[*group].iter().copied()).collect();
    if agreeing.len() < AGREEING_GROUPS || has_cluster(&agreed, threshold) {
        return Err(AttributionError::DistancesDisagree { near: near.storage, far: far.storage });
    }
    Ok(agreed)
}

/// True if slow probes gather at one distance; `times` are in the order of distance. Where read-ahead ends just before
/// eviction begins, the records between the two are cold, and too few to change the share of a whole group.
fn has_cluster(times: &[f64], threshold: f64) -> bool {
    let slow: Vec<bool> = times.iter().map(|time| *time > threshold).collect();
    let count = |part: &[bool]| part.iter().filter(|slow| **slow).count() as u64;
    let share = (count(&slow) as f64 / slow.len().max(1) as f64).clamp(0.01, 0.99);
    let Ok(by_chance) = Binomial::new(share, CLUSTER as u64) else { return false };
    slow.windows(CLUSTER).any(|part| {
        let slow = count(part);
        // P(more than n) for n = slow - 1 is P(at least slow).
        slow > 0 && by_chance.sf(slow - 1) < CLUSTER_BY_CHANCE
    })
}

fn sorted(times: &[f64]) -> Vec<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

fn quantile(sorted: &[f64], q: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * q).round() as usize]
}

/// Theil and Sen's trend of the logarithm from the first to the last, over medians of tenths so that noise of
/// single probes has no effect; and its standard error, from the scatter of the tenths around it.
fn trend(times: &[f64]) -> (f64, f64) {
    let blocks: Vec<f64> = times
        // Tenths, whose medians no single stall can move.
        .chunks(times.len().div_ceil(10))
        .filter_map(|block| Some(median(&mut block.to_vec())?.ln()))
        .collect();
    let slope = |i: usize, j: usize| (blocks[j] - blocks[i]) / (j - i) as f64;
    let n = blocks.len();
    let slopes: Vec<f64> =
        (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).map(|(i, j)| slope(i, j)).collect();
    let slope = median_or_zero(&slopes);
    let level = median_or_zero(&blocks);
    let centre = n.saturating_sub(1) as f64 / 2.0;
    let off = |(at, block): (usize, &f64)| (block - level - slope * (at as f64 - centre)).powi(2);
    let scatter = blocks.iter().enumerate().map(off).sum::<f64>() / n.saturating_sub(2).max(1) as f64;
    let spread: f64 = (0..n).map(|at| (at as f64 - centre).powi(2)).sum();
    let span = n.saturating_sub(1) as f64;
    (slope * span, (scatter / spread.max(1.0)).sqrt() * span)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `n` times, `slow` of each hundred of them slow.
    fn mixed(n: usize, slow: usize) -> Vec<f64> {
        (0..n).map(|k| if k * 37 % 100 < slow { 500.0 } else { 100.0 } + (k % 7) as f64).collect()
    }

    fn judge(ahead: usize, hot: usize, cold: usize) -> Result<Attribution, AttributionError> {
        let ahead = mixed(300, ahead);
        let hot = mixed(300, hot);
        let cold = mixed(300, cold);
        attribute(&Probes {
            ahead: &ahead,
            hot: &hot,
            cold: &cold,
            cold_again: &[],
            distances: &[],
            next: &[],
            known_hot: &[],
        })
    }

    #[test]
    fn the_estimate_is_corrected_for_the_threshold() {
        // 40 of 100 above, 5 of 100 hot and 95 of 100 cold: (0.40 - 0.05) / 0.90.
        let found = judge(40, 5, 95).unwrap();
        assert!((found.storage - 0.35 / 0.9).abs() < 1e-9 && (found.separation - 0.9).abs() < 1e-9);
        let w = 0.35 / 0.9;
        let n = 300.0;
        let anchors = ((1.0f64 - w).powi(2) + w * w) * 0.05 * 0.95 / n;
        assert!((found.error - (0.24 / n + anchors).sqrt() / 0.9).abs() < 1e-9, "{found:?}");
        assert!(
            judge(0, 0, 100).unwrap().storage < 1e-12 && judge(100, 0, 100).unwrap().storage > 1.0 - 1e-12
        );
        assert_eq!(judge(50, 20, 80).unwrap().confidence, Confidence::Low);
    }

    /// 300 probes at distances from 1 to 16 MiB, of which those at `cold` MiB are slow.
    fn at_distances(cold: std::ops::Range<f64>) -> Result<Attribution, AttributionError> {
        let distances: Vec<f64> = (0..300).map(|n| 16f64.powf(f64::from(n) / 300.0)).collect();
        let ahead: Vec<f64> =
            distances.iter().map(|distance| if cold.contains(distance) { 500.0 } else { 100.0 }).collect();
        let hot = mixed(300, 0);
        let cold = mixed(300, 100);
        attribute(&Probes {
            ahead: &ahead,
            distances: &distances,
            next: &[],
            hot: &hot,
            cold: &cold,
            cold_again: &[],
            known_hot: &[],
        })
    }

    #[test]
    fn a_share_that_depends_on_the_distance_of_the_probes_is_rejected() {
        assert!((at_distances(0.0..17.0).unwrap().storage - 1.0).abs() < 1e-9);
        // Read-ahead of 2 MiB, or eviction 8 MiB before a record is due: the other distances agree.
        // The group at the edge has a few of each kind.
        assert!(at_distances(2.0..17.0).unwrap().storage > 0.97);
        assert!(at_distances(0.0..8.0).unwrap().storage > 0.97);
        // Read-ahead of 8 MiB, eviction 3 MiB before, and both: nothing shows which distance is right.
        for cold in [8.0..17.0, 0.0..3.0, 8.0..9.0] {
            let found = at_distances(cold.clone());
            assert!(matches!(found, Err(AttributionError::DistancesDisagree { .. })), "{cold:?}: {found:?}");
        }
    }

    #[test]
    fn the_service_times_of_the_cell_confirm_or_reject_an_estimate() {
        let next = |slow: usize| {
            let next = mixed(100, slow);
            let ahead = mixed(300, 60);
            let probes = Probes {
                ahead: &ahead,
                distances: &[],
                next: &next,
                hot: &mixed(300, 0),
                cold: &mixed(300, 100),
                cold_again: &[],
                known_hot: &[],
            };
            attribute(&probes).unwrap()
        };
        assert!(next(60).confirmed_by(0.55).is_ok());
        let disagree = |own, probes| Err(AttributionError::OwnTimesDisagree { own, probes });
        assert_eq!(
            next(60).confirmed_by(0.8),
            disagree(0.8, 0.6),
            "more came from storage than the probes find"
        );
        assert_eq!(next(60).confirmed_by(0.1), disagree(0.1, 0.6), "and less, without any read-ahead");
        assert!(next(5).confirmed_by(0.1).is_ok(), "read-ahead hides storage from the cell's own times");
    }

    #[test]
    fn an_estimate_without_basis_is_rejected_with_its_reason() {
        assert!(
            matches!(judge(50, 0, 20), Err(AttributionError::ReserveWarm(_))),
            "a flag for unbuffered reads without effect"
        );
        assert!(matches!(judge(50, 30, 75), Err(AttributionError::NotSeparable(_))));
        let hot = mixed(300, 0);
        let cold = mixed(300, 100);
        let middle = vec![250.0; 300];
        let between = attribute(&Probes {
            ahead: &middle,
            hot: &hot,
            cold: &cold,
            cold_again: &[],
            distances: &[],
            next: &[],
            known_hot: &[],
        });
        assert_eq!(between, Err(AttributionError::ThirdState(1.0)));
        let warming: Vec<f64> = (0..300).map(|k| 500.0 - 0.5 * f64::from(k)).collect();
        let warms = attribute(&Probes {
            ahead: &hot,
            hot: &hot,
            cold: &warming,
            cold_again: &[],
            distances: &[],
            next: &[],
            known_hot: &[],
        });
        assert!(matches!(warms, Err(AttributionError::ReserveWarms(_))), "{warms:?}");
        let known = attribute(&Probes {
            ahead: &hot,
            hot: &hot,
            cold: &cold,
            cold_again: &[],
            distances: &[],
            next: &[],
            known_hot: &mixed(300, 30),
        });
        assert_eq!(known, Err(AttributionError::KnownHotCold(0.3)));
        let few = attribute(&Probes {
            ahead: &hot[..29],
            hot: &hot,
            cold: &cold,
            cold_again: &[],
            distances: &[],
            next: &[],
            known_hot: &[],
        });
        assert_eq!(few, Err(AttributionError::TooFew(29)));
    }
}
