//! Sentences on a series of runs.

use sharebench_model::units::{counted, percent};
use sharebench_stats::Estimate;

use crate::text::claims::show_ratio;
use crate::types::{RatioVerdict, Sentence, Series, Tone};

/// `5.1 % slower [3.9, 6.2]`.
fn moved(ratio: &Estimate, verdict: RatioVerdict) -> String {
    let percent = |ratio: f64| format!("{:.1}", 100.0 * (ratio - 1.0).abs());
    let word = if ratio.value < 1.0 { "slower" } else { "faster" };
    let bounds = ratio.interval.map_or_else(
        || " [too few runs for an interval]".to_owned(),
        |i| {
            let (near, far) = if ratio.value < 1.0 { (i.high, i.low) } else { (i.low, i.high) };
            format!(" [{}, {}]", percent(near), percent(far))
        },
    );
    match verdict {
        RatioVerdict::NotResolved => format!("the size is not resolved: ratio {}", show_ratio(ratio)),
        _ => format!("{} % {word}{bounds}", percent(ratio.value)),
    }
}

pub(crate) fn series_sentences(series: &Series) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for change in &series.changes {
        for found in &change.lines {
            let line = &series.lines[found.line];
            let tone = match found.verdict {
                RatioVerdict::Faster | RatioVerdict::Slower => Tone::Difference,
                RatioVerdict::AboutTheSame => Tone::Same,
                RatioVerdict::NotResolved => Tone::NotResolved,
            };
            let text = format!(
                "{} {}: from {} on {} ({} before, {} from there on, {}; p = {:.3}).",
                line.target,
                line.test,
                series.runs[change.at].label,
                moved(&found.ratio, found.verdict),
                counted(change.runs.0, "run"),
                change.runs.1,
                counted(line.cells, "cell"),
                change.p_value
            );
            sentences.push(Sentence::new(tone, text));
        }
    }
    if series.changes.is_empty() {
        let widest = series.lines.iter().map(|line| line.spread).fold(0.0, f64::max);
        let text = format!(
            "No significant change in {} over {} (a false change is reported in at most 1 of {:.0} such tables; the typical \
             difference between runs is at most {}).",
            counted(series.lines.len(), "test"),
            counted(series.runs.len(), "run"),
            1.0 / series.error,
            percent(widest, 1)
        );
        sentences.push(Sentence::new(Tone::Same, text));
    }
    let incomplete: usize = series.lines.iter().map(|line| line.incomplete_cells).sum();
    if incomplete > 0 {
        let text = format!("{} not measured in every run: excluded.", counted(incomplete, "cell"));
        sentences.push(Sentence::new(Tone::Note, text));
    }
    let known: Vec<u64> =
        series.runs.iter().map(|run| run.started_unix_ms).filter(|started| *started > 0).collect();
    if !known.is_sorted() {
        let text = "The runs are not given in the order of their start times.".to_owned();
        sentences.push(Sentence::new(Tone::Alarm, text));
    }
    sentences
}
