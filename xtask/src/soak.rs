//! `cargo xtask soak MINUTES PROGRAM` runs a mixed, verified load on every protocol at once and prints resource growth.

use std::fs;
use std::io::{self, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Interval between two readings of each process.
const INTERVAL: Duration = Duration::from_secs(5);
/// Users of each load.
const USERS: &str = "4";
/// Password of the servers, which listen on loopback and exist only during the soak.
const PASSWORD: &str = "soak";
const MIB: f64 = 1_048_576.0;

/// Name and workload of each load.
const LOADS: [(&str, &str); 5] = [
    ("SMB", "office"),
    ("NFS", "fsct-homefolders"),
    ("NCP on TCP", "copy"),
    ("NCP on UDP, bursts", "office"),
    ("NCP on IPX in UDP", "office"),
];

/// Resources of a process at one instant.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    /// Resident memory in bytes.
    memory: f64,
    descriptors: f64,
    threads: f64,
}

/// A process with its readings; dropping it kills the process.
struct ObservedProcess {
    name: String,
    child: Child,
    readings: Vec<Reading>,
}

impl Drop for ObservedProcess {
    fn drop(&mut self) {
        // Killing fails if the process has exited, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl ObservedProcess {
    fn start(name: &str, directory: &Path, program: &str, line: &[&str]) -> io::Result<Self> {
        let log = fs::File::create(directory.join(format!("{}.log", name.replace([' ', ','], "-"))))?;
        let child = Command::new(program)
            .args(line)
            .current_dir(directory)
            .env("SHAREBENCH_PASSWORD", PASSWORD)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        Ok(Self { name: name.to_owned(), child, readings: Vec::new() })
    }

    /// Adds a reading, unless the process has exited.
    fn read(&mut self) {
        let process = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = fs::read_to_string(process.join("status")).unwrap_or_default();
        let field = |name: &str| -> Option<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let descriptors = fs::read_dir(process.join("fd")).map(Iterator::count);
        if let (Some(memory), Some(threads), Ok(descriptors)) =
            (field("VmRSS:"), field("Threads:"), descriptors)
        {
            self.readings.push(Reading { memory: memory * 1024.0, descriptors: descriptors as f64, threads });
        }
    }

    /// Returns the means of the second and of the last quarter; the first quarter is the warm-up.
    fn quarters(&self) -> (Reading, Reading) {
        let quarter = self.readings.len() / 4;
        let mean = |readings: &[Reading]| {
            let count = readings.len().max(1) as f64;
            let sum = |get: fn(&Reading) -> f64| readings.iter().map(get).sum::<f64>() / count;
            Reading {
                memory: sum(|r| r.memory),
                descriptors: sum(|r| r.descriptors),
                threads: sum(|r| r.threads),
            }
        };
        (
            mean(self.readings.get(quarter..2 * quarter).unwrap_or_default()),
            mean(self.readings.get(3 * quarter..).unwrap_or_default()),
        )
    }
}

/// Runs the soak and writes the figures as a table.
pub fn run(minutes: u64, program: &str, out: &mut impl Write) -> io::Result<()> {
    let program = fs::canonicalize(program)?.display().to_string();
    let directory = std::env::temp_dir().join(format!("sharebench-soak-{}", std::process::id()));
    fs::create_dir(&directory)?;
    let done = soak(minutes, &program, &directory, out);
    if done.is_ok() {
        fs::remove_dir_all(&directory)?;
    } else {
        writeln!(out, "logs and results databases are in {}", directory.display())?;
    }
    done
}

fn soak(minutes: u64, program: &str, directory: &Path, out: &mut impl Write) -> io::Result<()> {
    let ports: Vec<String> = (0..4).map(|_| free_port()).collect::<io::Result<_>>()?;
    let at = |port: usize| format!("127.0.0.1:{}", ports[port]);
    let smb = at(0);
    let nfs = at(1);
    let ncp = at(2);
    let ipx = at(3);
    fs::create_dir(directory.join("served"))?;
    let serve = ["serve", "served", "--smb", &smb, "--nfs", &nfs, "--ncp", &ncp, "--ncp-ipx", &ipx];
    let serve = [&serve[..], &["--account", "soak"]].concat();
    let mut observed = vec![ObservedProcess::start("serve", directory, program, &serve)?];
    while !fs::read_to_string(directory.join("serve.log"))?.contains("serving") {
        if observed[0].child.try_wait()?.is_some() {
            return Err(io::Error::other("the server did not start"));
        }
        sleep(Duration::from_millis(50));
    }
    let urls = [
        format!("smb://soak@{smb}/share"),
        format!("nfs://{nfs}/share?mountport={}", ports[1]),
        format!("ncp://soak@{ncp}/SHARE"),
        format!("ncp://soak@{ncp}/SHARE?transport=udp&burst=on"),
        format!("ncp://soak@{ipx}/SHARE?transport=ipx&split=on"),
    ];
    let measure = format!("{}s", minutes * 60);
    for (number, ((name, preset), url)) in LOADS.iter().zip(&urls).enumerate() {
        let db = format!("{number}.db");
        let line =
            ["load", url, "--preset", preset, "--users", USERS, "--scale", "2MB", "--think", "exp:20ms"];
        let line = [&line[..], &["--block", "1KiB", "--verify", "full", "--warm-up", "5s"]].concat();
        let line = [&line[..], &["--measure", &measure, "--db", &db, "--quiet"]].concat();
        observed.push(ObservedProcess::start(name, directory, program, &line)?);
    }
    let end = Instant::now() + Duration::from_secs(minutes * 60);
    while Instant::now() < end {
        sleep(INTERVAL);
        for process in &mut observed {
            process.read();
            // Loads measure a little longer than this loop lasts.
            if process.child.try_wait()?.is_some_and(|status| !status.success()) {
                return Err(io::Error::other(format!("{} exited", process.name)));
            }
        }
    }
    for load in observed.iter_mut().skip(1) {
        if !load.child.wait()?.success() {
            return Err(io::Error::other(format!("the load over {} failed", load.name)));
        }
    }
    table(&observed, program, directory, out)
}

fn table(
    observed: &[ObservedProcess],
    program: &str,
    directory: &Path,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(
        out,
        "| process | workload | memory, 2nd and last quarter | descriptors | threads | transactions | failures | bytes verified |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|")?;
    for (number, process) in observed.iter().enumerate() {
        let (early, late) = process.quarters();
        let work = if number == 0 {
            ("all of it".to_owned(), ["", "", ""].map(str::to_owned))
        } else {
            let (_, preset) = LOADS[number - 1];
            (preset.to_owned(), outcome(program, directory, number - 1)?)
        };
        let (workload, [transactions, failures, verified]) = work;
        writeln!(
            out,
            "| {} | {workload} | {:.1} MiB, {:.1} MiB ({:+.1} %) | {:.1}, {:.1} | {:.1}, {:.1} | {transactions} | {failures} | {verified} |",
            process.name,
            early.memory / MIB,
            late.memory / MIB,
            (late.memory / early.memory - 1.0) * 100.0,
            early.descriptors,
            late.descriptors,
            early.threads,
            late.threads,
        )?;
    }
    Ok(())
}

/// Returns transactions, failures and verified bytes of a load's only step, from its results database.
fn outcome(program: &str, directory: &Path, number: usize) -> io::Result<[String; 3]> {
    let line = ["export", "1", "--format", "json", "--db", &format!("{number}.db")];
    let json = Command::new(program).args(line).current_dir(directory).output()?.stdout;
    let json: String = String::from_utf8_lossy(&json).split_whitespace().collect();
    let steps = json.split_once("\"steps\":[").map_or("", |(_, steps)| steps);
    let after = |name: &str| steps.split_once(&format!("\"{name}\":")).map(|(_, rest)| rest);
    let number = |name: &str| {
        // Objects of that name are not followed by a number.
        let field = format!("\"{name}\":");
        let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
        steps.split(&field).skip(1).map(digits).find(|digits| !digits.is_empty()).unwrap_or_default()
    };
    let failures = after("errors").and_then(|rest| rest.strip_prefix('{')?.split_once('}'));
    let failures = failures.map_or("unknown", |(inside, _)| if inside.is_empty() { "none" } else { inside });
    Ok([number("transactions"), failures.replace('"', ""), number("verified_bytes")])
}

fn free_port() -> io::Result<String> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port().to_string())
}

#[cfg(test)]
mod tests {
    use super::{ObservedProcess, Reading};

    #[test]
    fn growth_compares_the_second_and_the_last_quarter() {
        let child = std::process::Command::new("true").spawn().unwrap();
        let readings = (0..8).map(|n| Reading { memory: f64::from(n), ..Reading::default() }).collect();
        let observed = ObservedProcess { name: "x".into(), child, readings };
        let (early, late) = observed.quarters();
        assert_eq!((early.memory, late.memory), (2.5, 6.5));
    }
}
