//! `sharebench diagnose`: why a share is slow, with the evidence and the setting to change.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use sharebench_diagnose::{DiagnoseError, Experiment, Options, Variant, diagnose, to_json, variants};
use sharebench_engine::{StopSignal, directory_on};
use sharebench_model::units::parse_duration;
use sharebench_plan::target_url;
use sharebench_target::TargetUrl;

use crate::commands::diagnose_text::text;
use crate::exit::Failure;
use crate::flags::password::PasswordFlags;
use crate::output::{print_object, print_out, style};
use crate::run::environment::new_directory;
use crate::run::interrupts::Interrupts;
use crate::run::targets;

pub const DIAGNOSE_HELP: &str = "The command writes at most 60 MB into a directory of its own and removes it.
It never changes a setting of the server: experiments open sessions with
other options. Where nothing may be written, it reads the largest file that
it finds, without showing its name.

Examples:
  sharebench diagnose smb://alice@nas/share
  sharebench diagnose /mnt/nas --against nfs://nas/export
  sharebench diagnose nfs://nas/export --read-only --json";

/// Times in which a diagnosis is possible and useful.
const TIMES: std::ops::RangeInclusive<Duration> = Duration::from_secs(5)..=Duration::from_mins(10);

#[derive(Debug, Args)]
pub struct DiagnoseArgs {
    /// Share to diagnose: a path or URL.
    #[arg(value_parser = target_url)]
    pub target: String,
    /// Compare the throughput of reads with another path to the same files, such as the URL of a mounted share.
    #[arg(long, value_name = "TARGET", value_parser = target_url)]
    pub against: Option<String>,
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
    pub password: PasswordFlags,
}

fn duration(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if TIMES.contains(&time) { Ok(time) } else { Err("give a time from 5s to 10m".to_owned()) }
}

/// Diagnoses a share and prints the result.
pub fn run(args: &DiagnoseArgs) -> Result<ExitCode, Failure> {
    if args.timeout.is_zero() {
        return Err(Failure::usage("--timeout 0s: a log-in needs time"));
    }
    let password = args.password.file();
    let target = targets::open(&args.target, password)?;
    let mut others: Vec<Variant> = Vec::new();
    for (experiment, url) in variants(&TargetUrl::parse(&args.target)?) {
        match targets::open(&url.to_string(), password) {
            Ok(target) => others.push((experiment, target)),
            // An option that the other ones exclude, such as encrypt=required with an old dialect.
            Err(Failure::Usage(_)) => {}
            Err(failure) => return Err(failure),
        }
    }
    if let Some(url) = &args.against {
        others.push((Experiment::Against, targets::open(url, password)?));
    }
    let options = Options {
        time: args.time,
        read_only: args.read_only,
        directory: directory_on(&new_directory(), 0),
        timeout: args.timeout,
        stop: StopSignal::default(),
    };
    let interrupts = Interrupts::catch()?;
    let diagnosis = {
        let _measuring = interrupts.measuring();
        let stop = options.stop.clone();
        let watched = interrupts.clone();
        let _watch = Watch::start(move || watched.count() > 0, stop);
        diagnose(target.as_ref(), &others, &options)?
    };
    if args.json {
        print_object(&to_json(&diagnosis));
    } else {
        print_out(&text(&diagnosis, style()))?;
    }
    Ok(ExitCode::SUCCESS)
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
            DiagnoseError::Runtime(_) => Self::Internal(anyhow::Error::msg(error.to_string())),
            _ => Self::Target(error.to_string()),
        }
    }
}
