//! Where the bytes of a real kernel mount came from: counted by the kernel, probed beside it, and known to the server.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sharebench_server::{
    CacheOptions, DeviceOptions, DeviceVolume, EmbeddedServers, MemoryVolume, ServeOptions, ServiceTime,
    Volume,
};
use sharebench_tests::{KernelGuest, Sharebench, Smbd, needs};

use crate::kernel_guest::nfs3;

/// Bytes of the server's cache, of the cells' file, and of what pushes everything out.
const CACHE: u64 = 2 << 20;
const FILE: u64 = 8 << 20;
const PUSH: u64 = 4 << 20;
const RECORD: u64 = 64 << 10;
const PROBES: u64 = 60;

#[test]
fn a_kernel_mount_s_bytes_are_those_that_kernel_and_server_counted() {
    needs!(KernelGuest::NEEDS);
    let service = ServiceTime::Fixed(Duration::from_millis(4));
    let cache = CacheOptions { bytes: CACHE, ..CacheOptions::default() };
    // Reads of the kernel's read-ahead are in flight together.
    let device = DeviceOptions { service, servers: 8, cache, ..DeviceOptions::default() };
    let device = Arc::new(DeviceVolume::new(MemoryVolume::new(64 << 20), device));
    let options = ServeOptions { nfs: Some(([127, 0, 0, 1], 0).into()), ..ServeOptions::default() };
    let volume = Arc::clone(&device) as Arc<dyn Volume>;
    let servers = EmbeddedServers::start(&volume, &options).unwrap();
    let port = servers.addr("nfs").unwrap().port();
    let sharebench = Sharebench::new().unwrap();
    let guest = KernelGuest::prepare(&[port]).unwrap();
    let machine = KernelGuest::MACHINE;
    let sweep = format!(
        "--file-sizes {FILE} --record-sizes {RECORD} --tests read,reread --repetitions 1 --sample 20ms \
         --bands {PUSH} --band-probes {PROBES} --band-ahead 1MiB"
    );
    let env = [
        ("SHAREBENCH", sharebench.binary()),
        ("SHAREBENCH_PASSWORD", Smbd::PASSWORD),
        ("OUT", sharebench.home().to_str().unwrap()),
        ("NFS_MOUNT", &nfs3(port, port, "/share")),
        ("NFS_URL", &format!("nfs://{machine}:{port}/share?mountport={port}")),
        ("SWEEP", &sweep),
    ];
    let script = include_str!("../kernel-guest/look-behind-mount");
    let printed = guest.run(script, &env, Duration::from_secs(180)).unwrap();
    println!("{printed}");
    the_server_was_asked_for_what_the_kernel_counted(&device, &printed);
    let shown = sharebench.run(&["show", "last", "--format", "json"]).unwrap().expect_success().stdout;
    let analysis: Value = serde_json::from_str(&shown).unwrap();
    let of = |test: &str| {
        let sections = analysis["sections"].as_array().unwrap();
        let section = sections.iter().find(|section| section["title"] == test).unwrap();
        section["rows"][0]["outcomes"][0]["bands"].clone()
    };
    assert_eq!(of("reread")["client"]["low"], 1.0, "the kernel kept the file: {}", of("reread"));
    let read = of("read");
    assert_eq!(read["client"]["high"], 0.0, "dropped from the kernel's cache before each pass: {read}");
    if read["grade"] == "C" {
        let note = read["note"].as_str().unwrap();
        assert!(note.contains("not separable"), "{read}");
        println!("refused in this guest: {note}");
    } else {
        // Of a file four times the server's cache, read from end to end, nothing is left there.
        assert!(read["storage"]["high"].as_f64().unwrap() > 0.9, "{read}");
    }
}

/// All that the server was asked for went through the mount, or was a probe.
fn the_server_was_asked_for_what_the_kernel_counted(device: &DeviceVolume<MemoryVolume>, printed: &str) {
    let kernel = printed.lines().find_map(|line| line.strip_prefix("kernel: ")).unwrap();
    let kernel: u64 = kernel.trim().parse().unwrap();
    // Of each of two cells: the push-out, and ahead, hot, cold and known hot of each triple, each behind another read.
    let probes = 2 * (PUSH + 8 * PROBES * RECORD);
    assert_eq!(device.counters().read_bytes, kernel + probes, "bytes that the server was asked for");
}
