//! Snapshots of mounts of Linux 6.1 with an NFS-Ganesha, with other names and addresses, and without most rows of zeros.

use std::io::{Cursor, Read};

use proptest::prelude::*;
use serde_json::json;

use super::{Basis, MountReport, mount_reports};
use crate::input::{Contents, InputError, ReadOptions, read};
use crate::output::mounts_to_json;

const BEFORE: &str = include_str!("samples/before.txt");
const AFTER: &str = include_str!("samples/after.txt");
const REMOUNTED: &str = include_str!("samples/remounted.txt");

fn contents(inputs: &[&[u8]]) -> Result<Contents, InputError> {
    let inputs = inputs.iter().zip(1..).map(|(bytes, number)| {
        (format!("stats{number}"), Box::new(Cursor::new(bytes.to_vec())) as Box<dyn Read>)
    });
    read(inputs, &ReadOptions::default())
}

fn reports(inputs: &[&str]) -> Vec<MountReport> {
    let inputs: Vec<&[u8]> = inputs.iter().map(|text| text.as_bytes()).collect();
    match contents(&inputs).unwrap() {
        Contents::Mounts(snapshots) => mount_reports(&snapshots),
        Contents::Operations(_) => panic!("no snapshots"),
    }
}

fn error(inputs: &[&str]) -> String {
    let inputs: Vec<&[u8]> = inputs.iter().map(|text| text.as_bytes()).collect();
    contents(&inputs).unwrap_err().to_string()
}

#[test]
fn the_difference_of_two_snapshots_is_what_programs_did_between_them() {
    let found = reports(&[BEFORE, AFTER]);
    let facts: Vec<_> = found
        .iter()
        .map(|mount| (mount.number, mount.protocol.as_str(), mount.basis, mount.seconds))
        .collect();
    assert_eq!(facts, [(1, "nfs3", Basis::Snapshots, 4), (2, "nfs4.1", Basis::Snapshots, 4)]);
    let nfs4 = &found[1];
    // 8 MiB written and read through the cache, and read again with O_DIRECT: 128 requests and one at the end of the file.
    let read = nfs4.operations.iter().find(|kind| kind.name == "READ").unwrap();
    assert_eq!((read.counters.operations, read.counters.bytes_received), (129, 8_402_024));
    assert_eq!((read.retransmissions(), read.counters.errors), (0, Some(0)));
    assert!((read.mean(|counters| counters.rtt_ms) - 12.0 / 129.0).abs() < 1e-12);
    assert_eq!(nfs4.operations[0].name, "READ");
    assert!((nfs4.operations[0].share - 129.0 / nfs4.count() as f64).abs() < 1e-12);
    assert_eq!(nfs4.rate(), Some(nfs4.count() as f64 / 4.0));
    let bytes = &nfs4.bytes;
    assert_eq!((bytes.normal_read, bytes.server_read, bytes.direct_read), (8_388_608, 8_388_608, 8_454_144));
    assert_eq!(bytes.client_cache_share(), Some(1.0));
    let open = nfs4.operations.iter().find(|kind| kind.name == "OPEN").unwrap();
    assert_eq!(open.counters.errors, Some(1));
    // The same 8 MiB were read twice, the second time from the cache.
    let share = found[0].bytes.client_cache_share().unwrap();
    assert!((share - 0.5).abs() < 1e-5, "{share}");
    assert!(found[0].events.opens > 0);
}

#[test]
fn one_snapshot_counts_since_the_mount() {
    let found = reports(&[AFTER]);
    assert_eq!((found[0].basis, found[0].seconds), (Basis::Mounted, 5));
    let read = found[1].operations.iter().find(|kind| kind.name == "READ").unwrap();
    assert_eq!(read.counters.operations, 129);
}

