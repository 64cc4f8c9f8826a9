//! `sharebench compare`: selects runs and targets, and compares them.

use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use sharebench_analysis::{
    Analysis, ComparisonVerdict, Gate, MAX_USEFUL_REPETITIONS, Options, Requirements, RunData, RunScatter,
    SIX_REPETITIONS, analyse, declared_equal_spread,
};
use sharebench_model::units::{BitRate, percent as percent_with_unit, percent_limit};
use sharebench_results::{ReferenceError, RunReference};

use crate::commands::compare_series::series;
use crate::commands::workload_weights::weights;
use crate::exit::{Failure, INCONCLUSIVE, SLOWER};
use crate::flags::format::Format;
use crate::flags::output::DatabaseFlags;
use crate::flags::percent::percent;
use crate::output::{message, print_out, style};
use crate::run::run_store::{LoadedRun, check_histograms, load, load_targets, render, run_data};
use crate::run::same_plan::earlier_scatter;

pub const COMPARE_HELP: &str = "Examples:
  sharebench compare 1 2
  sharebench compare monday.db:last friday.db:last
  sharebench compare 3/smb 3/nfs                  # two targets of one run
  sharebench compare 5 6 --noise-baseline 13 14 --link 10Mbit
  sharebench compare 7 8 --max-slower 5%      # for CI: exit code 8 if run 8 is slower, 9 if that is open
  sharebench compare 3/smb 3/nfs --weights mine.toml     # cells weighted by a survey, a workload or a preset
  sharebench compare --series 11 12 13 14 15 16 17     # which run changed the level?

Steps of two systems are compared if their coordinates are equal; steps without a counterpart are listed. Later
systems are compared with earlier ones. docs/measure/comparisons.md explains the output.";

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Runs: numbers, `last`, or FILE.db:NUMBER; two or more, or one run with several targets. /TARGET selects one target.
    #[arg(required = true, num_args = 1.., value_name = "RUN[/TARGET]")]
    pub runs: Vec<Compared>,
    /// Two runs of equal systems. Ratios of single runs must exceed three times the spread between these two.
    #[arg(long, num_args = 2, value_names = ["RUN", "RUN"])]
    pub noise_baseline: Vec<RunReference>,
    /// Bit rate of the link between clients and servers, such as 10Mbit. Faster reads came from the client's cache.
    #[arg(long, value_name = "RATE")]
    pub link: Option<BitRate>,
    /// Weight the cells by a workload: a file of `sharebench learn`, a workload file, or the name of a preset.
    #[arg(long, value_name = "FILE|PRESET", conflicts_with = "series")]
    pub weights: Option<String>,
    /// Find the runs at which the level changed, in six or more runs of one plan in their order.
    #[arg(long, conflicts_with_all = ["noise_baseline", "link", "axes"])]
    pub series: bool,
    /// Count differences up to PERCENT as none: a smaller one is never an answer, however certain it is.
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "2%")]
    pub tolerance: f64,
    /// Two axes for the map of each test and for its parts [default: `file_size,record_size`; for depth studies
    /// `record_size,queue_depth`].
    #[arg(long, value_name = "AXIS,AXIS", value_parser = axes)]
    pub axes: Option<Axes>,
    /// Exit with code 8 if a later system is more than PERCENT slower than an earlier one, overall, in a test or in a part of the
    /// map, with 95 % confidence; with code 9 if the data does not rule that out.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub max_slower: Option<f64>,
    /// Exit with code 9 if the comparison would not detect a difference of PERCENT over all cells; with `--series`, if the
    /// runs show no change and would not detect a fall of PERCENT.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub require_sharpness: Option<f64>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    #[command(flatten)]
    pub database: DatabaseFlags,
}

/// Names of two axes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axes(pub [String; 2]);

