//! A diagnosis as text for the terminal: one screen.

use std::fmt::Write;

use sharebench_diagnose::{Budget, Diagnosis, Finding, Gain, Part, Saving, limits};
use sharebench_model::Fact;
use sharebench_model::units::{counted, percent, show_nanos, show_size, three_digits};
use sharebench_report::{Style, plain};
use sharebench_stats::{Estimate, Interval};

use super::lines::Lines;
use crate::run::hint::shell_word;

/// Columns of names of operations and of times.
const NAME: usize = 17;
const TIME: usize = 9;
/// Columns of a piped report.
const WIDTH: usize = 80;

/// Formats a diagnosis.
pub fn text(diagnosis: &Diagnosis, style: Style) -> String {
    let mut out = Lines::new(style, WIDTH);
    out.line(&plain(&diagnosis.url));
    heading(&mut out, diagnosis);
    findings(&mut out, diagnosis);
    budgets(&mut out, diagnosis);
    log_in(&mut out, diagnosis);
    for note in &diagnosis.evidence.notes {
        out.labelled("note: ", &plain(note));
    }
    let written = show_size(diagnosis.bytes_written);
    out.line(&format!("\ndiagnosed in {:.1} s; {written} written and removed", diagnosis.elapsed_s));
    out.text
}

/// The command after a diagnosis; a share that was not written gets none that writes.
pub fn next_step(diagnosis: &Diagnosis) -> String {
    let url = shell_word(&plain(&diagnosis.url));
    if diagnosis.verdict.findings.is_empty() && diagnosis.bytes_written > 0 {
        format!("next: sharebench sweep {url} --quick    # its rates by size and test")
    } else {
        format!("next: sharebench diagnose {url}    # again, after a change")
    }
}

/// Formats the differences of two systems.
pub fn compared(other: &str, differences: &[String], style: Style) -> String {
    let mut out = Lines::new(style, WIDTH);
    out.line(&format!("\nCOMPARED WITH {}", plain(other)));
    for difference in differences {
        out.labelled("  ", &plain(difference));
    }
    if differences.is_empty() {
        out.line("  no operation was measured on both");
    }
    out.text
}

fn heading(out: &mut Lines, diagnosis: &Diagnosis) {
    let evidence = &diagnosis.evidence;
    let shown = Fact::BRIEF.into_iter();
    let facts =
        shown.filter_map(|fact| Some(format!("{} {}", fact.words(), plain(fact.value(&evidence.facts)?))));
    let facts: Vec<String> = facts.collect();
    if !facts.is_empty() {
        out.labelled("", &facts.join(", "));
    }
    if let Some(mount) = &evidence.mount {
        let options = mount.options.iter().map(|(name, value)| {
            if value.is_empty() { plain(name) } else { plain(&format!("{name}={value}")) }
        });
        out.labelled("mount options: ", &options.collect::<Vec<_>>().join(","));
        if let Some(share) = evidence.mount_traffic.cached_share() {
            let share = percent(share, 0);
            out.labelled(
                "client cache:  ",
                &format!("{share} of the data that were read again came from this client"),
            );
        }
    }
    out.line("\nWHAT LIMITS YOU");
    for (kind, sentence) in limits(evidence, &diagnosis.budgets) {
        out.labelled(&format!("{kind:18}"), &sentence);
    }
}

fn findings(out: &mut Lines, diagnosis: &Diagnosis) {
    out.line("\nCAUSES");
    if diagnosis.verdict.findings.is_empty() {
        out.line("none found: no part of the time is unusually long");
    }
    for (index, finding) in diagnosis.verdict.findings.iter().enumerate() {
        let Finding { title, evidence, gain, settings, .. } = finding;
        out.labelled(&format!("{}. ", index + 1), &plain(title));
        out.labelled("   evidence: ", &plain(evidence));
        out.labelled("   gain:     ", &gain_text(gain));
        for setting in settings {
            out.labelled("   setting:  ", setting);
        }
    }
    for unsettled in &diagnosis.verdict.unsettled {
        out.labelled("not settled: ", &plain(unsettled));
    }
}

