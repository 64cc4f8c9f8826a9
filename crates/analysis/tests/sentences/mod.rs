//! Every sentence that an analysis can print, in snapshots, and a test that finds those without one.
//!
//! Each fixture is a small run whose truth is known; its snapshot holds all of its texts. [`source`] reads the string
//! literals of the crate: a text of which no snapshot contains the constant parts fails the test.

mod budgets;
mod caches;
mod directories;
mod gates;
mod imports;
mod io500;
mod loads;
mod series;
mod source;
mod sweeps;
mod time;

use std::path::Path;

use sharebench_analysis::{Analysis, Options, RunData, Sentence, analyse};

/// All texts of an analysis, one line each.
fn shown(analysis: &Analysis) -> String {
    let mut lines: Vec<String> =
        analysis.unlike_conditions.iter().map(|unlike| unlike.text.clone()).collect();
    lines.extend(analysis.verdicts().map(|verdict| format!("VERDICT {}", verdict.text)));
    let mut part = |title: &str, sentences: &[Sentence]| {
        lines.extend(
            sentences.iter().map(|sentence| format!("{title} {:?}: {}", sentence.tone, sentence.text)),
        );
    };
    part("ANSWER", &analysis.answer);
    part("CONTRADICTIONS", &analysis.contradictions);
    part("FINDINGS", &analysis.findings);
    part("NOT RESOLVED", &analysis.not_resolved);
    let trust = analysis.trust.iter();
    lines.extend(trust.map(|line| format!("TRUST {:?} {}: {}", line.status, line.subject, line.text)));
    let unmatched = analysis.unmatched.iter();
    lines.extend(unmatched.map(|unmatched| format!("NOT ALIGNED {}", unmatched.words(analysis))));
    let settings = analysis.comparisons.iter().flat_map(|comparison| &comparison.settings);
    lines.extend(settings.map(|setting| format!("SETTING {}", setting.words())));
    let rows = analysis.sections.iter().flat_map(|section| &section.rows);
    let mut shares: Vec<String> = rows
        .flat_map(|row| row.outcomes.iter().flatten())
        .filter_map(|outcome| outcome.cache_shares.as_ref())
        .map(|shares| format!("SHARES {} {}", shares.label(), shares.note.as_deref().unwrap_or("")))
        .collect();
    shares.sort();
    shares.dedup();
    lines.extend(shares.into_iter().map(|share| share.trim_end().to_owned()));
    lines.extend(analysis.left_out.iter().map(|step| format!("LEFT OUT {}", step.reason)));
    lines.join("\n")
}

/// Compares the texts of the runs of a fixture with its snapshot. None contradicts a cell of the fixture.
fn check(name: &str, runs: &[RunData], options: &Options) {
    let analysis = analyse(runs, options);
    let json = serde_json::to_value(&analysis).unwrap();
    assert_eq!(crate::oracle::contradictions(&json), [] as [String; 0], "{name}");
    check_text(name, &shown(&analysis));
}

fn check_text(name: &str, text: &str) {
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

/// Small interval computations: the texts do not depend on the bootstrap.
fn quick() -> Options {
    Options { resamples: 200, ..Options::default() }
}

#[test]
fn every_text_of_the_crate_is_in_a_snapshot() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let snapshots = source::files(&root.join("tests/snapshots"), "snap");
    let known: String = snapshots.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n");
    let mut missing = Vec::new();
    for (name, text) in source::files(&root.join("src"), "rs") {
        for fragment in source::fragments(&text) {
            if !known.contains(&fragment) && !source::NOT_PRINTED.contains(&fragment.as_str()) {
                missing.push(format!("{name}: {fragment}"));
            }
        }
    }
    assert!(missing.is_empty(), "no snapshot contains:\n{}", missing.join("\n"));
}

#[test]
fn no_text_has_a_number_without_meaning_or_a_plural_of_one() {
    let snapshots = source::files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots"), "snap");
    let wrong = ["NaN", " inf ", "[inf", "inf]", " -0 ", " -0.0 ", "0.00 ns", "1.00 times the rate"];
    let nouns = ["users", "jobs", "cells", "steps", "systems", "targets", "repetitions", "tests", "loads"];
    let is_plural_of_one = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let noun = |word: &str| nouns.contains(&word.trim_matches(|c: char| !c.is_alphanumeric()));
        // `1 of 1 users reported` counts the users of which one reported.
        words.windows(3).any(|three| three[0] != "of" && three[1] == "1" && noun(three[2]))
    };
    let mut found = Vec::new();
    for (name, text) in &snapshots {
        let bad = |line: &&str| wrong.iter().any(|part| line.contains(part)) || is_plural_of_one(line);
        found.extend(text.lines().filter(bad).map(|line| format!("{name}: {line}")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
