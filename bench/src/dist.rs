//! The static program of the packages compared with the same build for glibc: as a client and as a server of NFS and SMB,
//! and when it resolves a name.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use sharebench_tests::Program;
use sharebench_tests::plan_line::plan_of_line;
use sharebench_tests::program::{PATIENCE, free_ports};

use crate::Failure;
use crate::sample::{Sample, cpu_of_children};
use crate::table::{Bar, Opponent, Table};

/// The static build is as fast as the other within 5 %.
const RATE: Bar = Bar::AtLeast(0.95);
const CPU: Bar = Bar::AtMost(1.05);
const PASSWORD: [(&str, &str); 1] = [("SHAREBENCH_PASSWORD", "laboratory")];
/// Client and server get a processor each. Otherwise the scheduler puts them on one or on two by chance, which changes the CPU
/// time of an operation by more than the bars allow.
const CLIENT: [&str; 3] = ["taskset", "--cpu-list", "1"];
const SERVER: [&str; 3] = ["taskset", "--cpu-list", "0"];
/// Resolutions per measurement.
const NAMES: u64 = 10;

/// The two builds.
struct Builds {
    statically: PathBuf,
    glibc: PathBuf,
}

/// A server over memory on loopback.
struct Server {
    program: Program,
    smb: u16,
    nfs: u16,
}

/// What one measurement does.
struct Work {
    name: &'static str,
    /// The command and its flags, without target, times and results database.
    line: &'static str,
    /// Option or field of a plan with the measured time.
    time: &'static str,
}

const WORK: [Work; 5] = [
    Work {
        name: "4 KiB random read, depth 1",
        line: "depth --file-size 16MiB --record-sizes 4KiB --depths 1 --tests random-read --repetitions 1",
        time: "plan:min_sample_time",
    },
    Work {
        name: "4 KiB random read, depth 8",
        line: "depth --file-size 16MiB --record-sizes 4KiB --depths 8 --tests random-read --repetitions 1",
        time: "plan:min_sample_time",
    },
    Work {
        name: "1 MiB read, depth 8",
        line: "depth --file-size 64MiB --record-sizes 1MiB --depths 8 --tests read --repetitions 1",
        time: "plan:min_sample_time",
    },
    Work {
        name: "1 MiB write, depth 8",
        line: "depth --file-size 64MiB --record-sizes 1MiB --depths 8 --tests write --repetitions 1",
        time: "plan:min_sample_time",
    },
    // Users open, list and close: the operations that allocate.
    Work {
        name: "32 users, office",
        line: "load --preset office --users 32 --think 'exp 1ms' --scale 1MB --warm-up 200ms",
        time: "--measure",
    },
];

/// Measures the two builds alternately.
pub fn measure(table: &mut Table, scratch: &Path, time: Duration) -> Result<(), Failure> {
    let builds =
        Builds { statically: build("x86_64-unknown-linux-musl")?, glibc: build("x86_64-unknown-linux-gnu")? };
    let server = Server::start(&builds.glibc, scratch)?;
    for protocol in ["nfs", "smb"] {
        Table::head(&format!("Client over {protocol}, embedded server over memory (CPU of the client)"));
        for work in &WORK {
            let url = server.url(protocol, "127.0.0.1");
            let client = |program: &Path| client(program, scratch, &url, work, time);
            contest(table, work.name, &builds, &client)?;
        }
    }
    for protocol in ["nfs", "smb"] {
        Table::head(&format!("Server of {protocol} (CPU of the server)"));
        for work in &WORK[1..] {
            let serve = |program: &Path| served(program, &builds.glibc, scratch, protocol, work, time);
            contest(table, work.name, &builds, &serve)?;
        }
    }
    Table::head("Resolution of a name, with the start of the program and a login");
    for (name, host) in [("probe by address", "127.0.0.1"), ("probe by name", "localhost")] {
        let url = server.url("nfs", host);
        contest(table, name, &builds, &|program| probe(program, &url))?;
    }
    Ok(())
}

fn contest(
    table: &mut Table,
    name: &str,
    builds: &Builds,
    measure: &dyn Fn(&Path) -> Result<Sample, Failure>,
) -> Result<(), Failure> {
    let glibc = Opponent {
        name: "glibc",
        rate: Some(RATE),
        cpu: Some(CPU),
        run: Box::new(|| measure(&builds.glibc)),
    };
    let us: crate::table::Run<'_> = Box::new(|| measure(&builds.statically));
    table.contest(name, &us, &[glibc])
}

