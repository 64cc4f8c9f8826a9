//! Growth of time and memory with the number of steps, cells, runs, users and entries, of the program as a user runs it.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use sharebench_analysis::RunData;
use sharebench_results::{FinishedRun, Store};

use crate::sample::Sample;
use crate::table::{Bar, Table};
use crate::usage::Usage;
use crate::{Failure, lab, live};

/// Largest exponent of time and memory: a little above proportional, for caches that become too small.
const EXPONENT_BAR: f64 = 1.15;
/// Exponent of the comparison of cells.
const CELLS_EXPONENT_BAR: f64 = 1.1;
/// CPU seconds of the comparison of the most cells.
const COMPARE_BAR: f64 = 8.0;
/// Bytes that a step takes in memory.
const STEP_BAR: f64 = 1024.0;
/// Bytes that an export of steps takes at any size.
const CONSTANT_BAR: f64 = 200e6;

/// Sizes of each series; the last one is that of the bars.
const STEPS: [u64; 4] = [12_500, 25_000, 50_000, 100_000];
const CELLS: [u64; 4] = [2_500, 5_000, 10_000, 20_000];
const RUNS: [u64; 4] = [500, 1_000, 2_000, 4_000];
const USERS: [u64; 4] = [500, 1_000, 2_000, 4_000];
const ENTRIES: [u64; 4] = [12_500, 25_000, 50_000, 100_000];

/// File sizes and record sizes of a test; the number of tests follows from the number of cells.
const GRID: (u64, u64) = (25, 20);

/// Small runs that one transaction adds.
const RUNS_AT_ONCE: usize = 100;

/// Requirements of a series besides the exponents.
#[derive(Debug, Clone, Copy)]
enum Limit {
    /// Bytes per item, between the two largest sizes.
    BytesPerItem(f64),
    /// Peak of memory in bytes at the largest size.
    Peak(f64),
    /// CPU seconds at the largest size, and the exponent of the CPU time.
    Cpu(f64, f64),
}

/// Prints the series.
///
/// # Errors
/// A command fails, or an exponent exceeds its bar.
pub fn measure(table: &mut Table, scratch: &Path) -> Result<(), Failure> {
    println!("\n### Growth: each command at growing sizes\n");
    println!(
        "| {:<44} | {:>8} | {:>8} | {:>8} | {:>9} | {:>13} | {:>13} | {:<34} |",
        "what", "size", "s", "CPU s", "peak MB", "time exponent", "peak exponent", "bar"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---|");
    let mut growth = Growth { table, program: live::program()?, scratch, failures: Vec::new() };
    let parts: [(&str, Part<'_>); 5] = [
        ("users", Growth::users),
        ("entries", Growth::entries),
        ("runs", Growth::runs),
        ("imported steps", Growth::imported_steps),
        ("measured cells", Growth::measured_cells),
    ];
    for (name, part) in parts {
        // Each part takes minutes: a failure of one must not cost the figures of the others.
        if let Err(error) = part(&mut growth) {
            println!("| {name}: {error} |");
            growth.failures.push(format!("{name}: {error}"));
        }
    }
    if growth.failures.is_empty() { Ok(()) } else { Err(growth.failures.join("; ").into()) }
}

/// A part of the table.
type Part<'t> = fn(&mut Growth<'t>) -> Result<(), Failure>;

struct Growth<'t> {
    table: &'t mut Table,
    program: PathBuf,
    scratch: &'t Path,
    /// Series whose exponent exceeds its bar, and parts that failed.
    failures: Vec<String>,
}

