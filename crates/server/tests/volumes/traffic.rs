//! Limits, concurrent threads, and the known truth of the device model.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sharebench_server::{
    CacheOptions, DeviceOptions, DeviceRequest, DeviceVolume, MemoryVolume, ROOT, ServiceTime, SetAttributes,
    Volume, VolumeError, WritePolicy,
};

use crate::volumes::memory;

#[test]
fn memory_is_limited_and_freed() {
    let volume = MemoryVolume::new(1 << 20);
    let file = volume.create(ROOT, "file", 0o644).unwrap().node;
    let size = SetAttributes { size: Some(1 << 60), ..SetAttributes::default() };
    assert_eq!(volume.set_attributes(file, &size).unwrap().allocated, 0);
    assert_eq!(volume.write(file, 0, &vec![1; 2 << 20], false), Err(VolumeError::NoSpace));
    assert!(volume.write(file, 0, &vec![1; 512 << 10], false).is_ok());
    let used = volume.space().unwrap();
    assert!(used.free_bytes < 600 << 10, "{used:?}");
    volume.remove(ROOT, "file").unwrap();
    assert_eq!(volume.space().unwrap().free_bytes, 1 << 20);

    let mut made = 0;
    let full = loop {
        match volume.create(ROOT, &format!("file{made}"), 0o644) {
            Ok(_) => made += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((full, made), (VolumeError::NoSpace, 1024));
}

#[test]
fn a_failed_write_leaves_nothing_after_the_end() {
    let volume = MemoryVolume::new(256 << 10);
    let file = volume.create(ROOT, "file", 0o644).unwrap().node;
    assert_eq!(volume.write(file, 10, &vec![7; 1 << 20], false), Err(VolumeError::NoSpace));
    assert_eq!(volume.attributes(file).unwrap().size, 0);
    let size = SetAttributes { size: Some(1 << 20), ..SetAttributes::default() };
    volume.set_attributes(file, &size).unwrap();
    let mut buffer = vec![1; 1 << 20];
    assert_eq!(volume.read(file, 0, &mut buffer), Ok(1 << 20));
    assert!(buffer.iter().all(|byte| *byte == 0));
}

#[test]
fn many_threads_share_a_tree() {
    let volume = Arc::new(memory());
    let shared = volume.create(ROOT, "shared", 0o644).unwrap().node;
    volume.write(shared, 0, &vec![0; 64 << 10], false).unwrap();
    let threads: Vec<_> = (0..8_u8)
        .map(|nth| {
            let volume = Arc::clone(&volume);
            std::thread::spawn(move || {
                let own = volume.make_directory(ROOT, &format!("d{nth}"), 0o755).unwrap().node;
                for round in 0..300 {
                    let name = format!("f{round}");
                    let file = volume.create(own, &name, 0o644).unwrap().node;
                    volume.write(file, 0, &[nth; 5000], false).unwrap();
                    // Aligned 4 KiB records of different writers never mix.
                    volume.write(shared, u64::from(nth % 4) * 4096, &[nth; 4096], false).unwrap();
                    let mut record = [0; 4096];
                    volume.read(shared, u64::from(nth % 4) * 4096, &mut record).unwrap();
                    assert!(record.iter().all(|byte| *byte == record[0] && byte % 4 == nth % 4));
                    volume.rename(own, &name, ROOT, &format!("moving{nth}")).unwrap();
                    if round % 2 == 0 {
                        volume.rename(ROOT, &format!("moving{nth}"), own, &name).unwrap();
                    } else {
                        volume.remove(ROOT, &format!("moving{nth}")).unwrap();
                    }
                }
                volume.list(own, 0, 1000).unwrap().len()
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), 150);
    }
    assert_eq!(volume.list(ROOT, 0, 100).unwrap().len(), 9);
}

fn device(options: DeviceOptions) -> (DeviceVolume<MemoryVolume>, sharebench_server::NodeId) {
    let volume = DeviceVolume::new(memory(), options);
    let file = volume.inner().create(ROOT, "file", 0o644).unwrap().node;
    volume.inner().write(file, 0, &vec![5; 4 << 20], false).unwrap();
    (volume, file)
}

/// K1: fixed service time, one request at a time.
#[test]
fn every_request_takes_its_service_time_according_to_the_log() {
    let service = ServiceTime::Fixed(Duration::from_millis(2));
    let (volume, file) = device(DeviceOptions { service, ..DeviceOptions::default() });
    let began = Instant::now();
    let mut buffer = [0; 4096];
    for nth in 0..20 {
        assert_eq!(volume.read(file, nth * 4096, &mut buffer), Ok(4096));
        volume.write(file, nth * 4096, &buffer, false).unwrap();
    }
    assert!(began.elapsed() >= Duration::from_millis(80));
    let log = volume.take_log();
    assert_eq!(log.records.len(), 40);
    for record in &log.records {
        assert_eq!(record.service_ns, 2_000_000);
        assert_eq!(record.due_ns - record.received_ns, 2_000_000);
        assert!(record.ended_ns >= record.due_ns, "{record:?}");
        assert!(!record.hit);
    }
    assert_eq!((log.counters.reads, log.counters.writes, log.counters.misses), (20, 20, 40));
    assert_eq!(volume.log().records, []);
}

/// K2: 4 MiB over a link of 50 MB/s, from several threads.
#[test]
fn the_link_is_never_faster_than_configured() {
    let options = DeviceOptions { bytes_per_s: Some(50_000_000), ..DeviceOptions::default() };
    let (volume, file) = device(options);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let volume = &volume;
            scope.spawn(move || {
                let mut buffer = vec![0; 64 << 10];
                for nth in 0..16 {
                    volume.read(file, (thread * 16 + nth) << 16, &mut buffer).unwrap();
                }
            });
        }
    });
    let log = volume.log();
    let first = log.records.iter().map(|record| record.received_ns).min().unwrap();
    let last = log.records.iter().map(|record| record.ended_ns).max().unwrap();
    let rate = log.counters.read_bytes as f64 / (last - first) as f64 * 1e9;
    assert_eq!(log.counters.read_bytes, 4 << 20);
    assert!(rate <= 50.25e6, "{rate}");
    // According to the model's instants the rate is exact up to the rounding of nanoseconds.
    let due = log.records.iter().map(|record| record.due_ns).max().unwrap();
    assert!(due - first >= 83_886_000, "{}", due - first);
}

