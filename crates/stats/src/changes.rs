//! Changes of level in a series: the optimal partition into segments of constant level.
//!
//! Source: Jackson et al.: An algorithm for optimal partitioning of data on an interval, IEEE Signal Processing
//! Letters 12 (2005) 105. The same partition as PELT's (Killick, Fearnhead, Eckley, J. Amer. Statist. Assoc.
//! 107 (2012) 1590), whose pruning a series of some hundred blocks does not need.

/// Starts of the segments of `series`, the first being 0: the partition with the least squared error plus
/// `penalty` per segment, none of them shorter than `shortest`.
pub(crate) fn change_points(series: &[f64], penalty: f64, shortest: usize) -> Vec<usize> {
    let n = series.len();
    let shortest = shortest.max(1);
    let sums = Sums::from_series(series);
    // best[t]: cost of the first t values; from[t]: start of their last segment.
    let mut best = vec![f64::INFINITY; n + 1];
    let mut from = vec![0; n + 1];
    // The first segment is free: n segments cost n - 1 penalties.
    best[0] = -penalty;
    for t in shortest..=n {
        for start in 0..=t - shortest {
            let cost = best[start] + sums.cost(start, t) + penalty;
            if cost < best[t] {
                (best[t], from[t]) = (cost, start);
            }
        }
    }
    let mut starts = Vec::new();
    let mut end = n;
    while end > 0 {
        end = from[end];
        starts.push(end);
    }
    starts.reverse();
    starts
}

/// Sums and sums of squares from the start, about the first value so that little cancels.
struct Sums {
    sums: Vec<(f64, f64)>,
}

impl Sums {
    fn from_series(series: &[f64]) -> Self {
        let centre = series.first().copied().unwrap_or(0.0);
        let mut sums = vec![(0.0, 0.0)];
        let mut sum = 0.0;
        let mut squares = 0.0;
        for x in series {
            sum += x - centre;
            squares += (x - centre).powi(2);
            sums.push((sum, squares));
        }
        Self { sums }
    }

    /// Squared error of `start..end` about its mean.
    fn cost(&self, start: usize, end: usize) -> f64 {
        let a = self.sums[start];
        let b = self.sums[end];
        (b.1 - a.1 - (b.0 - a.0).powi(2) / (end - start) as f64).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use sharebench_model::Random;

    use super::*;

    /// Least cost over every set of cuts.
    fn exhaustive(series: &[f64], penalty: f64, shortest: usize) -> f64 {
        let n = series.len();
        let cost = |cuts: u32| {
            let inner = (1..n).filter(|at| cuts >> (at - 1) & 1 == 1);
            let starts: Vec<usize> = std::iter::once(0).chain(inner).collect();
            let long = starts.iter().zip(starts.iter().skip(1).chain([&n])).all(|(a, b)| b - a >= shortest);
            if long { cost_of(series, &starts, penalty) } else { f64::INFINITY }
        };
        (0..1u32 << (n - 1)).map(cost).fold(f64::INFINITY, f64::min)
    }

    fn cost_of(series: &[f64], starts: &[usize], penalty: f64) -> f64 {
        let ends = starts.iter().skip(1).copied().chain([series.len()]);
        let segment = |(start, end): (&usize, usize)| {
            let part = &series[*start..end];
            let mean = part.iter().sum::<f64>() / part.len() as f64;
            part.iter().map(|x| (x - mean).powi(2)).sum::<f64>() + penalty
        };
        starts.iter().zip(ends).map(segment).sum()
    }

    #[test]
    fn no_other_partition_is_better() {
        let mut random = Random::new(4, 0);
        for _ in 0..100 {
            let series: Vec<f64> = (0..5 + random.below(7)).map(|_| random.below(4) as f64).collect();
            let penalty = random.unit() * 3.0;
            let shortest = 1 + random.below(4) as usize;
            let starts = change_points(&series, penalty, shortest);
            let found = cost_of(&series, &starts, penalty);
            let least = exhaustive(&series, penalty, shortest);
            assert!((found - least).abs() < 1e-9, "{series:?} {starts:?}: {found} {least}");
        }
    }

    #[test]
    fn steps_are_found_where_they_are() {
        let series: Vec<f64> = [0.0; 10].into_iter().chain([3.0; 7]).chain([1.0; 8]).collect();
        assert_eq!(change_points(&series, 0.5, 3), [0, 10, 17]);
        assert_eq!(change_points(&[1.0; 9], 0.5, 3), [0]);
        assert_eq!(change_points(&[], 0.5, 3), [] as [usize; 0]);
    }
}
