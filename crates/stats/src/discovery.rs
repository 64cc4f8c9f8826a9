//! Many tests at once: the false discovery rate.

/// Benjamini-Hochberg adjusted p-values, in the order given: those at most `q` form a set of which a
/// share `q` at most is expected to be false.
///
/// Source: Benjamini and Hochberg, J. R. Statist. Soc. B 57 (1995) 289.
pub fn adjust_p_values(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*b].total_cmp(&p_values[*a]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut smallest = 1.0f64;
    for (position, index) in order.into_iter().enumerate() {
        let rank = (p_values.len() - position) as f64;
        // A running minimum from the largest p-value down, so that a smaller p-value never gets a larger
        // adjusted one.
        smallest = smallest.min(p_values[index] * p_values.len() as f64 / rank);
        adjusted[index] = smallest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_s_own_example() {
        // Benjamini & Hochberg 1995, 4.1: 15 p-values, of which the procedure rejects the first four at 0.05.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        let adjusted = adjust_p_values(&p);
        assert_eq!(adjusted.iter().filter(|q| **q <= 0.05).count(), 4);
        assert!((adjusted[3] - 0.035_625).abs() < 1e-9);
        assert!((adjusted[0] - 0.0015).abs() < 1e-12);
    }

    #[test]
    fn order_of_the_input_does_not_matter() {
        assert_eq!(adjust_p_values(&[0.9, 0.01]), vec![0.9, 0.02]);
        assert!(adjust_p_values(&[]).is_empty());
    }
}
