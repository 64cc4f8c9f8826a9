//! `load` and `presets`: users in steps, from flags, a built-in preset or a file of the user's own.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use sharebench_model::units::{ByteSize, parse_duration};
use sharebench_plan::{Arrivals, Load, Plan, Preset, ResolvedPlan, Slo, Think, Values, WORKLOADS};

use crate::commands::from_flags::{base, flat, resolve};
use crate::exit::Failure;
use crate::flags::measuring::MeasuringFlags;
use crate::run::loadfile;

/// Examples of `load --help`.
pub const LOAD_HELP: &str = "Examples:
  sharebench load smb://alice@nas/share --users 5,10,20 --think 1s --workload copy-all-bidirectional
  sharebench load smb://alice@nas/share --preset office
  sharebench load smb://alice@nas/share --preset copy-all-bidirectional --until-stress
  sharebench load smb://alice@nas/share --loadfile /usr/share/dbench/client.txt --users 1,10,50
  sharebench load smb://alice@nas/share --workload single-read --find-knee --slo 'p95<20ms,errors<0.1%'

A preset is a workload with its steps, pauses and windows (sharebench presets lists them); other flags replace
its values one by one. docs/loads.md says how to write a workload of your own.";

#[derive(Debug, Args)]
pub struct LoadArgs {
    /// Systems under test.
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<String>,
    /// A built-in plan of users, or a file with [load] and [workload]; other flags replace its values.
    #[arg(long, value_name = "NAME|FILE.toml", conflicts_with = "workload")]
    pub preset: Option<String>,
    /// Virtual users of each step [default: 1,2,5,10; with --arrivals constant or poisson 32].
    #[arg(long, value_delimiter = ',')]
    pub users: Option<Vec<Values<u32>>>,
    /// Users who share one session; the others wait where it carries no more requests at a time [default: 1].
    #[arg(long, value_name = "N")]
    pub users_per_session: Option<u32>,
    /// Who decides when the next transaction starts: closed (each user, after thinking), constant or poisson
    /// (a schedule at --rates, whatever the target does), or visits (users come at --rates, log on, perform --visit
    /// transactions with pauses, and log off) [default: closed].
    #[arg(long)]
    pub arrivals: Option<Arrivals>,
    /// Intended starts per second of all users together, or users that come per second, per step; with --arrivals.
    #[arg(long, value_delimiter = ',')]
    pub rates: Option<Vec<Values<u32>>>,
    /// Pause between a user's transactions: 1s, 'exp 1s', 'lognormal 1s 10s' (median and 95th percentile),
    /// 'list 1s 2s 5s', 'burst 10 100ms 5s' (transactions, pause within and between), or a pace: 'every 1s'
    /// [default: 1s].
    #[arg(long)]
    pub think: Option<Think>,
    /// Transactions of a visit, on average; with --arrivals visits [default: 10].
    #[arg(long, value_name = "TRANSACTIONS")]
    pub visit: Option<u32>,
    /// Users of a closed step begin one after another over this time of the warm-up [default: within one pause].
    #[arg(long, value_parser = parse_duration)]
    pub ramp: Option<Duration>,
    /// What users do, by the name of a preset, with the pauses and windows given here.
    #[arg(long)]
    pub workload: Option<String>,
    /// Replay a loadfile of dbench (client.txt): each user performs its operations in turn, again and again, in a
    /// directory of its own; at its time stamps, or without pauses where it has none or --think says so.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["preset", "workload", "scale"])]
    pub loadfile: Option<String>,
    /// Unmeasured start of a step [default: 2s].
    #[arg(long, value_parser = parse_duration)]
    pub warm_up: Option<Duration>,
    /// Measured part of a step [default: 10s].
    #[arg(long, value_parser = parse_duration)]
    pub measure: Option<Duration>,
    /// A step that is not steady goes on, each time for twice its window, at most this often, 0 to 3 [default: 0].
    #[arg(long)]
    pub max_extensions: Option<u32>,
    /// Bytes of the data set: of the shared files and one user's [default: the preset's].
    #[arg(long)]
    pub scale: Option<ByteSize>,
    /// Bytes per operation where the workload does not say [default: 100KB, 4KiB for single-read and single-write].
    #[arg(long)]
    pub block: Option<ByteSize>,
    /// Add steps until throughput falls by 5 %, at most 12.
    #[arg(long)]
    pub until_stress: bool,
    /// Search for the knee: the highest arrival rate at which the target meets --slo.
    #[arg(long, requires = "slo")]
    pub find_knee: bool,
    /// What a step must keep, such as 'p95<20ms,errors<0.1%'; also p50, p99.9, mean.
    #[arg(long, value_name = "OBJECTIVES")]
    pub slo: Option<Slo>,
    /// Leave the shared data set on the target, and use it again where it is found unchanged.
    #[arg(long)]
    pub keep_data: bool,
    #[command(flatten)]
    pub measuring: MeasuringFlags,
}

