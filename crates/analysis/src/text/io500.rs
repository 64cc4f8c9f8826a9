//! Sentences on the score of IO500.

use sharebench_model::Io500Phase;

use crate::text::stages::Stages;
use crate::types::{Io500Finding, Sentence, Tone};

/// One sentence for each system with steps of the preset io500.
pub(crate) fn sentences(stages: &Stages<'_>) -> Vec<Sentence> {
    stages.judged.io500.iter().map(|finding| sentence(stages, finding)).collect()
}

fn sentence(stages: &Stages<'_>, finding: &Io500Finding) -> Sentence {
    let name = &stages.aligned.systems[finding.system].name;
    match &finding.score {
        Ok(found) => {
            let interval = found.interval.map_or_else(
                || " without an interval, because a phase has none".to_owned(),
                |interval| format!(" [{}, {}]", shown(interval.low), shown(interval.high)),
            );
            let text = format!(
                "{name}: IO500 score {}{interval} (bandwidth {} GiB/s, metadata {} kIOPS); not an official submission.",
                shown(found.score.total),
                shown(found.score.bandwidth),
                shown(found.score.metadata)
            );
            Sentence::new(Tone::Note, text)
        }
        Err(missing) => {
            let missing: Vec<&str> = missing.iter().map(|phase| Io500Phase::name(*phase)).collect();
            let text =
                format!("{name}: no IO500 score, because phases have no rate: {}.", missing.join(", "));
            Sentence::new(Tone::NotResolved, text)
        }
    }
}

/// A number above zero with three significant digits; bandwidths in GiB/s may be small.
fn shown(value: f64) -> String {
    let decimals = 2.0 - value.log10().floor();
    format!("{value:.*}", decimals.clamp(0.0, 9.0) as usize)
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn small_and_large_numbers_have_three_digits() {
        for (value, text) in [(0.001_313, "0.00131"), (7.096, "7.10"), (292.6, "293"), (1486.4, "1486")] {
            assert_eq!(shown(value), text);
        }
    }
}
