//! Sentences on response times, users at the objective and capacity of loads that were repeated.

use sharebench_model::axis;
use sharebench_model::units::{counted, percent, three_digits};
use sharebench_stats::Estimate;

use crate::judge::best::spoken_of;
use crate::text::claims::{basis, claim, show_ratio, tone};
use crate::text::stages::Stages;
use crate::types::{
    LoadComparison, LoadFigure, LoadLevel, LoadStepRatio, RatioVerdict, Section, Sentence, Tone,
};

/// The sentences on one load, each with whether the answer reports it.
pub(crate) fn load_figure_sentences(stages: &Stages<'_>, index: usize) -> Vec<(Sentence, bool)> {
    let section = &stages.estimated.sections[index];
    let spoken_of = spoken_of(&stages.aligned.systems, &stages.judged.comparisons);
    let alone = stages.judged.comparisons.len() == 1;
    let mut found = Vec::new();
    for comparison in &section.load_comparisons {
        let Some((tone, text)) = of_comparison(stages, section, comparison) else { continue };
        let answers = comparison.figure != LoadFigure::P95Response && tone != Tone::NotResolved;
        let reported = alone && answers && spoken_of[comparison.comparison];
        found.push((Sentence::new(tone, text).about(index), reported));
    }
    // Of systems that are compared, the sentence of the comparison has the levels already.
    let is_compared = |level: &LoadLevel| {
        section.load_comparisons.iter().any(|comparison| {
            let both = &stages.aligned.compared[comparison.comparison];
            comparison.figure == level.figure && [both.a, both.b].contains(&level.system)
        })
    };
    let known = section.load_levels.iter().filter(|level| level.value.is_some());
    for level in known.filter(|level| !is_compared(level)) {
        let name = &stages.aligned.systems[level.system].name;
        let text = format!(
            "{}, {}: {name} {}.",
            section.title,
            name_of(section, level.figure),
            shown(section, level)
        );
        found.push((Sentence::new(Tone::Note, text).about(index), false));
    }
    found
}

fn of_comparison(
    stages: &Stages<'_>,
    section: &Section,
    comparison: &LoadComparison,
) -> Option<(Tone, String)> {
    let both = &stages.aligned.compared[comparison.comparison];
    let name = |system: usize| stages.aligned.systems[system].name.as_str();
    let a = name(both.a);
    let b = name(both.b);
    let title = format!("{}, {}", section.title, name_of(section, comparison.figure));
    if comparison.figure.is_time() {
        let (tone, text) = times(comparison, a, b)?;
        return Some((tone, format!("{title}: {text}.")));
    }
    let level = |system: usize| {
        let levels = section.load_levels.iter();
        levels.into_iter().find(|level| (level.system, level.figure) == (system, comparison.figure))
    };
    let of_a = level(both.a)?;
    let of_b = level(both.b)?;
    let levels = format!("{a} {}, {b} {}", shown(section, of_a), shown(section, of_b));
    let Some(ratio) = &comparison.ratio else {
        return Some((Tone::NotResolved, format!("{title}: {levels}; no ratio from these steps.")));
    };
    let claimed = match comparison.figure {
        LoadFigure::Capacity => claim(ratio, comparison.verdict, a, b),
        _ => more_users(ratio, comparison.verdict, a, b, unit_of(section)),
    };
    let basis = basis(comparison.pairing, ratio.n);
    Some((tone(comparison.verdict), format!("{title}: {claimed} ({levels}; {basis}).")))
}

fn name_of(section: &Section, figure: LoadFigure) -> String {
    match figure {
        LoadFigure::MeanResponse => "mean response time".to_owned(),
        LoadFigure::P95Response => "95th percentile of the response time".to_owned(),
        LoadFigure::Capacity => "capacity".to_owned(),
        LoadFigure::UsersAtObjective => {
            let loads = section.rows.iter().flat_map(|row| row.outcomes.iter().flatten());
            let wanted = loads
                .filter_map(|outcome| outcome.load.as_ref()?.objective.as_ref())
                .map(|o| o.wanted.as_str())
                .next();
            format!("{} that meet {}", unit_of(section), wanted.unwrap_or_default())
        }
    }
}

