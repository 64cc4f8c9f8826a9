//! Sentences on queue depths.

use crate::text::stages::Stages;
use crate::types::Section;

/// A depth with this share of the best rate is as good as the best.
const NEAR_BEST: f64 = 0.95;

/// Per system and record size: how many operations in flight are enough.
pub(crate) fn depth_sentences(stages: &Stages<'_>, section: &Section) -> Vec<String> {
    let mut sentences = Vec::new();
    for (system, named) in stages.aligned.systems.iter().enumerate() {
        for rows in section.rows.chunk_by(|x, y| x.position[0] == y.position[0]) {
            let yields: Vec<(&[Option<sharebench_model::Value>], f64)> = rows
                .iter()
                .filter_map(|row| Some((row.position.as_slice(), row.outcomes[system].as_ref()?.rate.value)))
                .collect();
            let best = yields.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
            let Some(enough) = yields.iter().find(|(_, rate)| *rate >= NEAR_BEST * best) else { continue };
            let (Some(first), Some(depth)) = (yields.first(), enough.0.last().and_then(Option::as_ref))
            else {
                continue;
            };
            let record =
                enough.0[0].as_ref().map_or_else(String::new, |value| format!(" with {value} records"));
            sentences.push(format!(
                "{}: {}{record} needs queue depth {depth} for {} ({} the rate of the smallest depth: {}).",
                section.title,
                named.name,
                section.unit.show(enough.1),
                times(enough.1 / first.1),
                section.unit.show(first.1)
            ));
        }
    }
    sentences
}

fn times(factor: f64) -> String {
    format!("{factor:.1} times")
}
