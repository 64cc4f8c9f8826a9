//! What the live view costs the measurement: the program on the null target, shown on a terminal and silent, in turn.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::Failure;
use crate::sample::Sample;
use crate::table::{Bar, Opponent, Run, Table};

/// A live view may cost this much of the rate.
const BAR: f64 = 0.99;
/// Steps of each measurement: repetitions of two cells.
const REPETITIONS: u32 = 10;

/// Measures sweeps whose steps share `time`, and loads of `time`.
pub fn measure(table: &mut Table, scratch: &Path, time: Duration) -> Result<(), Failure> {
    let program = program()?;
    let sample = time.as_millis().div_ceil(u128::from(REPETITIONS) * 2).max(1);
    let sweep = format!(
        "sweep null:// --no-verify --file-sizes 1MiB --record-sizes 4KiB,64KiB --tests random-read \
         --repetitions {REPETITIONS} --sample {sample}ms"
    );
    let load = format!(
        "load null:// --no-verify --steps 4 --think 100us --scale 1MB --block 4KiB --warm-up 100ms --measure {}ms",
        time.as_millis()
    );
    Table::head("The live view on a terminal, beside none");
    for (name, line) in [("sweep of null, live view", &sweep), ("load on null, live view", &load)] {
        let shown: Run<'_> = Box::new(|| once(&program, scratch, line, true));
        let silent: Run<'_> = Box::new(|| once(&program, scratch, line, false));
        let opponent =
            Opponent { name: "the same with --quiet", rate: Some(Bar::AtLeast(BAR)), cpu: None, run: silent };
        table.contest(name, &shown, &[opponent])?;
    }
    Ok(())
}

/// `SHAREBENCH`, or the program built with this profile.
fn program() -> Result<PathBuf, Failure> {
    if let Some(named) = std::env::var_os("SHAREBENCH") {
        return Ok(named.into());
    }
    let target = std::env::current_exe()?.ancestors().nth(2).ok_or("no target directory")?.to_owned();
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let built = Command::new("cargo")
        .args(["build", "--locked", "--quiet", "--release", "--package", "sharebench", "--manifest-path", manifest])
        .arg("--target-dir")
        .arg(&target)
        .status()?;
    if built.success() { Ok(target.join("release/sharebench")) } else { Err("the program did not build".into()) }
}

/// Operations over busy time of one run; `shown` on a terminal of its own (script of util-linux makes it).
fn once(program: &Path, scratch: &Path, line: &str, shown: bool) -> Result<Sample, Failure> {
    let book = scratch.join("live.db");
    let _ = std::fs::remove_file(&book);
    let quiet = if shown { "" } else { " --quiet" };
    let line = format!("{} {line} --db {}{quiet}", program.display(), book.display());
    let output = Command::new("script")
        .args(["--quiet", "--flush", "--return", "--command", &line, "/dev/null"])
        .env("TERM", "xterm-256color")
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() || said.contains("q: stop") != shown {
        return Err(format!("{line}: {}: {said}", output.status).into());
    }
    let table = Command::new(program).args(["export", "1", "--format", "csv", "--db"]).arg(&book).output()?;
    let table = String::from_utf8(table.stdout)?;
    let mut rows = table.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let head = rows.next().ok_or("an empty table")?;
    let column = |name: &str| head.iter().position(|column| *column == name).ok_or(format!("no column {name}"));
    let (operations, time) = (column("operations")?, column("rate_base_ns")?);
    let mut sample = Sample { operations: 0, wall_ns: 0, cpu_ns: 1, peak_kib: 0 };
    for row in rows {
        sample.operations += row[operations].parse::<u64>()?;
        sample.wall_ns += row[time].parse::<u64>()?;
    }
    Ok(sample)
}
