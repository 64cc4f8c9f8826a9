//! Facts about this machine and this command, and the random names of a run.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use sharebench_analysis::CLOCK_RESOLUTION_FACT;
use sharebench_engine::{Clock, ClockFacts};
use sharebench_model::Facts;
use sharebench_target::DIRECTORY_PREFIX;

use crate::run::hint::shell_word;
use crate::system::machine_facts;

/// Name of the fact with the run's directory on the targets.
pub const DIRECTORY_FACT: &str = "directory";
/// Name of the fact with the command line.
pub const COMMAND_FACT: &str = "command";

/// A random seed.
pub fn new_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A new name for a run's directory on the targets.
pub fn new_directory(name: &str) -> String {
    format!("{name}{DIRECTORY_PREFIX}{:08x}", new_seed() as u32)
}

/// Facts about machine, kernel, clock and command.
pub fn facts(directory: &str) -> Facts {
    let machine = machine_facts();
    let cores =
        std::thread::available_parallelism().map_or_else(|_| "unknown".into(), |cores| cores.to_string());
    let mut facts = Facts::new();
    let mut note = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            facts.insert(name.to_owned(), value);
        }
    };
    note("kernel", machine.kernel);
    note("cpu", machine.cpu);
    note("cores", Some(cores));
    note("memory", machine.memory);
    note("load_average", machine.load_average);
    note(CLOCK_RESOLUTION_FACT, Some(ClockFacts::measure(&Clock::start()).resolution_ns.to_string()));
    note(DIRECTORY_FACT, Some(directory.to_owned()));
    note(COMMAND_FACT, Some(command_line()));
    facts
}

/// The command line, quoted for a shell.
pub fn command_line() -> String {
    let words = std::env::args().skip(1).map(|word| shell_word(&word));
    std::iter::once("sharebench".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
