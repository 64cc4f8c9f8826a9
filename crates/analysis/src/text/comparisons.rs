//! Sentences on two systems: over all, and per section.

use sharebench_model::units::counted;
use sharebench_stats::upper_median;

use crate::align::settings::{STATED, differing_conditions, settings};
use crate::estimate::ratio::MAX_USEFUL_REPETITIONS;
use crate::text::claims::{basis_of, claim, mean_claim, show_ratio, single_run_claim, tone};
use crate::text::position::position;
use crate::text::stages::Stages;
use crate::types::{
    Comparison, Obstacle, Pairing, RatioVerdict, Sentence, SettingChange, StalledCells, Summary, Tone, View,
};

pub(crate) fn names<'a>(stages: &'a Stages<'_>, comparison: &Comparison) -> (&'a str, &'a str) {
    (&stages.aligned.systems[comparison.a].name, &stages.aligned.systems[comparison.b].name)
}

/// Single runs are never called a difference.
fn single_run_tone(summary: &Summary) -> Tone {
    let (cells, resolved) = summary.single_runs;
    if resolved > 0 && resolved == cells { Tone::Note } else { Tone::NotResolved }
}

/// What settles a verdict that the stalls leave open.
pub(crate) const STALLS_REMEDY: &str =
    "measure longer, so that each repetition contains its share of the stalls";

/// What would resolve it, if it is not resolved.
fn remedy(summary: &Summary) -> String {
    match summary.obstacle {
        None => String::new(),
        Some(Obstacle::Stalls) => format!("; {STALLS_REMEDY}"),
        Some(Obstacle::Repetitions) => summary
            .repetitions_needed
            .map_or_else(String::new, |n| format!("; about {n} repetitions would probably resolve it")),
        Some(Obstacle::Noise) => format!(
            "; the repetitions scatter too much: more than {MAX_USEFUL_REPETITIONS} of them would be needed, so measure \
             longer or on a quieter machine"
        ),
        Some(Obstacle::Clock) => {
            "; the resolution of the clock leaves it open, whatever the number of repetitions: measure longer"
                .to_owned()
        }
        Some(Obstacle::Edge) => {
            "; it lies at the edge of the tolerance, so that more repetitions are unlikely to resolve it"
                .to_owned()
        }
    }
}

pub(crate) fn overall_sentence(
    stages: &Stages<'_>,
    comparison: &Comparison,
    summary: &Summary,
    tests: usize,
) -> Sentence {
    let (a, b) = names(stages, comparison);
    if summary.pairing == Pairing::SingleRun {
        let scope = format!("over {} in {}", counted(summary.cells, "cell"), counted(tests, "test"));
        let text = format!("Overall, {}.", single_run_claim(summary, a, b, &scope));
        let text = text + &cached_note(summary, a, b);
        return Sentence::new(single_run_tone(summary), text);
    }
    let verdict = comparison.verdict.on_mean(summary.verdict);
    let text = format!(
        "Over {} in {}, {}{} (geometric mean, {}){}{}.",
        counted(summary.cells, "cell"),
        counted(tests, "test"),
        claim(&summary.typical, verdict, a, b),
        on_average(summary),
        basis_of(summary.pairing, summary.fewest_repetitions, summary.typical.n),
        summary.stalled.map_or(String::new(), |stalled| format!("; {}", stalls_words(&stalled))),
        remedy(summary)
    ) + &cached_note(summary, a, b);
    Sentence::new(tone(verdict), text)
}

/// Marks a mean over cells that are known to differ from it.
fn on_average(summary: &Summary) -> &'static str {
    if summary.varies { " on average" } else { "" }
}

/// Both ratios of cells in which stalls dominate: `stalls decide in 3 cells: typical ratio 1.21 [1.15, 1.27], total work 1.70
/// [1.52, 1.91]`.
pub(crate) fn stalls_words(stalled: &StalledCells) -> String {
    format!(
        "stalls decide in {}: typical ratio {}, total work {}",
        counted(stalled.cells, "cell"),
        show_ratio(&stalled.typical),
        show_ratio(&stalled.total_work)
    )
}

/// The effect of caches on a mean; empty without one.
fn cached_note(summary: &Summary, a: &str, b: &str) -> String {
    let apart = summary.unequal_storage.as_ref().map_or_else(String::new, |apart| {
        let alike = apart.alike.as_ref().map_or_else(String::new, |alike| {
            let claim = mean_claim(alike, a, b);
            format!("; over {} with equal shares of storage: {claim}", counted(alike.cells, "cell"))
        });
        format!(
            " In {} storage served a larger share of the bytes on one side{alike}.",
            counted(apart.cells, "cell")
        )
    });
    apart + &client_cached_note(summary, a, b)
}

/// The effect of client caches on a mean; empty without one.
fn client_cached_note(summary: &Summary, a: &str, b: &str) -> String {
    let Some(cached) = &summary.cached else { return String::new() };
    let one_sided = match (cached.one_sided, cached.cells) {
        (0, _) => String::new(),
        (some, all) if some == all => " on one side only".to_owned(),
        (some, _) => format!(", {some} of them on one side only"),
    };
    let alike = match &cached.equal_cache_share {
        // Otherwise this is the mean over uncached cells again.
        Some(alike) if cached.one_sided < cached.cells => format!(
            " Over {} with equal shares of the client's cache: {}.",
            counted(alike.cells, "cell"),
            mean_claim(alike, a, b)
        ),
        _ => String::new(),
    };
    let Some(felt) = &cached.all_cells else {
        return format!(
            " The client's cache served all of these cells{one_sided}: this is the rate that users see, not that of the server.{alike}"
        );
    };
    format!(
        " Excluded: {} that the client's cache served{one_sided}; including them, as users see it: {}.{alike}",
        counted(cached.cells, "cell"),
        mean_claim(felt, a, b)
    )
}

