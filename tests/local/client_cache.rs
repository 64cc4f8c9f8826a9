//! What the kernel's client cache does to the numbers of a mount, in a guest whose kernel really mounts.

use serde_json::Value;
use sharebench_tests::{Ganesha, GaneshaOptions, KernelGuest, Sharebench, Smbd, SmbdOptions, needs};

use crate::local::kernel_mounts::{cifs, nfs3};
use crate::stored::Stored;

const CIFS: u64 = 0;
const SMB: u64 = 1;
const NFS: u64 = 2;
const NFS_DIRECT: u64 = 3;
const LOCAL: u64 = 4;

const SWEEP: &str =
    "--file-sizes 1MiB --record-sizes 64KiB --tests write,rewrite,read,reread --repetitions 2";
const DEPTH: &str =
    "--file-size 1MiB --record-sizes 16KiB,64KiB --depths 1,4 --tests read,random-read --repetitions 2";

const NAMES: &str =
    "--tests create,stat,stat-miss,open-close,readdir,unlink --entries 200 --depths 1,4 --repetitions 2";
/// What a long test measures in addition: all tests of names, locks and the server's own work.
const ALL_NAMES: &str = "--tests metadata,lock,lock-neighbours,lock-contended,server-side --copy-sizes 1MiB --entries 50 --jobs 2 --layouts own,shared --depths 1,4 --repetitions 1 --verify full";

/// Steps of a target and a test.
fn steps<'a>(stored: &'a Stored, target: u64, test: &'a str) -> impl Iterator<Item = &'a Value> {
    let wanted = move |step: &&Value| step["target"] == target && step["coordinates"]["test"]["text"] == test;
    let mut found = stored.steps.iter().filter(wanted).peekable();
    assert!(found.peek().is_some(), "no step of target {target}, test {test}");
    found
}

fn is_flagged(step: &Value) -> bool {
    step["checks"].as_array().unwrap().iter().any(|check| check["name"] == "client-cache")
}

