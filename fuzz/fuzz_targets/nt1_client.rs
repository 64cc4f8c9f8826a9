//! Fuzz target: see `crates/server/tests/corpus/nt1_client.rs`.
#![no_main]

#[path = "../../crates/server/tests/corpus/nt1_client.rs"]
mod nt1_client;
#[path = "../../crates/server/tests/corpus/relay.rs"]
mod relay;

libfuzzer_sys::fuzz_target!(|input: &[u8]| nt1_client::run(relay::Role::Client, input));
