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
    sharebench.write("plan.toml", &sweep(&targets, "20ms", 1)).unwrap();

    let (smb_wire, nfs_wire) =
        (Capture::start(smbd.port()).unwrap(), Capture::start(ganesha.port()).unwrap());
    let run = sharebench.run(&["run", "plan.toml"]).unwrap().expect_success();
    let (smb_wire, nfs_wire) = (smb_wire.stop().unwrap(), nfs_wire.stop().unwrap());

    let stored = Stored::read(&sharebench, 1);
    assert_eq!(stored.steps.len(), SWEEP_STEPS * TARGETS as usize, "{}", run.text());
    for step in &stored.steps {
        assert_eq!(step["measure"]["errors"], serde_json::json!({}), "{step}");
    }
    for target in 0..TARGETS {
        let read = stored.sum(target, &["bytes", "read"]);
        assert!(
            read > 0 && stored.sum(target, &["verified"]) == read,
            "target {target}: not all was verified"
        );
    }
    // The wire saw what was measured and, beside it, the making and removing of files: READ is 8 and WRITE 9
    // in SMB2, 6 and 7 in NFSv3.
    let (smb, nfs) = (smb_wire.smb_requests().unwrap(), nfs_wire.nfs3_calls().unwrap());
    for (target, data_requests) in [(1, smb[&8] + smb[&9]), (2, nfs[&6] + nfs[&7])] {
        let measured = stored.sum(target, &["wire", "requests"]);
        assert!(measured > 0 && measured <= data_requests, "target {target}: {measured}, {data_requests}");
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
