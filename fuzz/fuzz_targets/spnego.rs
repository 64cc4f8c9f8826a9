//! Fuzz target: see `crates/smb/tests/corpus/spnego.rs`.
#![no_main]

#[path = "../../crates/smb/tests/corpus/spnego.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|input: &[u8]| body::run(input));
