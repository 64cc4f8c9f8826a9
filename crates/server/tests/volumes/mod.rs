//! One set of tests for every volume.
mod contract;
mod escape;
mod scratch;
mod traffic;

use sharebench_server::{
    DeviceOptions, DeviceVolume, DirectoryOptions, DirectoryVolume, MemoryVolume, Volume,
};

use crate::volumes::scratch::Scratch;

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
