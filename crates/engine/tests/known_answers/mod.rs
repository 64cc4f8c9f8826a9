//! Known answers in virtual time: what theory says a load must measure, and what the engine measured.
//!
//! The numbers K1 to K20 are those of docs/measure/measurement-rules.md 3. `cargo test -p sharebench-engine --test integration known_answers --
//! --nocapture` prints every figure with its truth and tolerance.

#![expect(clippy::print_stdout, reason = "figures are printed")]

mod cache_probes;
mod cached_client;
mod censoring;
mod clock;
mod closed;
mod exact;
mod generator;
mod integrity;
mod lab;
mod pauses;
mod queues;
mod searches;
mod series;
mod server_cache;
mod slices;
mod stall;
mod steady;
mod sweeps;
mod visits;
