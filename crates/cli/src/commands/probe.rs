//! `sharebench probe`: what a server offers, and which of it a run can use.

use std::fmt::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};
use sharebench_engine::{Clock, Deletion, DirectoryCheck, DotNames, check_directory, directory_on};
use sharebench_model::units::parse_duration;
use sharebench_plan::url_of_typed_target;
use sharebench_report::plain;
use sharebench_target::offers::{OfferReport, OfferRow, Usability};
use sharebench_target::{ConnectError, TargetUrl};

use crate::exit::{self, Failure};
use crate::flags::login::LoginFlags;
use crate::flags::work_dir::WorkDirFlag;
use crate::output::{print_object, print_out};
use crate::run::environment::new_directory;
use crate::run::{named_targets, targets};
use crate::system::{local_offers, local_path, local_target};

pub const PROBE_HELP: &str = "The share, export or volume may be left out. On a share that a run could use,
an empty directory is made and removed again. Without a password the report
ends before the login. The exit code is 0 if a run against the URL would
start, and 3 if it would not; the reasons are listed first.

Examples:
  sharebench probe smb://alice@nas/share
  sharebench probe nfs://nas/ --json
  sharebench probe ncp://guest@nas/SYS --timeout 5s";

/// Identifier of the JSON that this command prints.
const SCHEMA: &str = "urn:sharebench:schema:probe:1";
/// Section about the directory that a run makes.
const DIRECTORY: &str = "directory of a run";
const DOT_NAMES: &str = "names with a leading dot";
/// Widths of the columns of names and values.
const NAME_WIDTH: usize = 26;
const VALUE_WIDTH: usize = 36;

#[derive(Debug, Args)]
pub struct ProbeArgs {
    /// Target to probe: a path or URL.
    #[arg(value_parser = url_of_typed_target)]
    pub target: String,
    /// Print the report as one JSON object (docs/schemas/probe-1.json).
    #[arg(long)]
    pub json: bool,
    /// Longest time of the probe.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_duration)]
    pub timeout: Duration,
    #[command(flatten)]
    pub login: LoginFlags,
    #[command(flatten)]
    pub work_dir: WorkDirFlag,
}

/// Probes a target and prints the report.
pub fn run(args: &ProbeArgs) -> Result<ExitCode, Failure> {
    if args.timeout.is_zero() {
        return Err(Failure::usage("--timeout 0s: a probe needs time"));
    }
    let url = TargetUrl::parse(&named_targets::url(&args.target)?)?;
    let clock = Clock::start();
    let start = Instant::now();
    let (mut report, target) = match url.scheme.as_str() {
        "file" => {
            let target = local_target(url.clone())?;
            (completed(&clock, local_offers(local_path(url)?))?, Some(target))
        }
        "nfs" => {
            let (probe, target) = targets::nfs_probe(&url, &args.login.read()?)?;
            (completed(&clock, probe.run(args.timeout))?, target)
        }
        "smb" => {
            let (probe, target) = targets::smb_probe(url, &args.login.read()?)?;
            (completed(&clock, probe.run(args.timeout))?, target)
        }
        "ncp" => {
            let (probe, target) = targets::ncp_probe(url, &args.login.read()?)?;
            (completed(&clock, probe.run(args.timeout))?, target)
        }
        other => {
            return Err(Failure::usage(format!(
                "'{}': unknown protocol {other}://; use /path, file://, smb://, nfs:// or ncp://",
                args.target
            )));
        }
    };
    if let Some(target) = target.filter(|_| report.is_usable()) {
        let directory = directory_on(&new_directory(args.work_dir.name()), 0);
        let checked = check_directory(target.as_ref(), &directory, &clock, args.timeout);
        add_directory(&mut report, &directory, completed(&clock, checked)?);
    }
    let elapsed = start.elapsed();
    if args.json {
        print_object(&object(&report, elapsed));
    } else {
        print_out(&text(&report, elapsed))?;
    }
    Ok(if report.is_usable() { ExitCode::SUCCESS } else { ExitCode::from(exit::TARGET) })
}

fn completed<T>(clock: &Clock, work: impl Future<Output = T>) -> Result<T, Failure> {
    clock.block_on(work).map_err(|error| Failure::Internal(error.into()))
}

/// Adds what the directory of a run showed.
fn add_directory(report: &mut OfferReport, directory: &str, checked: Result<DirectoryCheck, ConnectError>) {
    let check = match checked {
        Ok(check) => check,
        Err(error) => return report.incompatible(error),
    };
    match check.dot_names {
        Some(DotNames::Accepted) => report.add(DIRECTORY, DOT_NAMES, "accepted", Usability::Used),
        Some(DotNames::Unlisted) => {
            let value = "hidden: `clean` finds no leftovers";
            report.add(DIRECTORY, DOT_NAMES, value, Usability::With("--work-dir NAME".to_owned()));
        }
        Some(DotNames::Rejected) => {
            report.add(DIRECTORY, DOT_NAMES, "rejected", Usability::With("--work-dir NAME".to_owned()));
        }
        None => {}
    }
    let keepers = &check.keepers;
    match &keepers.deletion {
        Some(Deletion::IntoTree(place)) => {
            report.fact(DIRECTORY, "deleted files", format!("kept in {place}: a run removes its own"));
        }
        Some(Deletion::AmongOthers(place)) => {
            let value = format!("kept in {place}, without their directories: empty it after a run");
            report.fact(DIRECTORY, "deleted files", value);
        }
        None if !keepers.bins.is_empty() => {
            let value = format!("deleted; {} does not receive them", keepers.bins.join(", "));
            report.fact(DIRECTORY, "deleted files", value);
        }
        None => {}
    }
    if let Some(snapshots) = keepers.snapshots_text() {
        report.fact(DIRECTORY, "snapshots", format!("{snapshots}: they keep what a run writes"));
    }
    if let Some(error) = check.refusal {
        report.incompatible(format!("directory: {error}"));
    }
    if let Some(error) = check.leftover {
        report.incompatible(format!("directory: {directory} could not be removed: {error}"));
    }
}

