//! Users of `load`: thousands of sessions with think time, the engine on the null target, and the cost of a transaction
//! compared with the same request in `depth`.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use sharebench_model::{Measure, RunEvent};
use sharebench_target::{
    Capabilities, Connecting, NullTarget, PolicyRefusal, PolicyTerms, SessionSpec, Target,
};

use crate::Failure;
use crate::client;
use crate::engine::{execute, resolve};
use crate::load_server::Served;
use crate::sample::{Sample, rss_kib};
use crate::table::{Bar, Opponent, Run, Spread, Table};

/// Think time of a user.
const THINK_S: f64 = 5.0;
/// Users of each protocol, and the limit of memory per user in KiB.
const CROWDS: [(&str, u32, f64); 3] = [("nfs", 10_000, 16.0), ("smb", 2_000, 32.0), ("ncp", 2_000, 16.0)];
/// Limit of the time in which all sessions start.
const START_BAR_S: f64 = 10.0;
/// Limit of the 99th percentile of late starts.
const LAG_BAR_MS: f64 = 2.0;
/// Minimum rate of transactions of one CPU on the null target.
const CLOSED_BAR: f64 = 1.5e6;
/// Rate of an open load on one CPU, and the limit of the 99th percentile of late starts.
const RATE: u32 = 200_000;
const RATE_LAG_BAR_MS: f64 = 1.0;
/// Users of the null target.
const POOL: u32 = 64;

/// Prints all tables of users.
pub fn measure(table: &mut Table, time: Duration) -> Result<(), Failure> {
    alone(table, time)?;
    // On two CPUs, waking the server's CPU costs more than the rest of the transaction.
    crate::machine::on_one_cpu(|| compare_with_depth(table, time))??;
    crowds(table)
}

/// Measures the engine on the null target, on one CPU.
fn alone(table: &mut Table, time: Duration) -> Result<(), Failure> {
    println!("\n### Transactions of one read on the null target, one processor, everything recorded\n");
    let each = |words: [&str; 2]| -> Result<Vec<Crowd>, Failure> {
        (0..table.rounds()).map(|_| crate::machine::on_one_cpu(|| crowd(&words, time))?).collect()
    };
    let closed = each(["null", "closed"])?;
    let open = each(["null", "open"])?;
    let spread = |all: &[Crowd], of: fn(&Crowd) -> f64| Spread::new(all.iter().map(of).collect());
    let rate = spread(&closed, |c| c.transactions as f64 * 1e9 / c.cpu_ns as f64);
    let verdict =
        table.verdict("closed transactions per CPU second", rate.median, Some(Bar::AtLeast(CLOSED_BAR)));
    println!("- {POOL} users without pauses: {} transactions per second of CPU {verdict}", rate.shown());
    let done = spread(&open, |c| c.transactions as f64 * 1e9 / c.window_ns as f64);
    let verdict =
        table.verdict("open transactions/s", done.median, Some(Bar::AtLeast(f64::from(RATE) * 0.98)));
    println!("- a schedule of {RATE}/s: {} transactions/s {verdict}", done.shown());
    let lag = spread(&open, Crowd::lag_ms);
    let verdict = table.verdict("lag p99 of the schedule", lag.median, Some(Bar::AtMost(RATE_LAG_BAR_MS)));
    println!("- its lag p99: {} ms {verdict}", lag.shown());
    Ok(())
}

/// Measures one user without think time and the same reads as a cell of `depth`: random 4 KiB in 16 MiB over NFSv3.
fn compare_with_depth(table: &mut Table, time: Duration) -> Result<(), Failure> {
    let served = Served::start("nfs")?;
    let url = served.url();
    Table::head(
        "A user's transactions of one 4 KiB read over NFSv3 and the same reads by depth; client and server on one CPU",
    );
    let ms = time.as_millis().to_string();
    let by =
        |kind: &str| client::run(Command::new(std::env::current_exe()?).args(["client", kind, &url, &ms]));
    let us: Run = Box::new(|| by("reads-of-load"));
    let depth = Opponent {
        name: "the same by depth",
        rate: Some(Bar::AtLeast(0.95)),
        cpu: Some(Bar::AtMost(1.05)),
        run: Box::new(|| by("reads-of-depth")),
    };
    table.contest("one user, no pauses", &us, &[depth])
}

