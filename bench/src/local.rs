//! Local reads of a cached file against fio's engines.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::Failure;
use crate::client;
use crate::sample::Sample;
use crate::shape::{FILE_BYTES, Shape};
use crate::table::{Bar, Opponent, Run, Table};

/// Tuned settings of fio: one system call per burst, registered buffers and files, no clock readings.
const BEST_URING: [&str; 6] = [
    "--iodepth_batch_submit=32",
    "--iodepth_batch_complete_min=1",
    "--iodepth_batch_complete_max=32",
    "--fixedbufs=1",
    "--registerfiles=1",
    "--gtod_reduce=1",
];
const BEST_PSYNC: [&str; 1] = ["--gtod_reduce=1"];

/// A row: sharebench and fio's engines at the same depth.
struct Row {
    record: u32,
    depth: u32,
    random: bool,
    engines: &'static [(&'static str, &'static str, &'static [&'static str])],
}

const DEPTH_1: &[(&str, &str, &[&str])] = &[
    ("fio psync", "psync", &[]),
    ("fio psync, no clock", "psync", &BEST_PSYNC),
    ("fio io_uring", "io_uring", &[]),
    ("fio io_uring, best", "io_uring", &BEST_URING),
];
const DEPTH_32: &[(&str, &str, &[&str])] =
    &[("fio io_uring", "io_uring", &[]), ("fio io_uring, best", "io_uring", &BEST_URING)];

const ROWS: [Row; 4] = [
    Row { record: 4 << 10, depth: 1, random: true, engines: DEPTH_1 },
    Row { record: 4 << 10, depth: 32, random: true, engines: DEPTH_32 },
    Row { record: 1 << 20, depth: 1, random: false, engines: DEPTH_1 },
    Row { record: 1 << 20, depth: 32, random: false, engines: DEPTH_32 },
];

/// Measures on a file in `directory`.
pub fn measure(table: &mut Table, directory: &Path, time: Duration) -> Result<(), Failure> {
    let content: Vec<u8> = (0..FILE_BYTES).map(|at| (at.wrapping_mul(0x9E37_79B9) >> 13) as u8).collect();
    std::fs::write(directory.join("data"), content)?;
    Table::head("Local reads of a cached file (bars against fio's plain settings)");
    for row in &ROWS {
        let shape = Shape { random: row.random, ..Shape::random_reads(row.record, row.depth, time) };
        let shape = shape.without_warm_up();
        let url = directory.display().to_string();
        let us: Run = Box::new(move || client::own("ours", &[&url], &shape));
        let opponents: Vec<Opponent> = row
            .engines
            .iter()
            .map(|&(name, engine, settings)| Opponent {
                name,
                rate: settings.is_empty().then_some(Bar::AtLeast(1.0)),
                cpu: settings.is_empty().then_some(Bar::AtMost(1.0)),
                run: Box::new(move || fio(directory, &shape, engine, settings)),
            })
            .collect();
        table.contest(&shape.name(), &us, &opponents)?;
    }
    Ok(())
}

/// Runs fio on the same file with page-aligned buffers. The kernel copies to its default, unaligned buffers up to five
/// times slower on some CPUs, which would distort the comparison.
fn fio(directory: &Path, shape: &Shape, engine: &str, settings: &[&str]) -> Result<Sample, Failure> {
    let output = Command::new("fio")
        .args(["--name=x", "--thread", "--invalidate=0", "--norandommap", "--time_based"])
        .args(["--output-format=terse", "--terse-version=3", "--random_generator=tausworthe64"])
        .args(["--allow_file_create=0", "--iomem_align=4096"])
        .arg(format!("--filename={}", directory.join("data").display()))
        .arg(format!("--rw={}", if shape.random { "randread" } else { "read" }))
        .arg(format!("--ioengine={engine}"))
        .arg(format!("--bs={}", shape.record))
        .arg(format!("--iodepth={}", shape.depth))
        .arg(format!("--size={FILE_BYTES}"))
        .arg(format!("--runtime={}ms", shape.measure.as_millis()))
        .args(settings)
        .output()?;
    let line = String::from_utf8(output.stdout)?;
    terse(&line, shape.record)
        .ok_or_else(|| format!("fio: {line}{}", String::from_utf8_lossy(&output.stderr)).into())
}

/// A terse line of version 3 has KiB read in field 6, milliseconds in field 9, and the CPU shares of user
/// and system in fields 88 and 89, all counted from 1.
fn terse(line: &str, record: u32) -> Option<Sample> {
    let fields: Vec<&str> = line.trim().split(';').collect();
    let field = |at: usize| fields.get(at - 1)?.trim_end_matches('%').parse::<f64>().ok();
    let kib = field(6)?;
    let ms = field(9)?;
    let user = field(88)?;
    let system = field(89)?;
    let operations = (kib * 1024.0 / f64::from(record)) as u64;
    let cpu_ns = ((user + system) / 100.0 * ms * 1e6) as u64;
    (operations > 0).then_some(Sample { operations, wall_ns: (ms * 1e6) as u64, cpu_ns, peak_kib: 0 })
}
