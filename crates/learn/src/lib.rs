//! Workloads learned from captures and traces: what the users of a share did, without their names and their data.
//!
//! Folders, from the bottom up: `operation` (what an input shows), `input` (its readers), `fit` (distributions),
//! `analysis` (operations to transactions), `server` (the captured server), `output` (preset, loadfile, JSON).

mod analysis;
mod fit;
mod input;
mod operation;
mod output;
mod server;

pub use analysis::{
    Class, Coverage, Learned, MixRow, NotExpressed, Stratum, Think, Transaction, UsersOverTime, learn,
};
pub use fit::{Fit, ks_distance};
pub use input::{InputError, KeyFileError, KeyProblem, ReadOptions, SessionKeyTable, observe};
pub use operation::{Action, File, Observed, Operation, Outcome, Person, Protocol, Unseen};
pub use output::{LoadfileText, SCHEMA, loadfile, preset, preset_plan, protocol_name, to_json};
pub use server::{CacheUse, KindReport, Percentile, ServerReport, UserReport, server_report};
