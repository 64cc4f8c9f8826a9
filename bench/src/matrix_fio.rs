//! fio's psync in cells of IOzone's matrix that are too short for IOzone's clock.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::Failure;
use crate::matrix_cell::{Cell, Surface};

/// Measured time of a cell.
const RUNTIME: &str = "100ms";

/// Measures KiB per second of the cells, whose tests have fio's names (`read`, `randwrite`, ..). The files are written in
/// records of the cell, as IOzone and the engine do.
pub fn psync(directory: &Path, cells: &[(Cell, &str)]) -> Result<Surface, Failure> {
    let home = directory.join("fio");
    std::fs::create_dir(&home)?;
    let result = run(&home, cells);
    std::fs::remove_dir_all(&home)?;
    result
}

fn run(home: &Path, cells: &[(Cell, &str)]) -> Result<Surface, Failure> {
    let mut jobs = format!(
        "[global]\nioengine=psync\nthread\ntime_based\nruntime={RUNTIME}\ninvalidate=0\nnorandommap\n\
         allow_file_create=0\niomem_align=4096\noverwrite=1\nrandom_generator=tausworthe64\n"
    );
    for (number, ((_, file, record), word)) in cells.iter().enumerate() {
        let path = home.join(format!("{file}-{record}"));
        if !path.exists() {
            lay_out(&path, *file, *record)?;
        }
        let path = path.display();
        write!(jobs, "[{number}]\nstonewall\nfilename={path}\nrw={word}\nbs={record}k\nsize={file}k\n")?;
    }
    let plan = home.join("jobs");
    std::fs::write(&plan, jobs)?;
    let output = Command::new("fio")
        .args(["--output-format=terse", "--terse-version=3"])
        .arg(&plan)
        .current_dir(home)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let surface: Surface = text.lines().filter_map(|line| terse(line, cells)).collect();
    if surface.len() == cells.len() {
        Ok(surface)
    } else {
        Err(format!("fio: {text}{}", String::from_utf8_lossy(&output.stderr)).into())
    }
}

fn lay_out(path: &Path, file: u64, record: u64) -> Result<(), Failure> {
    let content = vec![0x5a; record as usize * 1024];
    let mut made = std::fs::File::create_new(path)?;
    for _ in 0..file / record {
        made.write_all(&content)?;
    }
    Ok(made.sync_all()?)
}

/// A terse line of version 3: the job's name in field 3, KiB and milliseconds read in fields 6 and 9, written in
/// 47 and 50, counted from 1.
fn terse(line: &str, cells: &[(Cell, &str)]) -> Option<(Cell, f64)> {
    let fields: Vec<&str> = line.trim().split(';').collect();
    let (cell, word) = cells.get(fields.get(2)?.parse::<usize>().ok()?)?;
    let (kib, ms) = if word.ends_with("read") { (5, 8) } else { (46, 49) };
    let field = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((*cell, field(kib)? / field(ms)? * 1e3)).filter(|(_, rate)| rate.is_finite() && *rate > 0.0)
}
