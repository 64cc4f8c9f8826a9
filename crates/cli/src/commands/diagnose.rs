//! `sharebench diagnose`: why a share is slow, with the evidence and the setting to change.

use std::net::ToSocketAddrs;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use sharebench_diagnose::{
    DiagnoseError, Diagnosis, Experiment, Options, Variant, contrast, diagnose, to_json, variants,
};
use sharebench_engine::{StopSignal, directory_on};
use sharebench_model::units::parse_duration;
use sharebench_plan::url_of_typed_target;
use sharebench_target::TargetUrl;

use crate::commands::diagnose_text::{compared, next_step, text};
use crate::exit::Failure;
use crate::flags::login::LoginFlags;
use crate::flags::work_dir::WorkDirFlag;
use crate::monitoring::server_metrics::{ExporterUrl, ServerMetrics};
use crate::next_step::with_next_step;
use crate::output::{line, print_object, print_out, style};
use crate::run::environment::new_directory;
use crate::run::interrupts::Interrupts;
use crate::run::{named_targets, targets};

pub const DIAGNOSE_HELP: &str = "The command writes at most 60 MB into a directory of its own and removes it.
It never changes a setting of the server: experiments open sessions with
other options. Where nothing may be written, it reads the largest file that
it finds, without showing its name.

Examples:
  sharebench diagnose smb://alice@nas/share
  sharebench diagnose smb://alice@nas/share --against nfs://nas/export
  sharebench diagnose /mnt/nas --bypass nfs://nas/export
  sharebench diagnose nfs://nas/export --read-only --json";

/// Times in which a diagnosis is possible and useful.
const TIMES: std::ops::RangeInclusive<Duration> = Duration::from_secs(5)..=Duration::from_mins(10);

#[derive(Debug, Args)]
pub struct DiagnoseArgs {
    /// Share to diagnose: a path or URL.
    #[arg(value_parser = url_of_typed_target)]
    pub target: String,
    /// Diagnose another share as well, for half of the time, and explain the differences in words.
    #[arg(long, value_name = "TARGET", value_parser = url_of_typed_target)]
    pub against: Option<String>,
    /// The URL of the directory of a mount: diagnose it directly over the protocol as well, and explain the differences.
    #[arg(long, value_name = "URL", value_parser = url_of_typed_target, conflicts_with = "against")]
    pub bypass: Option<String>,
    /// Read the CPU load of the server once per second from a Prometheus exporter on it (`node_exporter`,
    /// `windows_exporter`, or one of the server process).
    #[arg(long, value_name = "URL")]
    pub server_metrics: Option<ExporterUrl>,
    /// Time of the diagnosis; a very slow share takes longer.
    #[arg(long = "for", value_name = "TIME", default_value = "45s", value_parser = duration)]
    pub time: Duration,
    /// Write nothing: read the largest file that is there.
    #[arg(long)]
    pub read_only: bool,
    /// Print the diagnosis as one JSON object (docs/schemas/diagnose-1.json).
    #[arg(long)]
    pub json: bool,
    /// Longest time of a log-in.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub timeout: Duration,
    #[command(flatten)]
    pub login: LoginFlags,
    #[command(flatten)]
    pub work_dir: WorkDirFlag,
}

fn duration(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if TIMES.contains(&time) { Ok(time) } else { Err("give a time from 5s to 10m".to_owned()) }
}

