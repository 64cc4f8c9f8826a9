//! Preview of a plan: cells, steps, bytes, time; and the precision that a run reached.

use std::collections::BTreeMap;
use std::time::Duration;

use sharebench_model::units::{
    counted, percent, percent_limit, show_nanos, show_rate, show_seconds, show_size,
};
use sharebench_model::{PrecisionReport, Standing};
use sharebench_plan::{Bounds, Repeat, ResolvedPlan, Search, SlowestTarget, Work};
use sharebench_stats::median;

/// Largest number of cells in the list of wide intervals.
const MAX_NAMED: usize = 5;

/// Lines with cells, steps, bytes per target and time.
pub fn plan_preview(plan: &ResolvedPlan) -> Vec<String> {
    let mut lines = Vec::new();
    let targets = counted(plan.targets.len(), "target");
    if !plan.cells.is_empty() {
        let cells = counted(plan.cells.len(), "cell");
        lines.push(format!("{cells} on {targets}, {}", repetition(plan.repeat)));
        lines.push(format!(
            "at least {} of file data to or from each target (fast targets move more), {} of free space needed on each",
            show_size(plan.least_bytes_moved()),
            show_size(plan.bytes_needed())
        ));
        lines.extend(filled(plan));
        lines.extend(displaced(plan));
    }
    if !plan.loads.is_empty() {
        let loads = counted(plan.loads.len(), "load step");
        let kept = if plan.keeps_users() { "; users stay logged on from step to step" } else { "" };
        let repeated = match plan.load_repetitions() {
            1 => "once each".to_owned(),
            n => repetition(Repeat::times(n)),
        };
        lines.push(format!("{loads} on {targets}, {repeated}{}{kept}", extension(plan)));
        lines.extend(replayed(plan));
        lines.extend(plan.search.as_ref().map(|search| {
            let most = Search::MAX_ADDED;
            match search {
                Search::Stress => {
                    let again =
                        if plan.load_repetitions() > 1 { "; each repetition has the same steps" } else { "" };
                    format!("then at most {most} load steps with more users, until throughput falls{again}")
                }
                Search::Knee(slo) => {
                    format!("then at most {most} open loads, to find the highest rate that keeps {slo}")
                }
            }
        }));
    }
    lines.push(format!("{}; {}", steps(plan.steps()), time(plan)));
    if let Some(command) = &plan.pre_step_cmd {
        lines.push(format!("before each step this machine runs: {command}"));
    }
    lines
}

/// The cost of cold cells, and the limit of what other data can displace.
fn displaced(plan: &ResolvedPlan) -> Option<String> {
    let cold = plan.works().filter_map(|work| match work {
        Work::Records(work) => Some(work.displaced).filter(|bytes| *bytes > 0),
        Work::Metadata(_) | Work::Transactions(_) => None,
    });
    let bytes = cold.max()?;
    let rate = SlowestTarget::ASSUMED.bytes_per_s as f64;
    Some(format!(
        "before each pass of a cold cell {} of other data is read (`displace` of a plan), in {} at {}; a server that caches more \
         stays warm",
        show_size(bytes),
        show_seconds(bytes as f64 / rate),
        show_rate(rate)
    ))
}

/// The entries that the directories of metadata tests hold.
fn filled(plan: &ResolvedPlan) -> Option<String> {
    let works = plan.works().filter_map(|work| match work {
        Work::Metadata(work) => Some((work.directory_key(), work.total_entries())),
        Work::Records(_) | Work::Transactions(_) => None,
    });
    let directories: BTreeMap<_, u64> = works.collect();
    let entries: u64 = directories.values().sum();
    (entries > 0)
        .then(|| format!("directories with {entries} entries in all are made on each target, and removed"))
}

/// Performed and omitted operations of a loadfile.
fn replayed(plan: &ResolvedPlan) -> Option<String> {
    let file = plan.works().find_map(|work| match work {
        Work::Transactions(work) => work.workload.loadfile.as_deref(),
        Work::Records(_) | Work::Metadata(_) => None,
    })?;
    let left_out = file.left_out();
    let all = file.lines.len();
    let performed = all - left_out.iter().map(|(.., count)| count).sum::<usize>();
    let why = left_out.iter().map(|(why, name, count)| format!("; {count} {name} left out: {}", why.why()));
    Some(format!(
        "each user replays {performed} of the {all} operations of the loadfile in turn{}",
        why.collect::<String>()
    ))
}