/// The time that a change saves, then the factor that follows from it.
fn gain_text(gain: &Gain) -> String {
    let range = |interval: Option<Interval>, show: fn(f64) -> String| {
        interval.map_or(String::new(), |interval| {
            let bounds = [show(interval.low), show(interval.high)];
            if bounds[0] == bounds[1] { String::new() } else { format!(" ({} to {})", bounds[0], bounds[1]) }
        })
    };
    match gain {
        Gain::Measured { what, factor, saving } => {
            let range = range(factor.interval, three_digits);
            let factor = three_digits(factor.value);
            format!("{}, {factor} times as fast{range}, measured: {what}", saving_text(saving))
        }
        Gain::Computed { what, factor, factor_at_least, saving } => {
            let Some(saving) = saving else { return format!("no time: {what}") };
            let factor = match factor_at_least {
                Some(least) => format!("at least {}", three_digits(*least)),
                None => three_digits(*factor),
            };
            format!("{}, {factor} times as fast, computed: {what}", saving_text(saving))
        }
    }
}

/// `5.07 ms of 5.13 ms per 4 KiB read (98.8 %; 98.7 to 98.9 %)`; for a stream `54 % of the time per byte of a stream`.
fn saving_text(saving: &Saving) -> String {
    let share = saving.share;
    // Rounded to 100 %, nothing would be left.
    let decimals = match share.value {
        value if value > 0.995 => 2,
        value if value > 0.985 => 1,
        _ => 0,
    };
    let shown = percent(share.value, decimals);
    let range = share.interval.map_or(String::new(), |interval| {
        let low = format!("{:.decimals$}", interval.low * 100.0);
        let high = percent(interval.high, decimals);
        if shown == high && high.starts_with(&low) { String::new() } else { format!("{low} to {high}") }
    });
    match (saving.saved_ns(), saving.total_ns) {
        (Some(saved), Some(total)) if !saving.is_of_stream() => {
            let range = if range.is_empty() { range } else { format!("; {range}") };
            format!(
                "{} of {} per {} ({shown}{range})",
                show_nanos(saved.value),
                show_nanos(total),
                saving.per
            )
        }
        _ => {
            let range = if range.is_empty() { range } else { format!(" ({range})") };
            format!("{shown}{range} of the time per {}", saving.per)
        }
    }
}

/// One row per operation with its time and the times of its parts, and below it half of each interval.
fn budgets(out: &mut Lines, diagnosis: &Diagnosis) {
    if diagnosis.budgets.is_empty() {
        return;
    }
    let used: Vec<Part> = Part::ALL
        .into_iter()
        .filter(|part| diagnosis.budgets.iter().any(|budget| budget.time(*part) > 0.0))
        .collect();
    let mut header = format!("{:NAME$}{:>TIME$}", "WHERE TIME GOES", "total");
    for part in &used {
        let _ = write!(header, "{:>TIME$}", part.name());
    }
    out.line("");
    out.line(&header);
    for budget in &diagnosis.budgets {
        let estimates = std::iter::once(budget.total_ns)
            .chain(budget.parts.iter().filter(|share| used.contains(&share.part)).map(|share| share.time_ns));
        let estimates: Vec<Estimate> = estimates.collect();
        let row = |cell: fn(&Estimate) -> String| {
            estimates.iter().fold(String::new(), |row, estimate| format!("{row}{:>TIME$}", cell(estimate)))
        };
        out.line(&format!("{:NAME$}{}", budget.operation.name(), row(time)));
        let requests = counted(budget.requests as u64, "request");
        out.line(&format!("{:NAME$}{}", format!("  {requests}"), row(half_width)));
    }
    merged(out, &diagnosis.budgets);
    experiments(out, diagnosis);
}

