//! The main job on real servers: one sweep over Samba, NFS-Ganesha and a local directory, verified, with the
//! counts of the results database held against a packet capture.

use std::fs;

use sharebench_tests::{Capture, Ganesha, GaneshaOptions, Sharebench, Smbd, SmbdOptions, needs};

use crate::plans::{left_in, sweep};
use crate::stored::Stored;

const TARGETS: u64 = 3;

#[test]
fn sweep_of_smbd_ganesha_and_a_directory_reads_its_own_data() {
    needs!(Smbd::NEEDS, Ganesha::NEEDS, Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let targets = [("local", "./local"), ("smb", &smbd.url("", "")), ("nfs", &ganesha.url("", ""))];
    let scope = scope(&sweep(&targets, "20ms", 1));
    sharebench.write("plan.toml", &scope.plan).unwrap();

    let smb_wire = Capture::start(smbd.port()).unwrap();
    let nfs_wire = Capture::start(ganesha.port()).unwrap();
    let run = sharebench.run(&["run", "plan.toml"]).unwrap().expect_success();
    let smb_wire = smb_wire.stop().unwrap();
    let nfs_wire = nfs_wire.stop().unwrap();
    let smb_wire = smb_wire.one_request_at_a_time();
    let nfs_wire = nfs_wire.one_request_at_a_time();

    let stored = Stored::read(&sharebench, 1);
    assert_eq!(stored.steps.len(), scope.steps * TARGETS as usize, "{}", run.text());
    for step in &stored.steps {
        assert_eq!(step["errors"], serde_json::json!({}), "{step}");
    }
    for target in 0..TARGETS {
        let read = stored.sum(target, &["bytes", "read"]);
        assert!(
            read > 0 && stored.sum(target, &["verified_bytes"]) == read,
            "target {target}: not all was verified"
        );
    }
    // No test of this plan reads to prepare itself, and the cache of the server is taken as it is, so the wire saw
    // exactly this: READ is 8 and WRITE 9 in SMB2, 6 and 7 in NFSv3.
    let smb = smb_wire.smb_requests().unwrap();
    let nfs = nfs_wire.nfs3_calls().unwrap();
    for (target, reads, writes) in [(1, smb[&8], smb[&9]), (2, nfs[&6], nfs[&7])] {
        let read = stored.operations(target, "read");
        let written = stored.operations(target, "write");
        println!(
            "target {target}: {read} reads and {written} writes measured, {reads} and {writes} captured"
        );
        let expected = (read + scope.reading_back, written + scope.filling);
        assert_eq!(expected, (reads, writes), "target {target}");
        assert_eq!(stored.sum(target, &["wire", "requests"]), read + written, "target {target}");
    }
    for (target, payload) in [(1, smb_wire.payload().unwrap()), (2, nfs_wire.payload().unwrap())] {
        let sent = stored.sum(target, &["wire", "sent"]);
        let received = stored.sum(target, &["wire", "received"]);
        assert!(sent > 0 && sent <= payload.sent, "target {target}: {sent}, {payload:?}");
        assert!(received > 0 && received <= payload.received, "target {target}: {received}, {payload:?}");
    }
    for directory in [smbd.share(), ganesha.directory(), sharebench.home().join("local")] {
        assert_eq!(left_in(&directory), Vec::<String>::new());
    }
}

/// Requested and actual number of operations, and the cost of the data files that is not measured.
struct Scope {
    plan: String,
    /// Per target.
    steps: usize,
    /// Files are written once in each record size that is used with them.
    filling: u64,
    /// And read once, in the largest records, before they are made anew for another.
    reading_back: u64,
}

/// The plan as it is, or over the whole range of sizes when `SHAREBENCH_LONG` is set (some minutes).
fn scope(plan: &str) -> Scope {
    let short = ("['64KiB', '1MiB']", "['4KiB', '64KiB']");
    let long = std::env::var_os("SHAREBENCH_LONG").is_some();
    let (files, records): (&[u64], &[u64]) = if long {
        (&[64, 256, 1024, 4096, 16_384, 65_536], &[1, 4, 16, 64, 256, 1024])
    } else {
        (&[64, 1024], &[4, 64])
    };
    let list = |sizes: &[u64]| {
        format!("[{}]", sizes.iter().map(|k| format!("'{k}KiB'")).collect::<Vec<_>>().join(", "))
    };
    // Every read is a measured one, or reads a file back.
    let plan = plan.replace("[sweep]\n", "[sweep]\nserver_cache = ['as-is']\n");
    let plan = plan.replace(short.0, &list(files)).replace(short.1, &list(records));
    let mut steps = 0;
    let mut filling = 0;
    let mut reading_back = 0;
    for file in files {
        let fitting = || records.iter().filter(|record| *record <= file);
        let largest = fitting().max().unwrap();
        steps += fitting().count() * 4;
        filling += fitting().map(|record| file / record).sum::<u64>();
        reading_back += (fitting().count() as u64 - 1) * (file / largest);
    }
    Scope { plan, steps, filling, reading_back }
}
