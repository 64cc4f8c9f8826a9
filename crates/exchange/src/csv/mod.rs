//! Tables of comma-separated values: any, through a column map, and our own exports, without.

mod map;
mod ours;
mod reader;

use std::collections::BTreeMap;

use sharebench_model::{Coordinates, Facts, ReportedFigures, Value};

use crate::ImportError;
use crate::cell::{Cell, check_sizes};
use crate::rate::{RateUnit, decimal, milli_per_s};
use crate::source::{Source, SourceRun, SourceStep};
use map::{From, Key, test_name};
use reader::Record;

pub use map::Mapping;

/// Reads a table: through the map, or as one of our own exports when there is none.
pub(crate) fn read(text: &str, map: &[Mapping]) -> Result<Source, ImportError> {
    let (header, rows) = reader::read(text)?;
    if ours::is_ours(&header) {
        if !map.is_empty() {
            return Err(ImportError::whole("this is an export of sharebench, which needs no --map"));
        }
        return ours::read(&header, &rows);
    }
    let mut source = mapped(&header, &rows, map)?;
    if !text.ends_with(['\n', '\r']) {
        source.notes.push("the last line has no end: a number there may have been cut".to_owned());
    }
    Ok(source)
}

/// A mapping with its column found.
struct Bound<'a> {
    key: &'a Key,
    /// Index of the column, or the constant.
    from: Result<usize, &'a str>,
}

impl Bound<'_> {
    fn value<'r>(&'r self, row: &'r Record) -> &'r str {
        match self.from {
            Ok(column) => row.fields[column].trim(),
            Err(constant) => constant,
        }
    }
}

fn mapped(header: &Record, rows: &[Record], map: &[Mapping]) -> Result<Source, ImportError> {
    let names = header.fields.iter().map(|name| name.trim());
    if map.is_empty() {
        let names = names.collect::<Vec<_>>().join(", ");
        return Err(ImportError::at(header.line, format!("--map must say what the columns mean: {names}")));
    }
    let bound = map.iter().map(|mapping| bind(header, mapping)).collect::<Result<Vec<_>, _>>()?;
    check_keys(&bound)?;
    let mut table = Mapped::default();
    for row in rows {
        table.take(row, &bound).map_err(|problem| ImportError::at(row.line, problem))?;
    }
    if table.runs.iter().all(|run| run.steps.is_empty()) {
        return Err(ImportError::whole("no row has a rate: nothing was measured"));
    }
    let used = |index: usize| bound.iter().any(|bound| bound.from == Ok(index));
    let unused: Vec<&str> =
        (0..).zip(names).filter(|(index, _)| !used(*index)).map(|(_, name)| name).collect();
    let mut notes = Vec::new();
    if !unused.is_empty() {
        notes.push(format!("columns that the map does not name were left out: {}", unused.join(", ")));
    }
    if table.zeros > 0 {
        notes.push(format!("{} empty or zero cells were left out", table.zeros));
    }
    notes.extend(unchecked_law(&bound));
    if table.untimed {
        notes.push(
            "without a file size the time of a cell is not known; it counts as one second's worth".to_owned(),
        );
    }
    Ok(Source { runs: table.runs, notes, ..Source::default() })
}

/// Why the Little's law check does not apply to a table of users with response times and rates in bytes.
fn unchecked_law(bound: &[Bound<'_>]) -> Option<String> {
    let has = |wanted: fn(&Key) -> bool| bound.iter().any(|bound| wanted(bound.key));
    let of_users = has(|key| *key == Key::Count("users")) && has(|key| matches!(key, Key::Response(_)));
    let in_bytes = has(|key| matches!(key, Key::Rate(_, RateUnit::Bytes(_))));
    let checked = has(|key| matches!(key, Key::Think(_) | Key::TransactionSize(_)));
    (of_users && in_bytes && !checked).then(|| {
        "users, rates and response times are not checked with Little's law, because the think time is not known; map \
         think (think==0:s where users do not pause), and transaction_size where it is known"
            .to_owned()
    })
}

fn bind<'a>(header: &Record, mapping: &'a Mapping) -> Result<Bound<'a>, ImportError> {
    let from = match &mapping.from {
        From::Constant(value) => Err(value.as_str()),
        From::Column(name) => {
            let found = header.fields.iter().position(|field| field.trim() == name);
            Ok(found.ok_or_else(|| {
                let known = header.fields.join(", ");
                ImportError::at(header.line, format!("there is no column '{name}'; the columns are {known}"))
            })?)
        }
    };
    Ok(Bound { key: &mapping.key, from })
}