#[test]
fn reads_from_the_kernel_client_cache_are_flagged_and_direct_reads_are_not() {
    needs!(KernelGuest::NEEDS, Smbd::NEEDS, Ganesha::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let ports = [smbd.port(), ganesha.port(), ganesha.mount_port()];
    let guest = KernelGuest::prepare(&ports).unwrap();
    let machine = KernelGuest::MACHINE;
    let [smb_port, nfs_port, mount_port] = ports;
    let user = smbd.user();
    let export = ganesha.export();
    let script = include_str!("../kernel-guest/measure-mounts");
    let env = [
        ("SHAREBENCH", sharebench.binary()),
        ("SHAREBENCH_PASSWORD", Smbd::PASSWORD),
        ("OUT", sharebench.home().to_str().unwrap()),
        ("CIFS_MOUNT", &cifs(smb_port, user, Smbd::PASSWORD)),
        ("NFS_MOUNT", &nfs3(nfs_port, mount_port, &export)),
        ("SMB_URL", &format!("smb://{user}@{machine}:{smb_port}/share")),
        ("NFS_URL", &format!("nfs://{machine}:{nfs_port}{export}?mountport={mount_port}")),
        ("SWEEP", SWEEP),
        ("DEPTH", DEPTH),
        ("NAMES", NAMES),
        ("ALL_NAMES", if std::env::var_os("SHAREBENCH_LONG").is_some() { ALL_NAMES } else { "" }),
    ];
    let printed = guest.run(script, &env, KernelGuest::LONG).unwrap();
    println!("{printed}");
    assert_sweep_distinguishes_cache_and_server(&Stored::read(&sharebench, 1));
    assert_depth_study_counts_each_path(&Stored::read(&sharebench, 2));
    assert_names_are_counted(&Stored::read(&sharebench, 3), &printed);
    if std::env::var_os("SHAREBENCH_LONG").is_some() {
        for step in Stored::read(&sharebench, 4).steps {
            assert_eq!(step["errors"], serde_json::json!({}), "{step}");
            assert_ne!(step["verdict"], "invalid", "{step}");
        }
    }
    let words = [
        "c: served by the client's cache",
        "client cache",
        "as users see it",
        "direct",
        "mounted",
        "local",
        "user ns/B",
    ];
    for word in words {
        assert!(printed.contains(word), "'{word}' is not printed");
    }
}

fn assert_sweep_distinguishes_cache_and_server(stored: &Stored) {
    assert_eq!(stored.steps.len(), stored.planned);
    for step in &stored.steps {
        assert_eq!(step["errors"], serde_json::json!({}), "{step}");
    }
    for mount in [CIFS, NFS] {
        for test in ["write", "rewrite", "reread"] {
            for step in steps(stored, mount, test) {
                assert!(is_flagged(step), "not flagged: {step}");
            }
        }
        for step in steps(stored, mount, "reread") {
            assert_eq!(step["wire"]["payload_received"], 0, "a re-read that crossed the wire: {step}");
        }
        // Its cache was dropped before each pass, so every byte crossed the wire.
        for step in steps(stored, mount, "read") {
            let application = step["bytes"]["read"].as_u64().unwrap();
            let wire = step["wire"]["payload_received"].as_u64().unwrap();
            assert!(!is_flagged(step) && wire >= application && application > 0, "{step}");
        }
    }
    for direct in [SMB, NFS_DIRECT] {
        for step in stored.steps.iter().filter(|step| step["target"] == direct) {
            let moved = |count: &str| step["wire"][count].as_u64().unwrap();
            let application =
                step["bytes"]["read"].as_u64().unwrap() + step["bytes"]["written"].as_u64().unwrap();
            assert!(!is_flagged(step), "{step}");
            assert_eq!(moved("payload_received") + moved("payload_sent"), application, "{step}");
        }
    }
    for step in stored.steps.iter().filter(|step| step["target"] == LOCAL) {
        assert!(step["wire"].is_null() && !is_flagged(step), "{step}");
    }
}

fn assert_depth_study_counts_each_path(stored: &Stored) {
    assert_eq!(stored.steps.len(), stored.planned);
    for target in [CIFS, SMB, NFS, NFS_DIRECT, LOCAL] {
        let depths: std::collections::BTreeSet<u64> = steps(stored, target, "read")
            .map(|step| step["coordinates"]["queue_depth"]["count"].as_u64().unwrap())
            .collect();
        assert_eq!(depths.into_iter().collect::<Vec<_>>(), [1, 4], "target {target}");
    }
}

/// Metadata tests on both mounts, at depths 1 and 4, have counts of requests, and the report states which caches answered.
fn assert_names_are_counted(stored: &Stored, printed: &str) {
    assert_eq!(stored.steps.len(), stored.planned);
    for step in &stored.steps {
        assert_eq!(step["errors"], serde_json::json!({}), "{step}");
        assert_ne!(step["verdict"], "invalid", "{step}");
        assert!(step["wire"]["requests"].is_u64(), "no count: {step}");
        let test = step["coordinates"]["test"]["text"].as_str().unwrap();
        if ["create", "unlink"].contains(&test) {
            let requests = step["wire"]["requests"].as_f64().unwrap();
            assert!(requests >= step["operations"].as_f64().unwrap(), "the server takes part: {step}");
        }
    }
    // Lines are wrapped.
    let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    for mount in ["cifs-mount", "nfs-mount"] {
        for (test, cache) in [
            ("stat", "the attribute cache"),
            ("stat-miss", "the directory-entry cache"),
            ("open-close", "the cache of open files"),
            ("readdir", "the directory cache"),
        ] {
            let lead = format!("{test}: {mount}: ");
            let known = [
                format!("{lead}{cache} of the client answered"),
                format!("{lead}the wire counts do not show whether {cache} of the client answered"),
            ];
            assert!(known.iter().any(|text| printed.contains(text.as_str())), "{lead}{cache}");
        }
    }
    let cached = "stat: nfs-mount: the attribute cache of the client answered at least";
    assert!(printed.contains(cached) || printed.contains(&cached.replace("at least", "all")), "{cached}");
}
