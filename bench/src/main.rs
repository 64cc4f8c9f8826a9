//! Prints the project's performance table: sharebench compared with its opponents, interleaved, medians of five.

mod client;
mod dist;
mod duel;
mod engine;
mod failure;
mod growth;
mod lab;
mod learn;
mod live;
mod load;
mod load_server;
mod local;
mod locks;
mod machine;
mod matrix;
mod matrix_cell;
mod matrix_fio;
mod mdtest;
mod metadata;
mod ncp;
mod ncp_server;
mod nfs;
mod nfs3;
mod nfs4;
mod nfs_rs;
mod old;
mod ours;
mod precision;
mod recording;
mod relay;
mod report;
mod round_trip;
mod sample;
mod server_cpu;
mod shape;
#[cfg(feature = "smb")]
mod smb;
mod smb2;
#[cfg(feature = "smb")]
mod smb_server;
mod survey;
mod table;
mod usage;

use std::path::PathBuf;
use std::time::Duration;

use failure::Failure;
use sample::Sample;
use shape::Shape;
use table::Table;

const USAGE: &str = "bench/run [local] [nfs] [smb] [smb-server] [ncp] [metadata] [local-names] [locks] [load] [recording] [matrix] [precision] [duel] [lab] [live] [report] [survey] [relay] [learn] [growth] [dist] [--rounds N] [--seconds S] [--dir DIR] [--largest SIZE] [--half-width PERCENT] [--measures N] [--old PROGRAM]
  parts      the tables to print; all but dist by default: it builds the program twice, with link-time optimization
  --rounds   measurements per median (5); for duel half of the runs
  --seconds  length of one measurement (1); for duel a sixtieth of a run
  --dir      directory of local files (the system's temporary directory)
  --largest  largest file of IOzone's matrix (512MiB; for precision 16MiB)
  --half-width  half-width of the intervals in percent, for precision (2)
  --measures measures in the large results database of `lab` (1000000)
  --old      another build of this program: nfs, smb, smb-server, ncp and recording are compared with it instead";

const PARTS: [&str; 21] = [
    "local",
    "nfs",
    "smb",
    "smb-server",
    "ncp",
    "metadata",
    "local-names",
    "locks",
    "load",
    "recording",
    "matrix",
    "precision",
    "duel",
    "lab",
    "live",
    "report",
    "survey",
    "relay",
    "learn",
    "growth",
    DIST,
];

/// The part that only its name selects.
const DIST: &str = "dist";

/// A run of `duel` takes this many times `--seconds`.
const SECONDS_OF_A_DUEL: u32 = 60;

/// The parsed command line.
struct Options {
    parts: Vec<String>,
    rounds: usize,
    time: Duration,
    directory: PathBuf,
    largest: Option<String>,
    half_width: f64,
    measures: u64,
    old: Option<PathBuf>,
}

impl Options {
    fn parse(words: &[String]) -> Result<Self, Failure> {
        let directory = std::env::temp_dir();
        let mut options = Self {
            parts: Vec::new(),
            rounds: 5,
            time: Duration::from_secs(1),
            directory,
            largest: None,
            half_width: 0.02,
            measures: 1_000_000,
            old: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
            match word.as_str() {
                "--rounds" => options.rounds = value()?.parse()?,
                "--seconds" => options.time = Duration::try_from_secs_f64(value()?.parse()?)?,
                "--largest" => options.largest = Some(value()?.clone()),
                "--half-width" => options.half_width = value()?.parse::<f64>()? / 100.0,
                "--measures" => options.measures = value()?.parse()?,
                "--dir" => options.directory = value()?.into(),
                "--old" => options.old = Some(value()?.into()),
                part if PARTS.contains(&part) => options.parts.push(part.to_owned()),
                other => return Err(format!("unknown argument '{other}'\n{USAGE}").into()),
            }
        }
        let other = options.parts.iter().find(|part| !old::PARTS.contains(&part.as_str()));
        if let (Some(_), Some(part)) = (&options.old, other) {
            return Err(format!("--old has no part {part}, only {}", old::PARTS.join(", ")).into());
        }
        if options.rounds == 0 || options.time.is_zero() {
            return Err("--rounds and --seconds must be above 0".into());
        }
        Ok(options)
    }

    fn wants(&self, part: &str) -> bool {
        self.parts.is_empty() && part != DIST || self.parts.iter().any(|wanted| wanted == part)
    }
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words == ["client", "ncp-server"] {
        return ncp_server::serve();
    }
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["client", "load-server", protocol, micros, servers, files] => {
            let service = Duration::from_micros(micros.parse()?);
            return load_server::serve(protocol, service, servers.parse()?, files.parse()?);
        }
        ["client", "crowd", ..] => return load::run_crowd(&words[2..]),
        _ => {}
    }
    if let [first, kind, rest @ ..] = words.as_slice()
        && first == "client"
    {
        println!("{}", run_client(kind, rest)?);
        return Ok(());
    }
    let options = Options::parse(&words)?;
    let scratch = options.directory.join(format!("sharebench-bench-{}", std::process::id()));
    std::fs::create_dir(&scratch)?;
    let outcome = print_tables(&options, &scratch);
    std::fs::remove_dir_all(&scratch)?;
    outcome
}

