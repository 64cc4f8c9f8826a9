//! The benchmark `bench/run diagnose`: faults of known size are planted in real servers, and `sharebench diagnose` has to name
//! the cause. Its table is in docs/results/planted-faults.md.
//!
//! Results are kept in a file, one line of JSON per run, so that the benchmark continues where it was interrupted.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the table and the progress are for the terminal"
)]

mod client;
mod fault;
mod guest;
mod nfs;
mod options;
mod own;
mod record;
mod run;
mod smb;
mod splitter;
mod table;

use std::process::ExitCode;

use fault::{Condition, Fault};
use options::Options;
use record::Records;
use sharebench_tests::BusyLoop;

/// What ends the benchmark.
type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match benchmark() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("diagnose: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn all_faults() -> Vec<&'static Fault> {
    [own::FAULTS, smb::FAULTS, nfs::FAULTS, client::FAULTS, guest::FAULTS].into_iter().flatten().collect()
}

fn benchmark() -> Result<(), Failure> {
    let options = Options::parse(std::env::args().skip(1))?;
    let faults = options.wanted(&all_faults())?;
    if options.lists {
        return Ok(());
    }
    run::select(&options.binary)?;
    let mut records = Records::open(&options.state, &options.time)?;
    for fault in &faults {
        measure(fault, &options, &mut records)?;
    }
    println!("{}", table::text(&all_faults(), &records, &options.time));
    Ok(())
}

/// Makes the runs of a fault that are missing, and one without the fault to compare the gain with.
fn measure(fault: &Fault, options: &Options, records: &mut Records) -> Result<(), Failure> {
    if let Some(reason) = fault.needs.iter().find_map(|need| need.unmet()) {
        eprintln!("{}: skipped: {reason}", fault.id);
        return Ok(());
    }
    let conditions = [(Condition::Faulty, options.rounds), (Condition::Fixed, usize::from(fault.has_gain))];
    for (condition, rounds) in conditions {
        for round in records.count(fault.id, condition)..rounds {
            let planted = (fault.plant)(condition)?;
            let found = {
                let _busy = options.with_load.then(BusyLoop::start);
                run::diagnose(&planted, options)
            };
            // A failure of one run is a result as well, and the others continue.
            let found = found.unwrap_or_else(|error| serde_json::json!({ "error": error.to_string() }));
            let record = record::Record::new(fault, condition, &found);
            eprintln!("{} {}: {}", fault.id, round + 1, record.words());
            if options.verbose {
                eprintln!("{found:#}");
            }
            records.add(record)?;
        }
    }
    Ok(())
}
