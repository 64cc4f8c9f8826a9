//! The doctor: examines this machine, and proves with known-answer tests that the engine measures correctly.
//!
//! [`examine`] measures clock, timers, CPUs and links for a few seconds, and compares two equal servers. [`prove`] lets the engine measure embedded
//! servers whose true behaviour is in their own logs, and compares. [`to_json`] formats the results for programs; the
//! command renders them for people.

mod document;
mod equal_servers;
mod examine;
mod finding;
mod memory;
mod prove;
mod system_files;

pub use document::to_json;
pub use examine::{Examination, Section, examine};
pub use finding::{Finding, Status};
pub use prove::{Conditions, EXPERIMENTS, Experiment, Proof, Protocol, Row, Verdict, prove};