impl Growth<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// Runs the program, which must succeed.
    fn usage(&self, words: &[&str]) -> Result<Usage, Failure> {
        Usage::from_command(Command::new(&self.program).args(words))
    }

    /// Runs the program on a results database for each size, and prints the series.
    fn series(
        &mut self,
        what: &str,
        sizes: &[u64],
        limit: Option<Limit>,
        words: &dyn Fn(u64) -> Vec<String>,
    ) -> Result<(), Failure> {
        let mut usages = Vec::new();
        for size in sizes {
            let words = words(*size);
            usages.push(self.usage(&words.iter().map(String::as_str).collect::<Vec<_>>())?);
        }
        self.print(what, sizes, &usages, limit);
        Ok(())
    }

    fn print(&mut self, what: &str, sizes: &[u64], usages: &[Usage], limit: Option<Limit>) {
        let of = |figure: fn(&Usage) -> f64| exponent(sizes, &usages.iter().map(figure).collect::<Vec<_>>());
        let time = of(|usage| usage.cpu_s);
        let peak = of(|usage| usage.peak_bytes);
        for (index, (size, usage)) in sizes.iter().zip(usages).enumerate() {
            let is_last = index + 1 == sizes.len();
            let exponents =
                if is_last { [time, peak].map(|e| format!("{e:.2}")) } else { Default::default() };
            let verdict =
                if is_last { self.verdicts(what, sizes, usages, limit, [time, peak]) } else { String::new() };
            println!(
                "| {:<44} | {size:>8} | {:>8.2} | {:>8.2} | {:>9.1} | {:>13} | {:>13} | {verdict:<34} |",
                if index == 0 { what } else { "" },
                usage.wall_s,
                usage.cpu_s,
                usage.peak_bytes / 1e6,
                exponents[0],
                exponents[1],
            );
        }
    }

    fn verdicts(
        &mut self,
        what: &str,
        sizes: &[u64],
        usages: &[Usage],
        limit: Option<Limit>,
        [time, peak]: [f64; 2],
    ) -> String {
        let time_bar = if let Some(Limit::Cpu(_, bar)) = limit { bar } else { EXPONENT_BAR };
        for (name, exponent, bar) in [("time", time, time_bar), ("peak", peak, EXPONENT_BAR)] {
            if exponent > bar {
                self.failures.push(format!("{what}: exponent of {name} {exponent:.2} > {bar}"));
            }
        }
        let mut words =
            self.table.verdict(&format!("{what}: exponent of time"), time, Some(Bar::AtMost(time_bar)));
        let of_peak =
            self.table.verdict(&format!("{what}: exponent of peak"), peak, Some(Bar::AtMost(EXPONENT_BAR)));
        // Writing to a string cannot fail.
        let _ = write!(words, "; {of_peak}");
        let (Some(limit), [.., before, last]) = (limit, usages) else { return words };
        let (figure, bar, unit) = match limit {
            Limit::BytesPerItem(bar) => {
                let [.., fewer, most] = sizes else { return words };
                let items = most.saturating_sub(*fewer) as f64;
                ((last.peak_bytes - before.peak_bytes) / items, bar, "bytes each")
            }
            Limit::Peak(bar) => (last.peak_bytes, bar, "bytes"),
            Limit::Cpu(bar, _) => (last.cpu_s, bar, "CPU s"),
        };
        let of_limit = self.table.verdict(&format!("{what}: {unit}"), figure, Some(Bar::AtMost(bar)));
        let _ = write!(words, "; {figure:.0} {unit} {of_limit}");
        words
    }

    /// Imports a table of N positions, and shows, reports and exports it.
    fn imported_steps(&mut self) -> Result<(), Failure> {
        let database = |steps: u64| self.path(&format!("steps-{steps}.db")).display().to_string();
        let mut imports = Vec::new();
        for steps in STEPS {
            let csv = self.path("steps.csv");
            write_table(&csv, steps)?;
            let csv = csv.display().to_string();
            let database = database(steps);
            let map = ["test=op", "file_size=size:KiB", "record_size=record:KiB", "rate=speed:KiB/s"];
            let mut words = vec!["import", &csv, "--format", "csv", "--db", &database];
            words.extend(map.iter().flat_map(|map| ["--map", map]));
            imports.push(self.usage(&words)?);
        }
        self.print("import of a table, by steps", &STEPS, &imports, None);
        let file = |name: &str| self.scratch.join(name).display().to_string();
        let book = |steps: u64| self.scratch.join(format!("steps-{steps}.db")).display().to_string();
        let page = file("page.html");
        let sheet = file("book.xlsx");
        let shown = |steps: u64| owned(&["show", "1", "--db", &book(steps)]);
        let reported = |steps: u64| owned(&["report", "1", "-o", &page, "--db", &book(steps)]);
        let json = |steps: u64| owned(&["export", "1", "--format", "json", "--db", &book(steps)]);
        let csv = |steps: u64| owned(&["export", "1", "--format", "csv", "--db", &book(steps)]);
        let xlsx =
            |steps: u64| owned(&["export", "1", "--format", "xlsx", "-o", &sheet, "--db", &book(steps)]);
        let step = Some(Limit::BytesPerItem(STEP_BAR));
        let constant = Some(Limit::Peak(CONSTANT_BAR));
        self.series("show, by imported steps", &STEPS, step, &shown)?;
        self.series("report, by imported steps", &STEPS, step, &reported)?;
        self.series("export as JSON, by steps", &STEPS, constant, &json)?;
        self.series("export as CSV, by steps", &STEPS, constant, &csv)?;
        self.series("export as a workbook, by steps", &STEPS, None, &xlsx)?;
        println!("\nworkbook of {} steps: {:.1} MB\n", STEPS[3], fs::metadata(&sheet)?.len() as f64 / 1e6);
        STEPS.iter().try_for_each(|steps| fs::remove_file(book(*steps)))?;
        Ok(())
    }

    /// Compares two runs of N cells, eight sweeps and two targets each.
    fn measured_cells(&mut self) -> Result<(), Failure> {
        let book = |cells: u64| self.scratch.join(format!("cells-{cells}.db")).display().to_string();
        for cells in CELLS {
            fill(&["cells", &cells.to_string(), &book(cells)])?;
        }
        let words = |cells: u64, words: &[&str]| owned(&[words, &["--db", &book(cells)]].concat());
        let compared = |cells: u64| words(cells, &["compare", "1/system-0", "2/system-0"]);
        let shown = |cells: u64| words(cells, &["show", "1"]);
        let json = |cells: u64| words(cells, &["export", "1", "--format", "json"]);
        let cpu = Some(Limit::Cpu(COMPARE_BAR, CELLS_EXPONENT_BAR));
        self.series("compare of two runs, by cells", &CELLS, cpu, &compared)?;
        // Per cell: eight sweeps of two targets.
        let step = Some(Limit::BytesPerItem(16.0 * STEP_BAR));
        self.series("show, by cells of 16 measured steps", &CELLS, step, &shown)?;
        self.series("export as JSON, by cells of 16 steps", &CELLS, Some(Limit::Peak(CONSTANT_BAR)), &json)?;
        CELLS.iter().try_for_each(|cells| fs::remove_file(book(*cells)))?;
        Ok(())
    }

    /// Lists N runs, and shows one of them.
    fn runs(&mut self) -> Result<(), Failure> {
        let book = |runs: u64| self.scratch.join(format!("runs-{runs}.db")).display().to_string();
        for runs in RUNS {
            fill(&["runs", &runs.to_string(), &book(runs)])?;
        }
        let words = |runs: u64, words: &[&str]| owned(&[words, &["--db", &book(runs)]].concat());
        self.series("runs, by runs", &RUNS, None, &|runs| words(runs, &["runs"]))?;
        self.series("show of one run, by runs", &RUNS, None, &|runs| words(runs, &["show", "1"]))?;
        RUNS.iter().try_for_each(|runs| fs::remove_file(book(*runs)))?;
        Ok(())
    }

    /// Loads the null target for two seconds with N users who think for a second.
    fn users(&mut self) -> Result<(), Failure> {
        let book = self.path("users.db").display().to_string();
        let words = |users: u64| {
            let users = users.to_string();
            let line = [
                "load",
                "null://",
                "--preset",
                "single",
                "--verify",
                "off",
                "--users",
                &users,
                "--think",
                "1s",
                "--scale",
                "64KiB",
                "--warm-up",
                "100ms",
                "--measure",
                "2s",
                "--quiet",
                "--db",
                &book,
            ];
            line.map(str::to_owned).to_vec()
        };
        self.series("load of the null target, by users", &USERS, None, &words)
    }

    /// Surveys N files over NFS, served by this program.
    fn entries(&mut self) -> Result<(), Failure> {
        for protocol in ["nfs", "smb"] {
            let mut usages = Vec::new();
            for entries in ENTRIES {
                let directory = self.path(&format!("entries-{entries}"));
                if !directory.exists() {
                    make_files(&directory, entries)?;
                }
                let server = Server::start(&self.program, &directory, protocol)?;
                usages.push(self.usage(&[
                    "learn",
                    &server.url,
                    "-o",
                    &self.path("survey.toml").display().to_string(),
                ])?);
            }
            self.print(
                &format!("survey over {}, by entries", protocol.to_uppercase()),
                &ENTRIES,
                &usages,
                None,
            );
        }
        Ok(())
    }
}

