//! Creating, looking up and removing files compared with mdtest: over NFS with libnfs on NFS-Ganesha, and locally.
//!
//! Debian has no mdtest. `MDTEST=PROGRAM` names one that was built from its public repository with `--with-libnfs`.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use sharebench_model::{MetaOp, MetaYield, OpenHow, Slot};
use sharebench_target::{Session, SessionSpec, call};
use sharebench_tests::{Ganesha, GaneshaOptions};

use crate::Failure;
use crate::client;
use crate::ours;
use crate::sample::{self, Sample};
use crate::table::{Bar, Opponent, Run, Table};
use crate::usage::Usage;

/// Files of a run over NFS, and of a local one: a file takes a microsecond there, and the start of mdtest's process some milliseconds.
const FILES: u64 = 10_000;
const LOCAL_FILES: u64 = 50_000;
/// Operations in flight over NFS; mdtest has one.
const DEPTH: u32 = 32;
/// The phases, the option of mdtest for each, and the line of its output with the rate.
const PHASES: [(&str, &str, &str); 3] =
    [("create", "-C", "File creation"), ("stat", "-T", "File stat"), ("unlink", "-r", "File removal")];

/// The program `MDTEST` names; none if it names none.
fn program() -> Option<OsString> {
    let program = std::env::var_os("MDTEST");
    if program.is_none() {
        println!("\nmdtest is not compared: MDTEST names no program.");
    }
    program
}

/// Prints the table of files over NFS. `scratch` is a local directory.
pub fn measure(table: &mut Table, scratch: &Path) -> Result<(), Failure> {
    let Some(program) = program() else { return Ok(()) };
    let ganesha = Ganesha::start(&GaneshaOptions::default())?;
    let url = ganesha.url("", "uid=0&gid=0");
    let mount = format!(
        // mdtest takes what follows the last slash of the path for a file.
        "--libnfs.url=nfs://127.0.0.1{}/?version=3&nfsport={}&mountport={}",
        ganesha.export(),
        ganesha.port(),
        ganesha.mount_port()
    );
    Table::head(&format!("{FILES} files on NFS-Ganesha: {DEPTH} operations in flight, and mdtest on libnfs"));
    let words = vec!["-a".to_owned(), "LIBNFS".to_owned(), mount];
    let theirs = Mdtest { program, words, top: PathBuf::from("/"), scratch, files: FILES };
    contest(table, (&url, DEPTH), &theirs, (None, Some(Bar::AtMost(0.5))))
}

/// Prints the table of local files in `scratch`.
pub fn measure_local(table: &mut Table, scratch: &Path) -> Result<(), Failure> {
    let Some(program) = program() else { return Ok(()) };
    Table::head(&format!("{LOCAL_FILES} local files: one operation in flight, and mdtest"));
    let ours = scratch.to_str().ok_or("the directory is not UTF-8")?;
    let theirs = Mdtest { program, words: Vec::new(), top: scratch.to_owned(), scratch, files: LOCAL_FILES };
    contest(table, (ours, 1), &theirs, (Some(Bar::AtLeast(1.0)), None))
}

/// Measures each phase. The bars are those of the rate and of the CPU time.
///
/// Each run has a directory of its own, and those of creates leave their files: ext4 passes over the inodes of files that were
/// removed within the last minutes, one by one, so that a create after a removal takes ten times as long, whoever removed.
fn contest(
    table: &mut Table,
    (url, depth): (&str, u32),
    theirs: &Mdtest<'_>,
    (rate, cpu): (Option<Bar>, Option<Bar>),
) -> Result<(), Failure> {
    for (phase, ..) in PHASES {
        let number = Cell::new(0);
        let us: Run = Box::new(|| {
            let mut command = Command::new(std::env::current_exe()?);
            number.set(number.get() + 1);
            let directory = format!("ours-{phase}-{}", number.get());
            let files = theirs.files.to_string();
            client::run(command.args(["client", "phase", url, phase, &directory, &depth.to_string(), &files]))
        });
        let its: Run = Box::new(|| theirs.run(phase, number.get()));
        let opponents = [Opponent { name: "mdtest", rate, cpu, run: its }];
        table.contest(phase, &us, &opponents)?;
    }
    Ok(())
}

/// How mdtest is started.
struct Mdtest<'a> {
    program: OsString,
    /// Those that name the file system.
    words: Vec<String>,
    /// The directory in which its own are.
    top: PathBuf,
    /// A local directory for its output.
    scratch: &'a Path,
    files: u64,
}

