//! Results of mdtest: the table `SUMMARY rate` of a run, with the options of its command line.
//!
//! Written from published outputs of versions 1.9, 3.x and 4.x; its source was never read.

use sharebench_model::{Coordinates, Facts, Measure, RateBase, Value, axis};

use crate::rate::{RateUnit, milli_per_s};
use crate::source::{Source, SourceRun, SourceStep};
use crate::{ImportError, text};

/// Names of mdtest's phases, and those of the tests that are the same here.
const PHASES: [(&str, &str); 12] = [
    ("Directory creation", "mkdir"),
    ("Directory stat", "directory-stat"),
    ("Directory rename", "directory-rename"),
    ("Directory removal", "rmdir"),
    ("File creation", "create"),
    ("File stat", "stat"),
    ("File read", "open-read-close"),
    ("File rename", "rename"),
    ("File removal", "unlink"),
    ("Tree creation", "tree-creation"),
    ("Tree removal", "tree-removal"),
    ("File chmod", "set-attributes"),
];

/// What the options of mdtest say of its directories.
#[derive(Debug, Default)]
struct Run {
    program: Option<String>,
    tasks: Option<u64>,
    /// Files of all tasks.
    items: Option<u64>,
    /// `-u`: each task has a directory of its own.
    own: bool,
    /// `-I`: items per directory.
    per_directory: Option<u64>,
    /// `-w`: bytes written to each file.
    written: u64,
    /// `-e`: bytes read from each file.
    read: u64,
}

/// True when the text looks like the output of mdtest.
pub(crate) fn looks_like(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        line.starts_with("mdtest-") && line.contains("was launched with") || is_rates(line)
    })
}

fn is_rates(line: &str) -> bool {
    line.starts_with("SUMMARY") && !line.contains("time") && line.contains("iterations")
}

/// Reads the text that mdtest printed; each of its tables is a run.
pub(crate) fn read(text: &str) -> Result<Source, ImportError> {
    let mut source = Source::default();
    let mut run = Run::default();
    let mut lines = text::lines(text).into_iter().peekable();
    while let Some((number, line)) = lines.next() {
        let line = line.trim_start();
        if let Some((program, tasks)) = launched(line) {
            run = Run { program: Some(program), tasks, ..Run::default() };
        } else if let Some(options) = line.strip_prefix("Command line used:") {
            run.note_options(options);
        } else if let Some((_, items)) = line.split_once(" tasks, ") {
            run.items = items.split(' ').next().and_then(|count| count.parse().ok());
        } else if is_rates(line) {
            let mut steps = Vec::new();
            while let Some((number, row)) = lines.peek().copied() {
                match row_of(row).map_err(|problem| ImportError::at(number, problem))? {
                    Row::Rate(phase, milli) if milli > 0 => steps.push(run.step(phase, milli)),
                    Row::Rate(..) | Row::Heading => {}
                    Row::Other => break,
                }
                lines.next();
            }
            if steps.is_empty() {
                return Err(ImportError::at(number, "the table 'SUMMARY rate' has no rate above zero"));
            }
            source.program = source.program.or_else(|| run.program.clone());
            let name =
                if source.runs.is_empty() { String::new() } else { format!("{}", source.runs.len() + 1) };
            source.runs.push(SourceRun { name, targets: vec![(String::new(), Facts::new())], steps });
            source.notes.extend(iterations(line));
        }
    }
    match source.runs.len() {
        0 => return Err(ImportError::whole("there is no table 'SUMMARY rate' of mdtest")),
        1 => {}
        _ => "1".clone_into(&mut source.runs[0].name),
    }
    Ok(source)
}

/// Program and tasks of `mdtest-4.0.0 was launched with 10 total task(s) on 2 node(s)`.
fn launched(line: &str) -> Option<(String, Option<u64>)> {
    let (program, rest) = line.split_once(" was launched with ")?;
    let tasks = rest.split(' ').next().and_then(|count| count.parse().ok());
    program.starts_with("mdtest-").then(|| (program.to_owned(), tasks))
}

/// What is said of several iterations, of which only the mean is stated.
fn iterations(line: &str) -> Option<String> {
    let count: u32 = line.split("(of ").nth(1)?.split(' ').next()?.parse().ok()?;
    (count > 1).then(|| format!("mdtest states the mean of {count} iterations, which is one repetition here"))
}

enum Row {
    Heading,
    Rate(&'static str, u64),
    Other,
}

/// A line of the table: `File creation  36079.411  36079.411  36079.411  0.000`, before version 4 with a colon.
fn row_of(line: &str) -> Result<Row, String> {
    let line = line.trim_start();
    if line.starts_with("Operation") || line.starts_with("---------") {
        return Ok(Row::Heading);
    }
    let Some((phase, test, rest)) =
        PHASES.iter().find_map(|(phase, test)| Some((*phase, *test, line.strip_prefix(phase)?)))
    else {
        return Ok(Row::Other);
    };
    let numbers: Vec<&str> = rest.trim_start().trim_start_matches(':').split_whitespace().collect();
    let [_max, _min, mean, ..] = numbers.as_slice() else {
        return Err(format!("'{phase}' has {} numbers where max, min and mean belong", numbers.len()));
    };
    Ok(Row::Rate(test, milli_per_s(mean, RateUnit::Operations)?))
}

impl Run {
    fn note_options(&mut self, options: &str) {
        let words: Vec<&str> =
            options.split_whitespace().map(|word| word.trim_matches(['\'', '"'])).collect();
        let number = |flag: &str| {
            let at = words.iter().position(|word| *word == flag)?;
            words.get(at + 1)?.parse().ok()
        };
        self.own = words.contains(&"-u");
        self.per_directory = number("-I");
        self.written = number("-w").unwrap_or(0);
        self.read = number("-e").unwrap_or(0);
        let depth: u64 = number("-z").unwrap_or(0);
        if depth == 0 {
            self.per_directory = None;
        }
    }