#[test]
fn several_servers_serve_concurrently() {
    let service = ServiceTime::Fixed(Duration::from_millis(20));
    let (volume, file) = device(DeviceOptions { service, servers: 4, ..DeviceOptions::default() });
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| volume.read(file, 0, &mut [0; 512]).unwrap());
        }
    });
    let mut records = volume.log().records;
    records.sort_unstable_by_key(|record| record.due_ns);
    let first = records.iter().map(|record| record.received_ns).min().unwrap();
    assert!(records[7].due_ns - first >= 40_000_000);
    assert!(records[3].due_ns < records[4].due_ns);
}

fn cached(writes: WritePolicy) -> DeviceOptions {
    let cache = CacheOptions { bytes: 16 << 12, block_bytes: 4096, writes };
    let service = ServiceTime::Fixed(Duration::from_micros(100));
    DeviceOptions { service, cache, ..DeviceOptions::default() }
}

#[test]
fn hits_take_no_time_until_the_purge() {
    let (volume, file) = device(cached(WritePolicy::Through));
    let mut buffer = [0; 8192];
    for offset in [0, 0, 4096, 3] {
        volume.read(file, offset, &mut buffer).unwrap();
    }
    volume.purge();
    volume.read(file, 0, &mut buffer).unwrap();
    let hits: Vec<bool> = volume.log().records.iter().map(|record| record.hit).collect();
    // The third needs block 2 as well; the fourth finds blocks 0, 1 and 2.
    assert_eq!(hits, [false, true, false, true, false]);
    let counters = volume.counters();
    assert_eq!((counters.read_bytes, counters.hit_read_bytes), (5 * 8192, 2 * 8192));
}

