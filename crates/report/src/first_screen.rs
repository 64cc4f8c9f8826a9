//! What a reader sees first, in the terminal and on the page: the claim of a verdict, a bar per system, and the reason not
//! to trust them more.

use sharebench_analysis::{
    Analysis, ComparisonOutcome, Estimate, Interval, Outcome, RateUnit, Row, Section, Sentence, Status,
    TrustLine, View,
};

/// Subject of the trust line about a verdict's confidence.
const CONFIDENCE: &str = "confidence";
/// Subject of the trust line that states which difference would be detected.
const SENSITIVITY: &str = "sensitivity";

/// True if a sentence of the answer repeats the claim of a verdict: its text up to the interval, or the names and the ratio
/// of an inconclusive one.
pub fn restates_a_verdict(analysis: &Analysis, sentence: &Sentence) -> bool {
    let repeats = |verdict: &str| {
        let Some((claim, _)) = verdict.split_once(']') else { return false };
        match claim.strip_prefix("inconclusive: ").and_then(|claim| claim.split_once(", ratio ")) {
            Some((names, ratio)) => sentence.text.contains(names) && sentence.text.contains(ratio),
            None => sentence.text.contains(claim),
        }
    };
    analysis.verdicts().any(|verdict| repeats(&verdict.text))
}

/// A system and its rate.
#[derive(Debug, Clone)]
pub struct Bar {
    /// Index into [`Analysis::systems`].
    pub system: usize,
    /// Name of the system.
    pub name: String,
    /// Length of the bar, in any unit.
    pub value: f64,
    /// The value with its unit.
    pub text: String,
    /// Interval of the ratio to the first system, as rates; none for the first one, and without an interval.
    pub interval: Option<Interval>,
}

/// Bars with the same unit.
#[derive(Debug, Clone)]
pub struct BarChart {
    /// What a bar shows.
    pub caption: String,
    /// What the rates count.
    pub unit: RateUnit,
    /// One per system.
    pub bars: Vec<Bar>,
}

/// The mean rate of each system that a verdict is about, with the number of cells it is from.
///
/// The rate of the first one is its geometric mean over the cells that the verdict counts; the others follow from the
/// paired ratios of the verdicts, so that both agree. An interval is that of such a ratio, and the first has none.
pub fn bars(analysis: &Analysis) -> Option<BarChart> {
    let mut systems: Vec<usize> = Vec::new();
    for comparison in analysis.reported.iter().map(|index| &analysis.comparisons[*index]) {
        let outcome = comparison.verdict.outcome;
        // A ratio of unusable data is no bar.
        if comparison.verdict.ratio.is_none()
            || (outcome == ComparisonOutcome::Inconclusive && comparison.verdict.sharpness.is_none())
        {
            continue;
        }
        for system in [comparison.a, comparison.b] {
            if !systems.contains(&system) {
                systems.push(system);
            }
        }
    }
    systems.sort_unstable();
    let first = systems.first().copied()?;
    let mean = mean_rate(analysis, first, &systems)?;
    let bar = |system: usize| {
        let ratio = if system == first { Some((1.0, None)) } else { ratio_to(analysis, first, system) };
        ratio.map(|(ratio, interval)| Bar {
            system,
            name: analysis.systems[system].name.clone(),
            value: mean.rate * ratio,
            text: mean.unit.show(mean.rate * ratio),
            interval: interval
                .map(|bounds| Interval { low: bounds.low * mean.rate, high: bounds.high * mean.rate }),
        })
    };
    Some(BarChart {
        caption: match mean.cells {
            1 => "rate".to_owned(),
            cells => format!("mean rate of {cells} cells (geometric)"),
        },
        unit: mean.unit,
        bars: systems.iter().map(|system| bar(*system)).collect::<Option<Vec<Bar>>>()?,
    })
}

/// A geometric mean.
struct MeanRate {
    rate: f64,
    unit: RateUnit,
    cells: usize,
}

/// Mean rate of one system in the cells that a verdict on these systems counts: those of the sweeps if there are any, which
/// all systems have, without those that the client's cache answered.
fn mean_rate(analysis: &Analysis, system: usize, systems: &[usize]) -> Option<MeanRate> {
    let of_view = |view: View| mean_rate_of_view(analysis, view, system, systems);
    [View::Sweep, View::Depth, View::Load].into_iter().find_map(of_view)
}

