//! Fuzz target: see `crates/ncp/tests/corpus/client.rs`.
#![no_main]

#[path = "../../crates/ncp/tests/corpus/client.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|input: &[u8]| body::run(input));
