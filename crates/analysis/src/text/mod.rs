//! Last stage: the sentences of a report. Nothing is decided here.

mod cache_cliffs;
pub(crate) mod claims;
mod client_cache;
mod comparisons;
mod conditions;
mod curves;
mod depth;
mod directories;
mod effects;
pub(crate) mod gate;
mod io500;
mod load;
mod load_figures;
mod load_limits;
mod load_unit;
mod mechanisms;
mod parts;
mod position;
pub(crate) mod series;
mod server_cache;
mod single_run_parts;
pub(crate) mod stages;
mod time;
mod time_budgets;
mod unmatched;
mod verdict;
mod weights;

use sharebench_model::units::counted;
use sharebench_model::{ErrorClass, RunOutcome, StepError};

use crate::align::rates::has_rate;
use crate::judge::best::{spoken_of, widest};
use crate::text::claims::single_run_caveat;
use crate::text::comparisons::{open_cells, overall_sentence, section_sentence, settings_sentence};
use crate::text::depth::depth_sentences;
use crate::text::load::{load_sentences, refused_forecasts, refused_units, supported_users};
use crate::text::load_figures::load_figure_sentences;
use crate::text::stages::Stages;
use crate::text::verdict::{VerdictLine, verdict_line};
use crate::text::weights::weights_sentence;
use crate::types::{Comparison, RunData, Sentence, Tone, View};

/// The sentences of a report.
#[derive(Default)]
pub(crate) struct Text {
    /// Differing conditions, one line each.
    pub unlike_conditions: Vec<String>,
    /// The verdict of each comparison in words.
    pub verdicts: Vec<VerdictLine>,
    /// What changed over time, one sentence each.
    pub time_findings: Vec<String>,
    /// Guesses at what limits a system, one sentence each.
    pub mechanisms: Vec<String>,
    /// The comparisons that the answer reports.
    pub reported: Vec<usize>,
    /// The answer, alarms first.
    pub answer: Vec<Sentence>,
    /// What was found, per section.
    pub findings: Vec<Sentence>,
    /// What is not resolved, and what would resolve it.
    pub not_resolved: Vec<Sentence>,
}

/// Sentences by their place in the report.
#[derive(Default)]
struct Draft {
    answer: Vec<Sentence>,
    found: Vec<Sentence>,
    open: Vec<Sentence>,
}

impl Draft {
    /// Adds a sentence to what is found, or to what is not resolved.
    fn add(&mut self, sentence: Sentence) {
        if sentence.tone == Tone::NotResolved { self.open.push(sentence) } else { self.found.push(sentence) }
    }
}

/// Writes the answer, the findings and what is not resolved.
pub(crate) fn write(stages: &Stages<'_>) -> Text {
    let mut draft = Draft { answer: alarms(stages, stages.aligned.runs), ..Draft::default() };
    let comparisons = &stages.judged.comparisons;
    let spoken_of = spoken_of(&stages.aligned.systems, comparisons);
    for (index, is_spoken_of) in spoken_of.iter().enumerate() {
        of_comparison(stages, index, *is_spoken_of, &mut draft);
    }
    if comparisons.iter().any(Comparison::rests_on_single_runs) {
        let caveat = Sentence::new(Tone::Note, single_run_caveat(can_repeat(stages)));
        if draft.answer.is_empty() { draft.found.push(caveat) } else { draft.answer.push(caveat) }
    }
    for index in 0..stages.estimated.sections.len() {
        of_section(stages, index, &mut draft);
    }
    for sentence in io500::sentences(stages) {
        if sentence.tone == Tone::NotResolved {
            draft.open.push(sentence);
        } else {
            draft.answer.push(sentence);
        }
    }
    let time = time::sentences(stages);
    let time_findings = time.iter().map(|sentence| sentence.text.clone()).collect();
    draft.found.extend(time);
    draft.open.extend(time::not_examined(stages));
    draft.found.extend(effects::sentences(stages));
    draft.found.extend(stages.judged.settings_without_effect.iter().cloned());
    if draft.answer.is_empty() {
        draft.answer.push(lone_system(stages));
    }
    draft.open.extend(absences(stages));
    let guesses = stages.judged.mechanisms.iter();
    let unlike = stages.judged.unlike_conditions.iter();
    Text {
        unlike_conditions: unlike.map(|unlike| conditions::warning(stages, unlike)).collect(),
        verdicts: comparisons.iter().map(|comparison| verdict_line(stages, comparison)).collect(),
        time_findings,
        mechanisms: guesses.map(|guess| mechanisms::guess(stages, guess)).collect(),
        reported: (0..comparisons.len()).filter(|index| spoken_of[*index]).collect(),
        answer: draft.answer,
        findings: draft.found,
        not_resolved: draft.open,
    }
}

