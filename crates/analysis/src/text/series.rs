//! Sentences on a series of runs.

use sharebench_model::units::{counted, percent};
use sharebench_stats::Estimate;

use crate::text::claims::{show_ratio, tone};
use crate::types::{LineChange, RatioVerdict, Sentence, Series, SeriesTrend, Tone};

/// `5.1 % slower [3.9, 6.2]`.
pub(crate) fn moved(ratio: &Estimate, verdict: RatioVerdict) -> String {
    let percents = |ratio: f64| format!("{:.1}", 100.0 * (ratio - 1.0).abs());
    let word = if ratio.value < 1.0 { "slower" } else { "faster" };
    // Without an interval nothing is resolved.
    let Some(interval) = ratio.interval.filter(|_| verdict != RatioVerdict::NotResolved) else {
        return format!("the size is not resolved: ratio {}", show_ratio(ratio));
    };
    let (near, far) =
        if ratio.value < 1.0 { (interval.high, interval.low) } else { (interval.low, interval.high) };
    format!("{} % {word} [{}, {}]", percents(ratio.value), percents(near), percents(far))
}

pub(crate) fn series_sentences(series: &Series) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for change in &series.changes {
        for found in &change.lines {
            let line = &series.lines[found.line];
            let tone = tone(found.verdict);
            let moved = moved(&found.ratio, found.verdict);
            let label = &series.runs[change.at].label;
            let cells = counted(line.cells, "cell");
            let text = match change.runs {
                (before, 1) => format!(
                    "{} {}: {label} is {moved} than the {before} runs before it ({cells}; p = {:.3}); one run does not \
                     show whether the level has changed.",
                    line.target, line.test, change.p_value
                ),
                (before, after) => format!(
                    "{} {}: from {label} on {moved} ({} before, {after} from there on, {cells}; p = {:.3}).",
                    line.target,
                    line.test,
                    counted(before, "run"),
                    change.p_value
                ),
            };
            sentences.push(Sentence::new(tone, text));
        }
    }
    sentences.extend(series.trends.iter().map(|trend| gradual(series, trend)));
    sentences.extend(series.last_run.iter().map(|change| last_run_alone(series, change)));
    if series.changes.is_empty() && series.trends.is_empty() && series.last_run.is_empty() {
        sentences.push(unchanged(series));
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

/// `smb read: falls gradually over 7 runs, 26.5 % slower [24.0, 28.9] in all (4 cells; p = 0.000).`
fn gradual(series: &Series, trend: &SeriesTrend) -> Sentence {
    let line = &series.lines[trend.line];
    let word = if trend.total.value < 1.0 { "falls" } else { "rises" };
    let text = format!(
        "{} {}: {word} gradually over {}, {} in all ({}; p = {:.3}).",
        line.target,
        line.test,
        counted(trend.total.n, "run"),
        moved(&trend.total, trend.verdict),
        counted(line.cells, "cell"),
        trend.p_value
    );
    Sentence::new(tone(trend.verdict), text)
}

/// `read: nightly #8 is 67.0 % slower [66.2, 67.8] than the 7 runs before it (2 cells). One run cannot decide ..`
fn last_run_alone(series: &Series, change: &LineChange) -> Sentence {
    let line = &series.lines[change.line];
    let run = series.runs.last().map_or("", |run| run.label.as_str());
    let more = series.runs_to_confirm.map_or_else(String::new, |runs| {
        format!(": {} like it would", if runs == 1 { "1 more".to_owned() } else { format!("{runs} more") })
    });
    let text = format!(
        "{} {}: {run} alone is {} than the level before it ({}; {} in all). One run cannot decide whether the level has \
         changed{more}.",
        line.target,
        line.test,
        moved(&change.ratio, change.verdict),
        counted(line.cells, "cell"),
        counted(series.runs.len(), "run")
    );
    Sentence::new(Tone::NotResolved, text)
}

/// No change was found: what these runs would have shown, or what it takes.
fn unchanged(series: &Series) -> Sentence {
    let widest = series.lines.iter().map(|line| line.spread).fold(0.0, f64::max);
    let scope = format!("{} over {}", counted(series.lines.len(), "test"), counted(series.runs.len(), "run"));
    let scatter = format!("the typical difference between runs is at most {}", percent(widest, 1));
    if let Some(fall) = series.detectable_fall {
        let text = format!(
            "No significant change in {scope}: a fall of {} in the middle of them would have been detected (80 % \
             probability). A false change is reported in at most 1 of {:.0} such tables; {scatter}.",
            percent(fall, 0),
            1.0 / series.error
        );
        return Sentence::new(Tone::Same, text);
    }
    let remedy = match series.runs_to_detect_half {
        Some(n) => format!("a fall of 2x would be detected after {} at that level", counted(n, "more run")),
        None => {
            "the runs scatter too much to detect a fall of 2x: measure each longer, or on a quieter machine"
                .to_owned()
        }
    };
    let text = format!(
        "Inconclusive: no change is significant in {scope}, which is too few: {remedy} (80 % probability; {scatter})."
    );
    Sentence::new(Tone::NotResolved, text)
}
