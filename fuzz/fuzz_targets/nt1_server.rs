//! Fuzz target: see `crates/server/tests/corpus/nt1_server.rs`.
#![no_main]

#[path = "../../crates/server/tests/corpus/nt1_server.rs"]
mod nt1_server;
#[path = "../../crates/server/tests/corpus/relay.rs"]
mod relay;

libfuzzer_sys::fuzz_target!(|input: &[u8]| nt1_server::run(relay::Role::Server, input));
