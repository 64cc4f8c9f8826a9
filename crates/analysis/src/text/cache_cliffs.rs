//! Sentences on the size of a server's cache: cliffs, and sizes whose state follows from the step before.

use sharebench_model::Value;
use sharebench_model::units::counted;

use crate::text::stages::Stages;
use crate::types::{CacheCurve, Sentence, Tone};

/// The sentences of one section.
pub(crate) fn sentences(stages: &Stages<'_>, index: usize) -> Vec<Sentence> {
    let curves = stages.judged.cache_curves.iter().filter(|curve| curve.section == index);
    let texts = curves.flat_map(|curve| cliff(stages, curve).into_iter().chain(states(stages, curve)));
    texts.map(|text| Sentence::new(Tone::Note, text).about(index)).collect()
}

fn lead(stages: &Stages<'_>, curve: &CacheCurve) -> String {
    let title = &stages.estimated.sections[curve.section].title;
    format!("{title}: {}", stages.aligned.systems[curve.system].name)
}

/// A cliff shows the size of a cache only if the rate of a size before it follows from the step before.
fn cliff(stages: &Stages<'_>, curve: &CacheCurve) -> Option<String> {
    let cliff = curve.cliff?;
    let (from, to) = cliff.between;
    let unit = stages.estimated.sections[curve.section].unit;
    let about = Value::Bytes(from.midpoint(to));
    let cause = if curve.states.iter().any(|states| states.size <= from) {
        format!("the server's cache holds about {about}")
    } else {
        format!("if its cache is the cause, which is a guess, it holds about {about}")
    };
    Some(format!(
        "{} falls from {} between files of {} and {}: {cause}.",
        lead(stages, curve),
        unit.show_range(cliff.from, cliff.to),
        Value::Bytes(from),
        Value::Bytes(to)
    ))
}

fn states(stages: &Stages<'_>, curve: &CacheCurve) -> Vec<String> {
    let unit = stages.estimated.sections[curve.section].unit;
    let of = |states: &sharebench_stats::TwoStates| {
        format!(
            "{} has two states with files of {}: {} after steps with files up to {} ({}), {} after larger ones ({}); its \
             interval is as wide as these states are apart.",
            lead(stages, curve),
            Value::Bytes(states.size),
            unit.show(states.warm),
            Value::Bytes(states.up_to),
            counted(states.repetitions.0, "repetition"),
            unit.show(states.cold),
            counted(states.repetitions.1, "repetition"),
        )
    };
    curve.states.iter().map(of).collect()
}
