//! `sharebench load`: steps of virtual users, from options, a preset or a workload file.

use std::time::Duration;

use clap::Args;
use sharebench_model::units::{ByteSize, parse_duration};
use sharebench_plan::{Arrivals, Load, Plan, ResolvedPlan, Scale, Slo, Think, TypedTarget, Values};

use crate::commands::from_flags::{base, flat, preset_or_file, resolve};
use crate::exit::Failure;
use crate::flags::heading;
use crate::flags::plan_flags::PlanFlags;
use crate::flags::run_flags::RunFlags;
use crate::flags::short_help::{PASSWORD_FILE, REPORT, ShortHelp, VARY};
use crate::run::loadfile;
use crate::run::replay_pace::ReplayPace;

/// What `load -h` shows.
pub const LOAD_SHORT_HELP: ShortHelp = ShortHelp {
    options: &[
        ("preset", "Workload, steps and times of a preset"),
        ("users", "Users in each step, such as 5,10,20"),
        ("think", "Pause between transactions, such as 1s"),
        ("measure", "Measured window of each step"),
        ("repetitions", "Measure the series of steps N times"),
        ("until_stress", "Add steps until throughput falls"),
        ("find_knee", "Search the highest rate that meets --slo"),
        ("slo", "Objectives, such as 'p95<20ms'"),
        VARY,
        PASSWORD_FILE,
        REPORT,
    ],
    examples: "Examples:
  sharebench load smb://alice@nas/share --preset office --users 5,10,20
  sharebench load nfs://nas/export --preset copy --until-stress
  sharebench load nfs://nas/export --preset single --find-knee --slo 'p95<20ms'
All options, by groups: sharebench load --help",
};

/// Examples of `load --help`.
pub const LOAD_HELP: &str = "Examples:
  sharebench load smb://alice@nas/share --users 5,10,20 --think 1s --workload copy
  sharebench load smb://alice@nas/share --preset office
  sharebench load smb://alice@nas/share nfs://nas/export --preset office --users 5,10,20 --repetitions 6
  sharebench load smb://alice@nas/share --preset copy:files=binary,direction=to-server --until-stress
  sharebench load smb://alice@nas/share --loadfile /usr/share/dbench/client.txt --users 1,10,50
  sharebench load nfs://nas/export --loadfile mine.load --pace x2 --users 1
  sharebench load smb://alice@nas/share --workload single --find-knee --slo 'p95<20ms,errors<0.1%'

A preset is a workload with steps, think times and windows; `sharebench presets` lists them with their parameters.
Other options replace its values one by one. docs/measure/loads.md explains how to write a workload.";

#[derive(Debug, Args)]
pub struct LoadArgs {
    /// Targets to measure: PATH, URL, NAME=PATH or NAME=URL.
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<TypedTarget>,
    #[command(flatten)]
    pub load: LoadFlags,
    #[command(flatten)]
    pub run: RunFlags,
    #[command(flatten)]
    pub plan: PlanFlags,
}

