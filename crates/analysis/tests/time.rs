//! Findings over time: planted in the steps of runs, found with their cost and origin, and absent from steady runs.

#![expect(clippy::print_stdout, reason = "the counted runs are asked for")]

use crate::synthetic::{Synthetic, grid};
use sharebench_analysis::{Analysis, Options, RunData, TimeFinding, TimeFindingKind, TimeOrigin, analyse};
use sharebench_model::{Check, Coordinates, LoadDetail, RateBase, Timeline, Value, Verdict, axis};

/// Two systems of the same speed, 12 cells, 20 repetitions of half a second: 144 s of each.
fn pair(noise: f64) -> Synthetic {
    let mut run = Synthetic::new("pair", &["smb", "nfs"], 3);
    (run.noise, run.drift) = (noise, 0.0);
    run.sweep(&grid(&["read", "write"], 3, 2), 20, |_, _| 100e6);
    run
}

/// Lets a step take longer by some seconds, and all later ones start later.
fn delay(run: &mut RunData, index: usize, seconds: f64) {
    let nanos = (seconds * 1e9) as u64;
    run.steps[index].measure.busy_ns += nanos;
    run.steps[index].measure.window_ns += nanos;
    for step in &mut run.steps[index + 1..] {
        step.started_unix_ms += nanos / 1_000_000;
    }
}

/// The steps of a target that start after some seconds work at a share of their speed.
fn slow_from(run: &mut RunData, target: u32, seconds: u64, speed: f64) {
    let start = run.header.started_unix_ms + 1000 * seconds;
    for step in run.steps.iter_mut().filter(|step| step.target == target && step.started_unix_ms >= start) {
        step.measure.busy_ns = (step.measure.busy_ns as f64 / speed) as u64;
    }
}

fn analysed(run: RunData) -> Analysis {
    let analysis = analyse(&[run], &Options::default());
    for finding in &analysis.time.findings {
        println!("{}", finding.text);
        assert!(analysis.findings.iter().any(|sentence| sentence.text == finding.text), "{finding:?}");
    }
    analysis
}

fn only(analysis: &Analysis) -> &TimeFinding {
    let [finding] = analysis.time.findings.as_slice() else { panic!("{:?}", analysis.time) };
    finding
}

fn step_of(run: &RunData, target: u32, after: usize) -> usize {
    (after..run.steps.len()).find(|index| run.steps[*index].target == target).expect("a step")
}

#[test]
fn a_steady_run_has_no_finding_over_time() {
    let analysis = analysed(pair(0.03).run);
    assert!(analysis.time.findings.is_empty() && analysis.time.too_short.is_empty(), "{:?}", analysis.time);
}

#[test]
fn an_outage_has_its_length_its_cost_and_its_effect_on_total_work() {
    let mut run = pair(0.03).run;
    let index = step_of(&run, 1, 100);
    delay(&mut run, index, 8.0);
    let start = (run.steps[index].started_unix_ms - run.header.started_unix_ms) as f64 / 1e3;
    let analysis = analysed(run);
    let finding = only(&analysis);
    assert_eq!(
        (finding.kind, finding.system, finding.origin),
        (TimeFindingKind::Outage, 1, TimeOrigin::NotKnown)
    );
    assert!((finding.length_s - 8.0).abs() < 0.1 && (finding.start_s - start).abs() < 0.6, "{finding:?}");
    // 240 steps of half a second.
    assert!((finding.cost.value - 8.0 / 128.0).abs() < 0.005, "{:?}", finding.cost);
    let effect = finding.total_work[0];
    assert!(
        (effect.ratio - 120.0 / 128.0).abs() < 0.02 && (effect.ratio_without - 1.0).abs() < 0.02,
        "{effect:?}"
    );
    assert!(
        finding.text.starts_with("Time: nfs did next to nothing (outage) for 8.0 s, from second "),
        "{}",
        finding.text
    );
    assert!(finding.text.contains("It costs 6.2 % [6.2, 6.3] of its total work ("), "{}", finding.text);
}

