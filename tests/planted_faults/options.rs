//! The command line of the benchmark.

use std::path::PathBuf;

use crate::Failure;
use crate::fault::Fault;

const USAGE: &str = "bench/run diagnose [--rounds N] [--for TIME] [--faults ID,...] [--state FILE] [--binary FILE] [--no-load] [--verbose] [--list]
  --rounds   runs of each fault (10)
  --for      time of a diagnosis (45s); a shorter one gives a quick table
  --faults   faults to plant, by their ids or the start of them (all)
  --state    file of results, which a later call continues (diagnose-TIME.jsonl)
  --binary   the program (target/release/sharebench)
  --no-load  no loop that keeps one CPU busy
  --verbose  print the diagnoses
  --list     print the faults";

/// The parsed command line.
pub struct Options {
    pub rounds: usize,
    pub time: String,
    pub faults: Vec<String>,
    pub state: PathBuf,
    pub binary: String,
    pub with_load: bool,
    pub verbose: bool,
    pub lists: bool,
}

impl Options {
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut options = Self {
            rounds: 10,
            time: "45s".to_owned(),
            faults: Vec::new(),
            state: PathBuf::new(),
            binary: "target/release/sharebench".to_owned(),
            with_load: true,
            verbose: false,
            lists: false,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
            match word.as_str() {
                "--rounds" => options.rounds = value()?.parse()?,
                "--for" => options.time = value()?,
                "--faults" => options.faults = value()?.split(',').map(str::to_owned).collect(),
                "--state" => options.state = value()?.into(),
                "--binary" => options.binary = value()?,
                "--no-load" => options.with_load = false,
                "--verbose" => options.verbose = true,
                "--list" => options.lists = true,
                other => return Err(format!("unknown argument '{other}'\n{USAGE}").into()),
            }
        }
        if options.rounds == 0 {
            return Err("--rounds must be above 0".into());
        }
        if options.state.as_os_str().is_empty() {
            options.state = format!("diagnose-{}.jsonl", options.time).into();
        }
        Ok(options)
    }

    /// The faults that were selected.
    pub fn wanted(&self, all: &[&'static Fault]) -> Result<Vec<&'static Fault>, Failure> {
        if self.lists {
            for fault in all {
                println!("{:28} {}: {}", fault.id, fault.server, fault.what);
            }
            return Ok(Vec::new());
        }
        let is_wanted = |fault: &&&'static Fault| {
            self.faults.is_empty() || self.faults.iter().any(|wanted| fault.id.starts_with(wanted.as_str()))
        };
        let found: Vec<&'static Fault> = all.iter().filter(is_wanted).copied().collect();
        match self.faults.iter().find(|wanted| !all.iter().any(|fault| fault.id.starts_with(wanted.as_str())))
        {
            Some(unknown) => Err(format!("no fault is called {unknown}; --list prints them").into()),
            None => Ok(found),
        }
    }
}
