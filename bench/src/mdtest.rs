//! Creating, looking up and removing files compared with mdtest: over NFS with libnfs on NFS-Ganesha, and locally.
//!
//! Debian has no mdtest. `MDTEST=PROGRAM` names one that was built from its public repository with `--with-libnfs`.

use std::future::poll_fn;
use std::path::Path;
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

/// Files of a run.
const FILES: u64 = 10_000;
/// Operations in flight over NFS; mdtest has one.
const DEPTH: u32 = 32;
/// The phases, and the option of mdtest for each.
const PHASES: [(&str, &str); 3] = [("create", "-C"), ("stat", "-T"), ("unlink", "-r")];
/// The directory of our files.
const DIRECTORY: &str = "ours";

/// Prints the tables. `scratch` is a local directory.
pub fn measure(table: &mut Table, scratch: &Path) -> Result<(), Failure> {
    let Some(program) = std::env::var_os("MDTEST") else {
        println!("\nmdtest is not compared: MDTEST names no program.");
        return Ok(());
    };
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
    let libnfs = ["-a", "LIBNFS", &mount, "-d", "/theirs"];
    contest(table, (&url, DEPTH), (&program, &libnfs), (None, Some(Bar::AtMost(0.5))))?;
    Table::head(&format!("{FILES} local files: one operation in flight, and mdtest"));
    let theirs = scratch.join("theirs");
    let posix = ["-d", theirs.to_str().ok_or("the directory is not UTF-8")?];
    let ours = scratch.to_str().ok_or("the directory is not UTF-8")?;
    contest(table, (ours, 1), (&program, &posix), (Some(Bar::AtLeast(1.0)), None))
}

/// Measures each phase. The bars are those of the rate and of the CPU time.
fn contest(
    table: &mut Table,
    (url, depth): (&str, u32),
    (program, words): (&std::ffi::OsStr, &[&str]),
    (rate, cpu): (Option<Bar>, Option<Bar>),
) -> Result<(), Failure> {
    for (phase, _) in PHASES {
        let us: Run = Box::new(|| {
            let mut command = Command::new(std::env::current_exe()?);
            client::run(command.args(["client", "phase", url, phase, &depth.to_string()]))
        });
        let its: Run = Box::new(|| mdtest(program, words, phase));
        let opponents = [Opponent { name: "mdtest", rate, cpu, run: its }];
        table.contest(phase, &us, &opponents)?;
    }
    Ok(())
}

/// Runs mdtest up to the end of a phase, and the removal if that comes later.
fn mdtest(program: &std::ffi::OsStr, words: &[&str], phase: &str) -> Result<Sample, Failure> {
    let mut sample = None;
    for (name, option) in PHASES {
        let run = |files: u64| {
            let mut command = Command::new(program);
            command.args(words).args(["-F", "-n", &files.to_string(), option]);
            Usage::of(&mut command)
        };
        let usage = run(FILES)?;
        if name == phase {
            sample = Some(usage);
        }
    }
    let usage = sample.ok_or("no such phase")?;
    let start = start_up(program)?;
    let ns = |of: fn(&Usage) -> f64| ((of(&usage) - of(&start)).max(0.0) * 1e9) as u64;
    Ok(Sample {
        operations: FILES,
        wall_ns: ns(|usage| usage.wall_s),
        cpu_ns: ns(|usage| usage.cpu_s),
        peak_kib: 0,
    })
}

/// What mdtest uses without any file: MPI begins and ends.
fn start_up(program: &std::ffi::OsStr) -> Result<Usage, Failure> {
    Usage::of(Command::new(program).args(["-a", "DUMMY", "-d", "/nothing", "-F", "-n", "1", "-T"]))
}

/// Main function of the client: performs a phase on files that exist before only where the phase needs them.
pub fn phase(url: &str, phase: &str, depth: u32) -> Result<Sample, Failure> {
    let target = ours::target(url)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let spec = SessionSpec { slots: depth, slot_bytes: 4096, ..SessionSpec::default() };
        let mut session = target.connect(&spec).await?;
        call(&mut *session, MetaOp::MakeDir { path: DIRECTORY.to_owned() }).await?;
        let mut sample = None;
        for (name, _) in PHASES {
            if name == "stat" && phase != "stat" {
                continue;
            }
            let started = Instant::now();
            let cpu = sample::cpu();
            perform(&mut *session, name, depth).await?;
            if name == phase {
                let cpu_ns = sample::cpu().saturating_sub(cpu).as_nanos() as u64;
                let wall_ns = started.elapsed().as_nanos() as u64;
                sample = Some(Sample { operations: FILES, wall_ns, cpu_ns, peak_kib: 0 });
            }
        }
        call(&mut *session, MetaOp::RemoveDir { path: DIRECTORY.to_owned() }).await?;
        session.close().await;
        sample.ok_or_else(|| "no such phase".into())
    })
}

/// The first operation of a phase on a file.
fn operation(phase: &str, file: u64) -> MetaOp {
    let path = format!("{DIRECTORY}/file.mdtest.0.{file}");
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
async fn perform(session: &mut dyn Session, phase: &str, depth: u32) -> Result<(), Failure> {
    if depth == 1 {
        for file in 0..FILES {
            let done = call(session, operation(phase, file)).await?;
            if let Some(next) = following(&done) {
                call(session, next).await?;
            }
        }
        return Ok(());
    }
    let mut files = 0..FILES;
    let mut in_progress = 0;
    for (slot, file) in (0..depth).zip(files.by_ref()) {
        session.submit_call(Slot(slot), operation(phase, file))?;
        in_progress += 1;
    }
    let mut replies = Vec::new();
    while in_progress > 0 {
        poll_fn(|cx| session.poll_calls(cx, &mut replies)).await;
        for reply in replies.drain(..) {
            let done = reply.reply.result?;
            let next = following(&done).or_else(|| files.next().map(|file| operation(phase, file)));
            match next {
                Some(next) => session.submit_call(reply.slot, next)?,
                None => in_progress -= 1,
            }
        }
    }
    Ok(())
}
