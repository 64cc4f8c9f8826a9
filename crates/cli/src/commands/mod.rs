//! One file per command: its options and what it does.

mod cell_args;
pub mod clean;
pub mod compare;
pub mod compare_series;
pub mod demo;
pub mod depth;
pub mod doctor;
pub mod doctor_text;
pub mod export;
mod from_flags;
pub mod gate;
pub mod import;
pub mod load;
pub mod plan;
pub mod presets;
pub mod probe;
pub mod ranks;
pub mod relay;
pub mod report;
pub mod run;
pub mod runs;
pub mod serve;
pub mod show;
pub mod survey;
pub mod sweep;
mod workload_weights;