#[test]
fn a_new_mount_a_gone_one_and_a_second_mount_are_stated() {
    let found = reports(&[BEFORE, AFTER, REMOUNTED]);
    assert_eq!((found[0].basis, found[0].seconds), (Basis::MountedAgain, 0));
    assert_eq!(found[0].rate(), None);
    assert_eq!((found[1].basis, found[1].is_gone, found[1].seconds), (Basis::Snapshots, false, 5));
    let at = BEFORE.find("device server:/share").unwrap();
    let one_mount = &BEFORE[..at];
    let new = reports(&[one_mount, AFTER]);
    assert_eq!((new[0].basis, new[1].basis), (Basis::Snapshots, Basis::Mounted));
    let gone = reports(&[AFTER, one_mount]);
    assert_eq!((gone[0].basis, gone[1].basis, gone[1].is_gone), (Basis::MountedAgain, Basis::Gone, true));
    assert!(gone[1].operations.is_empty());
    let later_gone = reports(&[BEFORE, AFTER, &AFTER[..AFTER.find("device server:/share").unwrap()]]);
    assert_eq!((later_gone[1].basis, later_gone[1].is_gone), (Basis::Snapshots, true));
}

#[test]
fn a_file_system_on_two_directories_is_one_mount() {
    let at = BEFORE.find("device server:/share").unwrap();
    let again = BEFORE[at..].replace("/mnt/b", "/mnt/c");
    assert_eq!(reports(&[&format!("{BEFORE}{again}")]).len(), 2);
    // A mount over a mount has counters of its own.
    let over = BEFORE[at..].replace("age:\t1", "age:\t2");
    assert_eq!(reports(&[&format!("{BEFORE}{over}")]).len(), 3);
}

#[test]
fn older_kernels_count_no_errors_and_print_minor_versions() {
    let old = AFTER.replace("vers=4.1", "vers=4,minorversion=1");
    let old: String = old
        .lines()
        .map(|line| match line.split_once(": ").filter(|(_, rest)| rest.split(' ').count() == 9) {
            Some((name, rest)) if name.trim().bytes().all(|b| b.is_ascii_uppercase() || b == b'_') => {
                format!("{name}: {}\n", rest.rsplit_once(' ').unwrap().0)
            }
            _ => format!("{line}\n"),
        })
        .collect();
    let found = reports(&[&old]);
    assert_eq!(found[1].protocol, "nfs4.1");
    assert_eq!(found[1].operations[0].counters.errors, None);
}

#[test]
fn what_cannot_be_used_is_named() {
    let version = AFTER.replace("statvers=1.1", "statvers=1.0");
    assert_eq!(
        error(&[BEFORE, &version]),
        "stats2: line 2: statistics of version 1.0; this program reads version 1.1"
    );
    let other = "device proc mounted on /proc with fstype proc\n";
    assert_eq!(error(&[other]), "stats1: no NFS mount is in it");
    assert!(error(&[&AFTER.replace("READ: 8 8", "READ: 8 x")]).contains("an operation without its numbers"));
    let cut = &AFTER[..AFTER.find("per-op").unwrap()];
    assert!(error(&[cut]).starts_with("stats1: line 2: a mount without its operations"));
    let trace = "1 1.0 openat(AT_FDCWD, \"/srv/f\", O_RDONLY) = 3 <0.1>\n";
    assert_eq!(
        error(&[trace, AFTER]),
        "stats1 is a trace of system calls, but stats2 is a copy of /proc/self/mountstats: read them one at a time"
    );
}

#[test]
fn the_document_has_no_names() {
    let document = mounts_to_json(&reports(&[BEFORE, AFTER]), 2);
    assert_eq!(document["mounts"][1]["protocol"], json!("nfs4.1"));
    assert_eq!(document["mounts"][1]["kinds"][0]["count"], json!(129));
    assert_eq!(document["mounts"][1]["basis"], json!("snapshots"));
    let text = document.to_string();
    assert!(!text.contains("server:") && !text.contains("192.0.2") && !text.contains("/mnt"));
}

proptest! {
    #[test]
    fn no_bytes_are_a_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = AFTER.as_bytes().to_vec();
        for (at, byte) in &changes {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        bytes.truncate(cut.index(bytes.len()));
        if let Ok(Contents::Mounts(snapshots)) = contents(&[BEFORE.as_bytes(), &bytes]) {
            mounts_to_json(&mount_reports(&snapshots), snapshots.len());
        }
    }
}
