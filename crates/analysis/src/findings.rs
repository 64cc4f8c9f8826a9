//! Findings: the sentences of a report.

use sharebench_model::units::{show_rate, three_digits};
use sharebench_model::{ErrorClass, RunOutcome, axis};

use crate::analysis::has_rate;
use crate::clocks::Clock;
use crate::contradictions::suspects;
use crate::load_findings::{load_sentences, refused_forecasts};
use crate::wording::{basis, claim, counted, single_run_caveat, single_run_claim};
use crate::{
    Analysis, Comparison, Evidence, RateUnit, RunData, Section, Sentence, Standing, Summary, Tone, View,
    answer, band_words, cache_words, curves, effects, where_words,
};

/// More repetitions than this are not worth recommending.
const REPETITIONS_WORTH: usize = 500;
/// A depth that yields this share of the best is as good as the best.
const NEAR_BEST: f64 = 0.95;

/// Writes the answer, the findings and what was not resolved.
pub(crate) fn write(analysis: &mut Analysis, runs: &[RunData], clocks: &[Clock]) {
    let mut told = alarms(analysis, runs);
    let (mut found, mut open) = (Vec::new(), Vec::new());
    let spoken_of = answer::spoken_of(analysis);
    // Of several pairs the answer says who wins; where it does stands among the findings.
    let alone = analysis.comparisons.len() == 1;
    for (index, comparison) in analysis.comparisons.iter().enumerate() {
        if let Some(overall) = &comparison.overall {
            let sentence = overall_sentence(analysis, comparison, &overall.summary, overall.tests);
            match (spoken_of[index], sentence.tone) {
                (true, _) => told.push(sentence),
                (false, Tone::NotResolved) => open.push(sentence),
                (false, _) => found.push(sentence),
            }
            told.extend(
                analysis.weighed.iter().filter(|w| w.comparison == index).map(|w| w.sentence.clone()),
            );
            if alone {
                told.extend(where_words::answer(analysis, comparison));
            }
        }
        found.extend(where_words::settings(analysis, comparison));
        for (section, summary) in comparison.sections.iter().enumerate() {
            let Some(summary) = summary else { continue };
            let sentence = section_sentence(analysis, comparison, section, summary);
            let view = analysis.sections[section].view;
            let counts = view == View::Load || (view == View::Depth && comparison.overall.is_none());
            if counts && spoken_of[index] && (alone || answer::widest(comparison) == Some(section)) {
                told.push(sentence.clone());
            }
            if sentence.tone == Tone::NotResolved {
                open.push(sentence);
            } else {
                found.push(sentence);
            }
            found.extend(where_words::of_section(analysis, comparison, section));
            open.extend(open_cells(analysis, comparison, index, section));
        }
    }
    if analysis.comparisons.iter().any(Comparison::rests_on_single_runs) {
        let caveat = Sentence::new(Tone::Note, single_run_caveat(can_repeat(analysis)));
        if told.is_empty() { found.push(caveat) } else { told.push(caveat) }
    }
    for (index, section) in analysis.sections.iter().enumerate() {
        let sentences = match section.view {
            View::Load => load_sentences(analysis, section),
            View::Depth => depth_sentences(analysis, section),
            View::Sweep => Vec::new(),
        };
        found.extend(sentences.into_iter().map(|text| Sentence::new(Tone::Note, text).about(index)));
        found.extend(cache_words::sentences(analysis, index));
        let behind = band_words::sentences(analysis, index);
        let (unclear, clear): (Vec<_>, Vec<_>) =
            behind.into_iter().partition(|sentence| sentence.tone == Tone::NotResolved);
        found.extend(clear);
        open.extend(unclear);
        found.extend(curves::sentences(analysis, index, clocks));
        let refused = refused_forecasts(analysis, section);
        open.extend(refused.into_iter().map(|text| Sentence::new(Tone::NotResolved, text).about(index)));
    }
    found.extend(effects::sentences(analysis, &suspects(analysis, clocks)));
    if told.is_empty() {
        told.push(lone_system(analysis));
    }
    open.extend(absences(analysis));
    analysis.answer = told;
    analysis.findings = found;
    analysis.not_resolved = open;
}

