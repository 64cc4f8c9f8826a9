//! Fuzz target: see `crates/server/tests/corpus/nfs4_server.rs`.
#![no_main]

#[path = "../../crates/server/tests/corpus/nfs4_server.rs"]
mod nfs4;

libfuzzer_sys::fuzz_target!(|input: &[u8]| nfs4::run(input));
