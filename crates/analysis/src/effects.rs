//! What one setting costs or brings, over all pairs of systems that differ in nothing else that is told.

use std::collections::{BTreeMap, BTreeSet};

use sharebench_model::{Coordinates, Value, axis};
use sharebench_stats::{Estimate, SMALLEST_SAMPLE_95, hodges_lehmann, median};

use crate::settings::changes;
use crate::span::{Span, place_words};
use crate::wording::{basis, claim, counted};
use crate::{Analysis, Evidence, Sentence, SettingChange, Standing, Tone};

/// Neighbouring record sizes whose effects differ by less than this (in logarithm) are told together.
const ALIKE: f64 = 0.05;
/// Fewest cells that an effect is told of.
const FEWEST_CELLS: usize = 3;

/// A setting's name, and its values before and after.
type Change = (String, Option<String>, Option<String>);

/// Ratios of one setting's change: per cell, of each pair of systems.
type Cells<'a> = BTreeMap<&'a Coordinates, Vec<f64>>;

/// One sentence per test and setting. Only changes that at least one pair of systems isolates, `suspects` aside:
/// systems that are probably not set as they tell.
pub(crate) fn sentences(analysis: &Analysis, suspects: &[usize]) -> Vec<Sentence> {
    let mut isolated: BTreeMap<Change, Vec<(usize, usize)>> = BTreeMap::new();
    for (a, one) in analysis.systems.iter().enumerate() {
        for (b, other) in analysis.systems.iter().enumerate().skip(a + 1) {
            if suspects.contains(&a) || suspects.contains(&b) {
                continue;
            }
            if let [SettingChange { name, a: from, b: to }] = changes(one, other).as_slice() {
                // From what is not told, or what sorts first, so that pairs the other way round are the same.
                let (from, to, pair) = if from <= to { (from, to, (a, b)) } else { (to, from, (b, a)) };
                isolated.entry((name.clone(), from.clone(), to.clone())).or_default().push(pair);
            }
        }
    }
    let mut found = Vec::new();
    for ((name, from, to), pairs) in isolated {
        // One pair that was repeated has its comparison, with intervals.
        if pairs.len() == 1 && is_repeated(analysis, pairs[0]) {
            continue;
        }
        let of = |value: Option<String>| value.unwrap_or_else(|| "what is not told".to_owned());
        let words = format!("{name} {} instead of {}", of(to), of(from));
        found.extend(of_setting(analysis, &words, &pairs));
    }
    found
}

fn is_repeated(analysis: &Analysis, (from, to): (usize, usize)) -> bool {
    analysis.comparisons.iter().any(|comparison| {
        let this = [(from, to), (to, from)].contains(&(comparison.a, comparison.b));
        this && comparison.sections.iter().flatten().any(|summary| summary.evidence != Evidence::SingleRun)
    })
}

fn of_setting(analysis: &Analysis, words: &str, pairs: &[(usize, usize)]) -> Vec<Sentence> {
    let mut found = Vec::new();
    for (index, section) in analysis.sections.iter().enumerate() {
        let mut cells: Cells<'_> = BTreeMap::new();
        for row in &section.rows {
            for (from, to) in pairs {
                if let (Some(from), Some(to)) = (&row.outcomes[*from], &row.outcomes[*to]) {
                    cells.entry(&row.coordinates).or_default().push((to.rate.value / from.rate.value).ln());
                }
            }
        }
        if cells.len() < FEWEST_CELLS {
            continue;
        }
        let parts: Vec<String> =
            groups(&cells).iter().map(|group| part(analysis, group, pairs.len())).collect();
        let names: Vec<String> = pairs
            .iter()
            .take(2)
            .map(|(from, to)| {
                format!("{} against {}", analysis.systems[*to].name, analysis.systems[*from].name)
            })
            .collect();
        let more =
            if pairs.len() > 2 { format!(" and {} more pairs", pairs.len() - 2) } else { String::new() };
        let text = format!("{}: {words}: {} ({}{more}).", section.title, parts.join("; "), names.join(", "));
        found.push(Sentence::new(Tone::Note, text).about(index));
    }
    found
}

/// Cells of neighbouring record sizes with about the same effect.
struct Group<'a> {
    from: Option<&'a Value>,
    to: Option<&'a Value>,
    whole: bool,
    /// Effects per cell, each the mean over the pairs.
    cells: Vec<f64>,
    /// Effects per pair, each the mean over the cells, where every pair has every cell.
    pairs: Vec<f64>,
}

