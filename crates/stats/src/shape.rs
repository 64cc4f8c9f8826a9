//! The shape of a curve, as named features: it falls, stays, saturates, or does not depend on the axis.
//!
//! The Windows 2000 study's "writes reached disk speed at 16 KB, fell to 2.1 MB/s at 32 KB and levelled at 5.5 to 6"
//! is a fall and a level.

/// Smallest factor of a fall: neighbouring positions differ by less without any cause.
const FALL: f64 = 1.25;
/// Positions are of one level while the largest is at most this factor of the smallest.
const LEVEL: f64 = 1.15;
/// Fewest positions of a level.
const SHORTEST_LEVEL: usize = 3;

/// A rate at one position of the axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShapePoint {
    /// The rate; above 0.
    pub rate: f64,
    /// Uncertainty of its logarithm, either way: half of an interval, or the allowance of a clock.
    pub margin: f64,
}

/// A feature of a curve. Positions count from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// The rate falls where the axis grows.
    Fall {
        /// First position that is lower.
        at: usize,
        /// Last position of the fall.
        until: usize,
        /// Rate before.
        from: f64,
        /// Rate at `until`.
        to: f64,
    },
    /// From here to the end the rate stays where a fall has brought it.
    Stays {
        /// First position of the level.
        first: usize,
        /// Least and most.
        range: (f64, f64),
    },
    /// From here to the end the rate grows no more.
    Saturates {
        /// First position of the level.
        first: usize,
        /// Least and most.
        range: (f64, f64),
    },
    /// All positions are of one level.
    Flat {
        /// Least and most.
        range: (f64, f64),
    },
}

/// The features of a curve, in the order of the axis. Empty for fewer than two positions.
pub fn shapes(points: &[ShapePoint]) -> Vec<Shape> {
    let mut found = falls(points);
    let Some(first) = level(points) else { return found };
    let range = range(&points[first..]);
    let highest = points[..first].iter().map(|point| point.rate).fold(0.0, f64::max);
    let lowest = points[..first].iter().map(|point| point.rate).fold(f64::INFINITY, f64::min);
    if first == 0 {
        found.push(Shape::Flat { range });
    } else if !found.is_empty() && highest > range.1 * FALL {
        found.push(Shape::Stays { first, range });
    } else if found.is_empty() && range.0 > lowest * FALL {
        found.push(Shape::Saturates { first, range });
    }
    found
}

/// Falls beyond the uncertainty of the points; neighbouring ones are merged.
fn falls(points: &[ShapePoint]) -> Vec<Shape> {
    let mut found: Vec<Shape> = Vec::new();
    for (index, pair) in points.windows(2).enumerate() {
        let beyond = FALL.ln() + pair[0].margin + pair[1].margin;
        if (pair[0].rate / pair[1].rate).ln() <= beyond {
            continue;
        }
        match found.last_mut() {
            Some(Shape::Fall { until, to, .. }) if *until == index => {
                (*until, *to) = (index + 1, pair[1].rate);
            }
            _ => found.push(Shape::Fall {
                at: index + 1,
                until: index + 1,
                from: pair[0].rate,
                to: pair[1].rate,
            }),
        }
    }
    found
}

/// First position of the longest level that reaches the end; none if it is short or the points are too uncertain.
fn level(points: &[ShapePoint]) -> Option<usize> {
    let flat = |first: &usize| {
        let (low, high) = range(&points[*first..]);
        high <= low * LEVEL
    };
    let first = (0..points.len()).find(flat)?;
    // Points whose own uncertainty exceeds the tolerance would look flat whatever the truth is.
    let known = points[first..].iter().all(|point| point.margin <= LEVEL.ln());
    (known && points.len() - first >= SHORTEST_LEVEL).then_some(first)
}

fn range(points: &[ShapePoint]) -> (f64, f64) {
    let rates = points.iter().map(|point| point.rate);
    (rates.clone().fold(f64::INFINITY, f64::min), rates.fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(rates: &[f64], margin: f64) -> Vec<ShapePoint> {
        rates.iter().map(|rate| ShapePoint { rate: *rate, margin }).collect()
    }

    #[test]
    fn the_cliff_of_the_windows_2000_study_has_its_words() {
        let found = shapes(&curve(&[6.0, 11.0, 18.0, 22.0, 2.1, 5.5, 5.8, 6.0, 5.6], 0.02));
        let fall = Shape::Fall { at: 4, until: 4, from: 22.0, to: 2.1 };
        assert_eq!(found, [fall, Shape::Stays { first: 5, range: (5.5, 6.0) }]);
    }

    #[test]
    fn growth_that_ends_saturates_and_what_never_grew_is_flat() {
        let found = shapes(&curve(&[294.0, 406.0, 408.0, 444.0, 454.0], 0.01));
        assert_eq!(found, [Shape::Saturates { first: 1, range: (406.0, 454.0) }]);
        assert_eq!(
            shapes(&curve(&[100.0, 104.0, 98.0, 101.0], 0.01)),
            [Shape::Flat { range: (98.0, 104.0) }]
        );
        assert_eq!(shapes(&curve(&[1.0, 2.0, 4.0, 8.0], 0.01)), []);
        assert_eq!(shapes(&curve(&[100.0, 104.0, 98.0, 101.0], 0.3)), [], "nothing is known so coarsely");
    }

    #[test]
    fn falls_in_a_row_are_one_and_noise_is_none() {
        let found = shapes(&curve(&[900.0, 500.0, 200.0, 210.0], 0.05));
        assert_eq!(found[0], Shape::Fall { at: 1, until: 2, from: 900.0, to: 200.0 });
        assert_eq!(shapes(&curve(&[100.0, 70.0], 0.1)), [], "within its margins");
        assert_eq!(shapes(&[]), []);
    }
}
