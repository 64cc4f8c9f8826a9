//! Contradictions (docs/measure/measurement-rules.md R11): numbers that cannot be what they are said to be. They are shown, and
//! never corrected.

use sharebench_model::units::{BitRate, counted, percent, show_nanos, show_rate};

use crate::align::Aligned;
use crate::align::settings::{STATED, changes, settings};
use crate::estimate::Estimated;
use crate::judge::effects::median_effect;
use crate::judge::{disk_rates, equal_lines, littles_law, outliers};
use crate::types::{Options, Outcome, RateUnit, Section, Sentence, SettingChange, Tone, View};

/// Share of the cells that must be equal to a tick, and how many cells are too few to say so. Repeated runs of one
/// system differ by more than that here and there; systems that differ by a tenth are equal in half at most.
const EQUAL: f64 = 0.75;

const FEWEST_EQUAL: usize = 8;

/// An effect below this share is none that another system would have to show.
const EFFECT: f64 = 0.05;

/// All contradictions, in the order of the report.
pub(crate) fn find(aligned: &Aligned<'_>, estimated: &Estimated, options: &Options) -> Vec<Sentence> {
    let mut found = Vec::new();
    for (run, clock) in aligned.runs.iter().zip(&aligned.clocks).filter(|(_, clock)| clock.is_contradicted())
    {
        let words = clock.words().unwrap_or_default();
        found.push(Sentence::new(Tone::Note, format!("{}: {words}.", run.label)));
    }
    found.extend(titles(aligned));
    found.extend(equal_systems(aligned, estimated, true));
    found.extend(options.link.and_then(|link| above_the_link(aligned, estimated, link)));
    found.extend(disk_rates::sentences(aligned, estimated));
    found.extend(outliers::sentences(aligned, estimated));
    found.extend(equal_lines::sentences(aligned, estimated));
    for (index, section) in estimated.sections.iter().enumerate() {
        let about =
            |text: String| Sentence::new(Tone::Note, format!("{}: {text}", section.title)).about(index);
        let is_load = section.view == View::Load;
        if is_load {
            found.extend(littles_law::transaction_sizes(aligned, section).map(about));
        }
        for (system, described) in aligned.systems.iter().enumerate() {
            found.extend(littles_law::steps(&described.name, section, system).into_iter().map(about));
            if is_load {
                found.extend(survivors(&described.name, section, system).into_iter().map(about));
            }
        }
    }
    found
}

/// Systems that are equal in nearly every cell although their stated settings differ: a contradiction if one of them
/// states a setting whose effect is known and does not show it. Otherwise the settings may have no effect.
fn equal_systems(aligned: &Aligned<'_>, estimated: &Estimated, contradictory: bool) -> Vec<Sentence> {
    let mut found = Vec::new();
    let n = aligned.systems.len();
    for (a, b) in (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))) {
        let differing = changes(&aligned.systems[a], &aligned.systems[b]);
        let Some((equal, all)) = equal_cells(aligned, estimated, a, b) else { continue };
        let suspect =
            [(a, b), (b, a)].into_iter().find_map(|(a, b)| shows_no_effect(aligned, estimated, a, b));
        // What only one of them states may be equal in the other.
        let differs = differing.iter().any(SettingChange::is_known);
        if contradictory != suspect.is_some() || (suspect.is_none() && !differs) {
            continue;
        }
        let stated: Vec<String> = differing.iter().map(SettingChange::words).collect();
        let text = format!(
            "{} equals {} to one tick of the clock in {equal} of {}, although what is stated of them differs ({})",
            aligned.systems[b].name,
            aligned.systems[a].name,
            counted(all, "cell"),
            stated.join("; ")
        );
        let sentence = if let Some(suspect) = suspect {
            let text = format!("{text}. {suspect}; it is excluded from the effects of settings.");
            Sentence::new(Tone::Note, text)
        } else {
            let text = format!("{text}: these settings have no effect that this clock shows.");
            Sentence::new(Tone::Same, text)
        };
        found.push(sentence);
    }
    found
}

/// Systems that are equal although their settings differ, where nothing contradicts that: findings.
pub(crate) fn settings_without_effect(aligned: &Aligned<'_>, estimated: &Estimated) -> Vec<Sentence> {
    equal_systems(aligned, estimated, false)
}

