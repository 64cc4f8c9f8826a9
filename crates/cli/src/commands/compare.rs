//! `sharebench compare`: which runs and targets are brought together, and how.

use std::process::ExitCode;
use std::str::FromStr;

use clap::Args;
use sharebench_analysis::{Analysis, Options, RunData, RatioVerdict, analyse, declared_equal_spread};
use sharebench_model::units::BitRate;
use sharebench_results::{ReferenceError, RunReference, StoredRun};

use crate::commands::compare_series::series;
use crate::commands::workload_weights::weights;
use crate::exit::{Failure, SLOWER};
use crate::flags::GlobalFlags;
use crate::flags::format::Format;
use crate::output::print_out;
use crate::run::run_store::{load, render, run_data};

pub const COMPARE_HELP: &str = "Examples:
  sharebench compare 1 2
  sharebench compare monday.db:last friday.db:last
  sharebench compare 3/smb 3/nfs                  # two targets of one run
  sharebench compare 5 6 --noise-baseline 13 14 --link 10Mbit
  sharebench compare 7 8 --fail-if-slower 5%      # for CI: exit code 8 when the second is slower
  sharebench compare 3/smb 3/nfs --weights mine.toml     # for your files: a survey, a workload or a preset
  sharebench compare --series 11 12 13 14 15 16 17     # from which night on is something slower?

Two systems are compared where their coordinates are equal; what has no counterpart is listed. The order says which
is held against which: later ones against earlier ones. docs/comparisons.md explains every word of the output.";

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Two or more runs, or one with several targets: numbers, `last`, or FILE.db:NUMBER; with /TARGET that target alone.
    #[arg(required = true, num_args = 1.., value_name = "RUN[/TARGET]")]
    pub runs: Vec<Compared>,
    /// Two runs that are known to be of equal systems: ratios of single runs must exceed three times their spread.
    #[arg(long, num_args = 2, value_names = ["RUN", "RUN"])]
    pub noise_baseline: Vec<RunReference>,
    /// Rate of the link between clients and servers, such as 10Mbit: what is faster came from a client's cache.
    #[arg(long, value_name = "RATE")]
    pub link: Option<BitRate>,
    /// Weigh the cells by what is done with files: a file of `sharebench survey`, any workload, or a preset's name.
    #[arg(long, value_name = "FILE|PRESET", conflicts_with = "series")]
    pub weights: Option<String>,
    /// The runs are of one plan, in the order in which they were made: say from which run on something is faster or
    /// slower. Six or more.
    #[arg(long, conflicts_with_all = ["noise_baseline", "link", "axes"])]
    pub series: bool,
    /// The two axes that each test is laid out and scanned on [default: `file_size,record_size`; for depth studies
    /// `record_size,queue_depth`].
    #[arg(long, value_name = "AXIS,AXIS", value_parser = axes)]
    pub axes: Option<Axes>,
    /// Exit with 8 when a later system is slower than an earlier one by more than this for sure, over all cells or
    /// in a region.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub fail_if_slower: Option<f64>,
    /// How.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Names of two axes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axes(pub [String; 2]);

fn axes(text: &str) -> Result<Axes, String> {
    match text.split(',').map(str::trim).collect::<Vec<_>>()[..] {
        [one, other] if !one.is_empty() && !other.is_empty() && one != other => {
            Ok(Axes([one.to_owned(), other.to_owned()]))
        }
        _ => Err("two different axes such as record_size,queue_depth".to_owned()),
    }
}

/// `5%` or `5` as 0.05.
fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().trim_end_matches('%').trim_end().parse().ok();
    match number {
        Some(percent) if (0.0..100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("a share such as 5%, at least 0 and below 100".to_owned()),
    }
}

/// A run, or one of its targets: `7`, `7/nfs`, `A.db:last/nfs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    run: RunReference,
    target: Option<String>,
}

impl FromStr for Compared {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        // The file's path may hold slashes; the run behind it does not.
        let run_at = text.rfind(':').map_or(0, |colon| colon + 1);
        let (run, target) = match text[run_at..].split_once('/') {
            Some((run, target)) if !target.is_empty() => {
                (&text[..run_at + run.len()], Some(target.to_owned()))
            }
            _ => (text, None),
        };
        Ok(Self { run: run.parse()?, target })
    }
}

/// One run with the targets that were asked for; none for all of them.
struct Chosen {
    reference: RunReference,
    run: StoredRun,
    targets: Option<Vec<String>>,
}