impl Mdtest<'_> {
    /// Runs mdtest up to the end of a phase in the directory of this number. The rate is the one that it prints, the CPU time
    /// that of its process without its start.
    fn run(&self, phase: &str, number: u32) -> Result<Sample, Failure> {
        let directory = self.top.join(format!("theirs-{phase}-{number}"));
        let output = self.scratch.join("mdtest.out");
        let needed = PHASES.iter().filter(|(name, ..)| *name == phase || *name == "create");
        let mut sample = None;
        for (name, option, line) in needed {
            let mut command = Command::new(&self.program);
            command.args(&self.words).arg("-d").arg(&directory);
            command.args(["-F", "-n", &self.files.to_string(), option]);
            let usage = Usage::writing(&mut command, File::create(&output)?.into())?;
            if *name == phase {
                let rate = printed_rate(&std::fs::read_to_string(&output)?, line)
                    .ok_or_else(|| format!("mdtest prints no rate of {line}"))?;
                sample = Some((usage, rate));
            }
        }
        let (usage, rate) = sample.ok_or("no such phase")?;
        let cpu_s = (usage.cpu_s - start_up(&self.program)?.cpu_s).max(0.0);
        Ok(Sample {
            operations: self.files,
            wall_ns: (self.files as f64 / rate * 1e9) as u64,
            cpu_ns: (cpu_s * 1e9) as u64,
            peak_kib: 0,
        })
    }
}

/// The first number of a line of mdtest's summary: operations per second.
fn printed_rate(output: &str, line: &str) -> Option<f64> {
    let figures = output.lines().find_map(|found| found.trim_start().strip_prefix(line))?;
    figures.split_whitespace().next()?.parse().ok().filter(|rate| *rate > 0.0)
}

/// What mdtest uses without any file: MPI begins and ends.
fn start_up(program: &OsStr) -> Result<Usage, Failure> {
    Usage::from_command(Command::new(program).args(["-a", "DUMMY", "-d", "/nothing", "-F", "-n", "1", "-T"]))
}

/// Main function of the client: performs a phase on new files.
pub fn phase(url: &str, phase: &str, directory: &str, depth: u32, files: u64) -> Result<Sample, Failure> {
    let target = ours::target(url)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let spec = SessionSpec { slots: depth, slot_bytes: 4096, ..SessionSpec::default() };
        let mut session = target.connect(&spec).await?;
        call(&mut *session, MetaOp::MakeDir { path: directory.to_owned() }).await?;
        let mut sample = None;
        for (name, ..) in PHASES.iter().filter(|(name, ..)| *name == phase || *name == "create") {
            let started = Instant::now();
            let cpu = sample::cpu();
            perform(&mut *session, name, directory, depth, files).await?;
            if *name == phase {
                let cpu_ns = sample::cpu().saturating_sub(cpu).as_nanos() as u64;
                let wall_ns = started.elapsed().as_nanos() as u64;
                sample = Some(Sample { operations: files, wall_ns, cpu_ns, peak_kib: 0 });
            }
        }
        session.close().await;
        sample.ok_or_else(|| "no such phase".into())
    })
}

/// The first operation of a phase on a file.
fn operation(phase: &str, directory: &str, file: u64) -> MetaOp {
    let path = format!("{directory}/file.mdtest.0.{file}");
    match phase {
        "create" => MetaOp::open(path, OpenHow::CreateNew),
        "stat" => MetaOp::Stat { path },
        _ => MetaOp::Remove { path },
    }
}

/// The operation that follows, if there is one: a new file is closed.
fn following(done: &MetaYield) -> Option<MetaOp> {
    match *done {
        MetaYield::Opened { file, .. } => Some(MetaOp::Close { file }),
        _ => None,
    }
}

/// Performs a phase on all files, with `depth` of them in progress.
async fn perform(
    session: &mut dyn Session,
    phase: &str,
    directory: &str,
    depth: u32,
    files: u64,
) -> Result<(), Failure> {
    if depth == 1 {
        for file in 0..files {
            let done = call(session, operation(phase, directory, file)).await?;
            if let Some(next) = following(&done) {
                call(session, next).await?;
            }
        }
        return Ok(());
    }
    let mut files = 0..files;
    let mut in_progress = 0;
    for (slot, file) in (0..depth).zip(files.by_ref()) {
        session.submit_call(Slot(slot), operation(phase, directory, file))?;
        in_progress += 1;
    }
    let mut replies = Vec::new();
    while in_progress > 0 {
        poll_fn(|cx| session.poll_calls(cx, &mut replies)).await;
        for reply in replies.drain(..) {
            let done = reply.reply.result?;
            let next =
                following(&done).or_else(|| files.next().map(|file| operation(phase, directory, file)));
            match next {
                Some(next) => session.submit_call(reply.slot, next)?,
                None => in_progress -= 1,
            }
        }
    }
    Ok(())
}
