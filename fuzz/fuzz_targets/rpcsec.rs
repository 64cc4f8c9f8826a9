//! Fuzz target: see `crates/nfs/tests/corpus/rpcsec.rs`.
#![no_main]

#[path = "../../crates/nfs/tests/corpus/rpcsec.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|input: &[u8]| body::run(input));