/// Possible extensions of the steps of a load.
fn extension(plan: &ResolvedPlan) -> String {
    match plan.typed.load.as_ref().and_then(|load| load.max_extensions) {
        None | Some(0) => String::new(),
        Some(most) => format!(
            "; a step that has not reached steady state is extended at most {}, at most {} in total",
            times(most),
            show_seconds(plan.extended_time().as_secs_f64())
        ),
    }
}

/// Number of steps, or its range.
pub fn steps(steps: Bounds<u64>) -> String {
    if steps.least == steps.most {
        counted(steps.most, "step")
    } else {
        format!("at least {}, at most {}", counted(steps.least, "step"), steps.most)
    }
}

fn repetition(repeat: Repeat) -> String {
    let range = format!("{} to {} times", repeat.least, repeat.most);
    let shown = |time: Duration| show_seconds(time.as_secs_f64());
    match (repeat.precision, repeat.budget) {
        (None, None) if repeat.most < 6 => {
            format!("{} each: too few for a confidence interval, which needs 6", times(repeat.most))
        }
        (None, None) => format!("{} each", times(repeat.most)),
        (Some(precision), None) => format!("{range} each, until each confidence interval is ±{precision}"),
        (None, Some(budget)) => {
            format!("for {}: each at least once, then those with the widest intervals", shown(budget))
        }
        (Some(precision), Some(budget)) => format!(
            "for at most {}: each at least once, then those with the widest intervals until each is ±{precision}",
            shown(budget)
        ),
    }
}

/// The range of the run's time, with the condition under which its upper end holds.
fn time(plan: &ResolvedPlan) -> String {
    let slowest = SlowestTarget::ASSUMED;
    let time = plan.wall_time(slowest);
    let command = if plan.pre_step_cmd.is_some() { "; the pre-step command comes in addition" } else { "" };
    format!(
        "{} to {} on targets that reply within {} and move at least {}, longer on slower ones{command}",
        show_seconds(time.least.as_secs_f64()),
        show_seconds(time.most.as_secs_f64()),
        show_nanos(slowest.reply.as_nanos() as f64),
        show_rate(slowest.bytes_per_s as f64)
    )
}

/// Numbers of cells that reached the precision and that did not, with the widest of them.
pub fn reached(report: &PrecisionReport) -> Vec<String> {
    let cells = report.cells.len();
    let mut widths: Vec<f64> = report.cells.iter().filter_map(|cell| cell.half_width).collect();
    let middle = median(&mut widths);
    let shown = |width: f64| format!("±{}", percent(width.exp_m1(), 1));
    let mut lines = Vec::new();
    match (report.asked, widths.last(), middle) {
        (Some(asked), ..) => {
            let limit = percent_limit(asked);
            let precise = report.count(Standing::Precise);
            lines.push(format!("resolved to {limit}: {precise} of {}", counted(cells, "cell")));
            let wide = report.count(Standing::Wide);
            if wide > 0 {
                lines.push(format!("not resolved to {limit}: {wide} of {}", counted(cells, "cell")));
            }
        }
        (None, Some(widest), Some(middle)) => lines.push(format!(
            "intervals of {}: half are {} or narrower, the widest is {}",
            counted(cells, "cell"),
            shown(middle),
            shown(*widest)
        )),
        (None, ..) => {}
    }
    let mut wide: Vec<_> = report.cells.iter().filter(|cell| cell.standing == Standing::Wide).collect();
    wide.sort_by(|a, b| b.half_width.unwrap_or(0.0).total_cmp(&a.half_width.unwrap_or(0.0)));
    let named = if report.asked.is_some() { MAX_NAMED } else { 1 };
    lines.extend(wide.iter().take(named).filter_map(|cell| {
        let width = shown(cell.half_width?);
        Some(format!("  {}: {width} after {}", cell.coordinates, times(cell.repetitions)))
    }));
    if report.asked.is_some() && wide.len() > named {
        lines.push(format!("  and {} more", wide.len() - named));
    }
    let unusable = report.count(Standing::Unusable);
    if unusable > 0 {
        lines.push(format!(
            "no interval: {unusable} of {}, with fewer than 6 usable repetitions on every target",
            counted(cells, "cell")
        ));
    }
    lines
}

fn times(n: u32) -> String {
    if n == 1 { "once".to_owned() } else { format!("{n} times") }
}

#[cfg(test)]
mod tests {
    use sharebench_model::{CellPrecision, Coordinates, PrecisionReport, Standing, Value};
    use sharebench_plan::Plan;

    use super::{SlowestTarget, plan_preview, reached, show_seconds};