/// The plan of `sharebench load`.
pub fn plan(args: &LoadArgs) -> Result<ResolvedPlan, Failure> {
    let preset = match (&args.preset, &args.loadfile) {
        (Some(name), _) => preset(name)?,
        (None, Some(path)) => Plan { workload: Some(loadfile::workload(path)?), ..Plan::default() },
        (None, None) => Plan::default(),
    };
    let usual = preset.load.unwrap_or_default();
    let open = matches!(args.arrivals, Some(Arrivals::Constant | Arrivals::Poisson | Arrivals::Visits));
    // A preset's pauses and users mean nothing to a schedule, nor to a search that finds its own.
    let own_pace = open || args.find_knee;
    let load = Load {
        workload: args.workload.clone().or(usual.workload),
        users: flat(args.users.as_deref()).or(usual.users.filter(|_| !own_pace)),
        users_per_session: args.users_per_session.or(usual.users_per_session),
        arrivals: args.arrivals.or(usual.arrivals),
        rates: flat(args.rates.as_deref()).or(usual.rates),
        think: args.think.clone().or(usual.think.filter(|_| !own_pace)),
        visit: args.visit.or(usual.visit),
        ramp: args.ramp.or(usual.ramp),
        warm_up: args.warm_up.or(usual.warm_up),
        measure: args.measure.or(usual.measure),
        max_extensions: args.max_extensions.or(usual.max_extensions),
        scale: args.scale.or(usual.scale),
        block: args.block.or(usual.block),
        until_stress: args.until_stress.then_some(true).or(usual.until_stress),
        find_knee: args.find_knee.then_some(true).or(usual.find_knee),
        slo: args.slo.clone().or(usual.slo),
        keep_data: args.keep_data.then_some(true).or(usual.keep_data),
    };
    let title = args.preset.as_deref().or(args.loadfile.as_deref()).unwrap_or("load");
    resolve(&Plan {
        load: Some(load),
        workload: preset.workload,
        lines: preset.lines,
        ..base(title, &args.targets, &args.measuring)
    })
}

/// A preset by name, or a file of the same form.
fn preset(name: &str) -> Result<Plan, Failure> {
    if let Some(preset) = Preset::named(name) {
        return Ok(preset.plan()?);
    }
    if !name.contains(['/', '.']) {
        let known = WORKLOADS.map(|preset| preset.name).join(", ");
        return Err(Failure::usage(format!(
            "--preset {name}: no such preset; known are {known}, or a FILE.toml"
        )));
    }
    let text =
        std::fs::read_to_string(name).map_err(|error| Failure::usage(format!("--preset {name}: {error}")))?;
    let plan =
        Plan::parse(&text).map_err(|mistakes| Failure::usage(format!("--preset {name}: {mistakes}")))?;
    let plan = loadfile::read_into(plan, Path::new(name))?;
    if !plan.targets.is_empty() || plan.sweep.is_some() || plan.depth.is_some() {
        return Err(Failure::usage(format!(
            "--preset {name}: only [load] and [workload] belong into a preset; run whole plans by `sharebench run`"
        )));
    }
    Ok(plan)
}