#[test]
fn write_back_needs_the_device_at_commit_and_for_evicted_dirty_blocks() {
    let (volume, file) = device(cached(WritePolicy::Back));
    volume.write(file, 0, &[1; 8192], false).unwrap();
    volume.commit(file).unwrap();
    volume.commit(file).unwrap();
    volume.write(file, 0, &[1; 4096], true).unwrap();
    volume.write(file, 0, &[1; 4096], false).unwrap();
    for nth in 1..17 {
        volume.read(file, nth * 4096, &mut [0; 4096]).unwrap();
    }
    let log = volume.log();
    let asked: Vec<_> = log.records[..5].iter().map(|record| (record.request, record.hit)).collect();
    let write = DeviceRequest::Write;
    let commit = DeviceRequest::Commit;
    assert_eq!(asked, [(write, true), (commit, false), (commit, true), (write, false), (write, true)]);
    // The sixteenth block evicts the dirty one: two operations for that read.
    let services: Vec<u64> = log.records[5..].iter().map(|record| record.service_ns / 1000).collect();
    assert_eq!(services.iter().filter(|service| **service == 200).count(), 1, "{services:?}");
    assert_eq!(log.counters.device_bytes, 8192 + 4096 + 15 * 4096 + 4096);
}

#[test]
fn removed_and_truncated_files_leave_the_cache() {
    let (volume, file) = device(cached(WritePolicy::Through));
    volume.read(file, 0, &mut [0; 8192]).unwrap();
    let cut = SetAttributes { size: Some(4096), ..SetAttributes::default() };
    volume.set_attributes(file, &cut).unwrap();
    let whole = SetAttributes { size: Some(8192), ..SetAttributes::default() };
    volume.set_attributes(file, &whole).unwrap();
    volume.read(file, 0, &mut [0; 4096]).unwrap();
    volume.read(file, 4096, &mut [0; 4096]).unwrap();
    let hits: Vec<bool> = volume.log().records.iter().map(|record| record.hit).collect();
    assert_eq!(hits, [false, true, false]);
}

#[test]
fn the_log_is_bounded_and_later_requests_are_counted() {
    let (volume, file) = device(DeviceOptions { log_capacity: 3, ..DeviceOptions::default() });
    for _ in 0..5 {
        volume.read(file, 0, &mut [0; 512]).unwrap();
    }
    let log = volume.log();
    assert_eq!((log.records.len(), log.counters.reads, log.counters.not_logged), (3, 5, 2));
}

#[test]
fn a_search_takes_the_time_of_the_entries_of_its_directory() {
    let memory = memory();
    let directory = memory.make_directory(ROOT, "directory", 0o755).unwrap().node;
    for number in 0..3 {
        memory.create(directory, &format!("earlier{number}"), 0o644).unwrap();
    }
    let options = DeviceOptions { entry_time: Duration::from_micros(1), ..DeviceOptions::default() };
    let volume = DeviceVolume::new(memory, options);
    volume.create(directory, "a", 0o644).unwrap();
    volume.create(directory, "a", 0o644).unwrap_err();
    volume.rename(directory, "a", directory, "b").unwrap();
    volume.rename(directory, "b", directory, "earlier0").unwrap();
    volume.remove(directory, "earlier0").unwrap();
    volume.lookup(directory, "earlier0").unwrap_err();
    volume.rename(directory, "earlier1", ROOT, "elsewhere").unwrap();
    volume.lookup(directory, "earlier2").unwrap();
    let records = volume.log().records;
    let searched = |node| records.iter().filter(move |record| record.node == node);
    let entries: Vec<u64> = searched(directory).map(|record| record.len).collect();
    assert_eq!(entries, [3, 4, 4, 4, 3, 2, 1]);
    assert!(searched(directory).all(|record| record.service_ns == record.len * 1000));
    assert_eq!(searched(ROOT).map(|record| record.len).collect::<Vec<_>>(), [1]);
    assert_eq!(volume.counters().searches, 8);
}
