//! The column map: which column holds which coordinate or measure, in which unit.

use std::str::FromStr;

use crate::rate::RateUnit;

/// What a column is, or a constant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    pub(super) key: Key,
    pub(super) from: From,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum From {
    /// The column of this name.
    Column(String),
    /// The same for every row.
    Constant(String),
}

/// What a value means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    /// Distinguishes several runs of one file.
    Run,
    /// The system that was measured.
    Target,
    Test,
    /// An axis of sizes, with the number of bytes per unit.
    Size(&'static str, u64),
    /// An axis of counts.
    Count(&'static str),
    /// An axis of names.
    Axis(String),
    Repetition,
    /// A fact about a system.
    Fact(String),
    /// Mean response time of the row (ART), with the number of nanoseconds per unit.
    Response(u64),
    /// Mean think time between the transactions of a user, with the number of nanoseconds per unit.
    Think(u64),
    /// Size of one transaction, with the number of bytes per unit.
    TransactionSize(u64),
    /// Users that reported (MPS).
    Reported,
    /// The rate of the row's test, or of the test named.
    Rate(Option<String>, RateUnit),
}

const HELP: &str = "write KEY=COLUMN, KEY=COLUMN:UNIT or KEY==VALUE, where KEY is run, target, test, file_size, \
                    record_size, queue_depth, jobs, users, repetition, response, think, transaction_size, reported, rate, rate.TEST, axis.NAME or fact.NAME";

impl FromStr for Mapping {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) =
            text.split_once('=').ok_or_else(|| format!("'{text}' is not a mapping; {HELP}"))?;
        let (value, constant) = value.strip_prefix('=').map_or((value, false), |value| (value, true));
        let plain = |key: Key| Ok((key, value));
        let unit = || {
            let needs = || format!("'{text}' needs a unit after the column, such as :KiB or :B/s");
            value.rsplit_once(':').ok_or_else(needs)
        };
        let rate = |test: Option<&str>| {
            let (column, unit) = unit()?;
            Ok((Key::Rate(test.map(test_name), unit.parse()?), column))
        };
        let (key, name) = match key {
            "run" => plain(Key::Run),
            "target" => plain(Key::Target),
            "test" => plain(Key::Test),
            "queue_depth" => plain(Key::Count("queue_depth")),
            "jobs" => plain(Key::Count("jobs")),
            "users" => plain(Key::Count("users")),
            "repetition" => plain(Key::Repetition),
            "file_size" => {
                unit().and_then(|(column, unit)| Ok((Key::Size("file_size", bytes(unit)?), column)))
            }
            "record_size" => {
                unit().and_then(|(column, unit)| Ok((Key::Size("record_size", bytes(unit)?), column)))
            }
            "reported" => plain(Key::Reported),
            "response" => unit().and_then(|(column, unit)| Ok((Key::Response(nanos(unit)?), column))),
            "think" => unit().and_then(|(column, unit)| Ok((Key::Think(nanos(unit)?), column))),
            "transaction_size" => {
                unit().and_then(|(column, unit)| Ok((Key::TransactionSize(bytes(unit)?), column)))
            }
            "rate" => rate(None),
            _ => match key.split_once('.') {
                Some(("rate", test)) if !test.is_empty() => rate(Some(test)),
                Some(("axis", axis)) if !axis.is_empty() => plain(Key::Axis(axis.to_owned())),
                Some(("fact", fact)) if !fact.is_empty() => plain(Key::Fact(fact.to_owned())),
                _ => Err(format!("'{key}' is not a key of a map; {HELP}")),
            },
        }?;
        let name = name.to_owned();
        if name.is_empty() {
            return Err(format!("'{text}' names no column; {HELP}"));
        }
        let from = if constant { From::Constant(name) } else { From::Column(name) };
        Ok(Self { key, from })
    }
}

/// Nanoseconds of a unit of time.
fn nanos(unit: &str) -> Result<u64, String> {
    Ok(match unit {
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return Err(format!("'{unit}' is not a unit of time; known are us, ms, s")),
    })
}

/// Bytes of a unit of sizes.
fn bytes(unit: &str) -> Result<u64, String> {
    Ok(match unit {
        "B" => 1,
        "KB" | "kB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(format!("'{unit}' is not a unit of size; known are B, KB, MB, GB, KiB, MiB, GiB")),
    })
}

/// Our name of a test that others call `Record rewrite`, `Bkwd read` or `Re-Reader`.
pub(super) fn test_name(text: &str) -> String {
    let name = text.trim().to_lowercase().replace([' ', '_'], "-");
    match name.as_str() {
        "writer" | "initial-write" | "sequential-write" => "write".to_owned(),
        "re-writer" | "re-write" => "rewrite".to_owned(),
        "reader" | "sequential-read" => "read".to_owned(),
        "re-reader" | "re-read" => "reread".to_owned(),
        "bkwd-read" | "reverse-read" | "backwards-read" => "backward-read".to_owned(),
        "strided-read" => "stride-read".to_owned(),
        "re-fwrite" => "frewrite".to_owned(),
        "re-fread" => "freread".to_owned(),
        "randread" => "random-read".to_owned(),
        "randwrite" => "random-write".to_owned(),
        "mixed-workload" | "randrw" => "random-mix".to_owned(),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_parse() {
        let read = |text: &str| text.parse::<Mapping>();
        let column = |name: &str| From::Column(name.to_owned());
        let size = Mapping { key: Key::Size("file_size", 1 << 20), from: column("file_size_mb") };
        assert_eq!(read("file_size=file_size_mb:MiB"), Ok(size));
        let rate = Key::Rate(Some("record-rewrite".into()), RateUnit::Bytes(1024));
        assert_eq!(read("rate.Record rewrite=a:b:KiB/s"), Ok(Mapping { key: rate, from: column("a:b") }));
        let constant = Mapping { key: Key::Test, from: From::Constant("read".into()) };
        assert_eq!(read("test==read"), Ok(constant));
        for (text, word) in [
            ("file_size", "not a mapping"),
            ("size=x", "not a key"),
            ("rate=x", "unit"),
            ("rate=x:KBps", "KBps"),
            ("file_size=x:MB/s", "not a unit of size"),
            ("response=art", "unit"),
            ("response=art:h", "not a unit of time"),
            ("think=pause", "unit"),
            ("think==5:min", "not a unit of time"),
            ("transaction_size==24.2", "unit"),
            ("transaction_size=x:MB/s", "not a unit of size"),
            ("run=", "names no column"),
            ("axis.=x", "not a key"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
