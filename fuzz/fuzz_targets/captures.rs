//! Fuzz target: see `crates/learn/tests/corpus/captures.rs`.
#![no_main]

#[path = "../../crates/learn/tests/corpus/captures.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|input: &[u8]| body::run(input));