/// `sharebench serve`, until it is dropped.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(program: &Path, directory: &Path, protocol: &str) -> Result<Self, Failure> {
        let mut child = Command::new(program)
            .arg("serve")
            .arg(directory)
            .args([&format!("--{protocol}"), "127.0.0.1:0", "--read-only"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        let mut server = Self { child, url: String::new() };
        for line in lines {
            let line = line?;
            if let Some(url) =
                line.split_whitespace().find(|word| word.starts_with(&format!("{protocol}://")))
            {
                server.url = url.to_owned();
                return Ok(server);
            }
        }
        Err(format!("serve printed no URL of {protocol}").into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The slope of the logarithm of a figure over that of the size: the exponent of growth.
fn exponent(sizes: &[u64], figures: &[f64]) -> f64 {
    let points: Vec<(f64, f64)> = sizes
        .iter()
        .zip(figures)
        .map(|(size, figure)| ((*size as f64).ln(), figure.max(f64::MIN_POSITIVE).ln()))
        .collect();
    let n = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / n;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / n;
    let products: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    products / points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>()
}

/// Writes a table of N positions: 100 record sizes of each file size, eight tests.
fn write_table(path: &Path, steps: u64) -> Result<(), Failure> {
    let mut out = BufWriter::new(fs::File::create(path)?);
    writeln!(out, "op,size,record,speed")?;
    for step in 0..steps {
        let record = 1 + step % 100;
        let test = step / 100 % 8;
        let size = 1_000 * (1 + step / 800);
        writeln!(out, "test-{test},{size},{record},{}", 100_000 + step * 7_919 % 50_000)?;
    }
    Ok(out.flush()?)
}

fn make_files(directory: &Path, entries: u64) -> Result<(), Failure> {
    for entry in 0..entries {
        let parent = directory.join(format!("d{}", entry / 1_000));
        if entry % 1_000 == 0 {
            fs::create_dir_all(&parent)?;
        }
        fs::write(parent.join(format!("f{entry}.txt")), b"content")?;
    }
    Ok(())
}

/// Fills a database in another process, so that its memory does not count as that of the measured programs.
fn fill(words: &[&str]) -> Result<(), Failure> {
    let filled = Command::new(std::env::current_exe()?).args(["client", "fill"]).args(words).output()?;
    if filled.status.success() {
        return Ok(());
    }
    Err(format!("fill {words:?}: {}", String::from_utf8_lossy(&filled.stderr)).into())
}

/// Client program: fills a database with two runs of N cells, or with N small runs.
pub fn fill_client(words: &[String]) -> Result<Sample, Failure> {
    let [what, number, path] = words else { return Err("fill wants: cells|runs NUMBER PATH".into()) };
    let number: u64 = number.parse()?;
    let mut store = Store::open(path)?;
    let tests: Vec<String> =
        (0..number.div_ceil(GRID.0 * GRID.1)).map(|test| format!("read-{test}")).collect();
    let tests: Vec<&str> = tests.iter().map(String::as_str).collect();
    let (runs, tests, grid) =
        if what == "cells" { (2, &tests[..], GRID) } else { (number, &["read"][..], (2, 2)) };
    let finished = |run: u64| {
        let RunData { header, facts, steps, .. } = lab::surface(&format!("run {run}"), tests, grid, run + 1);
        FinishedRun { header, facts, steps }
    };
    // Large runs one by one, because their histograms fill the memory; small ones together, because each commit waits
    // for the disk.
    let at_once = if what == "cells" { 1 } else { RUNS_AT_ONCE };
    for first in (0..runs).step_by(at_once) {
        let last = runs.min(first + at_once as u64);
        store.add_finished(&(first..last).map(finished).collect::<Vec<_>>())?;
    }
    Ok(Sample { operations: number.max(1), wall_ns: 1, cpu_ns: 1, peak_kib: 0 })
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
