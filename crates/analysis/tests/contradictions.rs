//! What cannot be aligned is listed with its reason, and what contradicts itself is shown.

use crate::synthetic::{Synthetic, cell, grid, load, misaligned, printed_table};
use sharebench_analysis::{Analysis, Options, RunData, Status, analyse};
use sharebench_model::axis;

fn texts(sentences: &[sharebench_analysis::Sentence]) -> String {
    sentences.iter().map(|s| s.text.as_str()).collect::<Vec<_>>().join("\n")
}

fn unmatched(analysis: &Analysis) -> String {
    analysis.unmatched.iter().map(|group| group.words(analysis)).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_has_no_counterpart_is_listed_with_its_reason() {
    let analysis = analyse(&misaligned(), &Options::default());
    let found_text = unmatched(&analysis);
    let missing = "write: all 4 positions not on b: this test was not measured there";
    assert!(found_text.contains(missing), "{found_text}");
    assert!(found_text.contains("these positions were not measured there"), "{found_text}");
    assert!(found_text.contains("are nearly the same size: import with the right unit"), "{found_text}");
    assert!(found_text.contains("queue depth 8 here"), "{found_text}");
    let positions: usize = analysis.unmatched.iter().map(|group| group.positions).sum();
    assert_eq!(positions, analysis.unaligned.len(), "all of them, each once");
}

#[test]
fn runs_without_a_name_in_common_are_compared_each_with_each_and_targets_can_be_chosen() {
    let run = |title: &str, names: &[&str]| {
        let mut run = Synthetic::new(title, names, 3);
        run.sweep(&grid(&["read"], 2, 2), 6, |_, _| 1e8);
        run.run
    };
    let names = |runs: &[RunData]| -> Vec<String> {
        analyse(runs, &Options::default()).comparisons.iter().map(|c| c.name.clone()).collect()
    };
    let across = names(&[run("one", &["a"]), run("two", &["b", "c"])]);
    assert_eq!(across, ["b/a", "c/a", "c/b"]);
    let same = names(&[run("one", &["a", "b"]), run("two", &["a", "b"])]);
    assert_eq!(same, ["b (7)/a (7)", "a (7)/a (7)", "b (7)/b (7)", "b (7)/a (7)"]);
    let chosen = run("one", &["a", "b", "c"]).with_targets(&["a".to_owned(), "c".to_owned()]);
    assert_eq!(names(std::slice::from_ref(&chosen)), ["c/a"]);
    assert_eq!((chosen.facts.len(), chosen.steps.len()), (2, 2 * 4 * 6));
    assert!(chosen.steps.iter().all(|step| step.target < 2));
}

#[test]
fn a_title_is_held_against_what_was_negotiated() {
    let mut run = Synthetic::new("nas with signing off", &["nas"], 4);
    run.run.facts[0].insert("signing".to_owned(), "AES-CMAC".to_owned());
    run.sweep(&grid(&["read"], 2, 2), 6, |_, _| 1e8);
    let analysis = analyse(&[run.run], &Options::default());
    assert!(
        texts(&analysis.contradictions).contains("its title says signing off, but it was signing AES-CMAC"),
        "{:?}",
        analysis.contradictions
    );
    assert!(
        analysis.trust.iter().any(|line| line.subject == "contradictions" && line.status == Status::Failed)
    );
}

#[test]
fn survivors_and_users_that_do_not_add_up_are_shown_with_the_arithmetic() {
    let mut run = Synthetic::new("users", &["nas"], 5);
    run.sweep(&load(&[25, 50]), 1, |_, _| 1e6);
    for step in &mut run.run.steps {
        let users = step.coordinates.number(axis::USERS).unwrap() as u32;
        step.measure.users_assigned = users;
        let mut times = sharebench_model::Histogram::new();
        let (n, seconds) = if users == 50 { (33, 90) } else { (25, 120) };
        (0..n).for_each(|_| times.record(seconds * 1_000_000_000));
        step.measure.response = times;
        step.measure.users_reported = if users == 50 { 33 } else { 25 };
    }
    let found_text = texts(&analyse(&[run.run], &Options::default()).contradictions);
    assert!(found_text.contains("with 50 users the mean response time is lower (9"), "{found_text}");
    assert!(
        found_text.contains("only 33 of them finished a transaction: the mean covers these only"),
        "{found_text}"
    );
    assert!(
        found_text.contains("would need at least") && found_text.contains("but there were 25"),
        "{found_text}"
    );
}

#[test]
fn the_clock_of_a_table_is_found_and_used() {
    for (tick, words) in [(0.015_625, "15.625 ms"), (0.01, "10 ms")] {
        let one = printed_table("one", tick, 6);
        let mut other = printed_table("other", tick, 7);
        let clocks = |runs: &[RunData]| -> String {
            let analysis = analyse(runs, &Options::default());
            let lines = analysis.trust.iter().filter(|line| line.subject == "clock");
            lines.map(|line| line.text.clone()).collect::<Vec<_>>().join("\n")
                + &texts(&analysis.contradictions)
        };
        let found_text = clocks(&[one.clone(), other.clone()]);
        assert!(found_text.contains(&format!("of 24 times are whole ticks of {words}")), "{found_text}");
        assert!(found_text.contains("taken as the clock's resolution"), "{found_text}");
        let analysis = analyse(&[one.clone(), other.clone()], &Options::default());
        let single = analysis.sections[0].rows[0].ratios[0].as_ref().unwrap().single_run.unwrap();
        assert!(single.clock_share.unwrap() > 0.0, "the tick widens what is open");
        // A stated resolution that is finer than that of the times is a contradiction.
        other.header.environment.insert("clock_resolution_ns".to_owned(), "1000".to_owned());
        assert!(clocks(&[one, other]).contains("although 0.001 ms is stated"));
    }
}

#[test]
fn speeds_above_the_link_bound_the_client_s_cache() {
    let mut run = Synthetic::new("ten megabit", &["nas"], 8);
    (run.noise, run.drift) = (0.0, 0.0);
    run.sweep(&[cell("read", 1 << 20, 8192)], 1, |_, _| 8_065_969.0);
    run.sweep(&[cell("read", 16 << 20, 8192)], 1, |_, _| 309_000.0);
    let options = Options { link: Some("10Mbit".parse().unwrap()), ..Options::default() };
    let found_text = texts(&analyse(&[run.run], &options).contradictions);
    assert!(found_text.contains("1 cell is above the 10Mbit of the link"), "{found_text}");
    assert!(found_text.contains("a client's cache served at least 84.5 % of it"), "{found_text}");
}
