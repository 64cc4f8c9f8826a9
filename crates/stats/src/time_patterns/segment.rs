//! The segment of time whose level differs most from the rest.

use super::shape::{Centred, Shape};

/// Edges of the coarse scan; the best are refined sample by sample.
const EDGES: usize = 160;
/// Fewest samples within the segment and outside it, and their least share.
const SIDE: (usize, f64) = (6, 0.04);

/// The best segment that begins with the first sample or ends with the last, and the best of all; each with the price of
/// its edges in parameters, and the number of segments among which it was chosen.
pub(super) fn best(data: &Centred<'_>, left: &[f64]) -> Vec<(Shape, f64, f64)> {
    let n = left.len();
    let least = SIDE.0.max((SIDE.1 * n as f64) as usize);
    if n < 3 * least {
        return Vec::new();
    }
    let mut sums = vec![(0.0, 0.0)];
    let mut last = (0.0, 0.0);
    for (value, weight) in left.iter().zip(&data.weights) {
        last = (last.0 + value * weight, last.1 + weight);
        sums.push(last);
    }
    let gain = |from: usize, to: usize| {
        let sum = sums[to].0 - sums[from].0;
        let weights = sums[to].1 - sums[from].1;
        let rest = last.1 - weights;
        if to < from + least || n - (to - from) < least || rest <= 0.0 {
            return 0.0;
        }
        // What is left sums to nothing over all samples, nearly: the mean of the rest follows from that of the segment.
        sum * sum * last.1 / (weights * rest)
    };
    let edges: Vec<usize> = (0..=EDGES.min(n)).map(|edge| edge * n / EDGES.min(n)).collect();
    let best = |anchored: bool| {
        let mut best = Cut { gain: 0.0, from: 0, to: 0 };
        for (at, from) in edges.iter().enumerate() {
            for to in &edges[at + 1..] {
                let value = gain(*from, *to);
                if value > best.gain && (!anchored || *from == 0 || *to == n) {
                    best = Cut { gain: value, from: *from, to: *to };
                }
            }
        }
        refined(best, n, edges.len() - 1, &gain)
    };
    let start = |index: usize| data.samples[index].start_s;
    let shape = |cut: Cut| Shape::Segment {
        from_s: if cut.from == 0 { f64::NEG_INFINITY } else { start(cut.from) },
        to_s: if cut.to == n { f64::INFINITY } else { start(cut.to) },
    };
    // Chance finds a better one among pairs of edges than among single ones.
    let count = edges.len() as f64;
    [(best(true), 2.0, 2.0 * count), (best(false), 5.0, count * count / 2.0)]
        .into_iter()
        .filter(|(cut, ..)| cut.gain > 0.0)
        .map(|(cut, parameters, tries)| (shape(cut), parameters, tries))
        .collect()
}

/// A segment by its edges, and what it gains.
#[derive(Debug, Clone, Copy)]
struct Cut {
    gain: f64,
    from: usize,
    to: usize,
}

/// The segment with its edges moved sample by sample to where it gains most.
fn refined(mut cut: Cut, n: usize, edges: usize, gain: &impl Fn(usize, usize) -> f64) -> Cut {
    let reach = n / edges + 1;
    let near = |edge: usize| edge.saturating_sub(reach)..=(edge + reach).min(n);
    for _ in 0..2 {
        let around = if cut.from > 0 { near(cut.from) } else { 0..=0 };
        for edge in around {
            if edge < cut.to && gain(edge, cut.to) > cut.gain {
                cut = Cut { gain: gain(edge, cut.to), from: edge, ..cut };
            }
        }
        let around = if cut.to < n { near(cut.to) } else { n..=n };
        for edge in around {
            if edge > cut.from && gain(cut.from, edge) > cut.gain {
                cut = Cut { gain: gain(cut.from, edge), to: edge, ..cut };
            }
        }
    }
    cut
}
