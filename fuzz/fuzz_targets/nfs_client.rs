//! Fuzz target: see `crates/server/tests/corpus/nfs.rs`.
#![no_main]
#![expect(clippy::unwrap_used, reason = "what a fuzz target stands on fails loudly")]

#[path = "../../crates/server/tests/corpus/nfs.rs"]
mod nfs;
#[path = "../../crates/server/tests/corpus/relay.rs"]
mod relay;

libfuzzer_sys::fuzz_target!(|input: &[u8]| nfs::run(relay::Role::Client, input));