fn groups<'a>(cells: &Cells<'a>) -> Vec<Group<'a>> {
    let records: BTreeSet<Option<&Value>> = cells.keys().map(|at| at.get(axis::RECORD_SIZE)).collect();
    let mut found: Vec<(Vec<Option<&Value>>, f64)> = Vec::new();
    for record in &records {
        let effects: Vec<f64> = cells
            .iter()
            .filter(|(at, _)| at.get(axis::RECORD_SIZE) == *record)
            .flat_map(|(_, d)| d)
            .copied()
            .collect();
        let effect = middle(&effects);
        match found.last_mut() {
            Some((members, mean)) if (*mean - effect).abs() < ALIKE => {
                *mean += (effect - *mean) / (members.len() + 1) as f64;
                members.push(*record);
            }
            _ => found.push((vec![*record], effect)),
        }
    }
    let group = |(members, _): &(Vec<Option<&'a Value>>, f64)| {
        let inside: Vec<&Vec<f64>> = cells
            .iter()
            .filter(|(at, _)| members.contains(&at.get(axis::RECORD_SIZE)))
            .map(|(_, effects)| effects)
            .collect();
        let mean = |of: &mut dyn Iterator<Item = f64>| {
            let all: Vec<f64> = of.collect();
            all.iter().sum::<f64>() / all.len() as f64
        };
        let pairs = inside.iter().map(|effects| effects.len()).min().unwrap_or(0);
        let complete = inside.iter().all(|effects| effects.len() == pairs);
        Group {
            from: members.first().copied().flatten(),
            to: members.last().copied().flatten(),
            whole: members.len() == records.len(),
            cells: inside.iter().map(|effects| mean(&mut effects.iter().copied())).collect(),
            pairs: if complete {
                (0..pairs).map(|pair| mean(&mut inside.iter().map(|effects| effects[pair]))).collect()
            } else {
                Vec::new()
            },
        }
    };
    found.iter().map(group).collect()
}

fn part(analysis: &Analysis, group: &Group<'_>, pairs: usize) -> String {
    let span = Span {
        axis: axis::RECORD_SIZE.to_owned(),
        from: group.from.filter(|_| !group.whole).cloned(),
        to: group.to.filter(|_| !group.whole).cloned(),
    };
    let place = if span.is_whole() { "everywhere".to_owned() } else { place_words(&[span]) };
    if group.pairs.len() >= SMALLEST_SAMPLE_95
        && let Some(log) = hodges_lehmann(&group.pairs, analysis.level)
    {
        let standing = Standing::of(&log, analysis.tolerance);
        let claim = claim(&log.map(f64::exp), standing, "with it", "without it");
        return format!("{place} {claim} ({})", basis(Evidence::NotInterleaved, pairs));
    }
    let effect = middle(&group.cells).exp_m1() * 100.0;
    let (low, high) =
        group.cells.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), d| (l.min(*d), h.max(*d)));
    let word = if effect < 0.0 { "slower" } else { "faster" };
    let (least, most) = (low.exp_m1() * 100.0, high.exp_m1() * 100.0);
    let cells = counted(group.cells.len(), "cell");
    if effect.abs() < analysis.tolerance * 100.0 {
        return format!(
            "{place} no difference above 2 % (median {effect:+.1} %, {least:+.0} to {most:+.0} % in {cells})"
        );
    }
    format!(
        "{place} {:.0} % {word} ({least:+.0} to {most:+.0} % in {cells}: a range, not an interval)",
        effect.abs()
    )
}

fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    median(&sorted).unwrap_or(0.0)
}

/// The effect of a setting between two systems that differ in it alone, for those who look for contradictions.
pub(crate) fn median_effect(analysis: &Analysis, from: usize, to: usize) -> Option<Estimate> {
    let logs: Vec<f64> = analysis
        .sections
        .iter()
        .flat_map(|section| &section.rows)
        .filter_map(|row| {
            Some((row.outcomes[to].as_ref()?.rate.value / row.outcomes[from].as_ref()?.rate.value).ln())
        })
        .collect();
    (logs.len() >= FEWEST_CELLS).then(|| Estimate { value: middle(&logs), interval: None, n: logs.len() })
}