fn axes(text: &str) -> Result<Axes, String> {
    match text.split(',').map(str::trim).collect::<Vec<_>>()[..] {
        [one, other] if !one.is_empty() && !other.is_empty() && one != other => {
            Ok(Axes([one.to_owned(), other.to_owned()]))
        }
        _ => Err("expected two different axes, such as record_size,queue_depth".to_owned()),
    }
}

/// A run or one of its targets: `7`, `7/nfs`, `A.db:last/nfs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    run: RunReference,
    target: Option<String>,
    /// What the user typed.
    text: String,
}

impl FromStr for Compared {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        // The path of the file may contain slashes, and so may the name of the target; the run between them does not. The
        // longest path counts, because a name seldom contains `:NUMBER/`.
        let slashes: Vec<usize> = text.match_indices('/').map(|(at, _)| at).collect();
        let cut = |at: &usize| {
            let run = text[..*at].parse::<RunReference>().ok()?;
            Some((run, text[at + 1..].to_owned())).filter(|(_, target)| !target.is_empty())
        };
        let (run, target) = match (text.parse::<RunReference>(), slashes.iter().rev().find_map(cut)) {
            (Ok(run), _) => (run, None),
            (Err(_), Some((run, target))) => (run, Some(target)),
            (Err(error), None) => return Err(error),
        };
        Ok(Self { run, target, text: text.to_owned() })
    }
}

/// One run with the selected targets.
struct Chosen {
    loaded: LoadedRun,
    /// None for all targets.
    targets: Option<Vec<String>>,
}

/// Runs with the targets to compare; none for all of them.
type Selection<'a> = Vec<(&'a RunReference, Option<Vec<String>>)>;

/// The argument that selects what an earlier one selects already, and that earlier one.
///
/// `1 1/nfs` is a mistake too: the first argument has every target of the run.
fn repeated(wanted: &[Compared]) -> Option<(&Compared, &Compared)> {
    let overlaps = |one: &Compared, other: &Compared| {
        let same = one.target.is_none() || other.target.is_none() || one.target == other.target;
        one.run == other.run && same
    };
    wanted.iter().enumerate().find_map(|(at, later)| {
        wanted[..at].iter().find(|earlier| overlaps(earlier, later)).map(|earlier| (later, earlier))
    })
}

/// Each run once, even if several of its targets are selected, so that interleaved steps stay paired. Targets keep the order of
/// the arguments.
fn selected(wanted: &[Compared]) -> Selection<'_> {
    let mut found = Selection::new();
    for Compared { run, target, .. } in wanted {
        match found.iter_mut().find(|(reference, _)| *reference == run) {
            None => found.push((run, target.clone().map(|name| vec![name]))),
            Some((_, targets)) => match target {
                None => *targets = None,
                Some(name) => targets.iter_mut().for_each(|targets| targets.push(name.clone())),
            },
        }
    }
    found
}

/// Loads the selected runs. The steps of other targets stay in the database.
fn chosen(wanted: &[Compared], database: &Path) -> Result<Vec<Chosen>, Failure> {
    let load = |(reference, targets): (&RunReference, Option<Vec<String>>)| {
        let loaded = load_targets(reference, database, targets.as_deref())?;
        let known: Vec<&str> = loaded.run.header.targets.iter().map(|target| target.name.as_str()).collect();
        match targets.iter().flatten().find(|name| !known.contains(&name.as_str())) {
            None => Ok(Chosen { loaded, targets }),
            Some(missing) => Err(Failure::usage(format!(
                "RUN/TARGET: the run has no target '{missing}'; its targets are {}",
                known.join(", ")
            ))),
        }
    };
    selected(wanted).into_iter().map(load).collect()
}

