//! Workloads learned from captures, traces and logs: what the users of a share did, without their names and their data.
//!
//! Folders, from the bottom up: `operation` (what an input shows), `input` (its readers), `fit` (distributions),
//! `analysis` (operations to transactions), `server` (the captured server), `output` (preset, loadfile, JSON). `mountstats`
//! is for counters of NFS mounts, which show no operations one by one.

mod analysis;
mod fit;
mod input;
mod mountstats;
mod operation;
mod output;
mod server;

pub use analysis::{
    Class, Coverage, Learned, MixRow, NotExpressed, Stratum, Think, Transaction, UsersOverTime, learn,
};
pub use fit::{Fit, ks_distance};
pub use input::{
    Contents, InputError, InputKind, KeyFileError, KeyProblem, ReadOptions, SessionKeyTable, observe, read,
};
pub use mountstats::{
    Basis, Bytes, Counters, Events, MountOperation, MountReport, Snapshot, SnapshotError, mount_reports,
};
pub use operation::{Access, Action, File, Observed, Operation, Outcome, Person, Protocol, Unseen};
pub use output::{
    LoadfileText, SCHEMA, loadfile, mounts_to_json, preset, preset_plan, protocol_name, to_json,
};
pub use server::{CacheUse, KindReport, Percentile, ServerReport, SizePercentile, UserReport, server_report};