/// What makes numbers unusable, before any number.
fn alarms(analysis: &Analysis, runs: &[RunData]) -> Vec<Sentence> {
    let mut alarms = Vec::new();
    for (index, system) in analysis.systems.iter().enumerate() {
        let steps = || runs[system.run].steps.iter().filter(|step| step.target == system.target);
        let wrong: u64 = steps().filter_map(|step| step.measure.errors.get(&ErrorClass::DataMismatch)).sum();
        if wrong > 0 {
            alarms.push(format!(
                "{} returned wrong data: {} read other bytes than were written. Do not trust this server with files.",
                system.name,
                counted(wrong as usize, "operation")
            ));
        }
        if steps().next().is_none() || !steps().any(has_rate) {
            alarms.push(format!("{} yielded nothing that could be measured.", analysis.systems[index].name));
        }
    }
    for run in runs {
        match &run.outcome {
            Some(RunOutcome::EngineFailed(reason)) => alarms.push(format!(
                "The engine failed in run {} ({reason}): its numbers must not be used.",
                run.label
            )),
            Some(RunOutcome::TargetLost(reason)) => {
                alarms.push(format!("Run {} lost a target: {reason}. What follows is partial.", run.label));
            }
            _ => {}
        }
    }
    alarms.into_iter().map(|text| Sentence::new(Tone::Alarm, text)).collect()
}

fn tone(standing: Standing) -> Tone {
    match standing {
        Standing::Faster | Standing::Slower => Tone::Difference,
        Standing::AboutTheSame => Tone::Same,
        Standing::NotResolved => Tone::NotResolved,
    }
}

fn names<'a>(analysis: &'a Analysis, comparison: &Comparison) -> (&'a str, &'a str) {
    (&analysis.systems[comparison.a].name, &analysis.systems[comparison.b].name)
}

/// True when every run was measured here, so that it can be measured again.
fn can_repeat(analysis: &Analysis) -> bool {
    !analysis.methods.iter().any(|method| method.imported)
}

/// Single runs are worth a note at most: never a difference.
fn single_run_tone(summary: &Summary) -> Tone {
    let (cells, resolved) = summary.single_runs;
    if resolved > 0 && resolved == cells { Tone::Note } else { Tone::NotResolved }
}

/// What it would take, when it is not resolved.
fn remedy(summary: &Summary) -> String {
    if summary.standing != Standing::NotResolved {
        return String::new();
    }
    match summary.repetitions_needed {
        Some(n) if n <= REPETITIONS_WORTH => {
            format!("; about {n} repetitions would probably resolve it")
        }
        _ => "; it sits on the edge of the tolerance, and no sensible number of repetitions will move it"
            .to_owned(),
    }
}

fn overall_sentence(
    analysis: &Analysis,
    comparison: &Comparison,
    summary: &Summary,
    tests: usize,
) -> Sentence {
    let (a, b) = names(analysis, comparison);
    if summary.evidence == Evidence::SingleRun {
        let scope = format!("over {} in {}", counted(summary.cells, "cell"), counted(tests, "test"));
        let text = format!("Over all, {}.", single_run_claim(summary, a, b, &scope));
        return Sentence::new(single_run_tone(summary), text);
    }
    let text = format!(
        "Over {} in {}, {} (geometric mean, {}){}.",
        counted(summary.cells, "cell"),
        counted(tests, "test"),
        claim(&summary.typical, summary.standing, a, b),
        basis(summary.evidence, summary.typical.n),
        remedy(summary)
    ) + &cached_note(summary, a, b);
    Sentence::new(tone(summary.standing), text)
}