/// Measures a program as the client: the CPU time and the operations of its one step.
fn client(program: &Path, scratch: &Path, url: &str, work: &Work, time: Duration) -> Result<Sample, Failure> {
    let database = scratch.join("runs.db");
    let _ = std::fs::remove_file(&database);
    let line = format!(
        "{} {}={}ms --seed 1 --quiet --db {} {url}",
        work.line,
        work.time,
        time.as_millis(),
        database.display()
    );
    let line = match plan_of_line(&line.split(' ').collect::<Vec<_>>()) {
        Some((plan, rest)) => {
            let file = scratch.join("plan.toml");
            std::fs::write(&file, plan)?;
            format!("run {} {}", file.display(), rest.join(" "))
        }
        None => line.replace(url, &format!("'{url}'")),
    };
    let line = format!("exec {} \"$0\" {line}", CLIENT.join(" "));
    run(Command::new("sh").args(["-c", &line]).arg(program))?;
    let export = ["export", "last", "--format", "json", "--db"];
    let text = run(Command::new(program).args(export).arg(&database))?;
    let run: Value = serde_json::from_str(&text)?;
    let step = &run["steps"][0];
    let number = |value: &Value| value.as_u64().ok_or("the step lacks a figure");
    let cpu = &step["client_cpu"];
    let wall = if step["load"].is_null() { &step["busy_ns"] } else { &step["window_ns"] };
    Ok(Sample {
        operations: number(&step["operations"])?,
        wall_ns: number(wall)?,
        cpu_ns: number(&cpu["user_ns"])? + number(&cpu["kernel_ns"])?,
        peak_kib: 0,
    })
}

/// Measures a program as the server of `with`: its CPU time from its start to the end of the client.
fn served(
    program: &Path,
    with: &Path,
    scratch: &Path,
    protocol: &str,
    work: &Work,
    time: Duration,
) -> Result<Sample, Failure> {
    let server = Server::start(program, scratch)?;
    let before = server.cpu()?;
    let measured = client(with, scratch, &server.url(protocol, "127.0.0.1"), work, time)?;
    // The server also prepared the files, the same ones for both builds.
    Ok(Sample { cpu_ns: (server.cpu()? - before).as_nanos() as u64, ..measured })
}

/// Measures `probe`, which resolves the name, connects and ends.
fn probe(program: &Path, url: &str) -> Result<Sample, Failure> {
    let before = cpu_of_children();
    let started = Instant::now();
    for _ in 0..NAMES {
        run(Command::new(CLIENT[0]).args(&CLIENT[1..]).arg(program).args(["probe", url]))?;
    }
    let wall_ns = started.elapsed().as_nanos() as u64;
    let cpu_ns = cpu_of_children().saturating_sub(before).as_nanos() as u64;
    Ok(Sample { operations: NAMES, wall_ns, cpu_ns, peak_kib: 0 })
}

impl Server {
    fn start(program: &Path, scratch: &Path) -> Result<Self, Failure> {
        let [smb, nfs] = free_ports()?;
        let program = program.display().to_string();
        let addresses = [format!("--smb=127.0.0.1:{smb}"), format!("--nfs=127.0.0.1:{nfs}")];
        let serve = [&program, "serve", "--memory=512MiB", "--account=lab", &addresses[0], &addresses[1]];
        let line = [&SERVER[..], &serve].concat();
        let mut program = Program::start(&line, &PASSWORD, &scratch.join("serve.log"))?;
        program.wait_for_output("serving", PATIENCE)?;
        Ok(Self { program, smb, nfs })
    }

    fn url(&self, protocol: &str, host: &str) -> String {
        match protocol {
            "smb" => format!("smb://lab@{host}:{}/share/", self.smb),
            _ => format!("nfs://{host}:{0}/share/?mountport={0}", self.nfs),
        }
    }

    /// CPU time of the server, user and kernel (`proc(5)`: fields 14 and 15 of `stat`, in hundredths of a second).
    fn cpu(&self) -> Result<Duration, Failure> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.program.pid()))?;
        let fields = stat.rsplit(')').next().unwrap_or_default();
        let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
        let ticks: u64 = ticks.sum::<Result<u64, _>>()?;
        Ok(Duration::from_millis(ticks * 10))
    }
}

/// Runs a command and returns its standard output.
fn run(command: &mut Command) -> Result<String, Failure> {
    let output = command.envs(PASSWORD).output()?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?);
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?}: {}: {}", output.status, words.trim()).into())
}

/// Builds the program for a target as packages have it.
fn build(target: &str) -> Result<PathBuf, Failure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let directory = root.join("target/dist");
    let line =
        ["build", "--locked", "--quiet", "--profile", "dist", "--package", "sharebench", "--target", target];
    let done =
        Command::new("cargo").args(line).arg("--target-dir").arg(&directory).current_dir(&root).status()?;
    if done.success() {
        return Ok(directory.join(target).join("dist/sharebench"));
    }
    Err(format!("the program for {target} did not build").into())
}