fn check_keys(bound: &[Bound<'_>]) -> Result<(), ImportError> {
    for (index, one) in bound.iter().enumerate() {
        let same = |other: &Bound<'_>| match (one.key, other.key) {
            (Key::Rate(one, _), Key::Rate(other, _)) => one == other,
            (Key::Size(one, _), Key::Size(other, _)) => one == other,
            (Key::Response(_), Key::Response(_))
            | (Key::Think(_), Key::Think(_))
            | (Key::TransactionSize(_), Key::TransactionSize(_)) => true,
            (one, other) => one == other,
        };
        if bound[..index].iter().any(same) {
            return Err(ImportError::whole("--map names one key twice"));
        }
    }
    let rates = || {
        bound.iter().filter_map(|bound| if let Key::Rate(test, _) = bound.key { Some(test) } else { None })
    };
    let has = |wanted: fn(&Key) -> bool| bound.iter().any(|bound| wanted(bound.key));
    let counts_operations = has(|key| matches!(key, Key::Rate(_, RateUnit::Operations)));
    if counts_operations && has(|key| matches!(key, Key::TransactionSize(_))) {
        return Err(ImportError::whole(
            "--map transaction_size= needs a rate in bytes; a rate in ops/s counts transactions already",
        ));
    }
    let of_one = has(|key| matches!(key, Key::Response(_) | Key::Reported));
    if of_one && rates().count() > 1 {
        return Err(ImportError::whole(
            "--map response= and reported= belong to one rate; rows have several",
        ));
    }
    let has_test = has(|key| *key == Key::Test);
    if rates().next().is_none() {
        return Err(ImportError::whole("--map must name a rate, such as rate.write=COLUMN:KiB/s"));
    }
    if rates().any(Option::is_none) && (!has_test || rates().count() > 1) {
        return Err(ImportError::whole(
            "--map rate= needs a test (test=COLUMN or test==read) and no other rate; write rate.TEST= for each",
        ));
    }
    Ok(())
}

/// The runs from the rows read so far.
#[derive(Default)]
struct Mapped {
    runs: Vec<SourceRun>,
    /// Line of each position, so that a second one can name the first.
    seen: BTreeMap<(usize, u32, u32, Coordinates), usize>,
    zeros: usize,
    untimed: bool,
}

/// A row's coordinates, before its rates.
struct RowPosition {
    run: String,
    target: String,
    facts: Facts,
    test: Option<String>,
    sizes: BTreeMap<&'static str, u64>,
    counts: BTreeMap<&'static str, u64>,
    axes: Vec<(String, String)>,
    repetition: u32,
    /// Figures that the source reports as one number each.
    figures: ReportedFigures,
    /// Users that reported.
    users_reported: Option<u64>,
}