/// The report for a reader.
fn text(report: &OfferReport, elapsed: Duration) -> String {
    let mut out = format!("{}\n", plain(&report.url));
    if report.is_usable() {
        out.push_str("usable: yes\n");
    } else {
        out.push_str("usable: no\n");
    }
    for reason in &report.incompatibilities {
        let _ = writeln!(out, "  {}", plain(reason));
    }
    for section in &report.sections {
        let _ = writeln!(out, "\n{}", section.name);
        for row in &section.rows {
            out.push_str(line(row).trim_end());
            out.push('\n');
        }
        if section.omitted > 0 {
            let _ = writeln!(out, "  ({} more)", section.omitted);
        }
    }
    let _ = writeln!(out, "\nprobed in {:.2} s", elapsed.as_secs_f64());
    out
}

fn line(row: &OfferRow) -> String {
    let name = plain(&row.name);
    let value = plain(&row.value);
    format!("  {name:NAME_WIDTH$}  {value:VALUE_WIDTH$}  {}", usability_text(&row.usability))
}

fn usability_text(usability: &Usability) -> String {
    match usability {
        Usability::Fact | Usability::NotOffered => String::new(),
        Usability::Used => "used".to_owned(),
        Usability::With(option) => format!("used with {}", plain(option)),
        Usability::Unsupported => "not supported by sharebench".to_owned(),
    }
}

/// The report for a program (docs/schemas/probe-1.json).
fn object(report: &OfferReport, elapsed: Duration) -> Value {
    let sections: Vec<Value> = report
        .sections
        .iter()
        .map(|section| {
            let rows: Vec<Value> = section.rows.iter().map(row_object).collect();
            json!({ "name": section.name, "rows": rows, "omitted": section.omitted })
        })
        .collect();
    json!({
        "schema": SCHEMA,
        "url": report.url,
        "protocol": report.protocol,
        "usable": report.is_usable(),
        "incompatibilities": report.incompatibilities,
        "sections": sections,
        "elapsed_s": elapsed.as_secs_f64(),
    })
}

fn row_object(row: &OfferRow) -> Value {
    let (usability, option) = match &row.usability {
        Usability::Fact => ("fact", None),
        Usability::Used => ("used", None),
        Usability::With(option) => ("with option", Some(option)),
        Usability::Unsupported => ("unsupported", None),
        Usability::NotOffered => ("not offered", None),
    };
    json!({ "name": row.name, "value": row.value, "usability": usability, "option": option })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> OfferReport {
        let mut report = OfferReport::new("smb://alice@nas/share", "smb");
        report.add("host", "address", "192.0.2.1 (IPv4)", Usability::Used);
        report.add("versions", "SMB1", "offered", Usability::Unsupported);
        report.add("versions", "SMB 2.1", "offered", Usability::With("dialect=2.1".into()));
        report.not_offered("versions", "SMB 3.1.1");
        report
    }

    #[test]
    fn text_lists_reasons_first_and_rows_by_section() {
        let mut report = report();
        report.incompatible("port: the server offers SMB1 only");
        let expected = "\
smb://alice@nas/share
usable: no
  port: the server offers SMB1 only

host
  address                     192.0.2.1 (IPv4)                      used

versions
  SMB1                        offered                               not supported by sharebench
  SMB 2.1                     offered                               used with dialect=2.1
  SMB 3.1.1                   not offered

probed in 0.25 s
";
        assert_eq!(text(&report, Duration::from_millis(250)), expected);
    }

    #[test]
    fn a_value_of_a_server_cannot_look_like_another_line() {
        let mut report = report();
        report.fact("host", "name", "NAS\nusable: yes\x1b[2J");
        let text = text(&report, Duration::ZERO);
        assert_eq!(text.lines().filter(|line| line.starts_with("usable")).count(), 1, "{text}");
        assert!(!text.contains('\x1b'), "{text}");
    }

    #[test]
    fn json_has_the_usability_of_every_row() {
        let object = object(&report(), Duration::from_millis(250));
        assert_eq!(object["schema"], SCHEMA);
        assert_eq!(object["usable"], true);
        assert_eq!(object["sections"][1]["rows"][1]["usability"], "with option");
        assert_eq!(object["sections"][1]["rows"][1]["option"], "dialect=2.1");
        assert_eq!(object["sections"][0]["rows"][0]["option"], Value::Null);
    }
}