/// Measures thousands of users with think time, each with a session.
fn crowds(table: &mut Table) -> Result<(), Failure> {
    println!("\n### Users who read 4 KiB, think {THINK_S} s and read again; server on the same machine\n");
    println!(
        "| {:<5} | {:>6} | {:<32} | {:<24} | {:<24} |",
        "over", "users", "KiB of memory per user", "lag p99 ms", "s until all began"
    );
    println!("|---|---:|---|---|---|");
    for (protocol, users, bar_kib) in CROWDS {
        let mut kib = Vec::new();
        let mut lag = Vec::new();
        let mut start = Vec::new();
        for _ in 0..table.rounds().min(3) {
            let few = {
                let served = Served::start(protocol)?;
                crowd(&[&served.url(), &(users / 10).to_string()], Duration::from_secs(6))?
            };
            let served = Served::start(protocol)?;
            let all = crowd(&[&served.url(), &users.to_string()], Duration::from_secs(6))?;
            kib.push((all.rss_kib as f64 - few.rss_kib as f64) / f64::from(users - users / 10));
            lag.push(all.lag_ms());
            start.push(all.login_s() + THINK_S);
        }
        let kib = Spread::new(kib);
        let lag = Spread::new(lag);
        let start = Spread::new(start);
        let mut judged = |what: &str, spread: Spread, bar: f64| {
            let verdict =
                table.verdict(&format!("{protocol}: {what}"), spread.median, Some(Bar::AtMost(bar)));
            format!("{} {verdict}", spread.shown())
        };
        println!(
            "| {protocol:<5} | {users:>6} | {:<32} | {:<24} | {:<24} |",
            judged("KiB per user", kib, bar_kib),
            judged("lag p99 ms", lag, LAG_BAR_MS),
            judged("seconds until all began", start, START_BAR_S),
        );
    }
    Ok(())
}

/// Result of a load with many users.
struct Crowd {
    transactions: u64,
    window_ns: u64,
    cpu_ns: u64,
    lag_ns: u64,
    login_ns: u64,
    rss_kib: u64,
}

impl Crowd {
    fn lag_ms(&self) -> f64 {
        self.lag_ns as f64 / 1e6
    }

    fn login_s(&self) -> f64 {
        self.login_ns as f64 / 1e9
    }
}

