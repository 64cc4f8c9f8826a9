//! Findings over time in words.

use sharebench_model::units::{counted, percent, show_seconds, show_size, signed_percent, three_digits};
use sharebench_model::{Coordinates, Value};
use sharebench_stats::Estimate;

use crate::text::stages::Stages;
use crate::types::{Sentence, TimeFinding, TimeFindingKind, TimeOrigin, Tone};

/// A share of total work below which a finding that is no outage is a remark.
const REMARKABLE: f64 = 0.05;

/// The sentences of all findings over time, in their order.
pub(crate) fn sentences(stages: &Stages<'_>) -> Vec<Sentence> {
    let tone = |finding: &TimeFinding| {
        let costs = finding.kind == TimeFindingKind::Outage || finding.cost.value >= REMARKABLE;
        if costs { Tone::Difference } else { Tone::Note }
    };
    let findings = &stages.judged.time.findings;
    findings.iter().map(|finding| Sentence::new(tone(finding), text(stages, finding))).collect()
}

/// What could not be examined.
pub(crate) fn not_examined(stages: &Stages<'_>) -> Option<Sentence> {
    let short: Vec<&str> = stages
        .judged
        .time
        .too_short
        .iter()
        .map(|system| stages.aligned.systems[*system].name.as_str())
        .collect();
    (!short.is_empty()).then(|| {
        let text = format!(
            "Time: too few steps over too short a time to look for throttling, periodic stalls and drift ({}); outages would \
             show.",
            short.join(", ")
        );
        Sentence::new(Tone::NotResolved, text)
    })
}

/// Such as `Time: nfs was out for 8.0 s, from second 10.0 of the run on (±0.1 s, in test=read ...). This cost 14.0 % of its
/// total work [13.9, 14.1].`
pub(crate) fn text(stages: &Stages<'_>, finding: &TimeFinding) -> String {
    let name = &stages.aligned.systems[finding.system].name;
    let what = match finding.kind {
        TimeFindingKind::Outage if finding.is_unmeasured => unmeasured_outage(finding),
        TimeFindingKind::Outage => outage(finding),
        TimeFindingKind::PeriodicStall => stalls(finding),
        TimeFindingKind::AlternatingSpeed => alternation(finding),
        TimeFindingKind::LevelChange => level(finding),
        TimeFindingKind::Drift => drift(finding),
        TimeFindingKind::LeftOut => return left_out(name, finding),
    };
    format!("Time: {name} {what}. {}{}{}", cost(finding), effect(stages, finding), origin(finding))
}

/// Seconds with a resolution that fits them: `0.60 s`, `8.0 s`, `120 s`.
fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.9995 => format!("{} s", three_digits(s)),
        s if s < 100.0 => format!("{s:.1} s"),
        s => show_seconds(s),
    }
}

/// `second 10.0 of the run (±0.1 s, in test=read file_size=1MiB)`.
fn start(finding: &TimeFinding) -> String {
    let place = finding.coordinates.as_ref().map_or_else(String::new, |at| format!(", in {}", cell(at)));
    format!("second {:.1} of the run (±{}{place})", finding.start_s, seconds(finding.start_error_s.max(0.01)))
}

fn cell(at: &Coordinates) -> String {
    let parts: Vec<String> = at.iter().map(|(axis, value): (&str, &Value)| value.on_axis(axis)).collect();
    parts.join(", ")
}

fn outage(finding: &TimeFinding) -> String {
    let length = seconds(finding.length_s);
    if finding.occurrences > 1 {
        return format!(
            "did next to nothing in {} at irregular times, each for {length} in the mean, the first at {}",
            counted(finding.occurrences, "outage"),
            start(finding)
        );
    }
    let left = if finding.speed > 0.0 {
        format!("worked at {} of its typical rate", percent(finding.speed, 0))
    } else {
        "did next to nothing (outage)".to_owned()
    };
    let end = if finding.is_open { ", until the run ended" } else { "" };
    format!("{left} for {length}, from {} on{end}", start(finding))
}

fn unmeasured_outage(finding: &TimeFinding) -> String {
    let place = finding.coordinates.as_ref().map_or_else(String::new, |at| format!(" of {}", cell(at)));
    format!(
        "was out for {} during the preparation{place}, from second {:.1} of the run on (±{}): no other step on these files took so \
         long outside its measured window",
        seconds(finding.length_s),
        finding.start_s,
        seconds(finding.start_error_s.max(0.01))
    )
}