/// What caches did to a mean; empty where they did nothing.
fn cached_note(summary: &Summary, a: &str, b: &str) -> String {
    let apart = summary.storage_apart.as_ref().map_or_else(String::new, |apart| {
        let alike = apart.alike.as_ref().map_or_else(String::new, |alike| {
            let claim = claim(&alike.typical, alike.standing, a, b);
            format!("; over {} where storage gave both alike: {claim}", counted(alike.cells, "cell"))
        });
        format!(
            " In {} storage gave one side more of the bytes, the server's cache the other{alike}.",
            counted(apart.cells, "cell")
        )
    });
    apart + &client_cached_note(summary, a, b)
}

/// What client caches did to a mean; empty where they did nothing.
fn client_cached_note(summary: &Summary, a: &str, b: &str) -> String {
    let Some(cached) = &summary.cached else { return String::new() };
    let one_sided = match (cached.one_sided, cached.cells) {
        (0, _) => String::new(),
        (some, all) if some == all => " on one side alone".to_owned(),
        (some, _) => format!(", {some} of them on one side alone"),
    };
    let alike = match &cached.equal_bands {
        // Without cells that are cached alike this is the mean over uncached ones again.
        Some(alike) if cached.one_sided < cached.cells => format!(
            " Over {} that it served alike on both sides: {}.",
            counted(alike.cells, "cell"),
            claim(&alike.typical, alike.standing, a, b)
        ),
        _ => String::new(),
    };
    let Some(felt) = &cached.as_felt else {
        return format!(
            " The client's cache served every one of these cells{one_sided}: this is what users feel, and says nothing of a server.{alike}"
        );
    };
    format!(
        " Left out: {} that the client's cache served{one_sided}; with them, as users feel it: {}.{alike}",
        counted(cached.cells, "cell"),
        claim(&felt.typical, felt.standing, a, b)
    )
}

fn section_sentence(
    analysis: &Analysis,
    comparison: &Comparison,
    index: usize,
    summary: &Summary,
) -> Sentence {
    let section = &analysis.sections[index];
    let (a, b) = names(analysis, comparison);
    let scope = match (summary.cells, section.rows.as_slice()) {
        (1, [only]) => format!("at {}", position(section, &only.position)),
        (n, _) => {
            format!("over {}", counted(n, if section.view == View::Load { "load step" } else { "cell" }))
        }
    };
    if summary.evidence == Evidence::SingleRun {
        let claim = single_run_claim(summary, a, b, &scope);
        return Sentence::new(single_run_tone(summary), format!("{}: {claim}.", section.title)).about(index);
    }
    let stalls = if summary.stalls > 0 {
        format!(
            "; in {} stalls decide, so total work differs from the typical ratio",
            counted(summary.stalls, "cell")
        )
    } else {
        String::new()
    };
    let text = format!(
        "{}: {} {scope} ({}){stalls}{}.",
        section.title,
        claim(&summary.typical, summary.standing, a, b),
        basis(summary.evidence, summary.typical.n),
        remedy(summary)
    ) + &cached_note(summary, a, b);
    Sentence::new(tone(summary.standing), text).about(index)
}

pub(crate) fn position(section: &Section, position: &[Option<sharebench_model::Value>]) -> String {
    let named = section.axes.iter().zip(position).filter_map(|(axis, value)| {
        let value = value.as_ref()?;
        Some(match axis.as_str() {
            axis::FILE_SIZE => format!("{value} file"),
            axis::RECORD_SIZE => format!("{value} records"),
            axis::USERS => format!("{value} users"),
            axis::JOBS => format!("{value} jobs"),
            axis::RATE => format!("{value} starts/s"),
            axis::QUEUE_DEPTH => format!("depth {value}"),
            other => format!("{} {value}", other.replace('_', " ")),
        })
    });
    named.collect::<Vec<_>>().join(", ")
}