/// The workload of a load, its steps and their windows.
#[derive(Debug, Args)]
#[command(next_help_heading = heading::WORKLOAD)]
pub struct LoadFlags {
    /// Use the workload, steps, think times and windows of a preset, or of a file with [load] and [workload]. A preset may have
    /// parameters: NAME:PARAMETER=VALUE,... Other options replace its values.
    #[arg(long, value_name = "NAME|FILE.toml", conflicts_with = "workload")]
    pub preset: Option<String>,
    /// Use only the workload of the preset NAME, which may have parameters.
    #[arg(long, value_name = "NAME")]
    pub workload: Option<String>,
    /// Replay a loadfile of dbench (client.txt). Each user repeats its operations in a directory of its own, at the times
    /// of the time stamps, or without pauses if it has none or if --think is given.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["preset", "workload", "scale"])]
    pub loadfile: Option<String>,
    /// Pace of the loadfile's time stamps: as-recorded, x2 (twice as fast; x0.01 to x1000), or closed (each operation when
    /// the one before has ended) [default: as-recorded, if it has time stamps].
    #[arg(long, value_name = "PACE", requires = "loadfile", conflicts_with_all = ["think", "arrivals", "find_knee"])]
    pub pace: Option<ReplayPace>,
    /// Number of virtual users in each step [default: 1,2,5,10; with --arrivals constant or poisson: 32].
    #[arg(long, value_name = "USERS", value_delimiter = ',')]
    pub users: Option<Vec<Values<u32>>>,
    /// Load model: closed (each user starts its next transaction after its think time), constant or poisson (open:
    /// transactions start at --rates, whatever the target does), or visits (users arrive at --rates, log in, perform 10
    /// transactions on average and log out) [default: closed].
    #[arg(long, value_name = "MODEL")]
    pub arrivals: Option<Arrivals>,
    /// Arrival rate of each step, in transactions or visits per second of all users together; with --arrivals.
    #[arg(long, value_name = "RATES", value_delimiter = ',')]
    pub rates: Option<Vec<Values<u32>>>,
    /// Think time between two transactions of a user: 1s, 'exp 1s', 'lognormal 1s 10s' (median, 95th percentile), 'list 1s 2s
    /// 5s', 'burst 10 100ms 5s' (transactions per burst, pause within, pause between), or a pace: 'every 1s' [default: 1s].
    #[arg(long, value_name = "TIME")]
    pub think: Option<Think>,
    /// Warm-up of each step, which is not measured [default: 2s].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub warm_up: Option<Duration>,
    /// Measured window of each step [default: 10s].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub measure: Option<Duration>,
    /// Size of the data set: of the shared files and the files of one user, such as 24.2MB; or a share of the data set of
    /// the preset, such as 1% [default: as in the preset].
    #[arg(long, value_name = "SIZE|PERCENT")]
    pub scale: Option<Scale>,
    /// Bytes per operation where the workload does not define them [default: 100KB; single: 4KiB].
    #[arg(long, value_name = "SIZE")]
    pub block: Option<ByteSize>,
    /// Keep the shared data set on the target, and reuse it if it is unchanged.
    #[arg(long)]
    pub keep_data: bool,
    /// Measure the series of steps N times. Targets take turns at each step, in random order. Verdicts need 6 repetitions
    /// or more [default: 1].
    #[arg(long, value_name = "N", conflicts_with = "find_knee", help_heading = heading::REPETITION)]
    pub repetitions: Option<u32>,
    /// Extend a step that has not reached steady state, doubling the window, at most N times (0 to 3) [default: 0].
    #[arg(long, value_name = "N", help_heading = heading::REPETITION)]
    pub max_extensions: Option<u32>,
    /// Add steps with more users until throughput falls by 5 %, at most 12 steps.
    #[arg(long, help_heading = heading::REPETITION)]
    pub until_stress: bool,
    /// Search for the knee: the highest arrival rate at which the target meets --slo.
    #[arg(long, requires = "slo", help_heading = heading::REPETITION)]
    pub find_knee: bool,
    /// Objectives that every step must meet, such as 'p95<20ms,errors<0.1%'; also p50, p99.9, mean.
    #[arg(long, value_name = "OBJECTIVES", help_heading = heading::REPETITION)]
    pub slo: Option<Slo>,
}

/// The plan of `sharebench load`.
pub fn plan(args: &LoadArgs) -> Result<ResolvedPlan, Failure> {
    let flags = &args.load;
    let mut preset = match (&flags.preset, &flags.loadfile) {
        (Some(name), _) => preset_or_file("--preset", name)?,
        (None, Some(path)) => Plan { workload: Some(loadfile::workload(path)?), ..Plan::default() },
        (None, None) => Plan::default(),
    };
    if !preset.targets.is_empty()
        || preset.sweep.is_some()
        || preset.depth.is_some()
        || preset.io500.is_some()
    {
        let name = flags.preset.as_deref().unwrap_or_default();
        return Err(Failure::usage(format!(
            "--preset {name}: a preset contains only [load] and [workload]; use `sharebench run` for a whole plan"
        )));
    }
    let usual = preset.load.take().unwrap_or_default();
    let pace = flags.pace.zip(preset.workload.as_mut()).map(|(pace, workload)| pace.apply(workload));
    let open = matches!(flags.arrivals, Some(Arrivals::Constant | Arrivals::Poisson | Arrivals::Visits));
    // An arrival schedule and a search choose users and think times themselves, so those of a preset do not apply.
    let own_pace = open || flags.find_knee;
    let load = Load {
        workload: flags.workload.clone().or(usual.workload),
        users: flat(flags.users.as_deref()).or(usual.users.filter(|_| !own_pace)),
        users_per_session: usual.users_per_session,
        arrivals: flags.arrivals.or(usual.arrivals),
        rates: flat(flags.rates.as_deref()).or(usual.rates),
        think: flags.think.clone().or(pace).or(usual.think.filter(|_| !own_pace)),
        visit: usual.visit,
        ramp: usual.ramp,
        warm_up: flags.warm_up.or(usual.warm_up),
        measure: flags.measure.or(usual.measure),
        max_extensions: flags.max_extensions.or(usual.max_extensions),
        scale: flags.scale.map(|scale| scale.applied_to(usual.scale)).or(usual.scale),
        block: flags.block.or(usual.block),
        until_stress: flags.until_stress.then_some(true).or(usual.until_stress),
        find_knee: flags.find_knee.then_some(true).or(usual.find_knee),
        slo: flags.slo.clone().or(usual.slo),
        keep_data: flags.keep_data.then_some(true).or(usual.keep_data),
        keep_users: usual.keep_users,
    };
    let title = preset.title.as_deref().or(flags.loadfile.as_deref()).unwrap_or("load");
    resolve::<LoadArgs>(&Plan {
        repetitions: flags.repetitions.or(preset.repetitions),
        load: Some(load),
        workload: preset.workload,
        lines: preset.lines,
        ..base(title, &args.targets, &args.plan)?
    })
}