fn stalls(finding: &TimeFinding) -> String {
    let period = seconds(finding.period_s.unwrap_or(0.0));
    let speed = if finding.speed > 0.0 {
        format!(" (at {} of its rate)", percent(finding.speed, 0))
    } else {
        String::new()
    };
    format!(
        "stalls every {period} for {}{speed}, {} times, first at {}, as with a periodic flush",
        seconds(finding.length_s),
        finding.occurrences,
        start(finding)
    )
}

fn alternation(finding: &TimeFinding) -> String {
    format!(
        "alternates between two speeds: for {} of every {} its rate is {} of that in the rest, first at {}",
        seconds(finding.length_s),
        seconds(finding.period_s.unwrap_or(0.0)),
        percent(finding.speed, 0),
        start(finding)
    )
}

fn level(finding: &TimeFinding) -> String {
    let share = percent(finding.speed, 0);
    // Preparation moves bytes too, which no step counts.
    let bytes = show_size(finding.start_bytes.max(0.0).round() as u64) + " of measured reads and writes";
    if finding.is_open {
        return format!(
            "falls to {share} of its rate at {}, after {bytes}, and stays there until the end, as with a burst limit",
            start(finding)
        );
    }
    if finding.start_bytes <= 0.0 {
        let end = finding.start_s + finding.length_s;
        return format!("has {share} of its later rate until second {end:.1} of the run, as with a warm-up");
    }
    format!(
        "has {share} of its rate for {}, from {} on, after {bytes}",
        seconds(finding.length_s),
        start(finding)
    )
}

fn drift(finding: &TimeFinding) -> String {
    let minutes = finding.length_s / 60.0;
    let per_minute = finding.speed.powf(1.0 / minutes.max(1e-9)) - 1.0;
    let verb = if finding.speed < 1.0 { "becomes slower" } else { "becomes faster" };
    format!(
        "{verb} over the run: its rate changes by {:+.1} % per minute, {:+.1} % over {}",
        100.0 * per_minute,
        100.0 * (finding.speed - 1.0),
        seconds(finding.length_s)
    )
}

fn left_out(name: &str, finding: &TimeFinding) -> String {
    let steps = counted(finding.occurrences, "step");
    let verb = if finding.occurrences == 1 { "is" } else { "are" };
    format!(
        "Time: {steps} of {name} that {verb} left out of all results took {}, {} of its measured time.",
        seconds(finding.length_s),
        percent(finding.cost.value, 1)
    )
}

fn cost(finding: &TimeFinding) -> String {
    if finding.is_unmeasured {
        let cost = share(&finding.cost);
        return format!("No result includes it; it costs {cost} of the time of all steps of this system");
    }
    format!("It costs {} of its total work", share(&finding.cost))
}

/// `14.0 % [13.9, 14.1]`.
fn share(cost: &Estimate) -> String {
    let interval = cost.interval.map_or_else(String::new, |interval| {
        format!(" [{:.1}, {:.1}]", 100.0 * interval.low, 100.0 * interval.high)
    });
    format!("{}{interval}", percent(cost.value, 1))
}

/// What it does to comparisons of total work; the sentence ends here.
fn effect(stages: &Stages<'_>, finding: &TimeFinding) -> String {
    let of = |ratio: f64| signed_percent(ratio - 1.0, 1);
    let effects: Vec<String> = finding
        .total_work
        .iter()
        .map(|effect| {
            format!(
                "total work relative to {}: {}, without it {}",
                stages.aligned.systems[effect.other].name,
                of(effect.ratio),
                of(effect.ratio_without)
            )
        })
        .collect();
    if effects.is_empty() { ".".to_owned() } else { format!(" ({}).", effects.join("; ")) }
}

fn origin(finding: &TimeFinding) -> &'static str {
    match finding.origin {
        TimeOrigin::System => "",
        TimeOrigin::Shared => {
            " Another system changed at the same time: the cause is the network or a machine that both use."
        }
        TimeOrigin::Machine => {
            " The hiccup meter reports a stall of this machine meanwhile: it may be the cause."
        }
        TimeOrigin::ServerOrNetwork => {
            " This machine did not stall; no other system was measured meanwhile, so that it may be the network too."
        }
        TimeOrigin::NotKnown => {
            " No other system was measured meanwhile: the cause may be the server, the network or this machine."
        }
    }
}