fn print_tables(options: &Options, scratch: &std::path::Path) -> Result<(), Failure> {
    machine::describe();
    println!("- {} rounds of {} s per contender, interleaved", options.rounds, options.time.as_secs_f64());
    machine::print_load("at the start");
    let mut table = Table::new(options.rounds);
    if let Some(program) = &options.old {
        old::measure(&mut table, program, &|part| options.wants(part), options.time)?;
        table.close();
        machine::print_load("at the end, including this program");
        return Ok(());
    }
    if options.wants("local") {
        table.under("Client on any CPU");
        local::measure(&mut table, scratch, options.time)?;
    }
    if options.wants("nfs") || options.wants("smb") {
        table.under("Client and server on any CPU");
        measure_network(&mut table, options, scratch)?;
        table.under("Client and server on one CPU");
        machine::on_one_cpu(|| measure_network(&mut table, options, scratch))??;
    }
    if options.wants("smb-server") {
        table.under("CPU of the SMB server");
        #[cfg(feature = "smb")]
        smb_server::measure(&mut table, options.time)?;
    }
    if options.wants("ncp") {
        table.under("NCP");
        ncp::measure(&mut table, options.time)?;
    }
    if options.wants("metadata") {
        table.under("Names");
        metadata::measure(&mut table, options.time)?;
        mdtest::measure(&mut table, scratch)?;
    }
    if options.wants("local-names") {
        table.under("Names");
        mdtest::measure_local(&mut table, scratch)?;
    }
    if options.wants("locks") {
        table.under("Locks");
        locks::measure(&mut table, options.time)?;
    }
    if options.wants("load") {
        table.under("Users");
        load::measure(&mut table, options.time)?;
    }
    if options.wants("recording") {
        table.under("The engine alone");
        recording::measure(&mut table)?;
    }
    if options.wants("matrix") {
        table.under("The engine and IOzone");
        matrix::measure(&mut table, scratch, options.largest.as_deref().unwrap_or("512MiB"))?;
    }
    if options.wants("precision") {
        table.under("Wall time at equal precision");
        precision::measure(&mut table, options.largest.as_deref().unwrap_or("16MiB"), options.half_width)?;
    }
    if options.wants("duel") {
        table.under("Sensitivity of a comparison");
        duel::measure(&mut table, 2 * options.rounds, options.time * SECONDS_OF_A_DUEL)?;
    }
    if options.wants("lab") {
        table.under("The results database");
        lab::measure(&mut table, scratch, options.measures)?;
    }
    if options.wants("live") {
        table.under("The live view");
        live::measure(&mut table, scratch, options.time)?;
    }
    if options.wants("report") {
        table.under("The report");
        report::measure(&mut table, scratch)?;
    }
    if options.wants("survey") {
        table.under("Listing a whole share");
        survey::measure(&mut table, scratch)?;
    }
    if options.wants("relay") {
        table.under("Simulated distance");
        relay::measure(&mut table, scratch)?;
    }
    if options.wants("learn") {
        table.under("Learning from captures");
        learn::measure(&mut table, scratch)?;
    }
    if options.wants(DIST) {
        table.under("The static program of the packages");
        dist::measure(&mut table, scratch, options.time)?;
    }
    let grown = if options.wants("growth") {
        table.under("Growth");
        growth::measure(&mut table, scratch)
    } else {
        Ok(())
    };
    table.close();
    machine::print_load("at the end, including this program");
    grown
}

fn measure_network(table: &mut Table, options: &Options, scratch: &std::path::Path) -> Result<(), Failure> {
    if options.wants("nfs") {
        nfs::measure(table, scratch, options.time)?;
        nfs4::measure(table, scratch, options.time)?;
    }
    if options.wants("smb") {
        #[cfg(feature = "smb")]
        smb::measure(table, scratch, options.time)?;
        #[cfg(not(feature = "smb"))]
        println!("\nSMB is not measured: built without the feature `smb`.");
    }
    Ok(())
}

/// Runs one contender in a process of its own.
fn run_client(kind: &str, words: &[String]) -> Result<Sample, Failure> {
    let (own, shape) = words.split_at(words.len().saturating_sub(6));
    match (kind, own) {
        ("recording", _) => recording::client(words),
        ("reads-of-load", _) => load::run_reads(words, false),
        ("reads-of-depth", _) => load::run_reads(words, true),
        ("surfaces", _) => lab::surfaces(),
        ("store", _) => lab::store(words),
        ("fill", _) => growth::fill_client(words),
        ("files", [url]) => ncp::files(url, &Shape::from_words(shape)?),
        ("echo", [addr]) => ncp_server::echo(addr, &Shape::from_words(shape)?),
        ("phase", _) if let [url, phase, directory, depth, files] = words => {
            mdtest::phase(url, phase, directory, depth.parse()?, files.parse()?)
        }
        ("names", [url, work, directory]) => {
            metadata::client(url, work, directory, &Shape::from_words(shape)?)
        }
        ("locks", [url]) => locks::client(url, &Shape::from_words(shape)?),
        ("logins", [url]) => ours::logins(url, &Shape::from_words(shape)?),
        ("ours", [url]) => ours::measure(url, &Shape::from_words(shape)?),
        ("nfs3_client", export) => {
            nfs3::measure(&nfs::Export::from_words(export)?, &Shape::from_words(shape)?)
        }
        ("nfs-rs", [url]) => nfs_rs::measure(url, &Shape::from_words(shape)?),
        ("smb2", [port, user]) => {
            smb2::measure(port.parse()?, user, sharebench_tests::Smbd::PASSWORD, &Shape::from_words(shape)?)
        }
        _ => Err(format!("unknown client {kind}").into()),
    }
}
