//! The engine: motors, phases and recorders. Knows no protocol, no file format, no terminal.
//!
//! [`Run::execute`] takes a resolved plan and its targets, runs the schedule on the calling thread and
//! sends what it learns as [`sharebench_model::RunEvent`]s. It works only inside one directory of its
//! own on each target and removes it, also after errors and requests to stop.

mod away;
mod between;
mod check;
mod check_policy;
mod clock;
mod deadline;
mod engine;
mod file_state;
mod files;
mod load_step;
mod motor;
mod order;
mod pass;
mod policy;
mod record_step;
pub mod stamp;
mod stop;
mod tally;

pub use clock::Clock;
pub use engine::{Run, RunEnd, StartError, remove_remains};
pub use files::{DIRECTORY_PREFIX, directory_on};
pub use stop::StopSignal;
