//! The tests of the crate by its public interface, one program.
#![expect(clippy::unwrap_used, reason = "all of it is tests, which clippy sees by #[test] only")]

mod analysis;
mod articles;
mod conditions;
mod contradictions;
mod gate;
mod gate_bars;
mod imported;
mod loads;
mod maps;
mod mechanisms;
mod nights;
mod oracle;
mod pages;
mod repeated_loads;
mod sentences;
mod series;
mod server_cache;
mod single_runs;
mod synthetic;
mod table_errors;
mod tables;
mod time;
mod time_budgets;
mod verdicts;
mod wording;
