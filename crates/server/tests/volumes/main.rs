//! One set of tests for every volume.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod contract;
mod escape;
mod scratch;
mod traffic;

use sharebench_server::{
    DeviceOptions, DeviceVolume, DirectoryOptions, DirectoryVolume, MemoryVolume, Volume,
};

use crate::scratch::Scratch;

fn memory() -> MemoryVolume {
    MemoryVolume::new(64 << 20)
}

fn directory(scratch: &Scratch) -> DirectoryVolume {
    DirectoryVolume::open(scratch.path(), &DirectoryOptions::default()).unwrap()
}

/// Runs one test on every kind of volume.
fn on_every_volume(expectation: impl Fn(&dyn Volume)) {
    expectation(&memory());
    expectation(&directory(&Scratch::new()));
    expectation(&DeviceVolume::new(memory(), DeviceOptions::default()));
}