/// Systems that state a setting but do not show its effect.
pub(crate) fn suspects(aligned: &Aligned<'_>, estimated: &Estimated) -> Vec<usize> {
    let n = aligned.systems.len();
    let suspect = |b: usize| {
        (0..n).any(|a| {
            a != b
                && equal_cells(aligned, estimated, a, b).is_some()
                && shows_no_effect(aligned, estimated, a, b).is_some()
        })
    };
    (0..n).filter(|b| suspect(*b)).collect()
}

/// Cells equal to one tick, of all that two systems measured once; none unless nearly all are.
fn equal_cells(aligned: &Aligned<'_>, estimated: &Estimated, a: usize, b: usize) -> Option<(usize, usize)> {
    let tick = |system: usize| aligned.clocks[aligned.systems[system].run].resolution_ns;
    let tick = tick(a)?.max(tick(b)?);
    let mut equal = 0;
    let mut all = 0;
    for row in estimated.sections.iter().flat_map(|section| &section.rows) {
        let (Some(one), Some(other)) = (&row.outcomes[a], &row.outcomes[b]) else { continue };
        if one.rate.n > 1 || other.rate.n > 1 || one.bytes != other.bytes {
            continue;
        }
        all += 1;
        // A time that is cut to ticks on both ends may read one tick more or less.
        equal += usize::from((one.measured_ns - other.measured_ns).abs() <= 1.05 * tick);
    }
    (all >= FEWEST_EQUAL && equal as f64 >= EQUAL * all as f64).then_some((equal, all))
}

/// `b` equals `a`, but states a setting of a third system that is otherwise like `a` and slower or faster.
fn shows_no_effect(aligned: &Aligned<'_>, estimated: &Estimated, a: usize, b: usize) -> Option<String> {
    let stated = settings(&aligned.systems[b]);
    let third = (0..aligned.systems.len()).filter(|c| *c != a && *c != b);
    third.into_iter().find_map(|c| {
        let changed = changes(&aligned.systems[a], &aligned.systems[c]);
        let [change] = changed.as_slice() else { return None };
        let value = change.b.as_ref().filter(|value| stated.get(&change.name) == Some(*value))?;
        let effect = median_effect(&estimated.sections, a, c)?.value.exp_m1();
        let word = if effect < 0.0 { "slower" } else { "faster" };
        (effect.abs() > EFFECT).then(|| {
            format!(
                "{} states {} {value} as {} does, which is {} {word} than {} (median of its cells) and states nothing \
                 else that differs, but {} shows no such effect",
                aligned.systems[b].name,
                change.name,
                aligned.systems[c].name,
                percent(effect.abs(), 0),
                aligned.systems[a].name,
                aligned.systems[b].name,
            )
        })
    })
}

/// Titles that contradict negotiated or stated settings.
fn titles(aligned: &Aligned<'_>) -> Vec<Sentence> {
    let mut found = Vec::new();
    for system in &aligned.systems {
        let header = &aligned.runs[system.run].header;
        // The title of several targets speaks of all of them.
        let title = if header.targets.len() == 1 { header.title.as_str() } else { "" };
        // The program's own addition to a name, in brackets, states what the URL requests.
        let name = system.name.split(" (").next().unwrap_or_default();
        let title = format!("{title} {name}");
        for (name, value) in settings(system).into_iter().filter(|(_, value)| value != STATED) {
            if let Some(said) = said_of(&title, &name).filter(|said| contradict(said, &value)) {
                let text =
                    format!("{}: its title says {name} {said}, but it was {name} {value}.", system.name);
                found.push(Sentence::new(Tone::Note, text));
            }
        }
        // Remarks of a table on its own titles.
        for stated in system.facts.values().filter(|stated| stated.to_lowercase().contains("title says")) {
            let text = format!("{}: the source contradicts itself: {stated}.", system.name);
            found.push(Sentence::new(Tone::Note, text));
        }
    }
    found
}

/// The word that follows the name of a setting in a title.
fn said_of(title: &str, name: &str) -> Option<String> {
    let words: Vec<String> = title
        .split(|c: char| c.is_whitespace() || "=_:,;()".contains(c))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let name: Vec<String> = name.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let at = words.windows(name.len() + 1).position(|window| window[..name.len()] == name[..])?;
    let said = words[at + name.len()].clone();
    (switch(&said).is_some() || said.starts_with(|c: char| c.is_ascii_digit())).then_some(said)
}

