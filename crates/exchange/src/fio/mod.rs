//! Results of fio, as `--output-format=json` or `json+` writes them.

mod options;
mod output;
mod times;

use sharebench_model::{
    Check, Coordinates, CpuTime, Facts, IoBytes, Measure, RateBase, Value, Verdict, axis,
};

use crate::ImportError;
use crate::cell::check_sizes;
use crate::source::{Source, SourceRun, SourceStep};
use options::Options;
use output::{Direction, Job, Output};

/// fio counts runtimes in milliseconds.
const CLOCK_NS: u64 = 1_000_000;

/// True when the text looks like fio's JSON.
pub(crate) fn looks_like(text: &str) -> bool {
    let start = text.trim_start();
    start.starts_with('{') && text.contains("\"fio version\"")
}

/// True for the text that fio prints without `--output-format`.
pub(crate) fn looks_like_plain_text(text: &str) -> bool {
    let mut lines = text.lines().take(64);
    lines.any(|line| line.contains(": (g=0): rw=") || line.contains(": (groupid="))
}

/// Reads fio's JSON; text in front of it, which fio puts there for other outputs and warnings, is skipped.
pub(crate) fn read(text: &str) -> Result<Source, ImportError> {
    let (skipped, json) = json_part(text)?;
    let output: Output = serde_json::from_str(json).map_err(|error| {
        let cut = if error.is_eof() { "; the file was cut" } else { "" };
        ImportError::at(skipped + error.line(), format!("not fio's JSON: {error}{cut}"))
    })?;
    check_version(&output.version)?;
    let mut notes = Vec::new();
    let mut steps: Vec<(String, SourceStep)> = Vec::new();
    let mut cold = false;
    for clones in output.jobs.chunk_by(|one, next| is_clone(one, next, &output)) {
        let options = Options::new(&output.global, &clones[0]);
        cold |= options.get("invalidate") != Some("0");
        steps.extend(job_steps(clones, &options, &mut notes).map_err(ImportError::whole)?);
    }
    if steps.is_empty() {
        return Err(ImportError::whole("no job of the file moved any data"));
    }
    number_repeats(&mut steps)?;
    if cold && steps.iter().any(|(_, step)| reads_at_random(&step.coordinates)) {
        let note = "fio drops its files from the client's cache before a job, unless the job says invalidate=0: \
                    its random reads are cold, those of sharebench may find the file there";
        notes.push(note.to_owned());
    }
    let steps: Vec<SourceStep> = steps.into_iter().map(|(_, step)| step).collect();
    Ok(Source {
        program: Some(output.version.replacen('-', " ", 1)),
        clock_ns: Some(CLOCK_NS),
        started_unix_ms: output.timestamp_ms,
        facts: Facts::new(),
        runs: vec![SourceRun { name: String::new(), targets: vec![("fio".to_owned(), Facts::new())], steps }],
        notes,
    })
}

/// Lines in front of the JSON, and the JSON.
fn json_part(text: &str) -> Result<(usize, &str), ImportError> {
    let mut before = 0;
    let mut rest = text;
    while !rest.starts_with('{') {
        let Some((_, next)) = rest.split_once('\n') else {
            return Err(ImportError::whole("no line begins with '{': this is not fio's JSON"));
        };
        (before, rest) = (before + 1, next);
    }
    // With `normal,json` the other format follows after the closing brace.
    let end = rest.find("\n}").map_or(rest.len(), |at| at + 2);
    Ok((before, &rest[..end]))
}

fn check_version(version: &str) -> Result<(), ImportError> {
    let major = version.strip_prefix("fio-").and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
    match major {
        Some(3) => Ok(()),
        Some(0..3) => Err(ImportError::whole(format!(
            "{version} counts in other units than fio 3, which is understood"
        ))),
        _ => Err(ImportError::whole(format!("'{version}' is not a version that is understood (fio 3)"))),
    }
}

/// True for two of the processes that `numjobs` made of one job.
fn is_clone(one: &Job, next: &Job, output: &Output) -> bool {
    let options = Options::new(&output.global, one);
    options.number("numjobs").is_some_and(|jobs| jobs > 1)
        && !options.is_set("group_reporting")
        && (&one.name, one.group, &one.options) == (&next.name, next.group, &next.options)
}

/// Steps of one job with all its clones: one, or one per direction where reads and trims are mixed.
fn job_steps(
    clones: &[Job],
    options: &Options<'_>,
    notes: &mut Vec<String>,
) -> Result<Vec<(String, SourceStep)>, String> {
    let name = &clones[0].name;
    let blame = |problem: String| format!("job '{name}': {problem}");
    let sides: [(&str, Vec<&Direction>); 3] = [
        ("read", clones.iter().map(|job| &job.read).collect()),
        ("write", clones.iter().map(|job| &job.write).collect()),
        ("trim", clones.iter().map(|job| &job.trim).collect()),
    ];
    let moved: Vec<(&str, Vec<&Direction>)> =
        sides.into_iter().filter(|(_, sides)| sides.iter().any(|side| side.io_bytes > 0)).collect();
    if moved.is_empty() {
        notes.push(format!("job '{name}' moved nothing and was left out"));
        return Ok(Vec::new());
    }
    let test = options.test(&moved.iter().map(|(side, _)| *side).collect::<Vec<_>>()).map_err(blame)?;
    let coordinates = coordinates(&test, options, clones).map_err(blame)?;
    let measure = measure(clones, &moved, options, notes).map_err(blame)?;
    if writes_again(&coordinates, &measure, options.number("nrfiles").unwrap_or(1)) {
        notes.push(format!(
            "job '{name}' wrote more than its files hold (time_based or loops): most of it are rewrites, of what is taken as {test}"
        ));
    }
    let errors = clones.iter().filter(|job| job.error != 0).map(|job| {
        let detail = format!("fio ended the job '{name}' with error {}", job.error);
        Check::new("fio", Verdict::Invalid, detail)
    });
    let checks = errors.collect();
    Ok(vec![(name.clone(), SourceStep { checks, ..SourceStep::new(coordinates, measure) })])
}

