//! Many cells in one number.

use serde::{Deserialize, Serialize};
use sharebench_stats::{Estimate, Interval};

use crate::types::{Obstacle, Pairing, Ratio, RatioVerdict};

/// Number of cells per verdict, each judged individually.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictCounts {
    /// Above the tolerance.
    pub faster: usize,
    /// Below the tolerance.
    pub slower: usize,
    /// Within the tolerance.
    pub same: usize,
    /// Neither.
    pub not_resolved: usize,
}

impl VerdictCounts {
    pub(crate) fn from_ratios<'a>(ratios: impl Iterator<Item = &'a Ratio>) -> Self {
        let mut counts = Self::default();
        for ratio in ratios {
            *match ratio.verdict {
                RatioVerdict::Faster => &mut counts.faster,
                RatioVerdict::Slower => &mut counts.slower,
                RatioVerdict::AboutTheSame => &mut counts.same,
                RatioVerdict::NotResolved => &mut counts.not_resolved,
            } += 1;
        }
        counts
    }
}

/// Cells that a client's cache served on one side at least.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CachedCells {
    /// How many.
    pub cells: usize,
    /// Those among them that it served on one side only.
    pub one_sided: usize,
    /// All cells together; none where no other cell is left, so that the mean itself is over these.
    pub all_cells: Option<MeanRatio>,
    /// Only cells in which it served about the same share of both sides; none where there is none.
    #[serde(default)]
    pub equal_cache_share: Option<MeanRatio>,
}

/// A mean ratio over some of the cells.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeanRatio {
    /// Geometric mean of the cells' ratios.
    pub typical: Estimate,
    /// Its verdict.
    pub verdict: RatioVerdict,
    /// Cells it covers.
    pub cells: usize,
}

/// Cells in which storage gave one side more of the bytes than the other, no client's cache taking part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct UnequalStorage {
    /// How many.
    pub cells: usize,
    /// The mean over the others; none where there is none.
    pub alike: Option<MeanRatio>,
}

/// Cells in which stalls dominate: the typical ratio of a repetition and the ratio of all work over all time differ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StalledCells {
    /// How many.
    pub cells: usize,
    /// Geometric mean of their typical ratios; the interval holds however the cells depend on each other.
    pub typical: Estimate,
    /// The same of their ratios of all work over all time.
    pub total_work: Estimate,
}

impl StalledCells {
    /// Those in which stalls decide.
    pub(crate) fn from_ratios(ratios: &[&Ratio]) -> Option<Self> {
        Self::together(ratios.iter().copied().filter(|ratio| ratio.stalls_decide))
    }

    /// All cells, if they count as equal and stalls decide in their mean, though in none of them beyond chance.
    pub(crate) fn of_equal(ratios: &[&Ratio]) -> Option<Self> {
        let all = Self::together(ratios.iter().copied())?;
        let gap = (all.total_work.value / all.typical.value).ln().abs();
        (gap > STALL_GAP.ln_1p()).then_some(all)
    }

    fn together<'a>(ratios: impl Iterator<Item = &'a Ratio>) -> Option<Self> {
        let stalled: Vec<(Estimate, Estimate)> =
            ratios.filter_map(|ratio| Some((ratio.typical, ratio.total_work?))).collect();
        let typical: Vec<Estimate> = stalled.iter().map(|(typical, _)| *typical).collect();
        let total_work: Vec<Estimate> = stalled.iter().map(|(_, total)| *total).collect();
        Some(Self {
            cells: stalled.len(),
            typical: dependent_mean(&typical)?,
            total_work: dependent_mean(&total_work)?,
        })
    }
}

/// How far typical and total-work ratio may be apart, as a share, before stalls decide.
pub const STALL_GAP: f64 = 0.03;

/// Geometric mean of ratios whose errors may depend on each other: that of the bounds is its interval.
fn dependent_mean(ratios: &[Estimate]) -> Option<Estimate> {
    let mean = |of: &dyn Fn(&Estimate) -> Option<f64>| {
        let sum: f64 = ratios.iter().map(|ratio| Some(of(ratio)?.ln())).sum::<Option<f64>>()?;
        Some((sum / ratios.len() as f64).exp())
    };
    let low = mean(&|ratio| Some(ratio.interval?.low));
    let high = mean(&|ratio| Some(ratio.interval?.high));
    let interval = low.zip(high).map(|(low, high)| Interval::new(low, high));
    let n = ratios.iter().map(|ratio| ratio.n).min()?;
    Some(Estimate { value: mean(&|ratio| Some(ratio.value))?, interval, n })
}

/// Level of the interval that shows a difference of any size. It is higher than that of a verdict, because nothing but
/// chance separates two equal systems here, while a verdict also needs a difference beyond the tolerance.
pub const DIFFERENCE_LEVEL: f64 = 0.99;

/// Two systems over many cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Geometric mean of the cells' ratios; `n` counts whole repetitions.
    pub typical: Estimate,
    /// Its verdict.
    pub verdict: RatioVerdict,
    /// True if the systems were interleaved and the interval at [`DIFFERENCE_LEVEL`] excludes 1: they differ, possibly by
    /// less than the tolerance.
    #[serde(default)]
    pub differs: bool,
    /// True if a cell is known to differ from the mean: the mean is no statement about each cell.
    #[serde(default)]
    pub varies: bool,
    /// Repetitions of the cell that has the fewest.
    #[serde(default)]
    pub fewest_repetitions: usize,
    /// The weakest evidence among the cells.
    pub pairing: Pairing,
    /// Cells it covers.
    pub cells: usize,
    /// Cells with fewer than six repetitions, which take part in no mean because others have more.
    pub incomplete_cells: usize,
    /// Cells that a client's cache served, which are left out of everything here unless there are no others.
    pub cached: Option<CachedCells>,
    /// Cells in which the two systems' storage had unlike shares; none without such cells, or without evidence from the servers.
    #[serde(default)]
    pub unequal_storage: Option<UnequalStorage>,
    /// Cells judged individually.
    pub counts: VerdictCounts,
    /// Cells in which stalls dominate; none without such a cell.
    pub stalled: Option<StalledCells>,
    /// Repetitions that would probably resolve it.
    pub repetitions_needed: Option<usize>,
    /// What keeps it from being resolved; none if it is resolved.
    #[serde(default)]
    pub obstacle: Option<Obstacle>,
    /// Cells measured once on a side, and how many of them differ by more than their uncertainty.
    pub single_runs: (usize, usize),
    /// What results declared to be equal leave open in them, as a share; none where none are declared.
    pub equal_share: Option<f64>,
    /// True when one side of a cell measured once was repeated on the other, so that its spread blurs too.
    pub spread_known: bool,
}
