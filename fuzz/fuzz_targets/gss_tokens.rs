//! Fuzz target: see `crates/gss/tests/corpus/tokens.rs`.
#![no_main]

#[path = "../../crates/gss/tests/corpus/tokens.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|input: &[u8]| body::run(input));
