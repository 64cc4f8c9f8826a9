//! The tests of the crate by its public interface, one program.
#![expect(clippy::unwrap_used, reason = "all of it is tests, which clippy sees by #[test] only")]

mod corpus;
mod round_trip;
mod schema;
mod simulator;
#[path = "../../report/tests/validator/mod.rs"]
mod validator;
