//! The tests of the crate by its public interface, one program.
#![expect(clippy::unwrap_used, reason = "all of it is tests, which clippy sees by #[test] only")]

mod attribution;
mod capacity;
mod coverage;
mod known_answers;
mod level_shifts;
mod maps;
mod partition;
mod planted;
mod queues;
mod random_maps;
mod settling;
mod time_patterns;
