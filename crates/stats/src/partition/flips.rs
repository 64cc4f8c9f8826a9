//! The largest statistic over all rectangles under random signs of whole repetitions.
//!
//! Source: Winkler et al., `NeuroImage` 92 (2014) 381; Westfall and Young: Resampling-Based Multiple Testing.

use sharebench_model::Random;

use super::family::FilledSheet;
use super::sheet::{QUANTITIES, Quantities};

/// Patterns of signs. With 199, the 190th smallest statistic is exceeded with 5 %.
const PATTERNS: usize = 199;
/// Lower bound of variances under flips, so that cells without any spread divide by something.
const MIN_VARIANCE: f64 = 1e-12;

/// How to standardise the sum over a rectangle under one pattern: its square over `max(total - square / degrees, least)`.
#[derive(Clone, Copy)]
pub(super) struct Statistic {
    total: f64,
    per_square: f64,
    least: f64,
}

impl Statistic {
    /// Of a rectangle that takes no part.
    pub const NONE: Self = Self { total: f64::INFINITY, per_square: 0.0, least: f64::INFINITY };

    /// From variances of a mean over this number of cells.
    pub fn new(cells: f64, total: f64, degrees: f64, least: f64) -> Self {
        let squared = cells * cells;
        Self { total: total * squared, per_square: 1.0 / degrees, least: least.max(MIN_VARIANCE) * squared }
    }
}

/// The largest standardised mean of each pattern, in ascending order.
pub(super) fn largest_statistics(
    sheets: &[FilledSheet],
    statistics: &[Statistic],
    repetitions: usize,
    seed: u64,
) -> Vec<f64> {
    let drawn = patterns(repetitions, seed);
    let mut different: Vec<&Vec<bool>> = drawn.iter().collect();
    different.sort_unstable();
    different.dedup();
    let mut largest: Vec<f64> = Vec::new();
    for some in different.chunks(QUANTITIES) {
        let signs: Vec<Quantities> = (0..repetitions).map(|repetition| signs(some, repetition)).collect();
        let mut squares = [0.0; QUANTITIES];
        for sheet in sheets {
            let here = &statistics[sheet.first..];
            let table = {
                let sums = signed_sums(sheet, &signs);
                sheet.sheet.table(|cell| sums[cell])
            };
            sheet.sheet.scan(&table, |index, sums| {
                let Statistic { total, per_square, least } = here[index];
                for (largest, sum) in squares.iter_mut().zip(sums) {
                    let square = sum * sum;
                    let variance = total - square * per_square;
                    let variance = if variance > least { variance } else { least };
                    let statistic = square / variance;
                    *largest = if statistic > *largest { statistic } else { *largest };
                }
            });
        }
        largest.extend(squares.iter().map(|square| square.sqrt()));
    }
    let of_drawn = |pattern| largest[different.binary_search(&pattern).expect("each drawn pattern is in it")];
    let mut largest: Vec<f64> = drawn.iter().map(of_drawn).collect();
    largest.sort_unstable_by(f64::total_cmp);
    largest
}

/// Patterns of signs: true of each repetition whose sign is not that of the first one. The signs of all repetitions together do not
/// matter, so that six repetitions have 32 different patterns, each of which is computed once.
fn patterns(repetitions: usize, seed: u64) -> Vec<Vec<bool>> {
    let mut random = Random::new(seed, 3);
    let mut patterns = Vec::new();
    while patterns.len() < PATTERNS {
        let bits: Vec<u64> = (0..repetitions).map(|_| random.next()).collect();
        // The high bits of the generator are its best ones.
        patterns.extend((0..QUANTITIES).map(|quantity| {
            let sign = |bits: &u64| bits >> (63 - quantity) & 1 == 1;
            bits.iter().map(|some| sign(some) != sign(&bits[0])).collect::<Vec<bool>>()
        }));
    }
    patterns.truncate(PATTERNS);
    patterns
}

/// The sign of a repetition in each pattern; of patterns that do not exist 0.
fn signs(patterns: &[&Vec<bool>], repetition: usize) -> Quantities {
    std::array::from_fn(|quantity| match patterns.get(quantity) {
        Some(pattern) if pattern[repetition] => -1.0,
        Some(_) => 1.0,
        None => 0.0,
    })
}

/// Per cell, the sum of its deviations under each pattern.
fn signed_sums(sheet: &FilledSheet, signs: &[Quantities]) -> Vec<Quantities> {
    let mut sums = vec![[0.0; QUANTITIES]; sheet.size()];
    for (signs, deviations) in signs.iter().zip(sheet.deviations.chunks(sheet.size().max(1))) {
        for (sums, deviation) in sums.iter_mut().zip(deviations) {
            for (sum, sign) in sums.iter_mut().zip(signs) {
                *sum += sign * deviation;
            }
        }
    }
    sums
}
