//! The engine: motors, phases and recorders. Knows no protocol, no file format, no terminal.
//!
//! [`Run::execute`] takes a resolved plan and its targets, runs the schedule on the calling thread and
//! sends what it learns as [`sharebench_model::RunEvent`]s. It works only inside one directory of its
//! own on each target and removes it, also after errors and requests to stop.

mod away;
mod between;
mod capable;
mod ceiling;
mod check;
mod check_cache;
mod check_load;
mod check_machine;
mod check_policy;
mod check_throughput;
mod clock;
mod clock_facts;
mod counters;
mod deadline;
mod descriptors;
mod engine;
mod extension;
mod file_state;
mod files;
mod fine_timer;
mod health;
mod layout;
mod link;
mod load_run;
mod load_step;
mod machine;
mod motor;
mod mount_wire;
mod operation;
mod order;
mod pass;
mod policy;
mod ranked;
mod record_motor;
mod record_pass;
mod record_step;
mod rounds;
mod schedule;
mod search;
mod seconds;
pub mod simulated;
mod sleep;
mod slices;
pub mod stamp;
mod stop;
mod stopper;
mod stream;
mod survey;
mod tally;
mod texture;
mod throughput_step;
mod timer;
mod transaction;
mod user_files;
mod virtual_time;

pub use ceiling::{CeilingKind, generator_ceiling};
pub use check_machine::contaminated;
pub use clock::{Clock, ClockError};
pub use clock_facts::ClockFacts;
pub use descriptors::own_descriptors;
pub use engine::{Run, RunEnd, StartError, remove_remains};
pub use files::{DIRECTORY_PREFIX, directory_on};
pub use health::{Health, HealthMeter};
pub use link::Link;
pub use sleep::Sleep;
pub use stop::StopSignal;
pub use survey::{Survey, SurveyedType, survey};
pub use timer::precise_timers;