    fn preview_of(repeat: &str) -> Vec<String> {
        let text = format!(
            "{repeat}\n[[target]]\nurl = '/a'\n[[target]]\nurl = '/b'\n[sweep]\nfile_sizes = ['64KiB']
record_sizes = ['4KiB']\ntests = ['write', 'read', 'reread']\n"
        );
        plan_preview(&Plan::parse(&text).unwrap().resolve().unwrap())
    }

    #[test]
    fn preview_shows_cells_bytes_and_time() {
        assert_eq!(
            preview_of(""),
            [
                "3 cells on 2 targets, 10 to 60 times each, until each confidence interval is ±2%",
                "at least 2.56 MiB of file data to or from each target (fast targets move more), 128 KiB of free space needed on each",
                "at least 60 steps, at most 360; 4 s to 4.3 min on targets that reply within 2.00 ms and move at least \
                 20.0 MB/s, longer on slower ones",
            ]
        );
        assert_eq!(
            preview_of("repetitions = 2")[0],
            "3 cells on 2 targets, 2 times each: too few for a confidence interval, which needs 6"
        );
        assert_eq!(
            preview_of("time_budget = '10m'")[0],
            "3 cells on 2 targets, for 10.0 min: each at least once, then those with the widest intervals"
        );
    }

    #[test]
    fn preview_shows_what_a_cold_cache_costs() {
        let text = "repetitions = 1\n[[target]]\nurl = '/a'\n[sweep]\nfile_sizes = ['64KiB']\nrecord_sizes = ['4KiB']\n\
                    tests = ['read']\nserver_cache = ['warm', 'cold']\n";
        let lines = plan_preview(&Plan::parse(text).unwrap().resolve().unwrap());
        assert_eq!(
            lines[2],
            "before each pass of a cold cell 256 MiB of other data is read (`displace` of a plan), in 13 s at 20.0 MB/s; a server \
             that caches more stays warm"
        );
    }

    #[test]
    fn preview_shows_extensions_and_their_time() {
        let text = "[[target]]\nurl = '/a'\n[load]\nusers = [1]\nwarm_up = '2s'\nmeasure = '30s'\nmax_extensions = 2";
        let plan = Plan::parse(text).unwrap().resolve().unwrap();
        let most = show_seconds(plan.wall_time(SlowestTarget::ASSUMED).most.as_secs_f64());
        assert_eq!(
            plan_preview(&plan),
            [
                "1 load step on 1 target, once each; a step that has not reached steady state is \
                 extended at most 2 times, at most 3.6 min in total"
                    .to_owned(),
                format!(
                    "1 step; 32 s to {most} on targets that reply within 2.00 ms and move at least 20.0 MB/s, longer on \
                     slower ones"
                ),
            ]
        );
    }

    #[test]
    fn preview_says_how_often_a_load_is_measured() {
        let text = |repetitions: u32| {
            format!(
                "repetitions = {repetitions}\n[[target]]\nurl = '/a'\n[[target]]\nurl = '/b'\n[load]\nusers = [1, 2]\n\
                 until_stress = true\n"
            )
        };
        let lines = |repetitions| plan_preview(&Plan::parse(&text(repetitions)).unwrap().resolve().unwrap());
        let six = lines(6);
        assert_eq!(six[0], "2 load steps on 2 targets, 6 times each");
        assert!(six[1].ends_with("until throughput falls; each repetition has the same steps"), "{six:?}");
        assert!(six[2].starts_with("at least 24 steps, at most 168; "), "{six:?}");
        let three =
            "2 load steps on 2 targets, 3 times each: too few for a confidence interval, which needs 6";
        assert_eq!(lines(3)[0], three);
        assert_eq!(lines(1)[0], "2 load steps on 2 targets, once each");
    }

    #[test]
    fn reached_precision_lists_the_widest_cells() {
        let cell = |n: u64, half_width, standing| CellPrecision {
            coordinates: Coordinates::new().with("file_size", Value::Bytes(n * 1024)),
            repetitions: 60,
            half_width,
            standing,
        };
        let cells = vec![
            cell(4, Some(0.01), Standing::Precise),
            cell(8, Some(0.05), Standing::Wide),
            cell(16, None, Standing::Unusable),
        ];
        assert_eq!(
            reached(&PrecisionReport { asked: Some(0.02), cells }),
            [
                "resolved to 2 %: 1 of 3 cells",
                "not resolved to 2 %: 1 of 3 cells",
                "  file_size=8KiB: ±5.1 % after 60 times",
                "no interval: 1 of 3 cells, with fewer than 6 usable repetitions on every target",
            ]
        );
    }
}
