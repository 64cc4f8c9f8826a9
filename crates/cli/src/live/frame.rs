//! The progress of a run as lines of a given width. Neither a terminal nor a clock is needed.

use std::fmt::Write;
use std::time::Instant;

use sharebench_model::units::{counted, show_nanos, show_operation_rate, show_rate, show_seconds};
use sharebench_report::{columns, plain};

use super::progress::{RunProgress, TargetProgress, step_words, steps_of};

/// Columns that the figures of a target take after its name.
const FIGURES: usize = 56;
/// Columns for names on a narrow terminal.
const MIN_NAMES: usize = 24;

const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const CYAN: &str = "36";

/// The progress at `at` as lines of at most `width` columns. With `colour` they also contain escape sequences, which have no width.
pub fn frame(progress: &RunProgress, width: usize, colour: bool, at: Instant) -> Vec<String> {
    let mut lines = vec![running(progress, at), bar(progress, width, at)];
    lines.extend(activity(progress));
    // The end of a name may be what distinguishes it, so a wide terminal shows more of it.
    let widest = width.saturating_sub(FIGURES).max(MIN_NAMES);
    let names =
        progress.targets.iter().map(|target| columns(&plain(&target.name))).max().unwrap_or(0).min(widest);
    lines.extend(progress.targets.iter().enumerate().map(|(index, target)| {
        let active = progress.now.as_ref().is_some_and(|now| now.target == index);
        self::target(target, active, names, width)
    }));
    lines.extend(progress.targets.iter().filter_map(load));
    lines.push(checks(progress));
    lines.extend(failures(progress));
    if progress.ranks > 1 {
        let ranks = format!(
            "{} ranks: finished steps are of all ranks, the current step of rank 0 only",
            progress.ranks
        );
        lines.push(vec![(DIM, ranks)]);
    }
    let help = if progress.stopping {
        "stopping: finished steps are kept, cleaning up the targets"
    } else {
        "q: stop; finished steps are kept"
    };
    lines.push(vec![(DIM, help.to_owned())]);
    lines.iter().map(|line| paint(line, width, colour)).collect()
}

/// Pieces of a line, each with its colour.
type Line = Vec<(&'static str, String)>;

/// The current step.
fn running(progress: &RunProgress, at: Instant) -> Line {
    if let Some((target, entries)) = progress.removing {
        let name = progress.targets.get(target).map_or("?", |target| target.name.as_str());
        return vec![(BOLD, plain(name)), (YELLOW, format!("  cleaning up: entries removed: {entries}"))];
    }
    let Some(now) = &progress.now else { return vec![(DIM, "waiting for the next step".to_owned())] };
    let name = progress.targets.get(now.target).map_or("?", |target| target.name.as_str());
    let since = at.saturating_duration_since(now.since).as_secs_f64();
    let long = if since >= 2.0 { format!(", for {}", show_seconds(since)) } else { String::new() };
    vec![
        (BOLD, plain(name)),
        ("", format!("  {}", plain(&step_words(&now.coordinates)))),
        (DIM, format!("  repetition {}{long}", now.repetition + 1)),
        (YELLOW, progress.preparing.as_ref().map_or(String::new(), |what| format!("  preparing: {what}"))),
    ]
}

/// Finished share and remaining time.
fn bar(progress: &RunProgress, width: usize, at: Instant) -> Line {
    let space = (width / 4).clamp(8, 32);
    let full = (progress.share(at) * space as f64).round() as usize;
    let steps = steps_of(progress);
    let left = progress
        .seconds_left(at)
        .map_or(String::new(), |seconds| format!(", {} left", show_seconds(seconds)));
    vec![
        (CYAN, "█".repeat(full)),
        (DIM, "░".repeat(space - full)),
        ("", format!(" {steps}, {} spent{left}", show_seconds(progress.spent(at).as_secs_f64()))),
    ]
}

/// What the users of the current load step have done so far.
fn activity(progress: &RunProgress) -> Option<Line> {
    let words = progress.activity_words()?;
    let colour = if words.failed { RED } else { "" };
    Some(vec![
        ("", format!("{}, ", words.users)),
        (colour, words.failures),
        ("", format!(", {}", words.stress)),
    ])
}

/// The rate of each number of users so far; none of a target without load steps.
fn load(target: &TargetProgress) -> Option<Line> {
    let steps: Vec<String> =
        target.load.iter().map(|(users, rate)| format!("{users}: {}", show_rate(*rate))).collect();
    (!steps.is_empty())
        .then(|| vec![("", format!("users  {}  ", plain(&target.name))), (CYAN, steps.join("  "))])
}

/// A target: rate, response times, sparkline, steps; the line is cut at the right.
fn target(target: &TargetProgress, active: bool, names: usize, width: usize) -> Line {
    let name = fitted(&plain(&target.name), names);
    let rate = match (target.rate, target.operations) {
        (Some(rate), _) => show_rate(rate),
        (None, Some(rate)) => show_operation_rate(rate),
        (None, None) => "-".to_owned(),
    };
    let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| show_nanos(ns as f64));
    let mark = if active { "▶ " } else { "  " };
    let numbers = format!(" {rate:>10}  p50 {:>8}  p99 {:>8} ", time(target.p50_ns), time(target.p99_ns));
    let steps = format!(" {}", counted(target.steps, "step"));
    let alone = target.of_rank_0.map_or(String::new(), |rate| format!("rank 0 now {} ", show_rate(rate)));
    let used = [mark, &name, &numbers, &alone, &steps].map(columns).iter().sum::<usize>();
    let space = width.saturating_sub(used + 1).min(40);
    vec![
        (GREEN, mark.to_owned()),
        (BOLD, name),
        ("", numbers),
        (DIM, alone),
        (CYAN, sparkline(target.history.iter().copied(), space)),
        (DIM, steps),
    ]
}

