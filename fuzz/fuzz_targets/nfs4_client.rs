//! Fuzz target: see `crates/server/tests/corpus/nfs4_client.rs`.
#![no_main]

#[path = "../../crates/server/tests/corpus/nfs4_client.rs"]
mod nfs4;
#[path = "../../crates/server/tests/corpus/relay.rs"]
mod relay;

libfuzzer_sys::fuzz_target!(|input: &[u8]| nfs4::run(relay::Role::Client, input));