/// Compares runs or targets.
pub fn compare(args: &CompareArgs) -> Result<ExitCode, Failure> {
    if let Some((again, first)) = repeated(&args.runs) {
        return Err(Failure::usage(format!(
            "RUN: '{}' is part of '{}', which is given already; compare two different runs or targets",
            again.text, first.text
        )));
    }
    let database = &args.database.db;
    let chosen = chosen(&args.runs, database)?;
    let several = chosen.len() > 1;
    let histograms: Vec<_> = chosen.iter().map(|chosen| Arc::clone(&chosen.loaded.histograms)).collect();
    let is_of_two_runs = several && !args.series;
    let run_scatter = if is_of_two_runs { scatter_of_plans(&args.runs, &chosen, database)? } else { None };
    let of = |chosen: Chosen| {
        let run = run_data(chosen.loaded.run, several);
        match chosen.targets {
            None => run,
            Some(targets) => run.with_targets(&targets),
        }
    };
    let data: Vec<RunData> = chosen.into_iter().map(of).collect();
    if args.series {
        return series(&data, args);
    }
    if data.iter().map(|run| run.header.targets.len()).sum::<usize>() < 2 {
        return Err(Failure::usage("RUN: one target cannot be compared; give another run"));
    }
    let equal = args.noise_baseline.iter().map(|run| load(run, database)).collect::<Result<Vec<_>, _>>()?;
    let equal: Vec<RunData> = equal.into_iter().map(|loaded| run_data(loaded.run, false)).collect();
    let mut spreads = Vec::new();
    for pair in equal.chunks_exact(2) {
        let few = || {
            Failure::usage(
                "--noise-baseline: the two runs have fewer than three steps with equal coordinates",
            )
        };
        spreads.push(declared_equal_spread(&pair[0], &pair[1]).ok_or_else(few)?);
    }
    let options = Options {
        // The largest spread of several pairs counts.
        equal_spread: spreads.into_iter().reduce(f64::max),
        run_scatter,
        link: args.link,
        weights: args.weights.as_deref().map(weights).transpose()?,
        tolerance: args.tolerance,
        axes: args.axes.as_ref().map_or(Vec::new(), |Axes(axes)| axes.to_vec()),
        ..Options::default()
    };
    let analysis = analyse(&data, &options);
    check_histograms(&histograms)?;
    drop(data);
    let code = print_out(&render(&analysis, args.format, style())?)?;
    Ok(gate(&analysis, args).unwrap_or(code))
}

/// How much earlier runs of the plans differ.
fn scatter_of_plans(
    wanted: &[Compared],
    chosen: &[Chosen],
    database: &Path,
) -> Result<Option<RunScatter>, Failure> {
    let runs = selected(wanted).into_iter().zip(chosen);
    let runs: Vec<_> = runs.map(|((reference, _), chosen)| (reference, &chosen.loaded.run)).collect();
    earlier_scatter(&runs, database)
}

/// The exit code that the options require of the verdicts, with the reasons on standard error; none if they are met.
fn gate(analysis: &Analysis, args: &CompareArgs) -> Option<ExitCode> {
    let slower = Requirements { not_slower: args.max_slower, sharpness: None };
    let sharp = Requirements { not_slower: None, sharpness: args.require_sharpness };
    open_requirements(analysis, &slower, &sharp).iter().for_each(message);
    match analysis.gate(&slower).max(analysis.gate(&sharp)) {
        Gate::Slower => Some(ExitCode::from(SLOWER)),
        Gate::Inconclusive if args.max_slower.or(args.require_sharpness).is_some() => {
            Some(ExitCode::from(INCONCLUSIVE))
        }
        Gate::Inconclusive | Gate::Passed => None,
    }
}

/// One message for each comparison and option that the data leaves open.
pub fn open_requirements(analysis: &Analysis, slower: &Requirements, sharp: &Requirements) -> Vec<String> {
    let mut messages = Vec::new();
    for comparison in &analysis.comparisons {
        let name = &comparison.name;
        if let (Gate::Inconclusive, Some(limit)) = (comparison.gate(slower), slower.not_slower) {
            messages.push(format!(
                "--max-slower: {name}: inconclusive; the data does not rule out that it is {} slower",
                percent_limit(limit)
            ));
        }
        if let (Gate::Inconclusive, Some(limit)) = (comparison.gate(sharp), sharp.sharpness) {
            messages.push(format!(
                "--require-sharpness: {name}: inconclusive; {}, and {} is required: {}",
                sharpness_words(comparison.verdict.sharpness),
                percent_limit(limit),
                sharpness_remedy(&comparison.verdict, limit)
            ));
        }
    }
    messages
}

