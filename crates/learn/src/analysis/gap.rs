//! The pause that separates two sequences of a user, derived from all pauses of the input.

use crate::operation::Observed;

/// Shortest and longest gap, ns. A client needs less than a millisecond between two requests of one task; a pause of a second
/// is not the client's own.
const LIMITS: (u64, u64) = (1_000_000, 1_000_000_000);
/// Bins of the histogram per factor of two.
const BINS_PER_OCTAVE: f64 = 8.0;
/// Ratio of the mean pauses on both sides of the gap, below which there is only one kind of pause.
const SEPARATED: f64 = 20.0;

/// The gap, ns: pauses of a user that are longer are think times.
///
/// Source: Otsu, IEEE Transactions on Systems, Man, and Cybernetics 9 (1979) 62, on the logarithms of the pauses. Where they
/// are of one kind, the gap is a millisecond. Time stamps of seconds show no pause that is shorter, so that the gap is at least
/// their resolution.
pub fn gap(observed: &Observed) -> u64 {
    of_histogram(observed).max(observed.unseen.resolution_ns)
}

fn of_histogram(observed: &Observed) -> u64 {
    let histogram = histogram(observed);
    let pauses: f64 = histogram.iter().map(|count| *count as f64).sum();
    let total: f64 = histogram.iter().enumerate().map(|(bin, count)| bin as f64 * *count as f64).sum();
    let mut below = 0.0;
    let mut sum_below = 0.0;
    let mut best = 0.0_f64;
    let mut first = 0;
    let mut last = 0;
    let mut means = (0.0, 0.0);
    for (bin, count) in histogram.iter().enumerate() {
        below += *count as f64;
        sum_below += bin as f64 * *count as f64;
        let above = pauses - below;
        if below <= 0.0 || above <= 0.0 {
            continue;
        }
        let mean_below = sum_below / below;
        let mean_above = (total - sum_below) / above;
        let between = below * above * (mean_below - mean_above).powi(2);
        if between > best * (1.0 + 1e-12) {
            (best, first, last, means) = (between, bin, bin, (mean_below, mean_above));
        } else if between >= best * (1.0 - 1e-12) {
            // Empty bins between the two kinds: the gap is in their middle.
            last = bin;
        }
    }
    let ratio = f64::exp2((means.1 - means.0) / BINS_PER_OCTAVE);
    if ratio < SEPARATED {
        return LIMITS.0;
    }
    let middle = (first + last + 2) as f64 / 2.0;
    (f64::exp2(middle / BINS_PER_OCTAVE) as u64).clamp(LIMITS.0, LIMITS.1)
}

/// Pauses of users, from the last reply so far to the next request, by the logarithm of their length.
fn histogram(observed: &Observed) -> Vec<u64> {
    let mut histogram = vec![0; 64 * BINS_PER_OCTAVE as usize];
    let mut busy_until: Vec<Option<u64>> = vec![None; observed.users.len()];
    for operation in &observed.operations {
        let Some(until) = busy_until.get_mut(operation.user as usize) else { continue };
        let end = operation.ended();
        if let Some(before) = *until
            && operation.start > before
        {
            let bin = (((operation.start - before) as f64).log2() * BINS_PER_OCTAVE) as usize;
            if let Some(count) = histogram.get_mut(bin) {
                *count += 1;
            }
        }
        *until = Some(until.map_or(end, |before| before.max(end)));
    }
    histogram
}
