//! The Kolmogorov-Smirnov distance.

/// The largest difference between the cumulative shares of two samples, each a list of values with their weights in
/// ascending order of the values; 0 where one of them is empty.
///
/// Source: Smirnov, Annals of Mathematical Statistics 19 (1948) 279.
pub fn ks_distance(first: &[(u64, u64)], second: &[(u64, u64)]) -> f64 {
    let sum = |sample: &[(u64, u64)]| sample.iter().map(|(_, weight)| *weight as f64).sum::<f64>();
    let all_first = sum(first);
    let all_second = sum(second);
    if all_first <= 0.0 || all_second <= 0.0 {
        return 0.0;
    }
    let mut rest = (first.iter().peekable(), second.iter().peekable());
    let mut below_first = 0.0;
    let mut below_second = 0.0;
    let mut largest = 0.0_f64;
    loop {
        let next = match (rest.0.peek(), rest.1.peek()) {
            (Some((a, _)), Some((b, _))) => *a.min(b),
            (Some((a, _)), None) => *a,
            (None, Some((b, _))) => *b,
            (None, None) => return largest,
        };
        while let Some((_, weight)) = rest.0.next_if(|(value, _)| *value == next) {
            below_first += *weight as f64;
        }
        while let Some((_, weight)) = rest.1.next_if(|(value, _)| *value == next) {
            below_second += *weight as f64;
        }
        largest = largest.max((below_first / all_first - below_second / all_second).abs());
    }
}

#[cfg(test)]
mod tests {
    use super::ks_distance;

    #[test]
    fn equal_samples_have_no_distance_and_disjoint_ones_have_the_largest() {
        assert!(ks_distance(&[(1, 2), (5, 2)], &[(1, 10), (5, 10)]).abs() < 1e-12);
        assert!((ks_distance(&[(1, 1)], &[(2, 1)]) - 1.0).abs() < 1e-12);
        assert!((ks_distance(&[(1, 1), (2, 3)], &[(1, 3), (2, 1)]) - 0.5).abs() < 1e-12);
        assert!(ks_distance(&[], &[(1, 1)]).abs() < 1e-12);
    }
}