/// The newest values as bars between zero and the highest of them.
fn sparkline(values: impl DoubleEndedIterator<Item = f64>, space: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let mut shown: Vec<f64> = values.rev().take(space).collect();
    shown.reverse();
    let most = shown.iter().copied().fold(0.0, f64::max);
    let bar = |value: &f64| BARS[((value / most * 7.0).round() as usize).min(7)];
    if most > 0.0 { shown.iter().map(bar).collect() } else { String::new() }
}

/// The verdicts of the self-checks.
fn checks(progress: &RunProgress) -> Line {
    let [valid, warnings, invalid] = progress.verdicts;
    let mut line = vec![("", "self-checks  ".to_owned()), (GREEN, format!("✓ {valid}"))];
    if warnings > 0 {
        line.push((YELLOW, format!("  ! {}", counted(warnings, "warning"))));
    }
    if invalid > 0 {
        line.push((RED, format!("  ✕ {invalid} invalid")));
    }
    let mut worst: Vec<(&String, &usize)> = progress.failed_checks.iter().collect();
    worst.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let named: Vec<String> = worst.iter().take(4).map(|(name, count)| format!("{name} {count}")).collect();
    if !named.is_empty() {
        line.push((DIM, format!("  ({})", plain(&named.join(", ")))));
    }
    line
}

/// Failures by class and warnings, or none.
fn failures(progress: &RunProgress) -> Option<Line> {
    let classes: Vec<String> =
        progress.failures.iter().map(|(class, count)| format!("{count} {class}")).collect();
    let warnings = match progress.warnings {
        0 => String::new(),
        n => counted(n, "warning"),
    };
    let mut line = Vec::new();
    if !classes.is_empty() {
        line.push((RED, format!("failures  {}  ", classes.join(", "))));
    }
    if !warnings.is_empty() {
        line.push((YELLOW, warnings));
    }
    (!line.is_empty()).then_some(line)
}

/// The text cut or padded to `width` columns.
fn fitted(text: &str, width: usize) -> String {
    let cut = cut(text, width);
    let blanks = " ".repeat(width.saturating_sub(columns(&cut)));
    cut + &blanks
}

/// The text cut to `width` columns.
fn cut(text: &str, width: usize) -> String {
    let mut kept = String::new();
    let mut used = 0;
    for letter in text.chars() {
        used += columns(letter.encode_utf8(&mut [0; 4]));
        if used > width {
            break;
        }
        kept.push(letter);
    }
    kept
}

