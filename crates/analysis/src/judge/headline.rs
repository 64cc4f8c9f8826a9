//! Which parts of its map a verdict names, and what the other cells may still hide.

use std::collections::HashSet;

use sharebench_stats::Interval;

use crate::judge::verdict::Evidence;
use crate::types::{ComparisonOutcome, DifferingPart, PartEvidence, RatioVerdict, Summary, View};

/// Most parts that a verdict names.
const NAMED: usize = 3;

/// The parts that a verdict names.
#[derive(Default)]
pub(crate) struct NamedParts {
    /// At most three, the most important first, with each direction that occurs.
    pub named: Vec<usize>,
    /// Number of the others.
    pub more: usize,
    /// Whether the later system is faster or slower in all parts; none if they disagree, or without a part.
    pub direction: Option<RatioVerdict>,
    /// Cells of the parts whose direction is known for each cell.
    pub cells: usize,
    /// Largest difference of a cell outside the parts, as a share.
    pub largest_hidden: Option<f64>,
    /// The same in the direction opposite to that of all parts.
    pub largest_opposite: Option<f64>,
}

impl NamedParts {
    /// What the parts show; none without a part, so that the mean is the answer.
    pub(crate) fn outcome(&self, mean: Option<&Summary>) -> Option<ComparisonOutcome> {
        if self.named.is_empty() {
            return None;
        }
        let mean = mean.map(|mean| mean.verdict);
        Some(match (self.direction, mean) {
            (Some(RatioVerdict::Faster), mean) if mean != Some(RatioVerdict::Slower) => {
                ComparisonOutcome::Faster
            }
            (Some(RatioVerdict::Slower), mean) if mean != Some(RatioVerdict::Faster) => {
                ComparisonOutcome::Slower
            }
            // The mean may be known to differ where no part in its direction is.
            _ => ComparisonOutcome::Depends,
        })
    }
}

impl Evidence<'_> {
    /// The parts among the sections of the mean.
    pub(crate) fn named_parts(&self, view: Option<View>) -> NamedParts {
        let of_view =
            |section: &usize| view.is_none_or(|view| self.estimated.sections[*section].view == view);
        let all: Vec<(usize, &DifferingPart)> = self.differences.parts.iter().enumerate().collect();
        let parts: Vec<(usize, &DifferingPart)> =
            all.into_iter().filter(|(_, part)| part.sections.iter().all(of_view)).collect();
        let named = named(&parts);
        let directions = [RatioVerdict::Faster, RatioVerdict::Slower];
        let mut occurring =
            directions.into_iter().filter(|direction| parts.iter().any(|(_, p)| p.direction == *direction));
        let direction = occurring.next().filter(|_| occurring.next().is_none());
        let covered: HashSet<(usize, usize)> = parts.iter().flat_map(|(_, part)| part.places()).collect();
        let outside = || {
            let cells = self.cells.iter().filter(|cell| of_view(&cell.section));
            cells.filter(|cell| !covered.contains(&(cell.section, cell.row))).map(|cell| cell.interval)
        };
        let largest = |of: &dyn Fn(Interval) -> f64| {
            outside().map(of).reduce(f64::max).map(|log| log.max(0.0).exp_m1())
        };
        let opposite = |direction: RatioVerdict| match direction {
            RatioVerdict::Slower => largest(&|interval| interval.high),
            _ => largest(&|interval| -interval.low),
        };
        let certain = parts.iter().filter(|(_, part)| part.evidence == PartEvidence::EachCell);
        NamedParts {
            more: parts.len() - named.len(),
            named,
            direction,
            cells: certain.map(|(_, part)| part.cells()).sum(),
            largest_hidden: largest(&|interval| interval.high.max(-interval.low)),
            largest_opposite: direction.and_then(opposite),
        }
    }
}

/// The most important parts, with one of each direction that occurs.
fn named(parts: &[(usize, &DifferingPart)]) -> Vec<usize> {
    let mut named: Vec<usize> = (0..parts.len()).take(NAMED).collect();
    let differs = |at: &usize| parts[*at].1.direction != parts[0].1.direction;
    if let (true, Some(opposite)) =
        (named.len() == NAMED && !named.iter().any(differs), (0..parts.len()).find(differs))
    {
        named[NAMED - 1] = opposite;
    }
    named.into_iter().map(|at| parts[at].0).collect()
}