/// Cells of one section that stay open, in one sentence.
fn open_cells(
    analysis: &Analysis,
    comparison: &Comparison,
    index: usize,
    section: usize,
) -> Option<Sentence> {
    let rows = &analysis.sections[section].rows;
    let judged: Vec<_> = rows.iter().filter_map(|row| row.ratios[index].as_ref()).collect();
    let blurred = |r: &crate::Ratio| r.single_run.is_none_or(|single| !single.resolved);
    let open: Vec<_> = judged.iter().filter(|r| r.standing == Standing::NotResolved && blurred(r)).collect();
    if open.is_empty() || judged.len() < 2 {
        return None;
    }
    let again = open.iter().filter(|ratio| ratio.single_run.is_none());
    let mut needed: Vec<usize> = again.filter_map(|ratio| ratio.repetitions_needed).collect();
    needed.sort_unstable();
    let help = match needed.get(needed.len() / 2) {
        Some(n) if *n <= REPETITIONS_WORTH => format!("; about {n} repetitions would settle half of them"),
        _ => String::new(),
    };
    let text = format!(
        "{}: {} of {} taken alone are not resolved between {}{help}.",
        analysis.sections[section].title,
        open.len(),
        counted(judged.len(), "cell"),
        comparison.name
    );
    Some(Sentence::new(Tone::NotResolved, text).about(section))
}

pub(crate) fn show(unit: RateUnit, rate: f64) -> String {
    match unit {
        RateUnit::BytesPerSecond => show_rate(rate),
        RateUnit::OperationsPerSecond => format!("{} ops/s", three_digits(rate)),
    }
}

/// Per system and record size: how many operations in flight are enough.
fn depth_sentences(analysis: &Analysis, section: &Section) -> Vec<String> {
    let mut sentences = Vec::new();
    for (system, named) in analysis.systems.iter().enumerate() {
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
                "{}: {}{record} needs {depth} in flight for {} ({} of one at a time: {}).",
                section.title,
                named.name,
                show(section.unit, enough.1),
                times(enough.1 / first.1),
                show(section.unit, first.1)
            ));
        }
    }
    sentences
}

fn times(factor: f64) -> String {
    format!("{factor:.1} times that")
}

/// One system alone: what was measured, without comparison.
fn lone_system(analysis: &Analysis) -> Sentence {
    let sections: Vec<&str> = analysis.sections.iter().map(|section| section.title.as_str()).collect();
    let name = analysis.systems.first().map_or("nothing", |system| system.name.as_str());
    let rows = analysis.sections.iter().map(|section| section.rows.len()).sum();
    let text = format!(
        "{name} alone: {} of {} measured; there is nothing to compare it with.",
        counted(rows, "position"),
        sections.join(", ")
    );
    Sentence::new(Tone::Note, text)
}

/// Positions without counterpart and steps left out, counted; the lists stand behind.
fn absences(analysis: &Analysis) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    if !analysis.unaligned.is_empty() && analysis.systems.len() > 1 {
        let text = format!(
            "{} not measured (or not usable) on every system; listed, and not part of any comparison.",
            match analysis.unaligned.len() {
                1 => "1 position was".to_owned(),
                n => format!("{n} positions were"),
            }
        );
        sentences.push(Sentence::new(Tone::Note, text));
    }
    if !analysis.left_out.is_empty() {
        let text = format!(
            "{} took no part in any number; the reasons are listed.",
            counted(analysis.left_out.len(), "step")
        );
        sentences.push(Sentence::new(Tone::Note, text));
    }
    for comparison in analysis.comparisons.iter().filter(|comparison| !comparison.thinned.is_empty()) {
        let steps: usize = comparison.thinned.iter().map(|cell| cell.steps).sum();
        let whole = comparison.thinned.iter().filter(|cell| cell.whole).count();
        let text = format!(
            "{}: {} lost {} to failed self-checks; {whole} of these cells could not be compared at all.",
            comparison.name,
            counted(comparison.thinned.len(), "cell"),
            counted(steps, "step"),
        );
        sentences.push(Sentence::new(Tone::Note, text));
    }
    sentences
}