fn paint(line: &Line, width: usize, colour: bool) -> String {
    let mut out = String::new();
    let mut space = width;
    for (code, text) in line {
        let text = cut(text, space);
        space -= columns(&text);
        if colour && !code.is_empty() && !text.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(out, "\u{1b}[{code}m{text}\u{1b}[0m");
        } else {
            out.push_str(&text);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sharebench_model::{Check, Coordinates, ErrorClass, RunEvent, StepResult, Value, Verdict, axis};
    use sharebench_plan::Plan;

    use super::*;

    fn progress() -> RunProgress {
        let text = "repetitions = 6\n[[target]]\nname = 'smb'\nurl = '/a'\n[[target]]\nname = \"nfs \\u001b[31m服务\"\n\
                    url = '/b'\n[sweep]\nfile_sizes = ['64KiB']\nrecord_sizes = ['4KiB']\ntests = ['read']\n";
        RunProgress::new(&Plan::parse(text).unwrap().resolve().unwrap(), 0, 1, Instant::now())
    }

    fn step(target: u32, rate: u64, verdict: Verdict) -> RunEvent {
        let mut measure =
            sharebench_model::Measure { busy_ns: 1_000_000_000, operations: 10, ..Default::default() };
        measure.bytes.read = rate;
        measure.response.record(70_000);
        let check = Check::new("pressure", verdict, "");
        RunEvent::StepFinished(Box::new(StepResult {
            index: 0,
            target,
            repetition: 0,
            coordinates: Coordinates::new(),
            started_unix_ms: 0,
            unmeasured_ms: 0,
            measure,
            checks: vec![check].into(),
        }))
    }

    #[test]
    fn frame_shows_the_current_step_and_fits_every_width() {
        let mut progress = progress();
        let coordinates = Coordinates::new()
            .with(axis::TEST, Value::text("read"))
            .with(axis::FILE_SIZE, Value::Bytes(65_536))
            .with(axis::RECORD_SIZE, Value::Bytes(4096));
        progress.take(
            &RunEvent::StepStarted { index: 0, target: 1, repetition: 2, coordinates },
            progress.started,
        );
        for (rate, verdict) in
            [(10_000_000, Verdict::Valid), (40_000_000, Verdict::Warning), (80_000_000, Verdict::Invalid)]
        {
            progress.take(&step(0, rate, verdict), progress.started);
        }
        progress.take(
            &RunEvent::Failure { index: 0, class: ErrorClass::Timeout, detail: String::new() },
            progress.started,
        );
        let shown = frame(&progress, 100, false, progress.started);
        assert!(shown[0].contains("read, 64KiB file, 4KiB records  repetition 3"), "{shown:#?}");
        assert!(shown[1].contains(" 3 of 12 steps"), "{shown:#?}");
        assert!(
            shown[2].starts_with("  smb") && shown[2].contains("80.0 MB/s") && shown[2].contains("▂▅█"),
            "{shown:#?}"
        );
        assert!(shown[3].starts_with("▶ nfs"), "{shown:#?}");
        assert!(shown[4].contains("✓ 1  ! 1 warning  ✕ 1 invalid  (pressure 2)"), "{shown:#?}");
        assert!(shown[5].contains("1 timeout"), "{shown:#?}");
        assert!(!shown.concat().contains('\u{1b}'), "names contain no escape sequences: {shown:#?}");
        for width in [20, 40, 80, 120, 200] {
            let widest =
                frame(&progress, width, false, progress.started).iter().map(|line| columns(line)).max();
            assert!(widest <= Some(width), "{widest:?} > {width}");
        }
        assert!(frame(&progress, 80, true, progress.started).concat().contains("\u{1b}[1m"));
    }

    #[test]
    fn rate_of_a_target_follows_progress_events() {
        let mut progress = progress();
        let started =
            RunEvent::StepStarted { index: 0, target: 0, repetition: 0, coordinates: Coordinates::new() };
        progress.take(&started, progress.started);
        let moved = |bytes| RunEvent::Progress {
            index: 0,
            operations: 1,
            bytes,
            transactions: 1,
            failures: 0,
            users: 1,
        };
        progress.take(&moved(1000), progress.started);
        assert_eq!(progress.targets[0].rate, None, "one event has no rate");
        progress.take(&moved(9000), progress.started + Duration::from_secs(2));
        assert_eq!(progress.targets[0].rate, Some(4000.0));
        assert!(!frame(&progress, 100, false, progress.started).concat().contains("rank"));
    }

    #[test]
    fn load_shows_users_failures_and_stress_from_its_first_event() {
        let mut progress = progress();
        let at = progress.started;
        let users = |users| {
            Coordinates::new()
                .with(axis::WORKLOAD, Value::text("mixed"))
                .with(axis::USERS, Value::Count(users))
        };
        let started =
            |count| RunEvent::StepStarted { index: 0, target: 0, repetition: 0, coordinates: users(count) };
        let line = |progress: &RunProgress| frame(progress, 120, false, at).swap_remove(2);
        progress.take(&started(5), at);
        assert_eq!(
            line(&progress),
            "0 of 5 users logged on, 0 transactions, 0 failures, no stress point yet"
        );
        let moved = RunEvent::Progress {
            index: 0,
            operations: 1,
            bytes: 9000,
            transactions: 1,
            failures: 2,
            users: 5,
        };
        progress.take(&moved, at);
        assert_eq!(line(&progress), "5 of 5 users logged on, 1 transaction, 2 failures, no stress point yet");
        for (count, rate) in [(5, 20_000_000), (10, 10_000_000)] {
            let RunEvent::StepFinished(mut ended) = step(0, rate, Verdict::Valid) else { unreachable!() };
            ended.coordinates = users(count);
            progress.take(&RunEvent::StepFinished(ended), at);
        }
        assert!(!frame(&progress, 120, false, at).concat().contains("logged on"), "between two steps");
        progress.take(&started(20), at);
        assert!(line(&progress).ends_with("0 failures, stress point after 5 users"), "{}", line(&progress));
        let shown = frame(&progress, 120, false, at);
        assert!(shown.iter().any(|line| line == "users  smb  5: 20.0 MB/s  10: 10.0 MB/s"), "{shown:#?}");
    }

    #[test]
    fn with_several_ranks_the_current_step_is_of_rank_0_and_finished_steps_are_of_all() {
        let mut progress = progress();
        progress.ranks = 6;
        let coordinates = Coordinates::new();
        progress.take(
            &RunEvent::StepStarted { index: 0, target: 0, repetition: 0, coordinates },
            progress.started,
        );
        for (second, bytes) in [(0, 1000), (1, 9000)] {
            let moved =
                RunEvent::Progress { index: 0, operations: 1, bytes, transactions: 1, failures: 0, users: 1 };
            progress.take(&moved, progress.started + Duration::from_secs(second));
        }
        progress.take(
            &RunEvent::Failure { index: 0, class: ErrorClass::Timeout, detail: String::new() },
            progress.started,
        );
        let shown = frame(&progress, 100, false, progress.started);
        assert!(shown[2].contains("rank 0 now") && shown[2].contains(" -  p50"), "{shown:#?}");
        assert!(progress.targets[0].history.is_empty(), "a part of the ranks is not in the history");
        assert!(
            shown.iter().any(|line| line.starts_with("6 ranks: finished steps are of all ranks")),
            "{shown:#?}"
        );
        let RunEvent::StepFinished(mut ended) = step(0, 10_000_000, Verdict::Valid) else { unreachable!() };
        ended.measure.errors.insert(ErrorClass::Timeout, 7);
        progress.take(&RunEvent::StepFinished(ended), progress.started);
        let shown = frame(&progress, 100, false, progress.started);
        assert!(shown[2].contains("10.0 MB/s") && !shown[2].contains("rank 0"), "{shown:#?}");
        assert!(shown.iter().any(|line| line.contains("7 timeout")), "of all ranks: {shown:#?}");
    }
}
