//! Why one system is faster, what the kernel's figures of TCP show, and times over a distance, in words.

use sharebench_model::units::{counted, percent, show_nanos, three_digits};

use crate::judge::time_budgets::{DistanceReport, TcpFinding, TcpKind};
use crate::judge::time_differences::{Reason, TimeDifference};
use crate::text::stages::Stages;
use crate::types::{Sentence, Tone, View};

/// A distance that nobody may have measured: across a continent.
const FAR_NS: f64 = 100e6;

/// The sentences about one section.
pub(crate) fn sentences(stages: &Stages<'_>, index: usize) -> Vec<Sentence> {
    let found = &stages.judged.time_budgets;
    let differences = found.differences.iter().filter(|one| one.section == index);
    let tcp = found.tcp.iter().filter(|one| one.section == index);
    let distances = found.distances.iter().filter(|one| one.section == index);
    let texts = differences
        .map(|one| difference(stages, one))
        .chain(tcp.map(|one| tcp_finding(stages, one)))
        .chain(distances.map(|one| distance(stages, one)));
    texts.map(|text| Sentence::new(Tone::Note, text).about(index)).collect()
}

fn unit(stages: &Stages<'_>, section: usize) -> &'static str {
    if stages.estimated.sections[section].view == View::Load { "transaction" } else { "operation" }
}

fn difference(stages: &Stages<'_>, found: &TimeDifference) -> String {
    let name = |side: usize| stages.aligned.systems[found.systems[side]].name.as_str();
    let title = &stages.estimated.sections[found.section].title;
    let unit = unit(stages, found.section);
    let [fast, slow] = &found.budgets;
    let share = percent(1.0 - fast.time_ns / slow.time_ns, 0);
    let trips = |budget: f64| three_digits(budget);
    let because = match found.reason {
        Reason::RoundTrips => {
            format!(
                "its round trips per {unit} are {} instead of {}",
                trips(fast.requests),
                trips(slow.requests)
            )
        }
        Reason::ClientCpu => format!(
            "it costs this client {} of CPU instead of {}",
            show_nanos(fast.client_ns),
            show_nanos(slow.client_ns)
        ),
        Reason::Network => format!(
            "the network's round trip takes {} instead of {}",
            show_nanos(fast.round_trip_ns.unwrap_or(0.0)),
            show_nanos(slow.round_trip_ns.unwrap_or(0.0))
        ),
        Reason::Server => {
            let each = |time: f64, requests: f64| show_nanos(time / requests.max(1.0));
            format!(
                "each of its requests takes {} outside this client instead of {}",
                each(fast.time_ns - fast.client_ns, fast.requests),
                each(slow.time_ns - slow.client_ns, slow.requests)
            )
        }
    };
    let likewise = match found.likewise {
        0 => String::new(),
        count => format!("; likewise in {}", counted(count, "more section")),
    };
    format!(
        "{title}: {} takes {share} less time per {unit} than {} ({} instead of {}; {}), mainly because {because}{likewise}.",
        name(0),
        name(1),
        show_nanos(fast.time_ns),
        show_nanos(slow.time_ns),
        counted(found.cells, "cell")
    )
}

fn tcp_finding(stages: &Stages<'_>, found: &TcpFinding) -> String {
    let name = &stages.aligned.systems[found.system].name;
    let title = &stages.estimated.sections[found.section].title;
    let share = |part: u64, of: u64| percent(part as f64 / of.max(1) as f64, 2);
    let text = match found.kind {
        TcpKind::Loss(lost, all) => {
            format!(
                "{lost} of {all} segments were sent again ({}): segments are lost on the way to the server",
                share(lost, all)
            )
        }
        TcpKind::Disorder(disordered, all) => {
            format!(
                "{disordered} of {all} received segments were out of order ({}): they overtook each other or were lost",
                share(disordered, all)
            )
        }
        TcpKind::Window(limited) => {
            format!("the server's receive window was full for {} of the time of sending", percent(limited, 0))
        }
        TcpKind::RoundTrip(limited, trip) => {
            format!(
                "the network's round trip of {} takes {} of an operation",
                show_nanos(trip),
                percent(limited, 0)
            )
        }
    };
    format!("{title}: {name}: {text}.")
}

fn distance(stages: &Stages<'_>, found: &DistanceReport) -> String {
    let name = &stages.aligned.systems[found.system].name;
    let title = &stages.estimated.sections[found.section].title;
    let unit = unit(stages, found.section);
    let at = found.predicted.iter().map(|(distance, predicted, measured)| {
        format!(
            "at {} predicted {}, measured {} ({:+.1} %)",
            show_nanos(*distance),
            show_nanos(*predicted),
            show_nanos(*measured),
            (predicted / measured - 1.0) * 100.0
        )
    });
    format!(
        "{title}: from {name} on, one {unit} needs {} and {} one after another, so it takes {} and {} times the \
         distance: {}; at {} it would take {}.",
        counted_requests(found.requests),
        format_args!("{} round trips", three_digits(found.round_trips)),
        show_nanos(found.near_ns),
        three_digits(found.round_trips),
        at.collect::<Vec<String>>().join("; "),
        show_nanos(FAR_NS),
        show_nanos(found.near_ns + found.round_trips * FAR_NS)
    )
}

fn counted_requests(requests: f64) -> String {
    if (requests - 1.0).abs() < 0.005 {
        "1 request".to_owned()
    } else {
        format!("{} requests", three_digits(requests))
    }
}
