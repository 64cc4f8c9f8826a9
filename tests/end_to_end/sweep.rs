//! The main job on real servers: one sweep over Samba, NFS-Ganesha and a local directory, verified, with the
//! counts of the lab book held against a packet capture.

use std::fs;

use sharebench_tests::{Capture, Ganesha, GaneshaOptions, Sharebench, Smbd, SmbdOptions, needs};

use crate::plans::{SWEEP_STEPS, left_in, sweep};
use crate::stored::Stored;

const TARGETS: u64 = 3;

#[test]
fn a_sweep_of_smbd_ganesha_and_a_directory_reads_what_it_wrote() {
    needs!(Smbd::NEEDS, Ganesha::NEEDS, Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let targets = [("local", "./local"), ("smb", &smbd.url("", "")), ("nfs", &ganesha.url("", ""))];
    let (plan, steps, filling) = scope(&sweep(&targets, "20ms", 1));
    sharebench.write("plan.toml", &plan).unwrap();

    let (smb_wire, nfs_wire) =
        (Capture::start(smbd.port()).unwrap(), Capture::start(ganesha.port()).unwrap());
    let run = sharebench.run(&["run", "plan.toml"]).unwrap().expect_success();
    let (smb_wire, nfs_wire) = (smb_wire.stop().unwrap(), nfs_wire.stop().unwrap());
    let (smb_wire, nfs_wire) = (smb_wire.one_request_at_a_time(), nfs_wire.one_request_at_a_time());

    let stored = Stored::read(&sharebench, 1);
    assert_eq!(stored.steps.len(), steps * TARGETS as usize, "{}", run.text());
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
    // No test of this plan reads to prepare itself, and each data file is filled once by its largest records, so
    // the wire saw exactly this: READ is 8 and WRITE 9 in SMB2, 6 and 7 in NFSv3.
    let (smb, nfs) = (smb_wire.smb_requests().unwrap(), nfs_wire.nfs3_calls().unwrap());
    for (target, reads, writes) in [(1, smb[&8], smb[&9]), (2, nfs[&6], nfs[&7])] {
        let (read, written) = (stored.operations(target, "read"), stored.operations(target, "write"));
        println!(
            "target {target}: {read} reads and {written} writes measured, {reads} and {writes} captured"
        );
        assert_eq!((read, written + filling), (reads, writes), "target {target}");
        assert_eq!(stored.sum(target, &["wire", "requests"]), read + written, "target {target}");
    }
    for (target, payload) in [(1, smb_wire.payload().unwrap()), (2, nfs_wire.payload().unwrap())] {
        let (sent, received) =
            (stored.sum(target, &["wire", "sent"]), stored.sum(target, &["wire", "received"]));
        assert!(sent > 0 && sent <= payload.sent, "target {target}: {sent}, {payload:?}");
        assert!(received > 0 && received <= payload.received, "target {target}: {received}, {payload:?}");
    }
    for directory in [smbd.share(), ganesha.directory(), sharebench.home().join("local")] {
        assert_eq!(left_in(&directory), Vec::<String>::new());
    }
}

/// The plan as it is, or over the whole range of sizes when `SHAREBENCH_LONG` is set (some minutes): the plan, its
/// steps per target, and the writes that fill its data files.
fn scope(plan: &str) -> (String, usize, u64) {
    let short = ("['64KiB', '1MiB']", "['4KiB', '64KiB']");
    if std::env::var_os("SHAREBENCH_LONG").is_none() {
        return (plan.to_owned(), SWEEP_STEPS, 1 + 16);
    }
    let files = "['64KiB', '256KiB', '1MiB', '4MiB', '16MiB', '64MiB']";
    let records = "['1KiB', '4KiB', '16KiB', '64KiB', '256KiB', '1MiB']";
    let plan = plan.replace(short.0, files).replace(short.1, records);
    // Records that fit: 4 for the smallest file, 5 for the next, then all 6; four tests each.
    (plan, (4 + 5 + 6 * 4) * 4, 1 + 1 + 1 + 4 + 16 + 64)
}