#[test]
fn the_hiccup_meter_separates_stalls_of_this_machine_from_those_of_the_server() {
    for (verdict, origin) in
        [(Verdict::Valid, TimeOrigin::ServerOrNetwork), (Verdict::Warning, TimeOrigin::Machine)]
    {
        let mut run = pair(0.03).run;
        let index = step_of(&run, 0, 50);
        delay(&mut run, index, 3.0);
        run.steps[index].checks = vec![Check::new("hiccups", verdict, "worst stall")].into();
        assert_eq!(only(&analysed(run)).origin, origin);
    }
}

#[test]
fn a_change_of_both_systems_is_no_difference_between_them() {
    let mut both = pair(0.03).run;
    slow_from(&mut both, 0, 60, 0.6);
    slow_from(&mut both, 1, 60, 0.6);
    let analysis = analysed(both);
    assert_eq!(analysis.time.findings.len(), 2);
    for finding in &analysis.time.findings {
        assert_eq!((finding.kind, finding.origin), (TimeFindingKind::LevelChange, TimeOrigin::Shared));
        assert!(
            finding.total_work.is_empty() && finding.text.contains("the network or a machine that both use")
        );
    }
    let mut one = pair(0.03).run;
    slow_from(&mut one, 1, 60, 0.6);
    let analysis = analysed(one);
    let finding = only(&analysis);
    assert_eq!(
        (finding.kind, finding.system, finding.origin),
        (TimeFindingKind::LevelChange, 1, TimeOrigin::System)
    );
    assert!((finding.speed - 0.6).abs() < 0.02 && finding.is_open, "{finding:?}");
    assert!((finding.start_s - 60.0).abs() <= finding.start_error_s, "{finding:?}");
    assert!(finding.text.contains("falls to 60 % of its rate at second "), "{}", finding.text);
}

/// Seconds that the steps of nfs spend outside their windows.
type Unmeasured = fn(&mut RunData, &[usize]);

/// Lets a step spend some seconds outside its window, and all later ones start later.
fn hold(run: &mut RunData, index: usize, seconds: f64) {
    let millis = (seconds * 1e3) as u32;
    run.steps[index].unmeasured_ms += millis;
    for step in &mut run.steps[index + 1..] {
        step.started_unix_ms += u64::from(millis);
    }
}

/// A pair whose steps make five passes and spend 40 ms outside their windows, and what `change` does to the steps of nfs.
fn with_unmeasured(change: Unmeasured) -> RunData {
    let mut run = pair(0.03).run;
    for step in &mut run.steps {
        step.measure.passes = 5;
        step.unmeasured_ms = 40;
    }
    let own: Vec<usize> = (0..run.steps.len()).filter(|index| run.steps[*index].target == 1).collect();
    change(&mut run, &own);
    run
}

/// The positions of `own` whose steps are the first on their files.
fn first_uses(run: &RunData, own: &[usize]) -> Vec<usize> {
    let mut seen = Vec::new();
    let mut first = own.to_vec();
    first.retain(|index| {
        let size = run.steps[*index].coordinates.get(axis::FILE_SIZE).cloned();
        let is_new = !seen.contains(&size);
        seen.push(size);
        is_new
    });
    first
}

