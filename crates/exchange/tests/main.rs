//! The tests of the crate by its public interface, one program.
#![expect(clippy::unwrap_used, reason = "all of it is tests, which clippy sees by #[test] only")]

mod bad_files;
mod exports;
mod imports;
