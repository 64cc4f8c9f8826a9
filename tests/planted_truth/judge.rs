//! Compares what an analysis claims with what was planted.

use sharebench_analysis::{
    Analysis, Comparison, ComparisonOutcome, ComparisonVerdict, DifferingPart, PartEvidence, RatioVerdict,
    Tone,
};
use sharebench_model::Coordinates;

use crate::count::Tally;
use crate::measured::Measured;
use crate::over_time::over_time;
use crate::properties::{PlantedCache, Property, Truth};

/// A planted ratio this close to the tolerance, as a logarithm, is on both of its sides.
const EDGE: f64 = 0.001;
/// Allowed difference of a share of storage and the planted one, as docs/measure/measurement-rules.md K16 demands it.
const SHARE: f64 = 0.10;

/// The claims of one run.
#[derive(Default)]
pub struct Judged {
    pub answer: Tally,
    pub findings: Tally,
    /// The claims that are wrong.
    pub wrong: Vec<String>,
}

impl Judged {
    pub fn finding(&mut self, is_right: bool, what: impl FnOnce() -> String) {
        if is_right {
            self.findings.right += 1;
        } else {
            self.findings.wrong += 1;
            self.wrong.push(format!("finding: {}", what()));
        }
    }

    pub fn answer(&mut self, claim: Option<bool>, what: impl FnOnce() -> String) {
        match claim {
            None => self.answer.refused += 1,
            Some(true) => self.answer.right += 1,
            Some(false) => {
                self.answer.wrong += 1;
                self.wrong.push(format!("answer: {}", what()));
            }
        }
    }
}

/// Judges every claim of an analysis about a property.
pub fn judge(property: &Property, measured: &Measured) -> Judged {
    let mut judged = Judged::default();
    let analysis = &measured.analysis;
    match &property.truth {
        Truth::Ratio(ratio) => {
            of_two(analysis, ratio, property.exact, &mut judged);
            falls(analysis, &mut judged, property.falls);
        }
        Truth::Time(pattern) => over_time(measured, pattern, &mut judged),
        Truth::Cache(planted) => of_a_cache(analysis, *planted, &mut judged),
        Truth::Storage(share) => of_storage(analysis, share, &mut judged),
    }
    judged
}