#[test]
fn outages_outside_of_windows_are_found_with_start_length_and_place() {
    // Each row: the step of nfs, and the seconds that it was held.
    let rows: [(&str, usize, f64, Unmeasured); 5] = [
        ("in the middle", 120, 8.0, |_, _| {}),
        ("in the first repetition", 10, 8.0, |_, _| {}),
        ("in the last step", 239, 3.0, |_, _| {}),
        ("files are made anew for every third step", 100, 8.0, |run, own| {
            own.iter().step_by(3).for_each(|index| hold(run, *index, 0.6));
        }),
        ("noisy preparations of up to 0.4 s", 77, 4.0, |run, own| {
            for index in own {
                hold(run, *index, (*index * 37 % 100) as f64 / 250.0);
            }
        }),
    ];
    for (name, at, seconds, change) in rows {
        let mut run = with_unmeasured(change);
        let index =
            (0..run.steps.len()).filter(|index| run.steps[*index].target == 1).nth(at).expect("a step");
        hold(&mut run, index, seconds);
        let step = run.steps[index].clone();
        let start = (step.started_unix_ms - run.header.started_unix_ms) as f64 / 1e3;
        let own = run.steps.iter().filter(|step| step.target == 1);
        let total: f64 = own.map(|s| s.measure.busy_ns as f64 / 1e9 + f64::from(s.unmeasured_ms) / 1e3).sum();
        let analysis = analysed(run);
        let finding = only(&analysis);
        assert!(finding.is_unmeasured && finding.kind == TimeFindingKind::Outage, "{name}: {finding:?}");
        assert_eq!((finding.system, &finding.coordinates), (1, &Some(step.coordinates)), "{name}");
        assert!((finding.length_s - seconds).abs() < 0.7, "{name}: {finding:?}");
        assert!(
            (finding.start_s - start).abs() <= finding.start_error_s + 0.7,
            "{name}: {start}, {finding:?}"
        );
        assert!((finding.cost.value - seconds / total).abs() < 0.005, "{name}: {finding:?}");
        assert!(finding.total_work.is_empty(), "{name}: {finding:?}");
        let place = " during the preparation of ";
        assert!(
            finding.text.contains(place) && finding.text.contains("No result includes it"),
            "{}",
            finding.text
        );
    }
}

#[test]
fn usual_preparations_are_no_outages() {
    let rows: [(&str, Unmeasured); 8] = [
        ("equal noise", |run, own| {
            for index in own {
                hold(run, *index, (*index * 37 % 100) as f64 / 250.0);
            }
        }),
        ("the first file of each size is allocated", |run, own| {
            for index in first_uses(run, own) {
                hold(run, index, 6.0);
            }
        }),
        ("one flush takes 1.5 s", |run, own| hold(run, own[100], 1.5)),
        ("files are made anew for every third step", |run, own| {
            own.iter().step_by(3).for_each(|index| hold(run, *index, 5.0));
        }),
        ("the server's cache has lost the file in one of 20 steps", |run, own| {
            own.iter().skip(7).step_by(19).for_each(|index| hold(run, *index, 5.0));
        }),
        ("a burst limit throttles the last half", |run, own| throttle(run, own, 120)),
        ("a burst limit throttles the last six steps", |run, own| throttle(run, own, 234)),
        ("a burst limit throttles the last step", |run, own| throttle(run, own, 239)),
    ];
    for (name, change) in rows {
        let analysis = analysed(with_unmeasured(change));
        let outages: Vec<&TimeFinding> =
            analysis.time.findings.iter().filter(|finding| finding.is_unmeasured).collect();
        assert!(outages.is_empty(), "{name}: {outages:?}");
    }
}

/// Preparations take 1 s, and from a step of nfs on they take ten times as long, as the passes do.
fn throttle(run: &mut RunData, own: &[usize], from: usize) {
    for (at, index) in own.iter().enumerate() {
        let factor: u32 = if at < from { 1 } else { 10 };
        hold(run, *index, f64::from(factor));
        let measure = &mut run.steps[*index].measure;
        measure.busy_ns *= u64::from(factor);
    }
}

#[test]
fn steps_that_are_left_out_are_reported_with_their_time() {
    let mut run = pair(0.03).run;
    let index = step_of(&run, 0, 30);
    delay(&mut run, index, 5.0);
    run.steps[index].checks = vec![Check::new("integrity", Verdict::Invalid, "wrong")].into();
    let analysis = analysed(run);
    let out = analysis
        .time
        .findings
        .iter()
        .find(|finding| finding.kind == TimeFindingKind::LeftOut)
        .expect("a finding");
    assert_eq!(
        out.text,
        "Time: 1 step of smb that is left out of all results took 5.5 s, 4.4 % of its measured time."
    );
    assert!(analysis.time.findings.iter().any(|finding| finding.kind == TimeFindingKind::Outage));
}