/// The sharpness in words.
fn sharpness_words(sharpness: Option<f64>) -> String {
    sharpness.map_or_else(
        || "there is no interval".to_owned(),
        |sharpness| format!("a difference of {} would be detected", percent_with_unit(sharpness, 1)),
    )
}

/// What would reach the required sharpness.
fn sharpness_remedy(verdict: &ComparisonVerdict, limit: f64) -> String {
    match verdict.repetitions_for(limit) {
        None => SIX_REPETITIONS.to_owned(),
        Some(repetitions) if repetitions <= MAX_USEFUL_REPETITIONS as u64 => {
            format!("about {repetitions} repetitions would reach it")
        }
        Some(_) => format!(
            "more than {MAX_USEFUL_REPETITIONS} repetitions would be needed; measure longer or on a quieter machine"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_that_repeats_another_is_found() {
        let repeats = |texts: &[&str]| {
            let wanted: Vec<Compared> = texts.iter().map(|text| text.parse().unwrap()).collect();
            repeated(&wanted).map(|(again, first)| (again.text.clone(), first.text.clone()))
        };
        let pair = |again: &str, first: &str| Some((again.to_owned(), first.to_owned()));
        assert_eq!(repeats(&["1", "1"]), pair("1", "1"));
        assert_eq!(repeats(&["1/a", "1/b", "1/a"]), pair("1/a", "1/a"));
        assert_eq!(repeats(&["1/a", "1"]), pair("1", "1/a"));
        assert_eq!(repeats(&["1", "2/a", "2/b"]), None);
        assert_eq!(repeats(&["a.db:1", "b.db:1"]), None);
    }

    #[test]
    fn targets_keep_the_order_of_the_arguments() {
        let order = |texts: &[&str]| {
            let wanted: Vec<Compared> = texts.iter().map(|text| text.parse().unwrap()).collect();
            selected(&wanted).into_iter().map(|(_, targets)| targets).collect::<Vec<_>>()
        };
        let names = |names: [&str; 2]| Some(names.map(str::to_owned).to_vec());
        assert_eq!(order(&["1/x", "1/y"]), [names(["x", "y"])]);
        assert_eq!(order(&["1/y", "1/x"]), [names(["y", "x"])]);
    }

    #[test]
    fn reference_separates_path_run_and_target() {
        let read = |text: &str| text.parse::<Compared>().map(|c| (c.run, c.target));
        let run = |text: &str| text.parse::<RunReference>().unwrap();
        assert_eq!(read("7"), Ok((run("7"), None)));
        assert_eq!(read("7/nfs"), Ok((run("7"), Some("nfs".into()))));
        assert_eq!(read("dir/A.db:last"), Ok((run("dir/A.db:last"), None)));
        assert_eq!(read("dir/A.db:last/a/b"), Ok((run("dir/A.db:last"), Some("a/b".into()))));
        for name in ["smb (sign=required)", "smb (nas:4450)", "data (/a/data)", "nfs (far=20ms/100Mbit)"] {
            assert_eq!(read(&format!("7/{name}")), Ok((run("7"), Some(name.into()))));
            assert_eq!(read(&format!("dir/A.db:7/{name}")), Ok((run("dir/A.db:7"), Some(name.into()))));
        }
        assert!(read("nfs").is_err() && read("/nfs").is_err() && read("7/").is_err());
        assert!(axes("a").is_err() && axes("a,a").is_err() && axes("a,b").is_ok());
    }
}
