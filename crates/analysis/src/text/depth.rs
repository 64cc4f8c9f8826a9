//! Sentences on queue depths.

use sharebench_model::Value;
use sharebench_model::units::percent;
use sharebench_stats::Estimate;

use crate::text::stages::Stages;
use crate::types::Section;

/// A depth with this share of the best rate is as good as the best.
const NEAR_BEST: f64 = 0.95;

/// A position of a depth study, and the rate there.
type DepthRate<'a> = (&'a [Option<Value>], Estimate);

/// Per system and record size: how many operations in flight are enough.
pub(crate) fn depth_sentences(stages: &Stages<'_>, section: &Section) -> Vec<String> {
    let mut sentences = Vec::new();
    for (system, named) in stages.aligned.systems.iter().enumerate() {
        for rows in section.rows.chunk_by(|x, y| x.position[0] == y.position[0]) {
            let yields: Vec<DepthRate<'_>> = rows
                .iter()
                .filter_map(|row| Some((row.position.as_slice(), row.outcomes[system].as_ref()?.rate)))
                .collect();
            let best = yields.iter().map(|(_, rate)| rate.value).fold(0.0, f64::max);
            let Some(enough) = yields.iter().find(|(_, rate)| rate.value >= NEAR_BEST * best) else {
                continue;
            };
            let (Some(first), Some(depth)) = (yields.first(), enough.0.last().and_then(Option::as_ref))
            else {
                continue;
            };
            let record =
                enough.0[0].as_ref().map_or_else(String::new, |value| format!(" with {value} records"));
            let gain = if enough.0 == first.0 {
                String::new()
            } else {
                format!(
                    " ({} the rate of the smallest depth: {})",
                    times(enough.1.value / first.1.value),
                    section.unit.show(first.1.value)
                )
            };
            sentences.push(format!(
                "{}: {}{record} needs queue depth {depth} for {}{gain}{}.",
                section.title,
                named.name,
                section.unit.show(enough.1.value),
                loss(&yields, enough)
            ));
        }
    }
    sentences
}

/// What deeper queues lose: `; queue depth 8 has 31 % less`. Empty where none is beyond the noise.
fn loss(yields: &[DepthRate<'_>], enough: &DepthRate<'_>) -> String {
    let deeper = yields.iter().skip_while(|at| at.0 != enough.0).skip(1);
    let is_lower = |at: &&DepthRate<'_>| {
        let beyond_noise = match (at.1.interval, enough.1.interval) {
            (Some(deep), Some(enough)) => deep.high < enough.low,
            _ => true,
        };
        at.1.value < NEAR_BEST * enough.1.value && beyond_noise
    };
    let lowest = deeper.filter(is_lower).min_by(|x, y| x.1.value.total_cmp(&y.1.value));
    let named = lowest.and_then(|lowest| Some((lowest.0.last()?.as_ref()?, lowest.1.value)));
    named.map_or_else(String::new, |(depth, rate)| {
        format!("; queue depth {depth} has {} less", percent(1.0 - rate / enough.1.value, 0))
    })
}

fn times(factor: f64) -> String {
    format!("{factor:.1} times")
}
