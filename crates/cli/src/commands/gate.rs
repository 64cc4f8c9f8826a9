//! `sharebench gate`: runs a plan, and compares it with the runs of the plan that passed before.

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use serde_json::json;
use sharebench_analysis::{
    Analysis, GateOptions, GateOutcome, GateVerdict, Options, Requirements, RunData, analyse, gate as judge,
    gate_calibration,
};
use sharebench_plan::ResolvedPlan;
use sharebench_report::plain;
use sharebench_results::{GateRun, RunId, RunReference, Store, WhichRun};

use crate::commands::compare::open_requirements;
use crate::exit::{Failure, INCONCLUSIVE, INVALID, SLOWER, STOPPED};
use crate::flags::gate_output::GateOutputFlags;
use crate::flags::percent::{percent, positive_percent};
use crate::flags::run_flags::RunFlags;
use crate::gate_output::{GateReport, OutputFiles};
use crate::output::{message, print_object, print_out};
use crate::run::measure::{Measured, Measurement};
use crate::run::plan_file::planned;
use crate::run::run_store::{LoadedRun, check_histograms, load, load_from, run_data, write_report};
use crate::run::same_plan::without_seed;
use crate::run::{ranks, targets};
use crate::system::host_name;

pub const GATE_HELP: &str = "Examples:
  sharebench gate nightly.toml
  sharebench gate nightly.toml --max-slower 5% --require-sharpness 5% --db /srv/lab/nightly.db --junit gate.xml
  sharebench gate nightly.toml --against 12      # accept the level of run 12: a new series starts
  sharebench gate nightly.toml --calibrate 8     # which limit can this machine hold?

The first run of a plan on a host is its baseline. Each later run is compared with the runs before it, unless they were
slower or invalid. docs/measure/gate.md explains the rule and has a workflow for CI.";

/// Most runs before that are compared: older ones no longer say how much today's runs scatter.
const MAX_RUNS_BEFORE: usize = 30;

#[derive(Debug, Args)]
pub struct GateArgs {
    /// Plan file.
    #[arg(value_name = "PLAN.toml")]
    pub plan: PathBuf,
    /// Compare with the runs of this plan on this host that were not slower (last-good), or with the run RUN alone; a run
    /// that passes against RUN starts a new series.
    #[arg(long, value_name = "last-good|RUN", default_value = "last-good")]
    pub against: Against,
    /// Exit with code 8 if a test is slower and a fall of PERCENT is not ruled out.
    #[arg(long, value_name = "PERCENT", value_parser = positive_percent, default_value = "5%")]
    pub max_slower: f64,
    /// Exit with code 9 if the comparison with the last good run would not detect a difference of PERCENT.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub require_sharpness: Option<f64>,
    /// Run the plan N times, and print the smallest limit for `--max-slower` that this machine can hold. The runs are not
    /// judged.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=100),
        conflicts_with_all = ["against", "require_sharpness", "report", "junit", "markdown", "github"])]
    pub calibrate: Option<u32>,
    /// Allow the plan to run its command (`pre_step_cmd`) on this machine; `sharebench run --check` shows the command.
    #[arg(long)]
    pub allow_pre_step_cmd: bool,
    #[command(flatten)]
    pub run: RunFlags,
    #[command(flatten)]
    pub output: GateOutputFlags,
}

/// What a run is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Against {
    /// The runs that were not slower.
    LastGood,
    /// One run, which the user names.
    Run(RunReference),
}

impl FromStr for Against {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "last-good" {
            return Ok(Self::LastGood);
        }
        let reference = text.parse().map(Self::Run);
        reference.map_err(|_| {
            format!("'{text}' names no run; write last-good, a number or 'last', with a file in front if needed: other.db:7")
        })
    }
}

/// The runs that a new one is compared with, found before it is measured.
enum Baseline {
    /// Runs that count, the oldest first; none for the first run.
    Good(Vec<RunId>),
    /// The run that the user names.
    Named(RunReference),
}

