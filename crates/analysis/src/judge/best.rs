//! Which comparisons the answer reports: those of the best of several systems.

use crate::types::{Access, Comparison, Summary, System};

/// Most pairs that an answer speaks of; the others are listed among the findings.
const MAX_PAIRS: usize = 3;

/// For each comparison whether the answer speaks of it. Comparisons that hang together, however indirectly, have one
/// best system, and the pairs that it is part of are reported.
///
/// Where shares are compared with each other, a directory of this machine is their baseline. That it is faster than
/// a share is no answer, so its pairs are reported among the findings.
pub(crate) fn spoken_of(systems: &[System], comparisons: &[Comparison]) -> Vec<bool> {
    let is_baseline = |system: usize| systems[system].access == Access::Local;
    let of_shares = |comparison: &&Comparison| !is_baseline(comparison.a) && !is_baseline(comparison.b);
    let has_baseline = comparisons.iter().any(|comparison| of_shares(&comparison));
    let shown: Vec<&Comparison> =
        comparisons.iter().filter(|comparison| !has_baseline || of_shares(comparison)).collect();
    let best = best_of_each(systems.len(), &shown);
    let mut left = MAX_PAIRS;
    let pairs = comparisons.iter();
    let reported = pairs.map(|comparison| {
        let is_shown = !has_baseline || of_shares(&comparison);
        let reported = is_shown && left > 0 && (best.contains(&comparison.a) || best.contains(&comparison.b));
        left -= usize::from(reported);
        reported
    });
    reported.collect()
}

/// The section in which two systems differ most.
pub(crate) fn widest(comparison: &Comparison) -> Option<usize> {
    let ratio = |summary: &Summary| summary.typical.value.ln().abs();
    let sections = comparison.sections.iter().enumerate();
    let known = sections.filter_map(|(section, summary)| Some((section, ratio(summary.as_ref()?))));
    known.max_by(|x, y| x.1.total_cmp(&y.1)).map(|(section, _)| section)
}

/// The fastest system of each group of systems that are compared, directly or through others.
fn best_of_each(systems: usize, comparisons: &[&Comparison]) -> Vec<usize> {
    let count = systems;
    let mut group: Vec<usize> = (0..count).collect();
    for comparison in comparisons {
        let from = group[comparison.a];
        let to = group[comparison.b];
        group.iter_mut().filter(|of| **of == from).for_each(|of| *of = to);
    }
    let scores = scores(systems, comparisons);
    let mut best: Vec<usize> = Vec::new();
    for system in 0..count {
        match best.iter_mut().find(|known| group[**known] == group[system]) {
            Some(known) if scores[system] > scores[*known] => *known = system,
            Some(_) => {}
            None => best.push(system),
        }
    }
    best
}

/// Mean log ratio of each system against those it is compared with: over all cells, or over the sections where there is
/// no mean over all.
fn scores(systems: usize, comparisons: &[&Comparison]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); systems];
    for comparison in comparisons {
        let of_sections = || comparison.sections.iter().flatten().map(|summary| summary.typical.value.ln());
        let ratio = match &comparison.overall {
            Some(overall) => overall.summary.typical.value.ln(),
            None => of_sections().sum::<f64>() / of_sections().count().max(1) as f64,
        };
        if !ratio.is_finite() {
            continue;
        }
        for (system, ratio) in [(comparison.a, ratio), (comparison.b, -ratio)] {
            sums[system].0 += ratio;
            sums[system].1 += 1.0;
        }
    }
    sums.into_iter().map(|(sum, n)| if n > 0.0 { sum / n } else { f64::NEG_INFINITY }).collect()
}
