//! Winsorising: values beyond three robust deviations of their cell are moved to that limit.

use crate::median;

/// Robust deviations from the median beyond which values are moved.
const HELD_AT: f64 = 3.0 * 1.4826;

/// `data` (one layer of cells per sweep) with each layer multiplied by its sign, and then each cell held
/// within median ± 3 x 1.4826 MAD over sweeps; a MAD counts at least half of the cells' median MAD. Cells
/// that do not exist become 0.
pub(crate) fn winsorised(data: &[Vec<f64>], signs: &[f64], exists: &[bool]) -> Vec<Vec<f64>> {
    let mut held: Vec<Vec<f64>> = data
        .iter()
        .zip(signs)
        .map(|(sweep, sign)| sweep.iter().map(|value| sign * value).collect())
        .collect();
    let mut column = vec![0.0; data.len()];
    let mut spreads: Vec<(f64, f64)> = Vec::with_capacity(exists.len());
    for cell in 0..exists.len() {
        if !exists[cell] {
            for sweep in &mut held {
                sweep[cell] = 0.0;
            }
            spreads.push((0.0, f64::NAN));
            continue;
        }
        column.iter_mut().zip(&held).for_each(|(value, sweep)| *value = sweep[cell]);
        let centre = median(&mut column).unwrap_or(0.0);
        for value in &mut column {
            *value = (*value - centre).abs();
        }
        spreads.push((centre, median(&mut column).unwrap_or(0.0)));
    }
    let mut mads: Vec<f64> = spreads.iter().map(|spread| spread.1).filter(|mad| mad.is_finite()).collect();
    let floor = median(&mut mads).unwrap_or(0.0) / 2.0;
    for (cell, (centre, mad)) in spreads.into_iter().enumerate().filter(|(cell, _)| exists[*cell]) {
        let reach = HELD_AT * mad.max(floor);
        // Without any spread there are no outliers.
        if reach == 0.0 {
            continue;
        }
        for sweep in &mut held {
            sweep[cell] = sweep[cell].clamp(centre - reach, centre + reach);
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use super::winsorised;

    #[test]
    fn an_outlier_is_held_at_the_edge_of_its_cell() {
        let data: Vec<Vec<f64>> = [0.0, 1.0, 2.0, 3.0, 100.0].iter().map(|x| vec![*x, f64::NAN]).collect();
        let held = winsorised(&data, &[1.0; 5], &[true, false]);
        assert!((held[4][0] - (2.0 + 3.0 * 1.4826)).abs() < 1e-12, "{held:?}");
        assert_eq!((held[0][0], held[3][0], held[4][1]), (0.0, 3.0, 0.0));
        let flipped = winsorised(&data, &[1.0, 1.0, 1.0, 1.0, -1.0], &[true, false]);
        assert!(flipped[4][0] > -10.0 && flipped[4][0] < 0.0, "{flipped:?}");
    }
}
