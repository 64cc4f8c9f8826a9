//! `sharebench demo`: a sweep and a load on embedded servers, in less than a minute.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use sharebench_model::units::{ByteSize, counted, show_seconds};
use sharebench_ncp::target::NcpTarget;
use sharebench_nfs::NfsTarget;
use sharebench_plan::{Load, Plan, PlannedTarget, ResolvedPlan, Sweep, Test, Think};
use sharebench_server::{EmbeddedServers, MemoryVolume, ServeOptions, Volume};
use sharebench_smb::SmbTarget;
use sharebench_target::{Secret, Target, TargetUrl};

use crate::exit::Failure;
use crate::flags::dashboard::DashboardFlags;
use crate::flags::monitoring::MonitoringFlags;
use crate::flags::output::OutputFlags;
use crate::output::line;
use crate::run::environment::new_seed;
use crate::run::measure::{Measurement, print_result};
use crate::run::ranks::alone;
use crate::run::run_summary::SummaryWords;
use crate::system::local_target;

const ACCOUNT: &str = "demo";
/// Users of the load, per step.
const USERS: [u32; 2] = [4, 16];

pub const DEMO_HELP: &str = "Example:
  sharebench demo            # less than a minute; then open the report";

/// The next command: the same for the user's own shares.
const YOUR_OWN: &str = "sharebench sweep smb://you@nas/share nfs://nas/export /mnt/nas";

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Write the HTML report to FILE.
    #[arg(long = "output", short = 'o', value_name = "FILE", default_value = "sharebench-demo.html")]
    pub report: PathBuf,
    #[command(flatten)]
    pub dashboard: DashboardFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// Runs the demo.
pub fn run(args: &DemoArgs) -> Result<ExitCode, Failure> {
    alone("demo")?;
    let password = Secret::new(format!("{:016x}", new_seed()));
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(1 << 30));
    let any_port = Some(([127, 0, 0, 1], 0).into());
    let accounts = vec![(ACCOUNT.to_owned(), password.clone())];
    let options =
        ServeOptions { smb: any_port, nfs: any_port, ncp: any_port, accounts, ..ServeOptions::default() };
    let servers = EmbeddedServers::start(&volume, &options).map_err(Failure::usage)?;
    let scratch = Scratch::new()?;

    let port = |protocol| servers.addr(protocol).map_or(0, |addr| addr.port());
    let planned = vec![
        target("smb", format!("smb://{ACCOUNT}@127.0.0.1:{}/share", port("smb"))),
        target("nfs", format!("nfs://127.0.0.1:{0}/share?mountport={0}", port("nfs"))),
        // Split records into several requests, as requesters of the time did.
        target("ncp", format!("ncp://{ACCOUNT}@127.0.0.1:{}/SHARE?split=on", port("ncp"))),
        target("local", scratch.0.display().to_string()),
    ];
    let targets: Vec<Arc<dyn Target>> = vec![
        Arc::new(SmbTarget::from_url(TargetUrl::parse(&planned[0].url)?, password.clone())?),
        Arc::new(NfsTarget::from_url(TargetUrl::parse(&planned[1].url)?)?),
        Arc::new(NcpTarget::from_url(TargetUrl::parse(&planned[2].url)?, password)?),
        local_target(TargetUrl::parse(&planned[3].url)?)?,
    ];
    let plan = plan(planned)?;
    if !args.output.quiet {
        line(announcement(&plan, &scratch.0));
    }
    let monitoring = MonitoringFlags { dashboard: args.dashboard, ..MonitoringFlags::default() };
    let measured = Measurement::new(&plan, &targets).monitored(&monitoring).run(&args.output)?;
    let code = print_result(&measured, Some(&args.report), &args.output, summary_words(&plan))?;
    servers.stop();
    drop(scratch);
    measured.serve_report(&args.output);
    Ok(code)
}

/// What the demo measures, and how long it takes with the preparation of files.
pub fn announcement(plan: &ResolvedPlan, directory: &Path) -> String {
    let seconds = plan.measured_time().least.as_secs_f64() * 1.5;
    let directory = directory.display();
    format!(
        "embedded SMB, NFSv3 and NCP servers over memory, and {directory}: about {}",
        show_seconds(seconds)
    )
}

/// What the summary states about the demo.
pub fn summary_words(plan: &ResolvedPlan) -> SummaryWords {
    let measured = format!(
        "embedded SMB, NFSv3 and NCP servers over memory on this machine: {} cells, {} repetitions, {} users; baseline: a \
         local directory",
        plan.cells.len(),
        plan.repeat.least,
        USERS.map(|users| users.to_string()).join(" and ")
    );
    SummaryWords { measured: Some(measured), cause: Some(cause), next: Some(YOUR_OWN) }
}

/// Why the demo is not sharper, on this machine.
fn cause(difference: f64) -> String {
    cause_on(std::thread::available_parallelism().map_or(1, NonZero::get), difference)
}

/// The same on a machine of that many CPUs.
pub fn cause_on(cpus: usize, difference: f64) -> String {
    let carry = if cpus == 1 { "carries" } else { "carry" };
    let percent = (difference * 100.0).ceil();
    let cpus = counted(cpus, "CPU");
    format!("{cpus} {carry} servers and client: differences below {percent} % are not visible")
}

fn target(name: &str, url: String) -> PlannedTarget {
    PlannedTarget { name: name.to_owned(), url }
}

/// A sweep and a load on the targets.
pub fn plan(targets: Vec<PlannedTarget>) -> Result<ResolvedPlan, Failure> {
    let sizes = |list: &[u64]| Some(list.iter().copied().map(ByteSize).collect());
    let sweep = Sweep {
        file_sizes: sizes(&[256 << 10, 2 << 20]),
        record_sizes: sizes(&[4 << 10, 64 << 10]),
        tests: Some(Test::USUAL.to_vec()),
        ..Sweep::default()
    };
    let load = Load {
        users: Some(USERS.to_vec()),
        think: Some(Think::Constant(Duration::from_millis(50))),
        warm_up: Some(Duration::from_millis(100)),
        measure: Some(Duration::from_millis(200)),
        scale: Some(ByteSize(5_600_000).into()),
        block: Some(ByteSize(100_000)),
        ..Load::default()
    };
    let plan = Plan {
        title: Some("demo".into()),
        seed: Some(new_seed()),
        repetitions: Some(6),
        min_sample_time: Some(Duration::from_millis(25)),
        targets,
        sweep: Some(sweep),
        load: Some(load),
        ..Plan::default()
    };
    Ok(plan.resolve()?)
}

/// A local directory for the demo, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("sharebench-demo-{:08x}", new_seed() as u32));
        std::fs::create_dir(&path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The engine has emptied it, or has reported the leftovers, which then stay.
        let _ = std::fs::remove_dir(&self.0);
    }
}
