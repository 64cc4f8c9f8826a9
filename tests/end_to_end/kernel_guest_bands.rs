//! Where the bytes of a real kernel mount came from: counted by the kernel, probed beside it, and known to the server.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sharebench_server::{
    CacheOptions, DeviceOptions, DeviceVolume, EmbeddedServers, MemoryVolume, ServeOptions, ServiceTime,
    Volume,
};
use sharebench_target::Secret;
use sharebench_tests::{KernelGuest, Served, Sharebench, Smbd, needs};

use crate::kernel_guest::{cifs, nfs3};
use crate::stored::Stored;

/// Bytes of the server's cache, of the cells' file, and of what pushes everything out.
const CACHE: u64 = 2 << 20;
const FILE: u64 = 8 << 20;
const PUSH: u64 = 4 << 20;
const RECORD: u64 = 64 << 10;
const PROBES: u64 = 60;

/// A protocol by which the guest mounts the share, and by which it is probed.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Cifs,
    Nfs,
}

#[test]
fn an_nfs_mount_s_bytes_are_those_that_kernel_and_server_counted() {
    needs!(KernelGuest::NEEDS);
    looked_behind(Way::Nfs);
}

#[test]
fn a_cifs_mount_s_bytes_are_those_that_kernel_and_server_counted() {
    needs!(KernelGuest::NEEDS);
    looked_behind(Way::Cifs);
}

fn looked_behind(way: Way) {
    let service = ServiceTime::Fixed(Duration::from_millis(4));
    let cache = CacheOptions { bytes: CACHE, ..CacheOptions::default() };
    // Reads of the kernel's read-ahead are in flight together.
    let device = DeviceOptions { service, servers: 8, cache, ..DeviceOptions::default() };
    let device = Arc::new(DeviceVolume::new(MemoryVolume::new(64 << 20), device));
    let at = Some(([127, 0, 0, 1], 0).into());
    let users = vec![(Served::USER.to_owned(), Secret::new(Smbd::PASSWORD))];
    let options = match way {
        Way::Cifs => ServeOptions { smb: at, users, ..ServeOptions::default() },
        Way::Nfs => ServeOptions { nfs: at, ..ServeOptions::default() },
    };
    let volume = Arc::clone(&device) as Arc<dyn Volume>;
    let servers = EmbeddedServers::start(&volume, &options).unwrap();
    let port = servers.addr(if way == Way::Cifs { "smb" } else { "nfs" }).unwrap().port();
    let sharebench = Sharebench::new().unwrap();
    let guest = KernelGuest::prepare(&[port]).unwrap();
    let machine = KernelGuest::MACHINE;
    let (mount, side) = match way {
        // Requests as large as NFS's: one larger than the server's cache would never find itself there.
        Way::Cifs => (
            format!("{},rsize={RECORD}", cifs(port, Served::USER, Smbd::PASSWORD)),
            format!("smb://{}@{machine}:{port}/share", Served::USER),
        ),
        Way::Nfs => (nfs3(port, port, "/share"), format!("nfs://{machine}:{port}/share?mountport={port}")),
    };
    let sweep = format!(
        "--file-sizes {FILE} --record-sizes {RECORD} --tests read,reread --repetitions 1 --min-sample-time 20ms \
         --cache-probes {PUSH} --probe-count {PROBES} --probe-distance 1MiB"
    );
    let env = [
        ("SHAREBENCH", sharebench.binary()),
        ("SHAREBENCH_PASSWORD", Smbd::PASSWORD),
        ("OUT", sharebench.home().to_str().unwrap()),
        ("MOUNT", &mount),
        ("SIDE", &side),
        ("SWEEP", &sweep),
    ];
    let script = include_str!("../kernel-guest/look-behind-mount");
    let printed = guest.run(script, &env, KernelGuest::LONG).unwrap();
    println!("{printed}");
    the_server_was_asked_for_what_the_kernel_counted(&device, &printed, &Stored::read(&sharebench, 1));
    the_analysis_knows_where_they_came_from(&sharebench);
}

fn the_analysis_knows_where_they_came_from(sharebench: &Sharebench) {
    let shown = sharebench.run(&["show", "last", "--format", "json"]).unwrap().expect_success().stdout;
    let analysis: Value = serde_json::from_str(&shown).unwrap();
    let of = |test: &str| {
        let sections = analysis["sections"].as_array().unwrap();
        let section = sections.iter().find(|section| section["title"] == test).unwrap();
        section["rows"][0]["outcomes"][0]["cache_shares"].clone()
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
fn the_server_was_asked_for_what_the_kernel_counted(
    device: &DeviceVolume<MemoryVolume>,
    printed: &str,
    stored: &Stored,
) {
    let kernel = printed.lines().find_map(|line| line.strip_prefix("kernel: ")).unwrap();
    let kernel: u64 = kernel.trim().parse().unwrap();
    // A cell is looked behind for two minutes at most: a slow guest makes fewer triples than were asked for.
    let made = |step: &Value| step["server"]["probes"]["cold"].as_array().unwrap().len() as u64;
    let triples: Vec<u64> = stored.steps.iter().map(made).collect();
    assert!(triples.len() == 2 && triples.iter().all(|made| (1..=PROBES).contains(made)), "{triples:?}");
    // Of each of two cells: the push-out, and ahead, hot, cold and known hot of each triple, each behind another read.
    let probes = 2 * PUSH + 8 * RECORD * triples.iter().sum::<u64>();
    assert_eq!(device.counters().read_bytes, kernel + probes, "bytes that the server was asked for");
}
