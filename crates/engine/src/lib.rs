//! The engine: it runs a resolved plan against targets and reports everything it measures as events.
//!
//! [`Run::execute`] works through the steps of a [`sharebench_plan::ResolvedPlan`] on the calling thread and sends
//! [`sharebench_model::RunEvent`]s. It works only inside one directory of its own on each target and removes that
//! directory, also after errors and after a request to stop. The engine knows no protocol, no file format and no
//! terminal.
//!
//! # Flow
//!
//! ```text
//! run::Run::execute            prepares the targets, and removes what it made in the end
//!   run::rounds                decides which step comes next, by run::stopper (cells) and run::search (loads)
//!     run::step                measures one step and checks it
//!       cell::record_step      a cell with one job  -> cell::pass: operations at one queue depth
//!       cell::throughput_step  a cell with several jobs, in phases -> cell::pass
//!       metadata::step         a metadata cell -> metadata::driver: the operations of its test
//!       load::load_step        a load: threads of virtual users -> load::user::virtual_user
//!         record::request      what all of them share: a reply is checked for its length, then verified and counted
//!     probe::cache_probe       reads after a cell, which separate server cache from storage
//!     check::checks            verdicts on the measure, by arithmetic alone
//! ```
//!
//! # Folders
//!
//! A folder imports only from folders above it in this list.
//!
//! | folder | contains |
//! |---|---|
//! | `time` | the clock (real or virtual), sleeps, deadlines, the stop signal |
//! | `data` | stamped content, the state of files, directories, splitting of blocks into requests |
//! | `threads` | number of threads, descriptor tables and limits, timer slack |
//! | `record` | one request from submission to verification; tallies, histograms by batches and seconds, meters |
//! | `ranks` | agreement of several processes, their contributions, the leader's commands |
//! | `cell` | passes over files in records: access patterns, policies, jobs |
//! | `metadata` | metadata cells: directories with entries, the table of drivers with the operations of each test, verification |
//! | `load` | load steps, data sets, extension of windows; `load/user`: the virtual user |
//! | `probe` | cache probes and the connection that they use |
//! | `machine` | health, clock facts, link and ceiling of the measuring machine |
//! | `check` | self-checks of a step |
//! | `run` | the run itself: preparation, rounds, steps, search, cleanup |

mod cell;
mod check;
mod data;
mod load;
mod machine;
mod metadata;
mod probe;
mod ranks;
mod record;
mod run;
mod system;
mod threads;
mod time;

pub use check::machine::health_has_warning;
pub use data::directory::directory_on;
pub use data::recycle_bins::{Deletion, Keepers};
pub use data::stamp;
pub use machine::clock_facts::ClockFacts;
pub use machine::generator_ceiling::{CeilingKind, generator_ceiling};
pub use machine::health::{Health, HealthMeter};
pub use machine::link::Link;
pub use run::collected::CollectedRun;
pub use run::directory_check::{DirectoryCheck, DotNames, check_directory};
pub use run::leftovers::{Leftovers, remove_leftovers};
pub use run::own_directory::OwnDirectory;
pub use run::search::stress_point;
pub use run::start_error::StartError;
pub use run::survey::{Refusal, Survey, SurveyedType, survey};
pub use run::{Run, RunEnd};
pub use system::{own_descriptors, precise_timers};
pub use time::clock::{Clock, ClockError};
pub use time::sleep::Sleep;
pub use time::stop::StopSignal;