/// What one comparison says. Of several pairs the answer names the faster system; the parts of their maps are listed among the
/// findings.
fn of_comparison(stages: &Stages<'_>, index: usize, is_spoken_of: bool, draft: &mut Draft) {
    let comparison = &stages.judged.comparisons[index];
    let alone = stages.judged.comparisons.len() == 1;
    if let Some(overall) = &comparison.overall {
        let sentence = overall_sentence(stages, comparison, &overall.summary, overall.tests);
        if is_spoken_of {
            draft.answer.push(sentence);
        } else {
            draft.add(sentence);
        }
        let weighted = stages.judged.weighted.iter().filter(|weighted| weighted.comparison == index);
        draft.answer.extend(weighted.map(|weighted| weights_sentence(stages, weighted)));
    }
    if alone {
        draft.answer.extend(parts::answer(stages, comparison));
    }
    draft.found.extend(parts::findings(stages, index, comparison));
    draft.found.extend(settings_sentence(stages, comparison));
    for (section, summary) in comparison.sections.iter().enumerate() {
        let Some(summary) = summary else { continue };
        let sentence = section_sentence(stages, comparison, section, summary);
        let view = stages.estimated.sections[section].view;
        let counts = view == View::Load || (view == View::Depth && comparison.overall.is_none());
        if counts && is_spoken_of && (alone || widest(comparison) == Some(section)) {
            draft.answer.push(sentence.clone());
        }
        draft.add(sentence);
        draft.found.extend(single_run_parts::of_section(stages, comparison, section));
        draft.open.extend(open_cells(stages, comparison, index, section));
    }
}

/// What was found in one section alone, and what is not resolved there.
fn of_section(stages: &Stages<'_>, index: usize, draft: &mut Draft) {
    let section = &stages.estimated.sections[index];
    let say = |tone: Tone| move |text: String| Sentence::new(tone, text).about(index);
    let sentences = match section.view {
        View::Load => load_sentences(stages, section),
        View::Depth => depth_sentences(stages, section),
        View::Sweep => Vec::new(),
    };
    for (sentence, reported) in load_figure_sentences(stages, index) {
        draft.answer.extend(reported.then(|| sentence.clone()));
        draft.add(sentence);
    }
    if section.view == View::Load && stages.aligned.systems.len() == 1 {
        draft.answer.extend(supported_users(stages, section).into_iter().map(say(Tone::Note)));
    }
    draft.found.extend(sentences.into_iter().map(say(Tone::Note)));
    draft.found.extend(client_cache::sentences(stages, index));
    for sentence in server_cache::sentences(stages, index) {
        draft.add(sentence);
    }
    draft.found.extend(cache_cliffs::sentences(stages, index));
    draft.found.extend(directories::sentences(stages, index));
    draft.found.extend(curves::sentences(stages, index));
    let guesses = stages.judged.mechanisms.iter().filter(|guess| guess.section == index);
    draft.found.extend(guesses.map(|guess| mechanisms::guess(stages, guess)).map(say(Tone::Note)));
    draft.found.extend(time_budgets::sentences(stages, index));
    limits_of_load(stages, index, draft);
    draft.open.extend(refused_forecasts(stages, section).into_iter().map(say(Tone::NotResolved)));
    draft.open.extend(refused_units(stages, section).into_iter().map(say(Tone::NotResolved)));
}

/// Reports load steps whose rates support no comparison, once per load instead of once per pair of systems.
fn limits_of_load(stages: &Stages<'_>, index: usize, draft: &mut Draft) {
    let section = &stages.estimated.sections[index];
    if section.view != View::Load {
        return;
    }
    let is_compared = !stages.judged.comparisons.is_empty();
    let few = load_limits::too_few(stages, section);
    if let Some(few) = few.map(|text| Sentence::new(Tone::NotResolved, text).about(index)) {
        draft.answer.extend(is_compared.then(|| few.clone()));
        draft.open.push(few);
    }
    let bound = load_limits::bound_by_think_time(section);
    if let Some(bound) = bound.map(|text| Sentence::new(Tone::Note, text).about(index)) {
        draft.answer.extend(is_compared.then(|| bound.clone()));
        draft.found.push(bound);
    }
}

