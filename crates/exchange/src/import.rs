//! A foreign file as runs: detects the format and records the origin.

use sha2::{Digest, Sha256};
use sharebench_model::{Facts, IMPORTED, ORIGIN_FACT, RunHeader, StepResult, TargetIdentity};
use sharebench_results::FinishedRun;

use crate::csv::{self, Mapping};
use crate::iozone::{self, Form};
use crate::source::{Source, SourceRun};
use crate::{ImportError, fio, io500, mdtest, text};

/// Fact: where the resolution of the clock is known from.
pub const CLOCK_FROM_FACT: &str = "clock_known_from";
/// Fact that the analysis reads the clock's resolution from, in nanoseconds.
const CLOCK_FACT: &str = "clock_resolution_ns";
/// Maximum number of steps in one file.
const MAX_STEPS: usize = 1_000_000;

/// Forms of foreign results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The text of `IOzone`: its table, or its throughput mode.
    Iozone,
    /// The `-R` matrices of `IOzone`.
    IozoneMatrices,
    /// fio's JSON.
    Fio,
    /// The text of mdtest.
    Mdtest,
    /// The text of IO500.
    Io500,
    /// Comma-separated values.
    Csv,
}

/// How a file is to be read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// Its form; found by its content where none is given.
    pub format: Option<Format>,
    /// What to call the run; the file's name where none is given.
    pub title: Option<String>,
    /// What to call the system that was measured, where the file does not name it.
    pub system: Option<String>,
    /// Resolution of the clock that measured, where the user knows better than the file.
    pub clock_ns: Option<u64>,
    /// What the columns of a table mean.
    pub map: Vec<Mapping>,
}

/// A file that was read whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// Its runs, none of them empty.
    pub runs: Vec<FinishedRun>,
    /// What was left out or assumed, in sentences for the user.
    pub notes: Vec<String>,
}

/// Reads a file named `name`; everything in it, or nothing.
pub fn import(name: &str, bytes: &[u8], options: &Options) -> Result<Imported, ImportError> {
    let text = text::decode(bytes)?;
    if options.clock_ns == Some(0) {
        return Err(ImportError::whole(
            "--clock 0: no clock has that resolution; omit the flag where it is unknown",
        ));
    }
    let format = options.format.map_or_else(|| detect(text, options), Ok)?;
    if format != Format::Csv && !options.map.is_empty() {
        return Err(ImportError::whole("--map is for tables of comma-separated values (--format csv)"));
    }
    let source = match format {
        Format::Iozone => iozone::read(text, Form::Table)?,
        Format::IozoneMatrices => iozone::read(text, Form::Matrices)?,
        Format::Fio => fio::read(text)?,
        Format::Mdtest => mdtest::read(text)?,
        Format::Io500 => io500::read(text)?,
        Format::Csv => csv::read(text, &options.map)?,
    };
    let steps: usize = source.runs.iter().map(|run| run.steps.len()).sum();
    if steps > MAX_STEPS {
        return Err(ImportError::whole(format!("{steps} measurements are more than {MAX_STEPS}")));
    }
    check_system(&source, options)?;
    let environment = environment(name, bytes, &source, options);
    let runs = source.runs.iter().map(|run| finished(name, run, &source, &environment, options)).collect();
    Ok(Imported { runs, notes: source.notes })
}

fn detect(text: &str, options: &Options) -> Result<Format, ImportError> {
    if fio::looks_like(text) {
        Ok(Format::Fio)
    } else if iozone::looks_like(text) {
        Ok(Format::Iozone)
    } else if mdtest::looks_like(text) {
        Ok(Format::Mdtest)
    } else if io500::looks_like(text) {
        Ok(Format::Io500)
    } else if fio::looks_like_plain_text(text) {
        let problem = "this is the text that fio prints for people, which lacks the histograms; run fio with \
                       --output-format=json+ and import that";
        Err(ImportError::whole(problem))
    } else if !options.map.is_empty() || text::lines(text)[0].1.contains(',') {
        Ok(Format::Csv)
    } else {
        let problem = "neither the text of IOzone, mdtest or IO500, nor fio's JSON, nor a table whose first line is headings separated \
                       by commas; state what it is with --format";
        Err(ImportError::whole(problem))
    }
}

/// A name for the system is for files that hold one.
fn check_system(source: &Source, options: &Options) -> Result<(), ImportError> {
    let several = source.runs.iter().find(|run| run.targets.len() > 1);
    let Some(run) = several.filter(|_| options.system.is_some()) else { return Ok(()) };
    let names: Vec<&str> = run.targets.iter().map(|(name, _)| name.as_str()).collect();
    Err(ImportError::whole(format!("--system names one system, and the file has {}", names.join(", "))))
}

/// What is known of the origin, and nothing about this machine.
fn environment(name: &str, bytes: &[u8], source: &Source, options: &Options) -> Facts {
    let mut facts = source.facts.clone();
    let mut note = |fact: &str, value: String| facts.insert(fact.to_owned(), value);
    note(ORIGIN_FACT, IMPORTED.to_owned());
    note("file", name.to_owned());
    note("file_bytes", bytes.len().to_string());
    let digest = Sha256::digest(bytes);
    note("file_sha256", digest.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}")));
    if let Some(program) = &source.program {
        note("program", program.clone());
    }
    let clock = match (options.clock_ns, source.clock_ns) {
        (Some(given), _) => Some((given, "--clock")),
        (None, Some(found)) => Some((found, "the file")),
        (None, None) => None,
    };
    if let Some((nanos, from)) = clock {
        note(CLOCK_FACT, nanos.to_string());
        note(CLOCK_FROM_FACT, from.to_owned());
    }
    facts
}

fn finished(
    name: &str,
    run: &SourceRun,
    source: &Source,
    environment: &Facts,
    options: &Options,
) -> FinishedRun {
    let stem = name.rsplit('/').next().unwrap_or(name);
    let title = options.title.as_deref().unwrap_or(stem);
    let title = if run.name.is_empty() { title.to_owned() } else { format!("{title}: {}", run.name) };
    let alone = run.targets.len() == 1;
    let target = |(reported, _): &(String, Facts)| {
        let chosen = options.system.as_ref().filter(|_| alone);
        let name = match chosen {
            Some(chosen) => chosen.clone(),
            None if !reported.is_empty() => reported.clone(),
            None if !run.name.is_empty() => run.name.clone(),
            None => stem.split('.').next().unwrap_or(stem).to_owned(),
        };
        TargetIdentity { name, url: format!("imported from {stem}") }
    };
    let step = |(index, step): (u32, &crate::source::SourceStep)| StepResult {
        index,
        target: step.target,
        repetition: step.repetition,
        coordinates: step.coordinates.clone(),
        started_unix_ms: step.started_unix_ms,
        unmeasured_ms: 0,
        measure: step.measure.clone(),
        checks: step.checks.clone().into(),
    };
    FinishedRun {
        header: RunHeader {
            title,
            started_unix_ms: source.started_unix_ms,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            plan: String::new(),
            seed: 0,
            steps_planned: run.steps.len() as u32,
            repeat: None,
            environment: environment.clone(),
            targets: run.targets.iter().map(target).collect(),
        },
        facts: run.targets.iter().map(|(_, facts)| facts.clone()).collect(),
        steps: (0..).zip(&run.steps).map(step).collect(),
    }
}