/// True for random reads through the client's cache.
fn reads_at_random(coordinates: &Coordinates) -> bool {
    let random = coordinates.text(axis::TEST).is_some_and(|test| test.ends_with("random-read"));
    random && coordinates.get("cache").is_none()
}

/// True for a job that is called a write and went over its files more than once.
fn writes_again(coordinates: &Coordinates, measure: &Measure, files: u64) -> bool {
    let new = matches!(coordinates.text(axis::TEST), Some("write" | "mmap-write"));
    let Some(Value::Bytes(file)) = coordinates.get(axis::FILE_SIZE) else { return false };
    let jobs = u128::from(measure.users_assigned);
    new && u128::from(measure.bytes.written) > u128::from(*file) * u128::from(files) * jobs
}

fn coordinates(test: &str, options: &Options<'_>, clones: &[Job]) -> Result<Coordinates, String> {
    let record = options.block_size(test)?;
    let file = options.file_size()?;
    check_sizes(file, Some(record))?;
    let mut coordinates = Coordinates::new()
        .with(axis::TEST, Value::text(test))
        .with(axis::RECORD_SIZE, Value::Bytes(record))
        .with(axis::QUEUE_DEPTH, Value::Count(options.depth()));
    if let Some(file) = file {
        coordinates = coordinates.with(axis::FILE_SIZE, Value::Bytes(file));
    }
    let jobs = options.number("numjobs").unwrap_or(1).max(clones.len() as u64);
    if jobs > 1 {
        coordinates = coordinates.with(axis::JOBS, Value::Count(jobs));
    }
    if options.is_set("direct") {
        coordinates = coordinates.with("cache", Value::text("unbuffered"));
    }
    if options.get("sync").is_some_and(|sync| !["0", "none"].contains(&sync)) {
        coordinates = coordinates.with("sync", Value::text("write-through"));
    }
    Ok(coordinates)
}

/// What the job's processes did together: all their bytes over the longest of their times.
fn measure(
    clones: &[Job],
    moved: &[(&str, Vec<&Direction>)],
    options: &Options<'_>,
    notes: &mut Vec<String>,
) -> Result<Measure, String> {
    let sides = || moved.iter().flat_map(|(_, sides)| sides).copied();
    let runtime_ms = sides().map(|side| side.runtime).max().unwrap_or(0);
    let bytes = |name: &str| -> u64 {
        let of = moved.iter().filter(|(side, _)| *side == name).flat_map(|(_, sides)| sides);
        of.map(|side| side.io_bytes).fold(0, u64::saturating_add)
    };
    let operations = sides().map(|side| side.total_ios).fold(0, u64::saturating_add);
    let total = bytes("read").saturating_add(bytes("write")).saturating_add(bytes("trim"));
    if runtime_ms == 0 || runtime_ms > 1_000_000_000 || total > 1 << 60 || operations == 0 {
        return Err(format!("{total} bytes and {operations} operations in {runtime_ms} ms cannot be true"));
    }
    let busy_ns = runtime_ms * CLOCK_NS;
    let times = times::merged(&sides().collect::<Vec<_>>());
    if times.is_none() {
        let name = &clones[0].name;
        notes.push(format!("job '{name}': several histograms (of processes, or of reads and writes) need --output-format=json+ to be merged"));
    }
    let times = times.unwrap_or_default();
    let share = |percent: f64, job: &Job| (percent / 100.0 * job.runtime as f64 * CLOCK_NS as f64) as u64;
    let jobs =
        options.number("numjobs").unwrap_or(1).max(clones.len() as u64).min(u64::from(u32::MAX)) as u32;
    Ok(Measure {
        window_ns: busy_ns,
        busy_ns,
        rate_base: RateBase::Busy,
        operations,
        transactions: operations,
        bytes: IoBytes { read: bytes("read"), written: bytes("write").saturating_add(bytes("trim")) },
        users_assigned: jobs,
        users_reported: jobs,
        client_cpu: CpuTime {
            user_ns: clones.iter().map(|job| share(job.usr_cpu, job)).sum(),
            kernel_ns: clones.iter().map(|job| share(job.sys_cpu, job)).sum(),
        },
        response: times.clone(),
        service: times,
        ..Measure::default()
    })
}

/// Jobs that stand at one position get their name as one more axis.
fn number_repeats(steps: &mut [(String, SourceStep)]) -> Result<(), ImportError> {
    let positions: Vec<Coordinates> = steps.iter().map(|(_, step)| step.coordinates.clone()).collect();
    for (index, (name, step)) in steps.iter_mut().enumerate() {
        let twins = positions.iter().filter(|position| **position == positions[index]).count();
        if twins > 1 {
            step.coordinates = step.coordinates.clone().with("job", Value::text(name.as_str()));
        }
    }
    for (index, (name, step)) in steps.iter().enumerate() {
        if steps[..index].iter().any(|(_, other)| other.coordinates == step.coordinates) {
            let problem = format!("two jobs are called '{name}' and do the same; import one run at a time");
            return Err(ImportError::whole(problem));
        }
    }
    Ok(())
}
