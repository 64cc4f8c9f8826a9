//! One run: its plan and targets opened, the engine started, its events stored, its end summarised.

pub mod accounts_file;
pub mod credentials;
pub mod environment;
mod event_sink;
pub mod hint;
pub mod interrupts;
pub mod loadfile;
pub mod measure;
pub mod named_targets;
pub mod plan_file;
pub mod ranks;
pub mod replay_pace;
pub mod run_store;
pub mod run_summary;
pub mod same_plan;
pub mod targets;
pub mod tickets;
pub mod tls;
