//! Cache attribution of a real kernel mount, compared with the counters of the kernel and of the server.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sharebench_server::{
    CacheOptions, DeviceOptions, DeviceVolume, EmbeddedServers, MemoryVolume, ServeOptions, ServiceTime,
    Volume,
};
use sharebench_target::Secret;
use sharebench_tests::{KernelGuest, Served, Sharebench, Smbd, needs};

use crate::local::kernel_mounts::{cifs, nfs3};
use crate::stored::Stored;

/// Bytes of the server's cache.
const CACHE: u64 = 2 << 20;
/// Bytes of the file of a cell.
const FILE: u64 = 8 << 20;
/// Bytes of the file that evicts everything else.
const PUSH: u64 = 4 << 20;
const RECORD: u64 = 64 << 10;
const PROBES: u64 = 60;

/// Protocol of the mount in the guest and of the probes.
#[derive(Clone, Copy, PartialEq)]
enum MountProtocol {
    Cifs,
    Nfs,
}

#[test]
fn bytes_of_an_nfs_mount_equal_the_counts_of_kernel_and_server() {
    needs!(KernelGuest::NEEDS);
    probe_mount(MountProtocol::Nfs);
}

#[test]
fn bytes_of_a_cifs_mount_equal_the_counts_of_kernel_and_server() {
    needs!(KernelGuest::NEEDS);
    probe_mount(MountProtocol::Cifs);
}

fn probe_mount(protocol: MountProtocol) {
    let service = ServiceTime::Fixed(Duration::from_millis(4));
    let cache = CacheOptions { bytes: CACHE, ..CacheOptions::default() };
    // The read-ahead of the kernel keeps several reads in flight.
    let device = DeviceOptions { service, servers: 8, cache, ..DeviceOptions::default() };
    let device = Arc::new(DeviceVolume::new(MemoryVolume::new(64 << 20), device));
    let at = Some(([127, 0, 0, 1], 0).into());
    let accounts = vec![(Served::USER.to_owned(), Secret::new(Smbd::PASSWORD))];
    let options = match protocol {
        MountProtocol::Cifs => ServeOptions { smb: at, accounts, ..ServeOptions::default() },
        MountProtocol::Nfs => ServeOptions { nfs: at, ..ServeOptions::default() },
    };
    let volume = Arc::clone(&device) as Arc<dyn Volume>;
    let servers = EmbeddedServers::start(&volume, &options).unwrap();
    let port = servers.addr(if protocol == MountProtocol::Cifs { "smb" } else { "nfs" }).unwrap().port();
    let sharebench = Sharebench::new().unwrap();
    let guest = KernelGuest::prepare(&[port]).unwrap();
    let machine = KernelGuest::MACHINE;
    let (mount, side) = match protocol {
        // The same request size as NFS: a request larger than the server's cache would never hit. A lease on the handle keeps
        // the pages of a closed file.
        MountProtocol::Cifs => (
            format!("{},rsize={RECORD}", cifs(port, Served::USER, Smbd::PASSWORD)),
            format!("smb://{}@{machine}:{port}/share", Served::USER),
        ),
        MountProtocol::Nfs => {
            (nfs3(port, port, "/share"), format!("nfs://{machine}:{port}/share?mountport={port}"))
        }
    };
    let plan = format!(
        "repetitions = 1\nmin_sample_time = '20ms'\n[[target]]\nname = 'mounted'\nurl = '/mnt/mounted'\n\
         [sweep]\nfile_sizes = {FILE}\nrecord_sizes = {RECORD}\ntests = ['read', 'reread']\n\
         [cache_probes]\ncold = {PUSH}\ncount = {PROBES}\ndistance = '1MiB'\nbypass = ['mounted={side}']\n"
    );
    let env = [
        ("SHAREBENCH", sharebench.binary()),
        ("SHAREBENCH_PASSWORD", Smbd::PASSWORD),
        ("OUT", sharebench.home().to_str().unwrap()),
        ("MOUNT", &mount),
        ("PLAN", &plan),
    ];
    let script = include_str!("../kernel-guest/probe-mount");
    let printed = guest.run(script, &env, KernelGuest::LONG).unwrap();
    println!("{printed}");
    assert_server_received_the_requests_of_the_kernel(&device, &printed, &Stored::read(&sharebench, 1));
    assert_analysis_attributes_the_bytes(&sharebench);
}

fn assert_analysis_attributes_the_bytes(sharebench: &Sharebench) {
    let shown = sharebench.run(&["show", "last", "--format", "json"]).unwrap().expect_success().stdout;
    let analysis: Value = serde_json::from_str(&shown).unwrap();
    let of = |test: &str| {
        let sections = analysis["sections"].as_array().unwrap();
        let section = sections.iter().find(|section| section["title"] == test).unwrap();
        section["rows"][0]["outcomes"][0]["cache_shares"].clone()
    };
    assert_eq!(of("reread")["client"]["low"], 1.0, "the kernel kept the file: {}", of("reread"));
    let read = of("read");
    assert_eq!(read["client"]["high"], 0.0, "the kernel's cache was dropped before each pass: {read}");
    if read["grade"] == "C" {
        let note = read["note"].as_str().unwrap();
        assert!(note.contains("not separable"), "{read}");
        println!("rejected in this guest: {note}");
    } else {
        // A sequential read of a file four times the server's cache never hits that cache.
        assert!(read["storage"]["high"].as_f64().unwrap() > 0.9, "{read}");
    }
}

/// Checks that every request to the server came through the mount or was a probe.
fn assert_server_received_the_requests_of_the_kernel(
    device: &DeviceVolume<MemoryVolume>,
    printed: &str,
    stored: &Stored,
) {
    let kernel = printed.lines().find_map(|line| line.strip_prefix("kernel: ")).unwrap();
    let kernel: u64 = kernel.trim().parse().unwrap();
    // Probing a cell takes at most two minutes, so a slow guest completes fewer triples than requested.
    let made = |step: &Value, kind: &str| step["server"]["probes"][kind].as_array().unwrap().len() as u64;
    let triples: Vec<u64> = stored.steps.iter().map(|step| made(step, "cold")).collect();
    let next: u64 = stored.steps.iter().map(|step| made(step, "next")).sum();
    assert!(triples.len() == 2 && triples.iter().all(|made| (1..=PROBES).contains(made)), "{triples:?}");
    // For each of two cells: the evicting scan, the reads ahead, hot, cold and known hot of each triple, and the reads of
    // the next record, each of which follows another read.
    let probes = 2 * PUSH + RECORD * (8 * triples.iter().sum::<u64>() + 2 * next);
    assert_eq!(device.counters().read_bytes, kernel + probes, "bytes that were requested from the server");
}