/// True where both are clear and not the same.
fn contradict(said: &str, value: &str) -> bool {
    let value = value.to_lowercase();
    match (switch(said), switch(&value)) {
        (Some(said), Some(value)) => said != value,
        // "signing off" against "AES-CMAC": a named kind is on.
        (Some(said), None) => !said && !value.starts_with(|c: char| c.is_ascii_digit()),
        _ if said.starts_with(|c: char| c.is_ascii_digit()) => {
            let number: String = value.chars().skip_while(|c| !c.is_ascii_digit()).collect();
            !number.is_empty() && !number.starts_with(said)
        }
        _ => false,
    }
}

fn switch(word: &str) -> Option<bool> {
    match word {
        "on" | "yes" | "required" | "enabled" | "high" => Some(true),
        "off" | "no" | "none" | "disabled" | "low" => Some(false),
        _ => None,
    }
}

/// Speeds that the link cannot have carried.
fn above_the_link(aligned: &Aligned<'_>, estimated: &Estimated, link: BitRate) -> Option<Sentence> {
    let mut cells: Vec<(&Section, &crate::types::Row, f64, f64, &str)> = Vec::new();
    for section in estimated.sections.iter().filter(|section| section.unit == RateUnit::BytesPerSecond) {
        for row in &section.rows {
            for (system, outcome) in row.outcomes.iter().enumerate() {
                let system = &aligned.systems[system];
                let Some(outcome) = outcome.as_ref().filter(|_| system.uses_link()) else { continue };
                let clock = &aligned.clocks[system.run];
                let lowest_rate = clock.lowest_rate(outcome.rate.value, outcome.measured_ns);
                if lowest_rate > link.bytes_per_s() {
                    cells.push((section, row, outcome.rate.value, lowest_rate, &system.name));
                }
            }
        }
    }
    let (section, row, rate, lowest_rate, name) = cells.iter().max_by(|x, y| x.2.total_cmp(&y.2))?;
    let text = format!(
        "{} above the {link} of the link ({}): their bytes cannot all have crossed it. Fastest: {name}, {} {}, {}: a \
         client's cache served at least {} of it.",
        match cells.len() {
            1 => "1 cell is".to_owned(),
            n => format!("{n} cells are"),
        },
        show_rate(link.bytes_per_s()),
        section.title,
        row.coordinates,
        show_rate(*rate),
        percent(1.0 - link.bytes_per_s() / lowest_rate, 1)
    );
    Some(Sentence::new(Tone::Note, text))
}

/// Response times that are lower with more users, because they cover only some of them.
fn survivors(name: &str, section: &Section, system: usize) -> Vec<String> {
    let steps: Vec<&Outcome> = section.rows.iter().filter_map(|row| row.outcomes[system].as_ref()).collect();
    let mut found = Vec::new();
    for pair in steps.windows(2) {
        let few = pair[0];
        let many = pair[1];
        let silent = many.users_reported < many.users_assigned;
        let Some((many_ns, few_ns)) = many.response_mean_ns.zip(few.response_mean_ns) else { continue };
        if silent && many_ns > 0.0 && many_ns < few_ns {
            found.push(format!(
                "{name}: with {} the mean response time is lower ({}) than with {} ({}), but only {} of them \
                 finished a transaction: the mean covers these only.",
                counted(many.users_assigned, "user"),
                show_nanos(many_ns),
                few.users_assigned,
                show_nanos(few_ns),
                many.users_reported
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_held_against_what_was_negotiated() {
        assert_eq!(said_of("nas, signing off", "signing"), Some("off".into()));
        assert_eq!(said_of("vlm_true_commit=on", "true commit"), Some("on".into()));
        assert_eq!(said_of("the signing of contracts", "signing"), None);
        assert!(
            contradict("off", "AES-CMAC") && contradict("off", "required") && contradict("2.1", "SMB 3.1.1")
        );
        assert!(!contradict("on", "AES-CMAC") && !contradict("off", "off") && !contradict("3", "3.1.1"));
        assert!(!contradict("3.1.1", "smb 3.1.1"));
    }
}
