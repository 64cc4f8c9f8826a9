//! The top of the page: what was measured where, the verdict, a bar per system, how far to trust it, and the map.

use std::io;

use maud::{Markup, html};
use sharebench_analysis::{Analysis, Sentence, Status, Tone};
use sharebench_model::units::{counted, show_size};
use sharebench_model::without_secrets;

use super::articles::Figure;
use super::document::{Body, CONTENT, PageWriter};
use super::parts::{sentences, table};
use crate::first_screen::{Bar, BarChart, bars, mapped, restates_a_verdict, trust_summary};
use crate::show;
use crate::tables::{Table, tests_table};

/// Rates that differ by more than this factor have a logarithmic axis.
const LOGARITHMIC_FROM: f64 = 10.0;

/// Title, machine, date, and the conditions that differ.
pub fn header(analysis: &Analysis, title: &str) -> Markup {
    html! {
        header {
            p.brand { "sharebench report" }
            h1 { (title) }
            p.facts { @for fact in facts(analysis) { span { (fact) } } }
            @if !analysis.unlike_conditions.is_empty() {
                ul.conditions {
                    @for unlike in &analysis.unlike_conditions { li { (unlike.text) } }
                }
            }
        }
        "\n"
    }
}

/// Machines and dates of the runs, each once.
fn facts(analysis: &Analysis) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |fact: Option<String>| found.extend(fact.filter(|fact| !found.contains(fact)));
    for method in &analysis.methods {
        let environment = &method.environment;
        add(environment.get("cpu").map(|cpu| cpu.replace("(R)", "").replace("(TM)", "")));
        add(environment
            .get("cores")
            .map(|cores| if cores == "1" { "1 CPU".into() } else { format!("{cores} CPUs") }));
        add(show::memory(environment).map(show_size));
        add(environment.get("kernel").map(|kernel| format!("kernel {kernel}")));
    }
    for method in &analysis.methods {
        add((method.started_unix_ms > 0).then(|| show::instant(method.started_unix_ms)));
    }
    found
}

/// The verdict in large type with its confidence, the others below it, bars, trust, the map, and the rest of the answer.
pub fn answer(analysis: &Analysis) -> Body<'_> {
    let rest: Vec<&Sentence> =
        analysis.answer.iter().filter(|sentence| !restates_a_verdict(analysis, sentence)).collect();
    let (alarms, rest): (Vec<&Sentence>, Vec<&Sentence>) =
        rest.into_iter().partition(|sentence| sentence.tone == Tone::Alarm);
    let has_verdict = !analysis.reported.is_empty();
    // Without a verdict the first sentence is the answer.
    let headline = if has_verdict { None } else { rest.first() };
    let rest = rest.iter().skip(usize::from(headline.is_some())).copied();
    let rest: Vec<&Sentence> = rest.collect();
    let first = html! {
        div.panel.hero {
            @if !alarms.is_empty() { (sentences(alarms.into_iter())) }
            @if let Some(sentence) = headline { p.claim.short { (sentence.text) } }
            (verdicts(analysis))
            (compared_systems(analysis))
            @if let Some(bars) = bars(analysis).filter(|bars| bars.bars.len() > 1) { (bar_chart(&bars)) }
            (trust(analysis))
        }
        "\n"
    };
    let rest = html! {
        @if !rest.is_empty() { div.panel.more { (sentences(rest.into_iter())) } }
    };
    Box::new(move |out| {
        out.markup(&first)?;
        map(out, analysis)?;
        out.markup(&rest)
    })
}

fn verdicts(analysis: &Analysis) -> Markup {
    html! {
        @for (index, verdict) in analysis.verdicts().enumerate() {
            @let claim = &verdict.claim;
            @let support = verdict.support();
            @let word = verdict.confidence.map(|confidence| format!("confidence: {}", confidence.word()));
            // The word has its own frame, so that what follows it names it.
            @let support = word.as_ref().map_or_else(|| support.to_owned(), |word| {
                support.replace(&format!(", {word}"), "").replace("; to raise it,", "; to raise the confidence,")
            });
            @if index == 0 {
                p.claim { (claim) }
                p.support { @if support.trim_start_matches(',').starts_with(" [") { (interval_level(analysis)) } (on_its_own_line(&support)) " " @if let Some(word) = word { span.confidence { (word) } } }
            } @else {
                p.second { b { (claim) } (support) " " @if let Some(word) = word { span.confidence { (word) } } }
            }
        }
    }
}

/// Names and URLs of the compared systems.
fn compared_systems(analysis: &Analysis) -> Markup {
    let systems = show::compared_systems(analysis);
    html! {
        @if !systems.is_empty() {
            ul.systems { @for system in systems { li { b { (system.name) } " " span { (without_secrets(&system.url)) } } } }
        }
    }
}

/// What supports a claim, without the mark that separates the two in one line.
fn on_its_own_line(support: &str) -> &str {
    support.trim_start_matches([',', ';', ':'])
}

/// Names the interval in brackets.
fn interval_level(analysis: &Analysis) -> String {
    format!("{:.0} % interval", analysis.level * 100.0)
}

