//! Winsorising: values beyond three robust deviations of their series are moved to that limit.

use crate::median;

/// Robust deviations from the median beyond which values are moved.
const HELD_AT: f64 = 3.0 * 1.4826;

/// Median and spread of a series.
#[derive(Clone, Copy)]
pub(crate) struct Robust {
    centre: f64,
    /// Median absolute deviation.
    pub spread: f64,
}

impl Robust {
    pub fn from_values(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        let centre = median(&mut sorted).unwrap_or(0.0);
        for value in &mut sorted {
            *value = (*value - centre).abs();
        }
        Self { centre, spread: median(&mut sorted).unwrap_or(0.0) }
    }

    /// The value within median ± 3 x 1.4826 MAD, where the MAD counts at least `least`.
    pub fn hold(self, value: f64, least: f64) -> f64 {
        let reach = HELD_AT * self.spread.max(least);
        // Without any spread there are no outliers.
        if reach > 0.0 { value.clamp(self.centre - reach, self.centre + reach) } else { value }
    }
}

#[cfg(test)]
mod tests {
    use super::Robust;

    #[test]
    fn an_outlier_is_held_at_the_edge_of_its_series() {
        let robust = Robust::from_values(&[0.0, 1.0, 2.0, 3.0, 100.0]);
        assert!((robust.hold(100.0, 0.0) - (2.0 + 3.0 * 1.4826)).abs() < 1e-12);
        assert!([0.0, 3.0].iter().all(|inner| (robust.hold(*inner, 0.0) - inner).abs() < 1e-12));
        assert!((robust.hold(-100.0, 2.0) - (2.0 - 6.0 * 1.4826)).abs() < 1e-12, "the least spread");
        let without_spread = Robust::from_values(&[1.0, 1.0, 1.0, 5.0]).hold(5.0, 0.0);
        assert!((without_spread - 5.0).abs() < 1e-12, "no spread, no outlier: {without_spread}");
    }
}