fn mean_rate_of_view(analysis: &Analysis, view: View, system: usize, systems: &[usize]) -> Option<MeanRate> {
    let sections: Vec<&Section> = analysis.sections.iter().filter(|section| section.view == view).collect();
    // Rates of unlike units have no mean; those of operations that move no data come second.
    let units = [RateUnit::BytesPerSecond, RateUnit::OperationsPerSecond];
    let unit = units.into_iter().find(|unit| sections.iter().any(|section| section.unit == *unit))?;
    let is_in_all = |row: &&Row| systems.iter().all(|at| row.outcomes[*at].is_some());
    let is_cached = |row: &Row| {
        systems.iter().any(|at| row.outcomes[*at].as_ref().is_some_and(Outcome::is_client_cached))
    };
    let rows = sections.iter().filter(|section| section.unit == unit).flat_map(|section| &section.rows);
    let (cached, counted): (Vec<&Row>, Vec<&Row>) = rows.filter(is_in_all).partition(|row| is_cached(row));
    // If the client's cache answered everything, the verdict is about its rates.
    let rows = if counted.is_empty() { cached } else { counted };
    let logs = rows.iter().filter_map(|row| Some(row.outcomes[system].as_ref()?.rate.value.ln()));
    let logs: Vec<f64> = logs.filter(|log| log.is_finite()).collect();
    let cells = logs.len();
    (cells > 0).then(|| MeanRate { rate: (logs.iter().sum::<f64>() / cells as f64).exp(), unit, cells })
}

/// Rate of a system over that of the first one with its interval, by the verdict that compares the two.
fn ratio_to(analysis: &Analysis, first: usize, system: usize) -> Option<(f64, Option<Interval>)> {
    let inverse = |Estimate { value, interval, .. }: Estimate| {
        let bounds = interval.map(|bounds| Interval { low: 1.0 / bounds.high, high: 1.0 / bounds.low });
        (1.0 / value, bounds)
    };
    analysis.comparisons.iter().find_map(|comparison| {
        let ratio = comparison.verdict.ratio?;
        match (comparison.a, comparison.b) {
            (a, b) if a == system && b == first => Some((ratio.value, ratio.interval)),
            (a, b) if a == first && b == system => Some(inverse(ratio)),
            _ => None,
        }
    })
}

/// How far to trust a result, in one status.
pub struct TrustSummary<'a> {
    /// The worst status of all lines.
    pub status: Status,
    /// The failed checks, or the one cause that lowers the confidence most.
    pub causes: Vec<&'a TrustLine>,
    /// Which difference would be detected, unless it is a cause.
    pub sensitivity: Option<&'a TrustLine>,
    /// Number of the other warnings.
    pub more: usize,
}

/// The failed checks, or the one cause that lowers the confidence most, and the number of the others.
pub fn trust_summary(analysis: &Analysis) -> TrustSummary<'_> {
    let of = |status: Status| analysis.trust.iter().filter(move |line| line.status == status);
    let mut causes: Vec<&TrustLine> = of(Status::Failed).collect();
    if causes.is_empty() {
        let (of_confidence, others): (Vec<&TrustLine>, Vec<&TrustLine>) =
            of(Status::Warning).partition(|line| line.subject == CONFIDENCE);
        // The confidence in a comparison that no verdict is about explains nothing.
        let is_reported = |line: &&TrustLine| {
            let mut names = analysis.reported.iter().map(|index| &analysis.comparisons[*index].name);
            names.any(|name| line.text.starts_with(&format!("{name}: ")))
        };
        causes.extend(of_confidence.into_iter().find(is_reported).or(others.first().copied()));
    }
    let is_sensitivity = |line: &&TrustLine| {
        line.subject == SENSITIVITY && !causes.iter().any(|other| other.subject == SENSITIVITY)
    };
    TrustSummary {
        status: causes.first().map_or(Status::Ok, |line| line.status),
        sensitivity: analysis.trust.iter().find(is_sensitivity),
        more: of(Status::Warning).filter(|line| !causes.contains(line)).count(),
        causes,
    }
}

/// The sections of the view that the verdict is about, if their ratios can be mapped.
pub fn mapped(analysis: &Analysis) -> Vec<usize> {
    let Some(pair) = analysis.reported.first() else { return Vec::new() };
    let has_ratio = |section: &Section| section.rows.iter().any(|row| row.ratios[*pair].is_some());
    let of = |view: View| {
        let sections = analysis.sections.iter().enumerate();
        sections
            .filter(|(_, section)| section.view == view && has_ratio(section))
            .map(|(index, _)| index)
            .collect()
    };
    [View::Sweep, View::Depth]
        .into_iter()
        .map(of)
        .find(|found: &Vec<usize>| !found.is_empty())
        .unwrap_or_default()
}