/// Whether a verdict agrees with the logarithm of the planted ratio; none if it claims nothing.
pub fn agrees(verdict: RatioVerdict, planted: f64, tolerance: f64) -> Option<bool> {
    let edge = tolerance.ln_1p();
    match verdict {
        RatioVerdict::Faster => Some(planted > edge - EDGE),
        RatioVerdict::Slower => Some(planted < -edge + EDGE),
        RatioVerdict::AboutTheSame => Some(planted.abs() < edge + EDGE),
        RatioVerdict::NotResolved => None,
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The only comparison: the second server over the first one.
pub fn comparison(analysis: &Analysis) -> &Comparison {
    let [comparison] = &analysis.comparisons[..] else { panic!("one comparison") };
    assert_eq!([comparison.a, comparison.b], [1, 0], "the second server over the first one");
    comparison
}

fn of_two(analysis: &Analysis, ratio: &dyn Fn(&Coordinates) -> f64, exact: bool, judged: &mut Judged) {
    let comparison = comparison(analysis);
    let planted: Vec<Vec<f64>> = analysis
        .sections
        .iter()
        .map(|section| section.rows.iter().map(|row| ratio(&row.coordinates).ln()).collect())
        .collect();
    let verdict = &comparison.verdict;
    judged.answer(agrees_with_map(verdict, &planted.concat(), analysis.tolerance), || verdict.text.clone());
    for (index, summary) in comparison.sections.iter().enumerate() {
        let Some(summary) = summary else { continue };
        if let Some(right) = agrees(summary.verdict, mean(&planted[index]), analysis.tolerance) {
            judged.finding(right, || {
                format!("{}: {:?} {:?}", analysis.sections[index].title, summary.verdict, summary.typical)
            });
        }
    }
    for part in &comparison.differences.parts {
        let cells: Vec<f64> = part.places().map(|(section, row)| planted[section][row]).collect();
        judged.finding(agrees_with_part(part, &cells, exact, analysis.tolerance), || {
            format!("part with planted ratios of {cells:.3?} (logarithms): {part:?}")
        });
    }
}

/// Whether the verdict on a map agrees with the logarithms of the planted ratios of its cells; none if it claims nothing.
fn agrees_with_map(verdict: &ComparisonVerdict, planted: &[f64], tolerance: f64) -> Option<bool> {
    let edge = tolerance.ln_1p();
    let is_faster = planted.iter().any(|ratio| *ratio > edge - EDGE);
    let is_slower = planted.iter().any(|ratio| *ratio < -edge + EDGE);
    // Small differences in the other direction contradict nothing.
    let none_beyond = |sign: f64| planted.iter().all(|ratio| sign * ratio < edge + EDGE);
    let by_parts = !verdict.parts.is_empty();
    match verdict.outcome {
        ComparisonOutcome::Depends => Some(is_faster && is_slower),
        ComparisonOutcome::Faster if by_parts => Some(is_faster && none_beyond(-1.0)),
        ComparisonOutcome::Slower if by_parts => Some(is_slower && none_beyond(1.0)),
        ComparisonOutcome::Faster => agrees(RatioVerdict::Faster, mean(planted), tolerance),
        ComparisonOutcome::Slower => agrees(RatioVerdict::Slower, mean(planted), tolerance),
        ComparisonOutcome::Equal => {
            // The line states the largest difference that a cell may have.
            let hidden = verdict.largest_hidden.map_or(edge, f64::ln_1p).max(edge);
            Some(mean(planted).abs() < edge + EDGE && planted.iter().all(|ratio| ratio.abs() < hidden + EDGE))
        }
        ComparisonOutcome::Inconclusive => None,
    }
}

/// Whether a part agrees with the logarithms of the planted ratios of its cells: each of them, or on average their mean, has its
/// direction and, where the planted ratio is exact, lies within its range.
fn agrees_with_part(part: &DifferingPart, planted: &[f64], exact: bool, tolerance: f64) -> bool {
    let edge = tolerance.ln_1p();
    let sign = if part.direction == RatioVerdict::Faster { 1.0 } else { -1.0 };
    let agrees = |ratio: f64| {
        let is_within = ratio > part.range.low.ln() - edge && ratio < part.range.high.ln() + edge;
        sign * ratio > -edge - EDGE && (is_within || !exact)
    };
    match part.evidence {
        PartEvidence::EachCell => planted.iter().all(|ratio| agrees(*ratio)),
        PartEvidence::OnAverage => agrees(mean(planted)),
    }
}

/// Sentences about curves that fall with the size of files: they need a cache.
fn falls(analysis: &Analysis, judged: &mut Judged, has_cache: bool) {
    for sentence in &analysis.findings {
        if sentence.tone == Tone::Note && sentence.text.contains(" falls from ") {
            judged.finding(has_cache, || sentence.text.clone());
        }
    }
}

/// A size as the sentences write it.
fn bytes(text: &str) -> u64 {
    let text = text.trim_end_matches(['.', ':', ',']);
    text.parse::<sharebench_model::units::ByteSize>().unwrap().0
}

/// The sizes between which a sentence places the cliff, and the size of the cache that it states.
fn cliff(text: &str) -> Option<(u64, u64, u64)> {
    let (_, sizes) = text.split_once("between files of ")?;
    let (from, rest) = sizes.split_once(" and ")?;
    let (to, rest) = rest.split_once(' ')?;
    let (_, about) = rest.split_once("holds about ")?;
    Some((bytes(from), bytes(to), bytes(about)))
}

/// The size of a cache is the answer of a run on one server.
fn of_a_cache(analysis: &Analysis, planted: Option<PlantedCache>, judged: &mut Judged) {
    let mut claims = Vec::new();
    for sentence in analysis.findings.iter().filter(|sentence| sentence.tone == Tone::Note) {
        if let Some((from, to, about)) = cliff(&sentence.text) {
            let is_right = planted
                .is_some_and(|planted| (from..=to).contains(&planted.bytes) && (from..=to).contains(&about));
            judged.finding(is_right, || sentence.text.clone());
            claims.push((is_right, sentence.text.clone()));
        } else if sentence.text.contains("two states") {
            let is_right = planted.is_some_and(|planted| planted.remembers);
            judged.finding(is_right, || sentence.text.clone());
        } else if sentence.text.contains(" falls from ") {
            judged.finding(planted.is_some(), || sentence.text.clone());
        }
    }
    let wrong = claims.iter().find(|(right, _)| !right);
    let claim = match (&claims[..], planted) {
        _ if wrong.is_some() => Some(false),
        ([], Some(_)) => None,
        _ => Some(true),
    };
    judged.answer(claim, || wrong.map(|(_, text)| text.clone()).unwrap_or_default());
}

fn of_storage(analysis: &Analysis, planted: &dyn Fn(&Coordinates) -> f64, judged: &mut Judged) {
    for row in analysis.sections.iter().flat_map(|section| &section.rows) {
        let shares = row.outcomes[0].as_ref().and_then(|outcome| outcome.cache_shares.as_ref());
        let evidence = shares.map(|shares| &shares.storage_evidence);
        let planted = planted(&row.coordinates);
        let claimed = evidence.and_then(|evidence| evidence.probes.zip(evidence.error));
        let claim = claimed.map(|(share, error)| (share - planted).abs() <= SHARE.max(1.96 * error));
        judged.answer(claim, || format!("{}: {claimed:?}, planted {planted:.2}", row.coordinates));
    }
}
