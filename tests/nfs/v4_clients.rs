//! The NFSv4 clients of the Linux kernel and of libnfs at the embedded server.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::stored::Stored;
use sharebench_tests::program::run;
use sharebench_tests::{KernelGuest, Need, Served, Sharebench, SourceTree, needs};

const RANDOM_OPERATIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/kernel-guest/random-operations");

/// The command that mounts the export with several connections, up to the mount point.
fn nfs4(port: u16, version: &str) -> String {
    let machine = KernelGuest::MACHINE;
    format!("mount -t nfs -o vers={version},proto=tcp,port={port},nconnect=4 {machine}:{}", Served::EXPORT)
}

fn is_long() -> bool {
    std::env::var_os("SHAREBENCH_LONG").is_some()
}

/// The program that serves a directory with a state file.
fn serve(sharebench: &Sharebench) -> Served {
    sharebench.serve_by(&[], "served", &["--nfs-state", "nfs.state"]).unwrap()
}

#[test]
fn kernel_mounts_the_embedded_server_over_nfs4() {
    needs!(KernelGuest::NEEDS, [Need::Program("python3")]);
    let sharebench = Sharebench::new().unwrap();
    let served = serve(&sharebench);
    let guest = KernelGuest::prepare(&[served.nfs_port]).unwrap();
    let source = SourceTree::make().unwrap();
    // One version compares all bytes in CI; the codec and the paths of data are the same in all.
    let compared: &[&str] = if is_long() { &["4.0", "4.1", "4.2"] } else { &["4.1"] };
    for version in compared {
        let printed = guest.mount_and_compare(&nfs4(served.nfs_port, version), source.path()).unwrap();
        assert!(printed.contains(&format!("vers={version}")) && printed.contains("nconnect=4"), "{printed}");
        assert!(printed.contains("same: 20000001 bytes and 500 files"), "{printed}");
        source.compare(served.directory(), &["tree/d1/"]).unwrap();
        fs::remove_dir_all(served.directory().join("tree")).unwrap();
    }
    let operations = include_str!("../kernel-guest/nfs4-operations");
    for version in ["4.0", "4.1", "4.2"] {
        let mount = nfs4(served.nfs_port, version);
        let sparse = if version == "4.2" { "yes" } else { "" };
        let printed = guest.run(operations, &[("MOUNT", &mount), ("SPARSE", sparse)], KernelGuest::LONG);
        let printed = printed.unwrap();
        for subject in ["links", "mode", "names", "directories", "locks"] {
            assert!(printed.contains(&format!("{subject}: as expected")), "{version} {subject}: {printed}");
        }
        assert_eq!(printed.contains("sparse files: as expected"), version == "4.2", "{printed}");
        for entry in fs::read_dir(served.directory()).unwrap() {
            let path = entry.unwrap().path();
            let is_directory = fs::symlink_metadata(&path).unwrap().is_dir();
            if is_directory { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        }
    }
}

#[test]
fn random_operations_see_no_restart_of_the_nfs4_server() {
    needs!(KernelGuest::NEEDS, [Need::Program("python3")]);
    let sharebench = Sharebench::new().unwrap();
    let mut served = serve(&sharebench);
    let guest = KernelGuest::prepare(&[served.nfs_port]).unwrap();
    let count = if is_long() { "20000" } else { "800" };
    let script = "set -eu\nmkdir /mnt/share\neval \"$MOUNT /mnt/share\"\n\"$RANDOM_OPERATIONS\" /mnt/share 7 \"$COUNT\"\n";
    let mount = nfs4(served.nfs_port, "4.1");
    let env = [("MOUNT", mount.as_str()), ("RANDOM_OPERATIONS", RANDOM_OPERATIONS), ("COUNT", count)];
    let over = AtomicBool::new(false);
    let (printed, restarts) = thread::scope(|scope| {
        let running = scope.spawn(|| {
            let printed = guest.run(script, &env, 3 * KernelGuest::LONG);
            over.store(true, Ordering::Relaxed);
            printed
        });
        let mut restarts = 0;
        while !over.load(Ordering::Relaxed) {
            // Between two restarts, the client has to reclaim and to work; no assertion depends on the time.
            thread::sleep(Duration::from_secs(5));
            served.restart(&sharebench).unwrap();
            restarts += 1;
        }
        (running.join().unwrap(), restarts)
    });
    let printed = printed.unwrap();
    assert!(printed.contains(&format!("no mismatch: {count} operations")), "{printed}");
    println!("{restarts} restarts, {printed}");
}

#[test]
fn depth_shows_versions_compounds_a_mount_and_memory_side_by_side() {
    needs!(KernelGuest::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let served = serve(&sharebench);
    for directory in ["v3", "v41", "compound", "mounted"] {
        fs::create_dir(served.directory().join(directory)).unwrap();
    }
    let guest = KernelGuest::prepare(&[served.nfs_port]).unwrap();
    let machine = KernelGuest::MACHINE;
    let port = served.nfs_port;
    let url = |directory: &str, options: &str| {
        format!("nfs://{machine}:{port}{}/{directory}?{options}", Served::EXPORT)
    };
    let direct = [
        url("v3", &format!("mountport={port}")),
        url("v41", "vers=4.1"),
        url("compound", "vers=4.1&compound=on"),
    ];
    let mount = format!("{}/mounted", nfs4(port, "4.2"));
    let depth =
        "--file-size 256KiB --record-sizes 16KiB --depths 1,4 --tests read,random-read --repetitions 2";
    let env = [
        ("SHAREBENCH", sharebench.binary()),
        ("OUT", sharebench.home().to_str().unwrap()),
        ("MOUNT", &mount),
        ("TARGETS", &direct.join(" ")),
        ("DEPTH", depth),
    ];
    let printed = guest.run(include_str!("../kernel-guest/depth-nfs"), &env, KernelGuest::LONG).unwrap();
    println!("{printed}");
    let stored = Stored::read(&sharebench, 1);
    // Five targets, two depths, two tests, two repetitions.
    assert_eq!((stored.steps.len(), stored.planned), (40, 40), "{printed}");
    for step in &stored.steps {
        assert_eq!(step["errors"], serde_json::json!({}), "{step}");
        let target = step["target"].as_u64().unwrap();
        // Each direct read is one call.
        if target < direct.len() as u64 {
            assert_eq!(step["wire"]["requests"], step["operations"], "{step}");
        }
    }
    for access in ["direct", "mounted", "local"] {
        assert!(printed.contains(access), "{access}: {printed}");
    }
}

#[test]
fn libnfs_copies_files_over_nfs4() {
    needs!([Need::Program("nfs-cp"), Need::Program("nfs-ls")]);
    let sharebench = Sharebench::new().unwrap();
    let served = serve(&sharebench);
    let source = SourceTree::make().unwrap();
    let url = |name: &str| {
        format!("nfs://127.0.0.1{}/{name}?version=4&nfsport={}", Served::EXPORT, served.nfs_port)
    };
    // Large WRITEs of libnfs 4.0 fail in its encoder, before anything is sent.
    let small = sharebench.home().join("small");
    fs::write(&small, [7; 3000]).unwrap();
    run(&["nfs-cp", &small.display().to_string(), &url("small")], &[]).unwrap();
    assert_eq!(fs::read(served.directory().join("small")).unwrap(), [7; 3000]);
    let big = source.path().join("big");
    fs::copy(&big, served.directory().join("big")).unwrap();
    let back = sharebench.home().join("back").display().to_string();
    run(&["nfs-cp", &url("big"), &back], &[]).unwrap();
    assert!(fs::read(&back).unwrap() == fs::read(&big).unwrap());
    let listed = run(&["nfs-ls", &url("")], &[]).unwrap();
    assert!(listed.contains("20000001") && listed.contains("big"), "{listed}");
}