/// Positions of rates on the axis of the bars, in percent of its length.
struct Scale {
    low: f64,
    high: f64,
    is_logarithmic: bool,
}

impl Scale {
    fn new(bars: &[Bar]) -> Self {
        let ends = |bar: &Bar| [bar.value, bar.interval.map_or(bar.value, |interval| interval.high)];
        let high = bars.iter().flat_map(ends).fold(0.0, f64::max);
        let low = bars.iter().map(|bar| bar.value).fold(f64::INFINITY, f64::min);
        let is_logarithmic = low > 0.0 && high > low * LOGARITHMIC_FROM;
        // The axis begins at a power of ten below the shortest bar.
        let low = if is_logarithmic { 10_f64.powf((low / 2.0).log10().floor()) } else { 0.0 };
        Self { low, high, is_logarithmic }
    }

    fn percent(&self, rate: f64) -> f64 {
        let share = if self.is_logarithmic {
            (rate / self.low).ln() / (self.high / self.low).ln()
        } else {
            rate / self.high
        };
        share.clamp(0.0, 1.0) * 100.0
    }
}

fn bar_chart(BarChart { caption, unit, bars }: &BarChart) -> Markup {
    let scale = Scale::new(bars);
    let first = &bars[0].name;
    html! {
        div.bars {
            p.caption {
                (caption)
                @if scale.is_logarithmic { ", logarithmic axis from " (unit.show(scale.low)) }
                @if bars.iter().any(|bar| bar.interval.is_some()) { "; lines: interval of the ratio to " (first) }
            }
            ul {
                @for bar in bars {
                    li {
                        span.name { span.dot style=(format!("background: var(--s{})", bar.system % 6)) {} (bar.name) }
                        span.track {
                            span.bar style=(format!("width: {:.1}%; background: var(--s{})", scale.percent(bar.value), bar.system % 6)) {}
                            @if let Some(interval) = bar.interval {
                                @let low = scale.percent(interval.low);
                                span.whisker style=(format!("left: {low:.1}%; width: {:.1}%", scale.percent(interval.high) - low)) {}
                            }
                        }
                        span.value {
                            b { (bar.text) }
                            @if let Some(interval) = bar.interval { span { (unit.show_range(interval.low, interval.high)) } }
                        }
                    }
                }
            }
        }
        "\n"
    }
}

/// One status for all checks, with its cause.
fn trust(analysis: &Analysis) -> Markup {
    let summary = trust_summary(analysis);
    let (class, word) = match summary.status {
        Status::Ok => ("ok", "passed"),
        Status::Warning => ("warning", "warning"),
        Status::Failed => ("failed", "failed"),
    };
    html! {
        div.light.(class) {
            p {
                b { "Trust: " (word) } " "
                @if summary.causes.is_empty() { (counted(analysis.trust.len(), "check")) " passed" }
                @for (index, line) in summary.causes.iter().enumerate() {
                    @if index > 0 { br; }
                    (line.subject) ": " (line.text)
                }
                @if summary.more > 0 { " " a href="#trust" { "and " (counted(summary.more, "more warning")) } }
            }
            @if let Some(line) = summary.sensitivity { p { (line.text) } }
        }
        "\n"
    }
}

/// The map of the verdict's pair: every test in one line, or a test alone in two dimensions.
fn map(out: &mut PageWriter<'_>, analysis: &Analysis) -> io::Result<()> {
    let found = mapped(analysis);
    let (Some(first), Some(pair)) = (found.first(), analysis.reported.first()) else { return Ok(()) };
    let is_single = found.len() == 1;
    let numbers = format!("t{first}");
    let figure = Figure {
        section: is_single.then_some(*first),
        kind: if is_single { "ratio" } else { "overview" },
        title: "Map of the ratios",
        hint: if is_single {
            "A frame is a part in which one system is faster: the later one in a solid frame (▲), the earlier one in a dashed frame (▼). A dashed line marks where reads of a system fall with the size of the file. Click a cell for its numbers."
        } else {
            "One line per test. Click a cell for its numbers."
        },
        height: "",
        table: if is_single { &numbers } else { "tests" },
    };
    let frame = html! {
        div.panel.map {
            h3 { (analysis.comparisons[*pair].name) ", cell by cell" }
            (key())
            (figure.place())
            (CONTENT)
        }
        "\n"
    };
    out.within(&frame, |out| {
        if is_single {
            return Ok(());
        }
        let all: Vec<usize> = (0..analysis.comparisons.len()).collect();
        let caption = "Slowest and fastest cell of each system; mean ratio of each pair with its interval.";
        let tests = Table { caption: caption.to_owned(), ..tests_table(analysis, true, &all) };
        table(out, "tests", &format!("Ratios of {}", counted(found.len(), "test")), &tests, None)
    })
}

/// How to read the maps.
fn key() -> Markup {
    html! {
        div.key {
            span { "slower " span.ramp {} " faster" }
            span { "numbers in percent; pale: wide interval" }
            span { span.swatch {} " ? not resolved" }
            span { "= about the same" }
        }
        "\n"
    }
}