/// What makes numbers unusable, before any number.
fn alarms(stages: &Stages<'_>, runs: &[RunData]) -> Vec<Sentence> {
    let mut alarms = Vec::new();
    for (index, system) in stages.aligned.systems.iter().enumerate() {
        let steps = || runs[system.run].steps.iter().filter(|step| step.target == system.target);
        let wrong: u64 = steps().filter_map(|step| step.measure.errors.get(&ErrorClass::DataMismatch)).sum();
        if wrong > 0 {
            alarms.push(format!(
                "{} returned wrong data: {} read data that differs from what was written. Do not store files on this server.",
                system.name,
                counted(wrong as usize, "operation")
            ));
        }
        if steps().next().is_none() || !steps().any(has_rate) {
            alarms.push(format!("{}: no operation could be measured.", stages.aligned.systems[index].name));
        }
    }
    for run in runs {
        match &run.outcome {
            Some(RunOutcome::Incomplete(StepError::EngineFailed(reason))) => alarms.push(format!(
                "The engine failed in run {} ({reason}): its numbers must not be used.",
                run.label
            )),
            Some(RunOutcome::Incomplete(StepError::TargetLost { reason, .. })) => {
                alarms
                    .push(format!("Run {} lost a target: {reason}. The results are incomplete.", run.label));
            }
            _ => {}
        }
    }
    alarms.into_iter().map(|text| Sentence::new(Tone::Alarm, text)).collect()
}

/// True when every run was measured here by a command that takes repetitions: a search for a knee does not.
fn can_repeat(stages: &Stages<'_>) -> bool {
    let searches = |run: &RunData| run.header.plan.lines().any(|line| line.trim() == "find_knee = true");
    !stages.aligned.runs.iter().any(|run| run.header.is_imported() || searches(run))
}

/// One system alone: what was measured, without comparison.
fn lone_system(stages: &Stages<'_>) -> Sentence {
    let sections: Vec<&str> =
        stages.estimated.sections.iter().map(|section| section.title.as_str()).collect();
    let name = stages.aligned.systems.first().map_or("nothing", |system| system.name.as_str());
    let rows: usize = stages.estimated.sections.iter().map(|section| section.rows.len()).sum();
    let text = format!(
        "{name}: {} of {} measured; there is no other system to compare with.",
        counted(rows, "position"),
        sections.join(", ")
    );
    Sentence::new(Tone::Note, text)
}

/// Positions without counterpart and steps left out, counted; the report lists them at its end.
fn absences(stages: &Stages<'_>) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    if !stages.aligned.unaligned.is_empty() && stages.aligned.systems.len() > 1 {
        let text = format!(
            "{} not measured (or not usable) on every system; listed, and excluded from comparisons.",
            match stages.aligned.unaligned.len() {
                1 => "1 position was".to_owned(),
                n => format!("{n} positions were"),
            }
        );
        sentences.push(Sentence::new(Tone::Note, text));
    }
    if !stages.aligned.left_out.is_empty() {
        let text = format!(
            "{} left out of all results; the reasons are listed.",
            counted(stages.aligned.left_out.len(), "step")
        );
        sentences.push(Sentence::new(Tone::Note, text));
    }
    sentences.extend(stages.judged.comparisons.iter().filter_map(|c| parts::excluded(stages, c)));
    for comparison in stages.judged.comparisons.iter().filter(|comparison| !comparison.thinned.is_empty()) {
        let steps: usize = comparison.thinned.iter().map(|cell| cell.steps).sum();
        let whole = comparison.thinned.iter().filter(|cell| cell.whole).count();
        let lost = match whole {
            0 => String::new(),
            whole => format!("; {whole} of these cells could not be compared at all"),
        };
        let text = format!(
            "{}: {} lost {} to failed self-checks{lost}.",
            comparison.name,
            counted(comparison.thinned.len(), "cell"),
            counted(steps, "step"),
        );
        sentences.push(Sentence::new(Tone::Note, text));
    }
    sentences
}