    fn step(&self, test: &str, milli: u64) -> SourceStep {
        let (test, size) = match test {
            "create" if self.written > 0 => ("create-write", self.written),
            "open-read-close" => (test, self.read),
            _ => (test, 0),
        };
        let tasks = self.tasks.unwrap_or(1).max(1);
        let mut at = Coordinates::new().with(axis::TEST, Value::text(test));
        if tasks > 1 {
            at = at.with(axis::JOBS, Value::Count(tasks));
        }
        let (entries, layout) = match (self.per_directory, self.items) {
            (Some(entries), _) => (Some(entries), Some("tree")),
            (None, Some(items)) if self.own || tasks == 1 => (Some(items / tasks), None),
            (None, items) => (items, Some("shared")),
        };
        if let Some(entries) = entries {
            at = at.with(axis::ENTRIES, Value::Count(entries));
        }
        if let Some(layout) = layout {
            at = at.with(axis::LAYOUT, Value::text(layout));
        }
        if size > 0 {
            at = at.with(axis::FILE_SIZE, Value::Bytes(size));
        }
        SourceStep::new(at, measure(self.items, milli, tasks))
    }
}

/// The results that a rate of operations stands for.
fn measure(operations: Option<u64>, milli: u64, jobs: u64) -> Measure {
    let operations = operations.unwrap_or(milli / 1000).max(1);
    let nanos = u128::from(operations) * 1_000_000_000_000 / u128::from(milli.max(1));
    let nanos = u64::try_from(nanos).unwrap_or(u64::MAX).max(1);
    let jobs = u32::try_from(jobs).unwrap_or(u32::MAX);
    Measure {
        window_ns: nanos,
        busy_ns: nanos,
        rate_base: RateBase::Reported { milli },
        operations,
        transactions: operations,
        users_assigned: jobs,
        users_reported: jobs,
        ..Measure::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION_4: &str = "-- started at 03/19/2026 17:55:06 --

mdtest-4.0.0 was launched with 10 total task(s) on 2 node(s)
Command line used: mdtest '-a' 'POSIX' '-z' '0' '-F' '-i' '3' '-n' '3334' '-w' '4096' '-d' '/tmp/nfs' '-u'
Path                : /tmp/nfs
10 tasks, 33340 files

SUMMARY rate: (of 3 iterations)
   Operation                     Max            Min           Mean        Std Dev
   ---------                     ---            ---           ----        -------
   File creation                2600.636       2500.636       2568.636         12.000
   File stat                    9000.000       9000.000       9000.500          0.000
   File removal                    0.000          0.000          0.000          0.000
-- finished at 03/19/2026 17:55:20 --
";

    #[test]
    fn the_table_of_version_4_is_read_with_its_options() {
        assert!(looks_like(VERSION_4));
        let source = read(VERSION_4).unwrap();
        assert_eq!(source.program.as_deref(), Some("mdtest-4.0.0"));
        assert_eq!(source.notes, ["mdtest states the mean of 3 iterations, which is one repetition here"]);
        let [create, stat] = source.runs[0].steps.as_slice() else { panic!("{source:?}") };
        assert_eq!(create.coordinates.to_string(), "entries=3334 file_size=4KiB jobs=10 test=create-write");
        assert_eq!(create.measure.operation_rate(), Some(2568.636));
        assert_eq!(stat.coordinates.to_string(), "entries=3334 jobs=10 test=stat");
        assert_eq!((stat.measure.operation_rate(), stat.measure.operations), (Some(9000.5), 33_340));
    }

    #[test]
    fn older_tables_have_colons_and_a_shared_directory_is_named() {
        let text = "mdtest-1.9.3 was launched with 2 total task(s) on 1 node(s)\n\
                    Command line used: mdtest \"-n\" \"10\"\n2 tasks, 20 files\nSUMMARY: (of 1 iterations)\n\
                    Operation Max Min Mean Std Dev\n   File stat         :  5.5  5.5  5.5  0.0\n";
        let source = read(text).unwrap();
        assert_eq!(
            source.runs[0].steps[0].coordinates.to_string(),
            "entries=20 jobs=2 layout=shared test=stat"
        );
        assert_eq!(source.runs[0].steps[0].measure.operation_rate(), Some(5.5));
    }

    #[test]
    fn what_is_cut_or_empty_is_an_error_with_its_line() {
        let cut = VERSION_4.replace("2600.636       2500.636       2568.636         12.000", "2600.636");
        assert_eq!(read(&cut).unwrap_err().line, Some(11));
        let zero = "SUMMARY rate: (of 1 iterations)\n   File stat  0.000 0.000 0.000 0.000\n";
        assert!(read(zero).unwrap_err().problem.contains("no rate above zero"));
        assert!(read("mdtest-4.0.0 was launched with 1 total task(s)\n").is_err());
    }
}
