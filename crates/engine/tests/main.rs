//! The tests of the crate by its public interface, one program.
#![expect(clippy::unwrap_used, reason = "all of it is tests, which clippy sees by #[test] only")]

mod announced_time;
mod known_answers;
mod load_locks;
mod lost_replies;
mod metadata;
mod policies;
mod precision;
mod presets;
mod ranks;
mod record_tests;
mod rejected_logins;
mod replay;
mod runs;
mod shared_sessions;