/// `812 MB/s [800, 830] at 20 users`, `34 users [31, 38]`, or why there is none.
fn shown(section: &Section, level: &LoadLevel) -> String {
    let at = level.at_users.map_or_else(String::new, |users| format!(" at {users} users"));
    match (&level.value, &level.refused) {
        (Some(value), _) if level.figure == LoadFigure::Capacity => {
            let bounds = value.interval.map_or_else(String::new, |interval| {
                format!(" [{}, {}]", section.unit.show(interval.low), section.unit.show(interval.high))
            });
            format!("{}{bounds}{at}", section.unit.show(value.value))
        }
        (Some(value), _) => {
            let unit = unit_of(section);
            let bounds = value.interval.map_or_else(String::new, |interval| {
                format!(" [{}, {}]", three_digits(interval.low), three_digits(interval.high))
            });
            format!("{} {unit}{bounds}", three_digits(value.value))
        }
        (None, refused) => format!("unknown: {}", refused.as_deref().unwrap_or_default()),
    }
}

/// What the load of the steps counts.
fn unit_of(section: &Section) -> &'static str {
    let is_open = section.rows.iter().all(|row| row.coordinates.get(axis::RATE).is_some());
    if is_open { "starts/s" } else { "users" }
}

/// `nfs carries 62 % more users than smb [48, 70]`.
fn more_users(ratio: &Estimate, verdict: RatioVerdict, a: &str, b: &str, unit: &str) -> String {
    let (ratio, most, least) = match verdict {
        RatioVerdict::Faster => (*ratio, a, b),
        RatioVerdict::Slower => (inverse(ratio), b, a),
        RatioVerdict::AboutTheSame => {
            return format!("{a} and {b} are about the same: ratio {}", show_ratio(ratio));
        }
        RatioVerdict::NotResolved => {
            return format!("{a} against {b} is not resolved: ratio {}", show_ratio(ratio));
        }
    };
    let (value, bounds) = percents(&ratio, |ratio| ratio - 1.0);
    format!("{most} carries {value} more {unit} than {least}{bounds}")
}

fn inverse(ratio: &Estimate) -> Estimate {
    ratio.map(|value| 1.0 / value)
}

/// A share of a ratio in percent, and its bounds, rising.
fn percents(ratio: &Estimate, share: impl Fn(f64) -> f64) -> (String, String) {
    let number = |value: f64| {
        let value = share(value) * 100.0;
        if value.abs() < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") }
    };
    let bounds = ratio.interval.map_or_else(String::new, |interval| {
        let low = share(interval.low);
        let high = share(interval.high);
        let (low, high) =
            if low <= high { (interval.low, interval.high) } else { (interval.high, interval.low) };
        format!(" [{}, {}]", number(low), number(high))
    });
    (format!("{} %", number(ratio.value)), bounds)
}

/// `nfs takes 30 % less time than smb [25, 35]`, the faster one first. `verdict` is of the first system.
fn less_time(ratio: &Estimate, verdict: RatioVerdict, a: &str, b: &str) -> String {
    let (ratio, fast, slow) =
        if verdict == RatioVerdict::Slower { (inverse(ratio), b, a) } else { (*ratio, a, b) };
    let (value, bounds) = percents(&ratio, |ratio| 1.0 - ratio);
    format!("{fast} takes {value} less time than {slow}{bounds}")
}