pub(crate) fn section_sentence(
    stages: &Stages<'_>,
    comparison: &Comparison,
    index: usize,
    summary: &Summary,
) -> Sentence {
    let section = &stages.estimated.sections[index];
    let (a, b) = names(stages, comparison);
    let scope = match (summary.cells, section.rows.as_slice()) {
        (1, [only]) => format!("at {}", position(section, &only.position)),
        (n, _) => {
            format!("over {}", counted(n, if section.view == View::Load { "load step" } else { "cell" }))
        }
    };
    if summary.pairing == Pairing::SingleRun {
        let text = format!("{}: {}.", section.title, single_run_claim(summary, a, b, &scope));
        let text = text + &cached_note(summary, a, b);
        return Sentence::new(single_run_tone(summary), text).about(index);
    }
    let stalls = summary.stalled.map_or(String::new(), |stalled| format!("; {}", stalls_words(&stalled)));
    let text = format!(
        "{}: {}{} {scope} ({}){stalls}{}.",
        section.title,
        claim(&summary.typical, summary.verdict, a, b),
        on_average(summary),
        basis_of(summary.pairing, summary.fewest_repetitions, summary.typical.n),
        remedy(summary)
    ) + &cached_note(summary, a, b);
    Sentence::new(tone(summary.verdict), text).about(index)
}

/// Cells of one section that are not resolved, in one sentence.
pub(crate) fn open_cells(
    stages: &Stages<'_>,
    comparison: &Comparison,
    index: usize,
    section: usize,
) -> Option<Sentence> {
    let rows = &stages.estimated.sections[section].rows;
    let judged: Vec<_> = rows.iter().filter_map(|row| row.ratios[index].as_ref()).collect();
    let blurred = |r: &crate::types::Ratio| r.single_run.is_none_or(|single| !single.resolved);
    let open: Vec<_> =
        judged.iter().filter(|r| r.verdict == RatioVerdict::NotResolved && blurred(r)).collect();
    if open.is_empty() || judged.len() < 2 {
        return None;
    }
    let again = open.iter().filter(|ratio| ratio.single_run.is_none());
    // Of some, no number of repetitions is known to resolve them.
    let mut needed: Vec<usize> = again.map(|ratio| ratio.repetitions_needed.unwrap_or(usize::MAX)).collect();
    let help = match upper_median(&mut needed) {
        Some(n) if n <= MAX_USEFUL_REPETITIONS && open.len() == 1 => {
            format!("; about {n} repetitions would resolve it")
        }
        Some(n) if n <= MAX_USEFUL_REPETITIONS => {
            format!("; about {n} repetitions would resolve half of them")
        }
        _ => String::new(),
    };
    let are = if open.len() == 1 { "is" } else { "are" };
    let text = format!(
        "{}: {} of {} {are} not resolved individually between {}{help}.",
        stages.estimated.sections[section].title,
        open.len(),
        counted(judged.len(), "cell"),
        comparison.name
    );
    Some(Sentence::new(Tone::NotResolved, text).about(section))
}

/// In which settings the two systems are known to differ, which settings only one of them states, and which conditions
/// differ; none where they have too little in common to list it. It lists all of them and names no cause.
pub(crate) fn settings_sentence(stages: &Stages<'_>, comparison: &Comparison) -> Option<Sentence> {
    let known = |system: usize| settings(&stages.aligned.systems[system]);
    let a = known(comparison.a);
    let b = known(comparison.b);
    let common = a.keys().filter(|name| b.contains_key(*name)).count();
    let alike = common * 2 >= a.len().min(b.len());
    let (differing, unknown): (Vec<&SettingChange>, Vec<&SettingChange>) =
        comparison.settings.iter().filter(|_| alike).partition(|change| change.is_known());
    let [one, other] = [comparison.a, comparison.b].map(|system| &stages.aligned.systems[system]);
    let conditions = differing_conditions(one, other);
    let conditions: Vec<&SettingChange> = conditions.iter().collect();
    let (name_a, name_b) = names(stages, comparison);
    let of_one = |change: &SettingChange| {
        let (value, system) = if change.a.is_some() { (&change.a, name_a) } else { (&change.b, name_b) };
        match value.as_deref().filter(|value| *value != STATED) {
            Some(value) => format!("{} {value} ({system})", change.name),
            None => format!("{} ({system})", change.name),
        }
    };
    let parts = [
        listed("stated settings that differ: ", &differing, SettingChange::words),
        listed("stated of one system only, so that they may or may not differ: ", &unknown, of_one),
        listed("conditions that differ: ", &conditions, SettingChange::words),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return None;
    }
    Some(Sentence::new(Tone::Note, format!("{}: {}.", comparison.name, parts.join("; "))))
}

/// `lead` and the settings of a list; none of an empty one.
fn listed(
    lead: &str,
    changes: &[&SettingChange],
    words: impl Fn(&SettingChange) -> String,
) -> Option<String> {
    let all: Vec<String> = changes.iter().map(|change| words(change)).collect();
    (!all.is_empty()).then(|| format!("{lead}{}", all.join("; ")))
}