#[test]
fn few_steps_are_called_too_few() {
    let mut run = Synthetic::new("short", &["smb", "nfs"], 3);
    run.sweep(&grid(&["read"], 2, 1), 12, |_, _| 100e6);
    let analysis = analysed(run.run);
    assert_eq!((analysis.time.findings.len(), analysis.time.too_short.as_slice()), (0, [0, 1].as_slice()));
    assert!(analysis.not_resolved.iter().any(|sentence| sentence.text.starts_with("Time: too few steps")));
}

/// A load of 60 s in intervals of 100 ms at 200 transactions per second, with an outage and half speed at times.
#[test]
fn loads_are_examined_by_their_intervals() {
    let mut run = Synthetic::new("load", &["nas"], 3);
    let at =
        Coordinates::new().with(axis::WORKLOAD, Value::text("office")).with(axis::USERS, Value::Count(8));
    for repetition in 0..2 {
        run.bare_step(repetition, at.clone(), 1e6);
    }
    let random = &mut run.random;
    for (number, step) in run.run.steps.iter_mut().enumerate() {
        let mut timeline = Timeline::over(60_000_000_000);
        for (interval, count) in timeline.transactions.iter_mut().enumerate() {
            let out = number == 0 && (200..280).contains(&interval);
            *count = if out { 0 } else { (20.0 + random.normal()).round() as u64 };
        }
        step.started_unix_ms += 70_000 * number as u64;
        step.measure.rate_base = RateBase::Window;
        (step.measure.window_ns, step.measure.busy_ns) = (60_000_000_000, 60_000_000_000);
        let window_unix_ms = step.started_unix_ms + 5000;
        step.measure.load = LoadDetail { timeline, window_unix_ms, ..LoadDetail::default() }.into();
    }
    let analysis = analysed(run.run);
    let finding = only(&analysis);
    assert_eq!(finding.kind, TimeFindingKind::Outage);
    assert!((finding.start_s - 25.0).abs() < 0.2 && (finding.length_s - 8.0).abs() < 0.2, "{finding:?}");
    assert!((finding.cost.value - 8.0 / 120.0).abs() < 0.005, "{:?}", finding.cost);
}

/// Targets that take turns are measured within one time. When one of them had its turn is not stored, and the stated error of a start
/// includes that.
#[test]
fn the_start_of_an_outage_in_turns_is_known_to_the_turns_of_both() {
    let mut run = pair(0.03).run;
    // Both steps of a repetition start together; two windows and two preparations of 100 ms later the next repetition starts.
    for (index, step) in run.steps.iter_mut().enumerate() {
        step.started_unix_ms = run.header.started_unix_ms + 1200 * (index as u64 / 2);
    }
    let same = |pair: &[sharebench_model::StepResult]| pair[0].coordinates == pair[1].coordinates;
    assert!(run.steps.chunks(2).all(same), "pairs of the same cell");
    let index = step_of(&run, 1, 100);
    let pair_start = (run.steps[index].started_unix_ms - run.header.started_unix_ms) as f64 / 1e3;
    run.steps[index].measure.busy_ns += 8_000_000_000;
    run.steps[index].measure.window_ns += 8_000_000_000;
    for step in &mut run.steps[index / 2 * 2 + 2..] {
        step.started_unix_ms += 8000;
    }
    let analysis = analysed(run);
    let finding = only(&analysis);
    assert_eq!((finding.kind, finding.system), (TimeFindingKind::Outage, 1));
    // The stop may have begun at once, or after everything but itself.
    let earliest = finding.start_s - finding.start_error_s;
    let latest = finding.start_s + finding.start_error_s;
    assert!(earliest <= pair_start + 0.01 && latest >= pair_start + 1.19, "{finding:?}");
    assert!((finding.length_s - 8.0).abs() < 0.1, "{finding:?}");
}
