//! Measures the cost of a read or write of a volume without a protocol: nanoseconds per call, median of rounds.

use std::error::Error;
use std::time::{Duration, Instant};

use sharebench_server::{
    DeviceOptions, DeviceVolume, DirectoryOptions, DirectoryVolume, MemoryVolume, NodeId,
};
use sharebench_server::{ROOT, ServiceTime, Volume};

/// Size of the file that is read and written, in bytes.
const FILE_BYTES: u64 = 16 << 20;

/// Calls per round.
const CALLS: u64 = 20_000;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::temp_dir().join(format!("sharebench-volume-cost-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    measure("memory", &MemoryVolume::new(1 << 30))?;
    measure("directory", &DirectoryVolume::open(&directory, &DirectoryOptions::default())?)?;
    measure("device over memory", &DeviceVolume::new(MemoryVolume::new(1 << 30), DeviceOptions::default()))?;
    std::fs::remove_dir_all(&directory)?;
    for (service_us, spin_us) in [(120, 0), (120, 60), (2_000, 0)] {
        lateness(Duration::from_micros(service_us), Duration::from_micros(spin_us))?;
    }
    Ok(())
}

/// How much later than due a modelled device answers.
#[expect(clippy::print_stdout, reason = "the table is what the example is for")]
fn lateness(service: Duration, spin: Duration) -> Result<(), Box<dyn Error>> {
    let options = DeviceOptions { service: ServiceTime::Fixed(service), spin, ..DeviceOptions::default() };
    let volume = DeviceVolume::new(MemoryVolume::new(1 << 20), options);
    let file = volume.create(ROOT, "file", 0o644)?.node;
    for _ in 0..500 {
        volume.write(file, 0, &[0; 4096], false)?;
    }
    let records = volume.log().records.into_iter();
    let mut late: Vec<u64> = records.map(|record| record.ended_ns - record.due_ns).collect();
    late.sort_unstable();
    println!("device of {service:?}, spin {spin:?}: late p50 {} ns, p99 {} ns", late[250], late[495]);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the table is what the example is for")]
fn measure(name: &str, volume: &dyn Volume) -> Result<(), Box<dyn Error>> {
    let file = volume.create(ROOT, "file", 0o644)?.node;
    volume.write(file, 0, &vec![1; usize::try_from(FILE_BYTES)?], false)?;
    for bytes in [4 << 10, 64 << 10, 1 << 20] {
        let mut buffer = vec![0; bytes];
        let read = ns_per_call(|call| volume.read(file, offset(call, bytes), &mut buffer).map(|_| ()))?;
        let data = vec![2; bytes];
        let write = ns_per_call(|call| volume.write(file, offset(call, bytes), &data, false))?;
        let mut from = vec![3; usize::try_from(FILE_BYTES)?];
        let copy = ns_per_call(|call| {
            let at = offset(call, bytes) as usize;
            buffer.copy_from_slice(std::hint::black_box(&from[at..at + bytes]));
            std::hint::black_box(&mut from);
            Ok(())
        })?;
        println!(
            "{name:20} {:5} KiB: read {read:8.0} ns, write {write:8.0} ns, memcpy {copy:8.0} ns",
            bytes >> 10
        );
    }
    metadata(name, volume, file)
}

#[expect(clippy::print_stdout, reason = "the table is what the example is for")]
fn metadata(name: &str, volume: &dyn Volume, file: NodeId) -> Result<(), Box<dyn Error>> {
    let attributes = ns_per_call(|_| volume.attributes(file).map(|_| ()))?;
    let lookup = ns_per_call(|_| volume.lookup(ROOT, "file").map(|_| ()))?;
    println!("{name:20} attributes {attributes:.0} ns, lookup {lookup:.0} ns");
    Ok(())
}

/// Jumps through the file in records.
fn offset(call: u64, bytes: usize) -> u64 {
    let records = FILE_BYTES / bytes as u64;
    call.wrapping_mul(0x9e37_79b9_7f4a_7c15) % records * bytes as u64
}

/// Median of seven rounds.
fn ns_per_call(
    mut call: impl FnMut(u64) -> Result<(), sharebench_server::VolumeError>,
) -> Result<f64, sharebench_server::VolumeError> {
    let mut rounds = Vec::new();
    for _ in 0..7 {
        let began = Instant::now();
        let mut calls = 0;
        while calls < CALLS && began.elapsed().as_millis() < 100 {
            for _ in 0..16 {
                call(calls)?;
                calls += 1;
            }
        }
        rounds.push(began.elapsed().as_nanos() as f64 / calls as f64);
    }
    rounds.sort_unstable_by(f64::total_cmp);
    Ok(rounds[rounds.len() / 2])
}
