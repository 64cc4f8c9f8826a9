//! Compares what an analysis claims with what was planted.

use sharebench_analysis::{Analysis, ComparisonOutcome, DifferingPart, PartEvidence, RatioVerdict, Tone};
use sharebench_model::Coordinates;

use crate::count::Tally;
use crate::properties::{PlantedCache, Property, Truth};

/// A planted ratio this close to the tolerance, as a logarithm, is on both of its sides.
const EDGE: f64 = 0.001;
/// Allowed difference of a share of storage and the planted one, as docs/measurement-rules.md K16 demands it.
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
    fn finding(&mut self, is_right: bool, what: impl FnOnce() -> String) {
        if is_right {
            self.findings.right += 1;
        } else {
            self.findings.wrong += 1;
            self.wrong.push(format!("finding: {}", what()));
        }
    }

    fn answer(&mut self, claim: Option<bool>, what: impl FnOnce() -> String) {
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
pub fn judge(property: &Property, analysis: &Analysis) -> Judged {
    let mut judged = Judged::default();
    match &property.truth {
        Truth::Ratio(ratio) => {
            of_two(analysis, ratio, &mut judged);
            falls(analysis, &mut judged, property.falls);
        }
        Truth::Cache(planted) => of_a_cache(analysis, *planted, &mut judged),
        Truth::Storage(share) => of_storage(analysis, share, &mut judged),
    }
    judged
}

/// Whether a verdict agrees with the logarithm of the planted ratio; none if it claims nothing.
fn agrees(verdict: RatioVerdict, planted: f64, tolerance: f64) -> Option<bool> {
    let edge = tolerance.ln_1p();
    match verdict {
        RatioVerdict::Faster => Some(planted > edge - EDGE),
        RatioVerdict::Slower => Some(planted < -edge + EDGE),
        RatioVerdict::AboutTheSame => Some(planted.abs() < edge + EDGE),
        RatioVerdict::NotResolved => None,
    }
}

fn of_two(analysis: &Analysis, ratio: &dyn Fn(&Coordinates) -> f64, judged: &mut Judged) {
    let [comparison] = &analysis.comparisons[..] else { panic!("one comparison") };
    assert_eq!([comparison.a, comparison.b], [1, 0], "the second server over the first one");
    let planted: Vec<Vec<f64>> = analysis
        .sections
        .iter()
        .map(|section| section.rows.iter().map(|row| ratio(&row.coordinates).ln()).collect())
        .collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let verdict = &comparison.verdict;
    let outcome = match verdict.outcome {
        ComparisonOutcome::Faster => RatioVerdict::Faster,
        ComparisonOutcome::Slower => RatioVerdict::Slower,
        ComparisonOutcome::Equal => RatioVerdict::AboutTheSame,
        // The parts of the map are judged below.
        ComparisonOutcome::Depends | ComparisonOutcome::Inconclusive => RatioVerdict::NotResolved,
    };
    let by_parts =
        |part: &usize| is_right(&comparison.differences.parts[*part], &planted, analysis.tolerance);
    let claim = match (outcome, verdict.parts.is_empty()) {
        (RatioVerdict::NotResolved, true) => None,
        (_, true) => agrees(outcome, mean(&planted.concat()), analysis.tolerance),
        (_, false) => Some(verdict.parts.iter().all(by_parts)),
    };
    judged.answer(claim, || verdict.text.clone());
    for (index, summary) in comparison.sections.iter().enumerate() {
        let Some(summary) = summary else { continue };
        if let Some(right) = agrees(summary.verdict, mean(&planted[index]), analysis.tolerance) {
            judged.finding(right, || {
                format!("{}: {:?} {:?}", analysis.sections[index].title, summary.verdict, summary.typical)
            });
        }
    }
    for part in &comparison.differences.parts {
        let titles: Vec<&str> =
            part.sections.iter().map(|section| analysis.sections[*section].title.as_str()).collect();
        judged.finding(is_right(part, &planted, analysis.tolerance), || {
            format!("part of {}: {:?}", titles.join(", "), part)
        });
    }
}

/// True if each cell of a part agrees with its direction; of a part that differs on average, their mean.
fn is_right(part: &DifferingPart, planted: &[Vec<f64>], tolerance: f64) -> bool {
    let cells: Vec<f64> = part.places().map(|(section, row)| planted[section][row]).collect();
    let sign = if part.direction == RatioVerdict::Faster { 1.0 } else { -1.0 };
    let mean = sign * cells.iter().sum::<f64>() / cells.len().max(1) as f64;
    let edge = tolerance.ln_1p();
    let each = cells.iter().all(|cell| sign * cell >= -edge - EDGE);
    mean > edge - EDGE && (part.evidence == PartEvidence::OnAverage || each)
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