/// Response times: what holds at every step, where the direction depends on the load, or the mean over the steps.
fn times(comparison: &LoadComparison, a: &str, b: &str) -> Option<(Tone, String)> {
    let steps = &comparison.steps;
    let mean = comparison.ratio.as_ref().filter(|ratio| ratio.interval.is_some())?;
    let basis = basis(comparison.pairing, mean.n);
    let of = |wanted: RatioVerdict| steps.iter().filter(|step| step.verdict == wanted).collect::<Vec<_>>();
    let better = of(RatioVerdict::Faster);
    let worse = of(RatioVerdict::Slower);
    let unit = if comparison.by_rate { "starts/s" } else { "users" };
    let axis = if comparison.by_rate { "arrival rate" } else { "number of users" };
    let at = |step: &LoadStepRatio| {
        format!("{} at {} {unit}", less_time(&step.ratio, step.verdict, a, b), step.load)
    };
    if let (Some(for_a), Some(for_b)) = (largest(&better), largest(&worse)) {
        let mut both = [for_a, for_b];
        both.sort_by_key(|step| step.load);
        let [low, high] = both.map(at);
        return Some((Tone::Difference, format!("depends on the {axis}: {low}, {high} ({basis})")));
    }
    let resolved = if better.is_empty() { worse } else { better };
    let Some(most) = largest(&resolved) else {
        return Some(on_average(comparison, mean, a, b, &basis));
    };
    if steps.len() == 1 {
        return Some((Tone::Difference, format!("{} ({basis})", at(most))));
    }
    let others: Vec<&LoadStepRatio> = steps.iter().filter(|step| step.verdict != most.verdict).collect();
    let others = match hidden(&others) {
        None => String::new(),
        Some(share) => format!("; at the others a difference of up to {} is possible", percent(share, 0)),
    };
    let number = format!("{} of {}", resolved.len(), counted(steps.len(), "step"));
    let lead = if resolved.len() == 1 {
        format!("{}; this holds at 1 of {}", at(most), counted(steps.len(), "step"))
    } else {
        let faster_a = most.verdict == RatioVerdict::Faster;
        let (ratio, fast, slow) = if faster_a { (most.ratio, a, b) } else { (inverse(&most.ratio), b, a) };
        let (value, bounds) = percents(&ratio, |ratio| 1.0 - ratio);
        format!(
            "{fast} takes less time than {slow} at {number}, most at {} {unit}: {value} less{bounds}",
            most.load
        )
    };
    Some((Tone::Difference, format!("{lead}{others} ({basis})")))
}

/// The step with the largest difference.
fn largest<'a>(steps: &[&'a LoadStepRatio]) -> Option<&'a LoadStepRatio> {
    let size = |step: &LoadStepRatio| step.ratio.value.ln().abs();
    steps.iter().copied().max_by(|x, y| size(x).total_cmp(&size(y)))
}

/// The largest difference that one of these steps may have; none where an interval is missing or excludes equality.
fn hidden(steps: &[&LoadStepRatio]) -> Option<f64> {
    let bounds: Option<Vec<f64>> = steps
        .iter()
        .map(|step| step.ratio.interval.map(|interval| interval.low.ln().abs().max(interval.high.ln().abs())))
        .collect();
    bounds?.into_iter().reduce(f64::max).map(f64::exp_m1)
}

/// No single step differs: the mean, and what a step may hide.
fn on_average(comparison: &LoadComparison, mean: &Estimate, a: &str, b: &str, basis: &str) -> (Tone, String) {
    let over = counted(comparison.steps.len(), "step");
    let claim = match comparison.verdict {
        RatioVerdict::AboutTheSame => {
            format!("{a} and {b} are about the same over {over}: ratio {}", show_ratio(mean))
        }
        RatioVerdict::NotResolved => {
            format!("{a} against {b} is not resolved over {over}: ratio {}", show_ratio(mean))
        }
        verdict => format!("{} on average over {over}", less_time(mean, verdict, a, b)),
    };
    let steps: Vec<&LoadStepRatio> = comparison.steps.iter().collect();
    let hidden = hidden(&steps).filter(|_| steps.len() > 1).map_or_else(String::new, |share| {
        format!("; a single step may differ by up to {}", percent(share, 0))
    });
    (tone(comparison.verdict), format!("{claim}{hidden} ({basis})"))
}
