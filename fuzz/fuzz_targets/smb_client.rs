//! Fuzz target: see `crates/server/tests/corpus/smb.rs`.
#![no_main]
#![expect(clippy::unwrap_used, reason = "what a fuzz target stands on fails loudly")]

#[path = "../../crates/server/tests/corpus/smb.rs"]
mod smb;
#[path = "../../crates/server/tests/corpus/relay.rs"]
mod relay;

libfuzzer_sys::fuzz_target!(|input: &[u8]| smb::run(relay::Role::Client, input));