impl Baseline {
    /// Finds the runs. A reference to the last run means the last one before the run that the gate measures.
    fn find(args: &GateArgs, key: &GateKey) -> Result<Self, Failure> {
        let database = &args.run.output.database.db;
        match &args.against {
            Against::LastGood if !database.exists() => Ok(Self::Good(Vec::new())),
            Against::LastGood => {
                // Opened for writing, which creates the tables of an empty file.
                let mut runs = Store::open(database)?.gate_runs(&key.plan, &key.host)?;
                let old = runs.len().saturating_sub(MAX_RUNS_BEFORE);
                runs.drain(..old);
                Ok(Self::Good(runs))
            }
            Against::Run(reference) => {
                let named = |error| Failure::usage(format!("--against: {error}"));
                let store = reference.open(database).map_err(named)?;
                let run = reference.resolve(&store).map_err(named)?;
                Ok(Self::Named(RunReference { path: reference.path.clone(), which: WhichRun::Number(run) }))
            }
        }
    }

    fn load(&self, store: &Store) -> Result<Vec<LoadedRun>, Failure> {
        match self {
            Self::Good(runs) => runs.iter().map(|run| Ok(load_from(store, *run)?)).collect(),
            Self::Named(reference) => Ok(vec![load(reference, store.path())?]),
        }
    }
}

/// The identity of a gate: a plan on a host.
struct GateKey {
    /// The plan with all defaults, as TOML, without its seed, which differs from night to night.
    plan: String,
    host: String,
}

impl GateKey {
    fn from_plan(plan: &ResolvedPlan) -> Self {
        Self { plan: without_seed(&plan.typed), host: host_name() }
    }
}

/// Runs the plan, judges the run, writes the outputs, and records a run that counts.
pub fn gate(args: &GateArgs) -> Result<ExitCode, Failure> {
    ranks::alone("gate")?;
    let started = Instant::now();
    let plan = planned(&args.plan, args.allow_pre_step_cmd)?;
    if let Some(runs) = args.calibrate {
        return calibrate(&plan, runs, args);
    }
    let key = GateKey::from_plan(&plan);
    let files = OutputFiles::new(&args.output, &args.run.output);
    let report = |run: Option<RunId>, verdict: GateVerdict| GateReport {
        title: plan.title.clone(),
        host: key.host.clone(),
        run,
        store: args.run.output.database.db.clone(),
        seconds: started.elapsed().as_secs_f64(),
        verdict,
    };
    let measured = Baseline::find(args, &key).and_then(|baseline| Ok((measure(&plan, args)?, baseline)));
    let (mut measured, baseline) = match measured {
        Ok(measured) => measured,
        Err(failure) => {
            let why = failure.to_string();
            let written = files.write(&report(None, GateVerdict::invalid(args.max_slower, 0, why)));
            // The failure of the run matters more, and its code is the exit code.
            written.unwrap_or_else(message);
            return Err(failure);
        }
    };
    let verdict = match (measured.run, measured.invalid_reason()) {
        (Some(run), None) => verdict_on(run, &measured.store, &baseline, args)?,
        (None | Some(_), why) => {
            let why = why.unwrap_or_else(|| "no step was measured".to_owned());
            GateVerdict::invalid(args.max_slower, 0, why)
        }
    };
    // A level that the user names is accepted by a run that passes.
    let counts = match baseline {
        Baseline::Good(_) => verdict.outcome.counts(),
        Baseline::Named(_) => verdict.outcome == GateOutcome::Passed,
    };
    if let Some(run) = measured.run.filter(|_| counts) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        measured.store.record_gate_run(&GateRun {
            run,
            plan: key.plan.clone(),
            host: key.host.clone(),
            judged_unix_ms: since.as_millis() as u64,
            starts_series: matches!(baseline, Baseline::Named(_)),
        })?;
    }
    let code = if measured.was_stopped() { STOPPED } else { code_of(verdict.outcome) };
    files.write(&report(measured.run, verdict))?;
    measured.show_report(&args.run.output)?;
    Ok(ExitCode::from(code))
}

