//! The tests of the crate by its public interface, one program.

mod report;
mod schema;
#[path = "../../analysis/tests/synthetic/mod.rs"]
mod synthetic;
mod validator;
