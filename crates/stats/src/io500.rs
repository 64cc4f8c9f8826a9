//! The score of IO500.

/// A score as IO500 computes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Io500Score {
    /// Geometric mean of the bandwidths, in their unit (GiB/s).
    pub bandwidth: f64,
    /// Geometric mean of the rates of metadata, in their unit (kIOPS).
    pub metadata: f64,
    /// Square root of the product of the two.
    pub total: f64,
}

/// The score of the bandwidths in GiB/s and the rates of metadata in kIOPS of all phases; none if there are none of a kind,
/// or if one of them is not above zero.
///
/// Source: the outputs that the IO500 project publishes in its README, which state every phase and the score.
pub fn io500_score(bandwidths: &[f64], metadata: &[f64]) -> Option<Io500Score> {
    let bandwidth = geometric_mean(bandwidths)?;
    let metadata = geometric_mean(metadata)?;
    Some(Io500Score { bandwidth, metadata, total: (bandwidth * metadata).sqrt() })
}

fn geometric_mean(values: &[f64]) -> Option<f64> {
    let usable = !values.is_empty() && values.iter().all(|value| value.is_finite() && *value > 0.0);
    usable.then(|| (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the README of github.com/IO500/io500 (2020): `Bandwidth 0.172092 GB/s : IOPS 292.625029 kiops : TOTAL
    /// 7.096374`.
    #[test]
    fn the_published_example_has_its_published_score() {
        let bandwidths = [0.186_620, 0.001_313, 1.575_557, 2.272_671];
        let metadata = [
            103.300_821,
            58.939_081,
            1_486.435_084,
            839.392_805,
            1_212.558_124,
            160.765_642,
            275.011_939,
            132.015_851,
        ];
        let score = io500_score(&bandwidths, &metadata).unwrap();
        for (found, published) in
            [(score.bandwidth, 0.172_092), (score.metadata, 292.625_029), (score.total, 7.096_374)]
        {
            // The smallest bandwidth has four significant digits.
            assert!((found / published - 1.0).abs() < 2e-4, "{found} instead of {published}");
        }
    }

    #[test]
    fn a_phase_without_a_rate_leaves_no_score() {
        assert_eq!(io500_score(&[], &[1.0]), None);
        assert_eq!(io500_score(&[1.0], &[]), None);
        assert_eq!(io500_score(&[1.0, 0.0], &[1.0]), None);
        assert_eq!(io500_score(&[1.0], &[f64::NAN]), None);
    }
}