impl Mapped {
    fn take(&mut self, row: &Record, bound: &[Bound<'_>]) -> Result<(), String> {
        let place = place(row, bound)?;
        let file = place.sizes.get("file_size").copied();
        let record = place.sizes.get("record_size").copied();
        check_sizes(file, record)?;
        let (run, target) = self.find(&place)?;
        for mapping in bound {
            let Key::Rate(test, unit) = mapping.key else { continue };
            let text = mapping.value(row);
            let milli = if text.is_empty() { 0 } else { milli_per_s(text, *unit)? };
            if milli == 0 {
                self.zeros += 1;
                continue;
            }
            let Some(test) = test.clone().or_else(|| place.test.clone()) else {
                return Err("the row names no test".to_owned());
            };
            self.untimed |= file.is_none();
            let cell = Cell {
                test,
                file_size: file,
                record_size: record,
                queue_depth: place.counts.get("queue_depth").copied().unwrap_or(1),
                jobs: place.counts.get("jobs").copied(),
                users: place.counts.get("users").copied(),
                milli,
                unit: *unit,
                reported: place.figures,
            };
            let axes = place.axes.iter();
            let coordinates = axes.fold(cell.coordinates(), |all, (axis, value)| {
                all.with(axis.clone(), Value::text(value.as_str()))
            });
            let key = (run, target, place.repetition, coordinates.clone());
            if let Some(first) = self.seen.insert(key, row.line) {
                let help = "map a column to run, target, repetition or axis.NAME to distinguish them";
                return Err(format!("{coordinates} is on line {first} already; {help}"));
            }
            let mut measure = cell.measure();
            if let Some(reported) = place.users_reported {
                measure.users_reported = reported as u32;
                measure.users_assigned = measure.users_assigned.max(reported as u32);
            }
            let step = SourceStep::new(coordinates, measure);
            self.runs[run].steps.push(SourceStep { target, repetition: place.repetition, ..step });
        }
        Ok(())
    }

    /// The row's run and target, made when new.
    fn find(&mut self, place: &RowPosition) -> Result<(usize, u32), String> {
        let run = self.runs.iter().position(|run| run.name == place.run).unwrap_or_else(|| {
            self.runs.push(SourceRun { name: place.run.clone(), ..SourceRun::default() });
            self.runs.len() - 1
        });
        let targets = &mut self.runs[run].targets;
        let target = targets.iter().position(|(name, _)| *name == place.target).unwrap_or_else(|| {
            targets.push((place.target.clone(), place.facts.clone()));
            targets.len() - 1
        });
        for (fact, value) in &place.facts {
            if targets[target].1.get(fact).is_some_and(|known| known != value) {
                return Err(format!(
                    "fact.{fact} differs within one run and target; map the column that distinguishes them"
                ));
            }
        }
        Ok((run, target as u32))
    }
}

fn place(row: &Record, bound: &[Bound<'_>]) -> Result<RowPosition, String> {
    let mut place = RowPosition {
        run: String::new(),
        target: String::new(),
        facts: Facts::new(),
        test: None,
        sizes: BTreeMap::new(),
        counts: BTreeMap::new(),
        axes: Vec::new(),
        repetition: 0,
        figures: ReportedFigures::default(),
        users_reported: None,
    };
    for mapping in bound {
        let text = mapping.value(row);
        let empty = |what: &str| if text.is_empty() { Err(format!("the {what} is empty")) } else { Ok(()) };
        match mapping.key {
            Key::Run => empty("run").map(|()| text.clone_into(&mut place.run))?,
            Key::Target => empty("target").map(|()| text.clone_into(&mut place.target))?,
            Key::Test => empty("test").map(|()| place.test = Some(test_name(text)))?,
            Key::Size(axis, unit) => drop(place.sizes.insert(axis, size(axis, text, *unit)?)),
            Key::Count(axis) => drop(place.counts.insert(axis, count(axis, text, 1)?)),
            // A row without a name on an axis gets the usual position, as in our own runs.
            Key::Axis(_) | Key::Response(_) | Key::Think(_) | Key::TransactionSize(_) | Key::Reported
                if text.is_empty() => {}
            Key::Axis(axis) => place.axes.push((axis.clone(), text.to_owned())),
            Key::Repetition => place.repetition = count("repetition", text, 0)? as u32,
            Key::Fact(name) => drop(place.facts.insert(name.clone(), text.to_owned())),
            Key::Response(unit) => {
                place.figures.response_mean_ns = Some(time("response time", text, *unit)?);
            }
            Key::Think(unit) => place.figures.think_ns = Some(time("think time", text, *unit)?),
            Key::TransactionSize(unit) => {
                let size = size("transaction size", text, *unit)?;
                place.figures.transaction_bytes = Some(size).filter(|size| *size > 0);
                place.figures.transaction_bytes.ok_or("a transaction size of 0")?;
            }
            Key::Reported => place.users_reported = Some(count("number of users that reported", text, 0)?),
            Key::Rate(..) => {}
        }
    }
    Ok(place)
}

/// A time in nanoseconds.
fn time(what: &str, text: &str, unit: u64) -> Result<u64, String> {
    let (digits, scale) = decimal(text).ok_or_else(|| format!("'{text}' is no {what}"))?;
    let nanos = digits.saturating_mul(u128::from(unit)) / 10u128.pow(scale);
    u64::try_from(nanos).map_err(|_| format!("a {what} of {text} cannot be true"))
}

/// A whole number of bytes.
fn size(axis: &str, text: &str, unit: u64) -> Result<u64, String> {
    let (digits, scale) = decimal(text).ok_or_else(|| format!("'{text}' is no {axis}"))?;
    let bytes = digits * u128::from(unit);
    let divisor = 10u128.pow(scale);
    if !bytes.is_multiple_of(divisor) {
        return Err(format!("a {axis} of {text} is no whole number of bytes"));
    }
    u64::try_from(bytes / divisor).map_err(|_| format!("a {axis} of {text} cannot be true"))
}

/// A count of at most a million.
fn count(axis: &str, text: &str, least: u64) -> Result<u64, String> {
    let found = text.parse().ok().filter(|count| (least..=1_000_000).contains(count));
    found.ok_or_else(|| format!("'{text}' is no {axis} ({least}..1000000)"))
}
