//! Sentences on what one setting costs or brings.

use std::collections::BTreeMap;

use sharebench_model::axis;
use sharebench_model::units::{counted, percent, percent_limit, signed_percent};
use sharebench_stats::{SMALLEST_SAMPLE_95, hodges_lehmann, median_or_zero};

use crate::align::settings::changes;
use crate::judge::effects::{Cells, Change, FEWEST_EFFECT_CELLS, Group, groups, is_repeated};
use crate::text::claims::{basis, claim};
use crate::text::stages::Stages;
use crate::types::span::place_words;
use crate::types::{Pairing, RatioVerdict, Sentence, SettingChange, Span, Tone};

/// One sentence per test and setting. Only changes that at least one pair of systems isolates, `suspects` aside:
/// systems that are probably not set as they state. A setting that only one of the two states is unknown in the other,
/// so that such a pair isolates nothing.
pub(crate) fn sentences(stages: &Stages<'_>) -> Vec<Sentence> {
    let suspects = &stages.judged.suspects;
    let mut isolated: BTreeMap<Change, Vec<(usize, usize)>> = BTreeMap::new();
    for (a, one) in stages.aligned.systems.iter().enumerate() {
        for (b, other) in stages.aligned.systems.iter().enumerate().skip(a + 1) {
            if suspects.contains(&a) || suspects.contains(&b) {
                continue;
            }
            if let [SettingChange { name, a: Some(from), b: Some(to) }] = changes(one, other).as_slice() {
                // The smaller value comes first, so that both directions of a pair are one change.
                let (from, to, pair) = if from <= to { (from, to, (a, b)) } else { (to, from, (b, a)) };
                isolated.entry((name.clone(), from.clone(), to.clone())).or_default().push(pair);
            }
        }
    }
    let mut found = Vec::new();
    for ((name, from, to), pairs) in isolated {
        // One pair that was repeated has its comparison, with intervals.
        if let [(from, to)] = pairs[..]
            && is_repeated(&stages.judged.comparisons, from, to)
        {
            continue;
        }
        let words = format!("{name} {to} instead of {from}");
        found.extend(of_setting(stages, &words, &pairs));
    }
    found
}

fn of_setting(stages: &Stages<'_>, words: &str, pairs: &[(usize, usize)]) -> Vec<Sentence> {
    let mut found = Vec::new();
    for (index, section) in stages.estimated.sections.iter().enumerate() {
        let mut cells: Cells<'_> = BTreeMap::new();
        for row in &section.rows {
            for (from, to) in pairs {
                if let (Some(from), Some(to)) = (&row.outcomes[*from], &row.outcomes[*to]) {
                    cells.entry(&row.coordinates).or_default().push((to.rate.value / from.rate.value).ln());
                }
            }
        }
        if cells.len() < FEWEST_EFFECT_CELLS {
            continue;
        }
        let parts: Vec<String> =
            groups(&cells).iter().map(|group| part(stages, group, pairs.len())).collect();
        let names: Vec<String> = pairs
            .iter()
            .take(2)
            .map(|(from, to)| {
                format!("{} against {}", stages.aligned.systems[*to].name, stages.aligned.systems[*from].name)
            })
            .collect();
        let more =
            if pairs.len() > 2 { format!(" and {} more pairs", pairs.len() - 2) } else { String::new() };
        let text = format!("{}: {words}: {} ({}{more}).", section.title, parts.join("; "), names.join(", "));
        found.push(Sentence::new(Tone::Note, text).about(index));
    }
    found
}

fn part(stages: &Stages<'_>, group: &Group<'_>, pairs: usize) -> String {
    let span = Span {
        axis: axis::RECORD_SIZE.to_owned(),
        from: group.from.filter(|_| !group.whole).cloned(),
        to: group.to.filter(|_| !group.whole).cloned(),
    };
    let place = if span.is_whole() { "everywhere".to_owned() } else { place_words(&[span]) };
    if group.pairs.len() >= SMALLEST_SAMPLE_95
        && let Some(log) = hodges_lehmann(&group.pairs, stages.options.level)
    {
        let verdict = RatioVerdict::new(&log, stages.options.tolerance);
        let claim = claim(&log.map(f64::exp), verdict, "with it", "without it");
        return format!("{place} {claim} ({})", basis(Pairing::NotInterleaved, pairs));
    }
    let effect = median_or_zero(&group.cells).exp_m1();
    let (low, high) =
        group.cells.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), d| (l.min(*d), h.max(*d)));
    let word = if effect < 0.0 { "slower" } else { "faster" };
    let [least, most] = [low, high].map(|log: f64| signed_percent(log.exp_m1(), 0));
    let cells = counted(group.cells.len(), "cell");
    if effect.abs() < stages.options.tolerance {
        return format!(
            "{place} no difference above {} (median {}, {least} to {most} in {cells})",
            percent_limit(stages.options.tolerance),
            signed_percent(effect, 1)
        );
    }
    format!(
        "{place} {} {word} ({least} to {most} in {cells}: a range, not an interval)",
        percent(effect.abs(), 0)
    )
}