/// What other options of our own sessions would change.
fn experiments(out: &mut Lines, diagnosis: &Diagnosis) {
    let evidence = &diagnosis.evidence;
    if evidence.comparisons.is_empty() && evidence.not_compared.is_empty() {
        return;
    }
    out.line("\nEXPERIMENTS on our own sessions, in pairs of reads");
    for (experiment, compared) in &evidence.comparisons {
        let interval = compared.ratio.interval.map_or(String::new(), |interval| {
            format!(" ({} to {})", three_digits(interval.low), three_digits(interval.high))
        });
        let factor = three_digits(compared.ratio.value);
        out.labelled("  ", &format!("{}: {factor} times as fast{interval}", experiment.name()));
    }
    for (experiment, why) in &evidence.not_compared {
        out.labelled("  ", &plain(&format!("{}: not compared: {why}", experiment.name())));
    }
}

/// A part that is not there has a dash.
fn time(estimate: &Estimate) -> String {
    if estimate.value > 0.0 { show_nanos(estimate.value) } else { "-".to_owned() }
}

/// Half of an interval; nothing for a constant, such as the smallest round trip of TCP.
fn half_width(estimate: &Estimate) -> String {
    let half = estimate.interval.map_or(0.0, Interval::half_width);
    if half > 0.0 { format!("+-{}", show_nanos(half).replace(' ', "")) } else { String::new() }
}

fn merged(out: &mut Lines, budgets: &[Budget]) {
    let Some(budget) = budgets.first() else { return };
    for (part, other) in &budget.merged {
        out.labelled("  ", &format!("{} is in {}: they could not be separated.", part.name(), other.name()));
    }
    out.labelled("  ", "+-: half of the 95 % interval. The parts add up to the total.");
}

fn log_in(out: &mut Lines, diagnosis: &Diagnosis) {
    let login = &diagnosis.evidence.login;
    let phases = login.phases.iter().map(|(phase, ns)| format!("{phase} {}", show_nanos(*ns)));
    let phases: Vec<String> = phases.collect();
    let text = if phases.is_empty() { String::new() } else { format!(": {}", phases.join(", ")) };
    out.line("");
    out.labelled("LOG-IN  ", &format!("{}{text}", show_nanos(login.total_ns)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A saving of a small read, or of a stream, with its bounds.
    fn saving(per: &'static str, share: f64, bounds: Option<(f64, f64)>) -> Saving {
        let interval = bounds.map(|(low, high)| Interval::new(low, high));
        Saving { per, total_ns: Some(5e6), share: Estimate { value: share, interval, n: 40 } }
    }

    #[test]
    fn gain_states_the_time_and_a_factor_that_is_certain() {
        let gain = Gain::Computed {
            what: "small reads from a cache",
            factor: 90.0,
            factor_at_least: Some(40.0),
            saving: Some(saving("4 KiB read", 0.989, Some((0.987, 0.991)))),
        };
        assert_eq!(
            gain_text(&gain),
            "4.95 ms of 5.00 ms per 4 KiB read (98.9 %; 98.7 to 99.1 %), at least 40.0 times as fast, computed: small reads \
             from a cache"
        );
    }

    #[test]
    fn gain_of_a_stream_is_a_share_of_the_time_per_byte() {
        let factor = Estimate { value: 2.0, interval: Some(Interval::new(1.9, 2.2)), n: 10 };
        let what = "reading a large file";
        let saving = saving("byte of a stream", 0.5, Some((0.474, 0.545)));
        assert_eq!(
            gain_text(&Gain::Measured { what, factor, saving }),
            "50 % (47 to 55 %) of the time per byte of a stream, 2.00 times as fast (1.90 to 2.20), measured: reading a large \
             file"
        );
    }

    #[test]
    fn gain_that_is_no_time_says_so() {
        let gain = Gain::Computed { what: "writes", factor: 1.0, factor_at_least: None, saving: None };
        assert_eq!(gain_text(&gain), "no time: writes");
    }

    #[test]
    fn interval_without_width_is_left_out() {
        assert_eq!(
            saving_text(&saving("log-in", 0.9, Some((0.9, 0.9)))),
            "4.50 ms of 5.00 ms per log-in (90 %)"
        );
        assert_eq!(saving_text(&saving("log-in", 0.9, None)), "4.50 ms of 5.00 ms per log-in (90 %)");
    }
}