/// Diagnoses a share and prints the result.
pub fn run(args: &DiagnoseArgs) -> Result<ExitCode, Failure> {
    if !sharebench_diagnose::SUPPORTED {
        return Err(Failure::usage(
            "diagnose needs Linux: no other system reports the CPU time of single operations",
        ));
    }
    if args.timeout.is_zero() {
        return Err(Failure::usage("--timeout 0s: a log-in needs time"));
    }
    let login = &args.login.read()?;
    let typed = named_targets::url(&args.target)?;
    let url = TargetUrl::parse(&typed)?;
    let target = targets::open(&typed, login)?;
    let mut others: Vec<Variant> = Vec::new();
    for (experiment, url) in variants(&url).into_iter().chain(other_family(&url)) {
        match targets::open(&url.to_string(), login) {
            Ok(target) => others.push((experiment, target)),
            // An option that the other ones exclude, such as encrypt=required with an old dialect.
            Err(Failure::Usage(_)) => {}
            Err(failure) => return Err(failure),
        }
    }
    let against = args.against.as_ref().or(args.bypass.as_ref());
    let against = against.map(|url| targets::open(&named_targets::url(url)?, login)).transpose()?;
    if let Some(target) = &against {
        others.push((Experiment::Against, Arc::clone(target)));
    }
    let metrics = match &args.server_metrics {
        Some(url) => Some(
            ServerMetrics::open(url)
                .map_err(|why| Failure::usage(format!("--server-metrics {url}: {why}")))?,
        ),
        None => None,
    };
    let load = |from, to| metrics.as_ref()?.busy(from, to);
    let options = Options {
        time: if against.is_some() { args.time / 2 } else { args.time },
        read_only: args.read_only,
        directory: directory_on(&new_directory(args.work_dir.name()), 0),
        timeout: args.timeout,
        stop: StopSignal::default(),
    };
    let interrupts = Interrupts::catch()?;
    let (diagnosis, other) = {
        let _measuring = interrupts.measuring();
        let stop = options.stop.clone();
        let watched = interrupts.clone();
        let _watch = Watch::start(move || watched.count() > 0, stop);
        let diagnosis = diagnose(target.as_ref(), &others, &options, &load)?;
        let other =
            against.map(|target| diagnose(target.as_ref(), &[], &options, &|_, _| None)).transpose()?;
        (diagnosis, other)
    };
    show(&diagnosis, other.as_ref(), args.json)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a diagnosis and, of a comparison, the differences in words.
fn show(diagnosis: &Diagnosis, other: Option<&Diagnosis>, json: bool) -> Result<(), Failure> {
    let differences = other.map(|other| contrast(diagnosis, other)).unwrap_or_default();
    if json {
        let mut document = to_json(diagnosis);
        document["against"] = other.map(to_json).into();
        document["differences"] = differences.into();
        print_object(&document);
        return Ok(());
    }
    print_out(&text(diagnosis, style()))?;
    let Some(other) = other else {
        line(next_step(diagnosis));
        return Ok(());
    };
    print_out(&compared(&other.url, &differences, style()))?;
    print_out(&format!("\n{}", text(other, style()))).map(drop)
}

/// The same host by an address of the other family, if its name has addresses of both: first the address that a session
/// uses.
fn other_family(url: &TargetUrl) -> Option<(Experiment, TargetUrl)> {
    let port = url.port.unwrap_or(0);
    if url.scheme == "file" || url.host.parse::<std::net::IpAddr>().is_ok() {
        return None;
    }
    let addresses: Vec<_> =
        (url.host.as_str(), port).to_socket_addrs().ok()?.map(|address| address.ip()).collect();
    let first = addresses.first()?;
    let other = addresses.iter().find(|address| address.is_ipv4() != first.is_ipv4())?;
    let mut url = url.clone();
    url.host = other.to_string();
    Some((Experiment::AddressFamily, url))
}

/// A thread that passes signals on as a request to stop; it ends when this is dropped.
struct Watch(Arc<std::sync::atomic::AtomicBool>);

impl Watch {
    fn start(is_requested: impl Fn() -> bool + Send + 'static, stop: StopSignal) -> Self {
        const INTERVAL: Duration = Duration::from_millis(20);
        let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let ended = Arc::clone(&done);
        std::thread::spawn(move || {
            while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                if is_requested() {
                    stop.stop();
                    return;
                }
                std::thread::sleep(INTERVAL);
            }
        });
        Self(done)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

impl From<DiagnoseError> for Failure {
    fn from(error: DiagnoseError) -> Self {
        match error {
            DiagnoseError::Stopped => Self::Stopped,
            DiagnoseError::Connect(error) => Self::Target(with_next_step(&error)),
            DiagnoseError::Runtime(_) => Self::Internal(anyhow::Error::msg(error.to_string())),
            _ => Self::Target(error.to_string()),
        }
    }
}