/// Measures a plan several times, and prints the smallest limit that its runs can hold.
fn calibrate(plan: &ResolvedPlan, runs: u32, args: &GateArgs) -> Result<ExitCode, Failure> {
    let mut measured_runs: Vec<RunData> = Vec::new();
    for number in 1..=runs {
        message(format!("calibrating: run {number} of {runs}"));
        let measured = measure(plan, args)?;
        if measured.was_stopped() {
            return Ok(ExitCode::from(STOPPED));
        }
        let (Some(run), None) = (measured.run, measured.invalid_reason()) else {
            let why = measured.invalid_reason().unwrap_or_else(|| "no step was measured".to_owned());
            message(format!("--calibrate: run {number} is invalid: {why}"));
            return Ok(ExitCode::from(INVALID));
        };
        measured_runs.push(run_data(load_from(&measured.store, run)?.run, true));
    }
    let calibration =
        gate_calibration(&measured_runs).map_err(|error| Failure::usage(format!("--calibrate: {error}")))?;
    if args.run.output.json {
        print_object(&json!({ "event": "calibration", "runs": runs, "calibration": calibration }));
        return Ok(ExitCode::SUCCESS);
    }
    print_out(&format!("CALIBRATION  {}\n", plain(&calibration.text)))
}

fn measure(plan: &ResolvedPlan, args: &GateArgs) -> Result<Measured, Failure> {
    let flags = &args.run;
    let targets = targets::open_all(plan, &flags.login.read()?)?;
    Measurement::new(plan, &targets)
        .in_directory(flags.work_dir.name())
        .monitored(&flags.monitoring)
        .run(&flags.output)
}

/// The exit code of an outcome.
fn code_of(outcome: GateOutcome) -> u8 {
    match outcome {
        GateOutcome::Passed => 0,
        GateOutcome::Inconclusive => INCONCLUSIVE,
        GateOutcome::Slower => SLOWER,
        GateOutcome::Invalid => INVALID,
    }
}

/// Compares a complete run with its baseline.
fn verdict_on(
    run: RunId,
    store: &Store,
    baseline: &Baseline,
    args: &GateArgs,
) -> Result<GateVerdict, Failure> {
    let mut loaded = baseline.load(store)?;
    loaded.push(load_from(store, run)?);
    let histograms: Vec<_> = loaded.iter().map(|loaded| Arc::clone(&loaded.histograms)).collect();
    let runs: Vec<RunData> = loaded.into_iter().map(|loaded| run_data(loaded.run, true)).collect();
    let analysis = analyse(&runs[runs.len().saturating_sub(2)..], &Options::default());
    let options = GateOptions { max_slower: args.max_slower, ..GateOptions::default() };
    let verdict = judge(&runs, &analysis, &options);
    check_histograms(&histograms)?;
    if let Some(path) = &args.run.report {
        write_report(&analysis, path)?;
    }
    let is_first = runs.len() < 2;
    Ok(if is_first { verdict } else { verdict.open_for(blunt(&analysis, args)) })
}

/// Why the comparison is not as sharp as `--require-sharpness` demands.
fn blunt(analysis: &Analysis, args: &GateArgs) -> Vec<String> {
    let sharp = Requirements { not_slower: None, sharpness: args.require_sharpness };
    open_requirements(analysis, &Requirements::default(), &sharp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn baseline_is_the_last_good_run_or_a_reference() {
        assert_eq!("last-good".parse(), Ok(Against::LastGood));
        let seven = "a.db:7".parse::<RunReference>().map(Against::Run).map_err(|error| error.to_string());
        assert_eq!("a.db:7".parse(), seven);
        let error = "good".parse::<Against>().map(|_| ()).map_err(|error| error.contains("last-good"));
        assert_eq!(error, Err(true));
    }

    #[test]
    fn each_outcome_has_its_exit_code() {
        let outcomes =
            [GateOutcome::Passed, GateOutcome::Slower, GateOutcome::Inconclusive, GateOutcome::Invalid];
        assert_eq!(outcomes.map(code_of), [0, 8, 9, 10]);
    }
}
