//! Where the rate of operations on names falls with the number of entries of a directory.

/// A rate with its interval, at one size of the directory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DirectoryRate {
    /// Entries of the directory.
    pub entries: u64,
    /// Operations per second.
    pub rate: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// A fall of the rate with the size of the directory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DirectoryBreak {
    /// The last size before the fall, and the largest size.
    pub between: (u64, u64),
    /// The rate at the last size before the fall.
    pub from: f64,
    /// The rate at the largest size.
    pub to: f64,
    /// Entries at which an operation takes twice the time that it takes in an empty directory; none where the time does
    /// not grow in proportion to the entries.
    pub doubled_at: Option<f64>,
}

/// A rate below this share of the best one has fallen. Less is not worth a sentence, and may be the caches of a
/// processor.
const FALLEN: f64 = 0.8;

/// Largest relative deviation of a time from the line that calls its growth linear.
const LINEAR: f64 = 0.25;

/// Fewest sizes that show a course.
const FEWEST: usize = 3;

/// Finds the fall of a curve, if the intervals of its ends exclude that there is none.
///
/// The best rate is the one whose interval begins highest. Sizes whose whole interval lies below 80 % of that, up to the
/// largest size without exception, have fallen. The times of one operation from the best size on are fitted by
/// `a + b * entries` with relative weights; if every time is near that line, the directory is searched linearly, and the
/// search takes as long as everything else at `a / b` entries.
pub fn directory_break(rates: &[DirectoryRate]) -> Option<DirectoryBreak> {
    let usable = |rate: &&DirectoryRate| rate.rate > 0.0 && rate.low.is_finite() && rate.high.is_finite();
    let mut rates: Vec<DirectoryRate> = rates.iter().filter(usable).copied().collect();
    rates.sort_by_key(|rate| rate.entries);
    if rates.len() < FEWEST {
        return None;
    }
    let best = rates.iter().enumerate().max_by(|(_, one), (_, other)| one.low.total_cmp(&other.low))?.0;
    let limit = FALLEN * rates[best].low;
    let fallen = rates.iter().rev().take_while(|rate| rate.high < limit).count();
    let last = rates.last()?;
    let before = rates.len().checked_sub(fallen + 1).filter(|_| fallen > 0)?;
    let before = rates[before];
    Some(DirectoryBreak {
        between: (before.entries, last.entries),
        from: before.rate,
        to: last.rate,
        doubled_at: linear(&rates[best..]),
    })
}

/// Entries at which the time is twice that of an empty directory, if all times are near one line.
fn linear(rates: &[DirectoryRate]) -> Option<f64> {
    // Two times are always on a line.
    if rates.len() < FEWEST {
        return None;
    }
    // Weighted least squares of t = a + b e, where each time has the weight 1/t^2: relative deviations count.
    let mut sums = [0.0; 5];
    for rate in rates {
        let entries = rate.entries as f64;
        let time = 1.0 / rate.rate;
        let weight = 1.0 / (time * time);
        let terms =
            [weight, weight * entries, weight * entries * entries, weight * time, weight * entries * time];
        sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    }
    let [ones, entries, squares, times, products] = sums;
    let determinant = ones * squares - entries * entries;
    let base = (squares * times - entries * products) / determinant;
    let slope = (ones * products - entries * times) / determinant;
    if !(base > 0.0 && slope > 0.0) {
        return None;
    }
    let near =
        |rate: &DirectoryRate| ((base + slope * rate.entries as f64) * rate.rate - 1.0).abs() <= LINEAR;
    rates.iter().all(near).then_some(base / slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(time_us: impl Fn(f64) -> f64, width: f64) -> Vec<DirectoryRate> {
        let at = |entries: u64| {
            let rate = 1e6 / time_us(entries as f64);
            DirectoryRate { entries, rate, low: rate * (1.0 - width), high: rate * (1.0 + width) }
        };
        [1, 10, 100, 1_000, 10_000, 100_000].map(at).to_vec()
    }

    #[test]
    fn a_linear_search_is_found_where_it_doubles_the_time() {
        let found = directory_break(&curve(|entries| 100.0 + entries / 50.0, 0.02)).unwrap();
        assert_eq!(found.between, (1_000, 100_000));
        assert!((found.doubled_at.unwrap() / 5_000.0 - 1.0).abs() < 0.01, "{found:?}");
        assert!((found.to - 1e6 / 2_100.0).abs() < 1e-6);
    }

    #[test]
    fn a_step_is_a_fall_without_a_linear_search() {
        let found =
            directory_break(&curve(|entries| if entries > 1e4 { 900.0 } else { 100.0 }, 0.02)).unwrap();
        assert_eq!((found.between, found.doubled_at), ((10_000, 100_000), None));
    }

    #[test]
    fn level_rising_and_uncertain_curves_have_no_break() {
        assert_eq!(directory_break(&curve(|_| 100.0, 0.05)), None);
        assert_eq!(directory_break(&curve(|entries| 100.0 - entries / 2_000.0, 0.02)), None);
        assert_eq!(directory_break(&curve(|entries| 100.0 + entries / 3_000.0, 0.3)), None);
        assert_eq!(directory_break(&curve(|entries| 100.0 + entries / 50.0, 0.02)[..2]), None);
        assert_eq!(directory_break(&[]), None);
    }
}