/// Loads each run once, however many of its targets are named: what took turns stays together.
fn chosen(wanted: &[Compared], flags: &GlobalFlags) -> Result<Vec<Chosen>, Failure> {
    let mut found: Vec<Chosen> = Vec::new();
    for Compared { run: reference, target } in wanted {
        let known = found.iter().position(|chosen| chosen.reference == *reference);
        let at = known.unwrap_or(found.len());
        if known.is_none() {
            let run = load(reference, &flags.db)?;
            found.push(Chosen { reference: reference.clone(), run, targets: Some(Vec::new()) });
        }
        let chosen = &mut found[at];
        match target {
            None => chosen.targets = None,
            Some(target) => {
                let known: Vec<&str> = chosen.run.header.targets.iter().map(|t| t.name.as_str()).collect();
                if !known.contains(&target.as_str()) {
                    return Err(Failure::usage(format!(
                        "RUN/TARGET: the run has no target '{target}'; it has {}",
                        known.join(", ")
                    )));
                }
                chosen.targets.iter_mut().for_each(|targets| targets.push(target.clone()));
            }
        }
    }
    Ok(found)
}

/// Compares runs or targets.
pub fn compare(args: &CompareArgs, flags: &GlobalFlags) -> Result<ExitCode, Failure> {
    let chosen = chosen(&args.runs, flags)?;
    let several = chosen.len() > 1;
    let of = |chosen: &Chosen| match &chosen.targets {
        None => run_data(&chosen.run, several),
        Some(targets) => {
            run_data(&chosen.run, several).only(|name| targets.iter().any(|wanted| wanted == name))
        }
    };
    let data: Vec<RunData> = chosen.iter().map(of).collect();
    if args.series {
        return series(&data, args);
    }
    if data.iter().map(|run| run.header.targets.len()).sum::<usize>() < 2 {
        return Err(Failure::usage(
            "RUN: one target alone has nothing to be compared with; name another run",
        ));
    }
    let equal = args.noise_baseline.iter().map(|run| load(run, &flags.db)).collect::<Result<Vec<_>, _>>()?;
    let equal: Vec<RunData> = equal.iter().map(|run| run_data(run, false)).collect();
    let mut spreads = Vec::new();
    for pair in equal.chunks_exact(2) {
        let few = || Failure::usage("--noise-baseline: the two runs share fewer than three positions");
        spreads.push(declared_equal_spread(&pair[0], &pair[1]).ok_or_else(few)?);
    }
    let options = Options {
        // Of several pairs the widest counts.
        equal_spread: spreads.into_iter().reduce(f64::max),
        link: args.link,
        weights: args.weights.as_deref().map(weights).transpose()?,
        axes: args.axes.as_ref().map_or(Vec::new(), |Axes(axes)| axes.to_vec()),
        ..Options::default()
    };
    let analysis = analyse(&data, &options);
    let code = print_out(&render(&analysis, args.format)?)?;
    match args.fail_if_slower {
        Some(limit) if is_slower(&analysis, limit) => Ok(ExitCode::from(SLOWER)),
        _ => Ok(code),
    }
}

/// True when a comparison's first system is slower than its second by more than `limit` for sure.
fn is_slower(analysis: &Analysis, limit: f64) -> bool {
    let edge = 1.0 - limit;
    analysis.comparisons.iter().any(|comparison| {
        let overall =
            comparison.overall.iter().map(|overall| (overall.summary.verdict, overall.summary.typical));
        let regions = comparison.differences.regions.iter().map(|region| (region.verdict, region.typical));
        let loads = comparison.sections.iter().flatten().map(|summary| (summary.verdict, summary.typical));
        overall.chain(regions).chain(loads).any(|(standing, typical)| {
            standing == RatioVerdict::Slower && typical.interval.is_some_and(|interval| interval.high < edge)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_follow_the_run_and_paths_may_hold_slashes() {
        let read = |text: &str| text.parse::<Compared>().map(|c| (c.run, c.target));
        let run = |text: &str| text.parse::<RunReference>().unwrap();
        assert_eq!(read("7"), Ok((run("7"), None)));
        assert_eq!(read("7/nfs"), Ok((run("7"), Some("nfs".into()))));
        assert_eq!(read("dir/A.db:last"), Ok((run("dir/A.db:last"), None)));
        assert_eq!(read("dir/A.db:last/a/b"), Ok((run("dir/A.db:last"), Some("a/b".into()))));
        assert!(read("nfs").is_err() && read("/nfs").is_err() && read("7/").is_err());
        assert_eq!(percent("5%"), Ok(0.05));
        assert!(percent("-1%").is_err() && percent("x").is_err());
        assert!(axes("a").is_err() && axes("a,a").is_err() && axes("a,b").is_ok());
    }
}