/// Runs the client program of a load with many users and parses its output.
fn crowd(words: &[&str; 2], time: Duration) -> Result<Crowd, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.args(["client", "crowd"]).args(words).arg(time.as_millis().to_string()).output()?;
    if !output.status.success() {
        return Err(format!("a crowd: {}", String::from_utf8_lossy(&output.stderr).trim()).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let numbers: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
    let &[transactions, window_ns, cpu_ns, lag_ns, login_ns, rss_kib] = numbers?.as_slice() else {
        return Err(format!("a crowd printed '{}'", text.trim()).into());
    };
    Ok(Crowd { transactions, window_ns, cpu_ns, lag_ns, login_ns, rss_kib })
}

/// Client program with the arguments `URL USERS MS`, or `null closed|open MS`.
pub fn run_crowd(words: &[String]) -> Result<(), Failure> {
    let [url, users, ms] = words else { return Err("a crowd wants: url users milliseconds".into()) };
    let target: Arc<dyn Target> =
        if url == "null" { Arc::new(NullTarget) } else { Arc::from(crate::ours::target(url)?) };
    let load = match (url.as_str(), users.as_str()) {
        ("null", "open") => {
            format!("users = [{POOL}]\narrivals = 'poisson'\nrates = [{RATE}]\nwarm_up = '200ms'")
        }
        ("null", _) => format!("users = [{POOL}]\nthink = '0s'\nwarm_up = '200ms'"),
        _ => format!("users = [{users}]\nthink = '{THINK_S}s'\nwarm_up = '{THINK_S}s'"),
    };
    let counted = Arc::new(Counted::over(target));
    let (measure, rss_kib) = watched(&load, ms, &counted)?;
    println!(
        "{} {} {} {} {} {rss_kib}",
        measure.transactions,
        measure.window_ns,
        measure.client_cpu.total_ns().max(1),
        measure.lag.quantile(0.99),
        counted.login_ns()
    );
    Ok(())
}

/// Client programs of one user, with the arguments `URL MS`.
pub fn run_reads(words: &[String], by_depth: bool) -> Result<Sample, Failure> {
    let [url, ms] = words else { return Err("reads want: url milliseconds".into()) };
    let target: Arc<dyn Target> = Arc::from(crate::ours::target(url)?);
    let measure = if by_depth {
        let depth = "file_size = '16MiB'\nrecord_sizes = ['4KiB']\ndepths = [1]\ntests = ['random-read']";
        let text = format!(
            "repetitions = 1\nseed = 1\nverify = 'off'\nmin_sample_time = '{ms}ms'\n[[target]]\nurl = '/x'\n[depth]\n{depth}\n"
        );
        step(&text, target)?
    } else {
        step(&plan("users = [1]\nthink = '0s'\nwarm_up = '200ms'", ms), target)?
    };
    let cpu_ns = measure.client_cpu.total_ns();
    Ok(Sample { operations: measure.operations, wall_ns: measure.window_ns, cpu_ns, peak_kib: 0 })
}

/// Returns a plan whose users read random 4 KiB in an open file of 16 MiB.
fn plan(load: &str, ms: &str) -> String {
    format!(
        "seed = 1\nverify = 'off'\n[[target]]\nurl = '/x'\n[load]\n{load}\nmeasure = '{ms}ms'\n[workload]\nname = 'reads'\n\
         [[workload.files]]\nname = 'data'\nsize = '16MiB'\n[[workload.transactions]]\noperations = ['read 4KiB random']\n"
    )
}

fn step(plan: &str, target: Arc<dyn Target>) -> Result<Measure, Failure> {
    let (events, received) = mpsc::channel();
    execute(&resolve(plan)?, target, &events)?;
    let finished = received.try_iter().find_map(|event| match event {
        RunEvent::StepFinished(step) => Some(step.measure),
        _ => None,
    });
    let measure = finished.ok_or("the engine finished no step")?;
    match measure.error_count() {
        0 if measure.transactions > 0 => Ok(measure),
        _ => Err(format!("{} transactions, errors: {:?}", measure.transactions, measure.errors).into()),
    }
}

/// Runs one step and measures the resident memory in the middle of its window.
fn watched(load: &str, ms: &str, target: &Arc<Counted>) -> Result<(Measure, u64), Failure> {
    let middle = Duration::from_secs_f64(THINK_S) + Duration::from_millis(ms.parse::<u64>()? / 2);
    let (ended, over) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let mut seen = vec![(Instant::now(), rss_kib())];
            while over.recv_timeout(Duration::from_millis(100)) == Err(mpsc::RecvTimeoutError::Timeout) {
                seen.push((Instant::now(), rss_kib()));
            }
            seen
        });
        let measure = step(&plan(load, ms), Arc::clone(target) as Arc<dyn Target>);
        drop(ended);
        let seen = watch.join().map_err(|_| "the watch panicked")?;
        let wanted = target.start + Duration::from_nanos(target.last_ns.load(Ordering::Relaxed)) + middle;
        let near = seen.iter().rfind(|(instant, _)| *instant <= wanted);
        Ok((measure?, near.map_or(0, |(_, kib)| *kib)))
    })
}

/// A target that records when its first and its last session were connected.
struct Counted {
    inner: Arc<dyn Target>,
    start: Instant,
    first_ns: AtomicU64,
    last_ns: AtomicU64,
}

impl Counted {
    fn over(inner: Arc<dyn Target>) -> Self {
        let first_ns = AtomicU64::new(0);
        let last_ns = AtomicU64::new(0);
        Self { inner, start: Instant::now(), first_ns, last_ns }
    }

    /// Time from the session of the engine, which is the first, to that of the last user.
    fn login_ns(&self) -> u64 {
        self.last_ns.load(Ordering::Relaxed).saturating_sub(self.first_ns.load(Ordering::Relaxed))
    }
}

impl Target for Counted {
    fn url(&self) -> String {
        self.inner.url()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn descriptors(&self) -> u32 {
        self.inner.descriptors()
    }

    fn policy(&self, wanted: sharebench_model::IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        self.inner.policy(wanted)
    }

    fn connect<'a>(&'a self, spec: &'a SessionSpec) -> Connecting<'a> {
        Box::pin(async move {
            let session = self.inner.connect(spec).await?;
            let now = self.start.elapsed().as_nanos() as u64;
            // The session of the engine is connected before that of the first user.
            let _ = self.first_ns.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
            self.last_ns.fetch_max(now, Ordering::Relaxed);
            Ok(session)
        })
    }
}
