//! Cache and sync policies on real file systems and servers: kept, seen on the wire, and verified.

use std::fs;

use serde_json::Value;
use sharebench_tests::{Capture, Ganesha, GaneshaOptions, Need, Sharebench, Smbd, SmbdOptions, needs};

use crate::plans::left_in;
use crate::stored::Stored;

const SMALL: [&str; 9] = [
    "--file-sizes",
    "256KiB",
    "--record-sizes",
    "4KiB,64KiB",
    "--repetitions",
    "1",
    "plan:min_sample_time=5ms",
    "--tests",
    "write,rewrite,read,random-read",
];

/// A sweep of small cells with these policies; every step of it, none of which may be invalid or have failed.
fn sweep(sharebench: &Sharebench, url: &str, policies: &[&str]) -> (Stored, String) {
    let ran = sharebench.run(&[&["sweep", url], &SMALL[..], policies].concat()).unwrap().expect_success();
    let stored = Stored::read(sharebench, 1);
    assert_eq!(stored.steps.len(), stored.planned, "{}", ran.text());
    for step in &stored.steps {
        assert_eq!(step["errors"], serde_json::json!({}), "{step}");
        assert_ne!(step["verdict"], "invalid", "{}", step["checks"]);
        assert_eq!(step["verified_bytes"], step["bytes"]["read"], "{step}");
    }
    (stored, sharebench.shown().unwrap())
}

fn text<'a>(step: &'a Value, axis: &str) -> &'a str {
    step["coordinates"][axis]["text"].as_str().unwrap_or("normal")
}

fn seen(step: &Value, name: &str) -> Option<u64> {
    step["evidence"][name].as_u64()
}

#[test]
fn page_cache_confirms_cold_unbuffered_and_write_through_access() {
    needs!([Need::Disk]);
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("here")).unwrap();
    let policies = ["--cache", "normal,unbuffered", "--sync", "normal,write-through"];
    let (stored, _) = sweep(&sharebench, "./here", &policies);
    // Per record size: two tests that write with 2 x 2 policies, two that read with 2.
    assert_eq!(stored.steps.len(), 2 * (2 * 4 + 2 * 2));
    for step in &stored.steps {
        let test = text(step, "test");
        let cache = text(step, "cache");
        let sync = text(step, "sync");
        if test == "read" {
            assert_eq!(step["evidence"]["before"]["resident"], 0, "asked cold: {step}");
            assert!(seen(step, "drops").unwrap() > 0);
        }
        let grown = (cache == "unbuffered").then_some(0);
        assert_eq!(seen(step, "grown"), grown, "{test} {cache} {sync}");
        if sync == "write-through" {
            // Before Linux 6.5 no call distinguishes dirty pages from others.
            assert!(matches!(seen(step, "dirty"), Some(0) | None), "{test} {cache}: {}", step["evidence"]);
        }
    }
    assert_eq!(left_in(&sharebench.home().join("here")), Vec::<String>::new());
}

#[test]
fn flushes_and_closes_count_on_request_and_durable_writes_are_separate() {
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("here")).unwrap();
    let (stored, shown) = sweep(&sharebench, "./here", &["--include", "flush,close"]);
    for step in &stored.steps {
        let busy = step["busy_ns"].as_u64().unwrap();
        let flush = seen(step, "flush_ns").unwrap();
        let close = seen(step, "close_ns").unwrap();
        let flushes = seen(step, "flushes").unwrap();
        let writes = text(step, "test").contains("write");
        assert_eq!((flushes > 0, flush > 0), (writes, writes), "{step}");
        assert!(close > 0 && flush + close < busy, "{step}");
        assert_eq!(text(step, "included"), if writes { "flush+close" } else { "close" });
    }
    assert!(shown.contains("acknowledged") && shown.contains("durable"), "{shown}");
}

#[test]
fn smbd_receives_write_through_and_unbuffered_as_often_as_recorded() {
    needs!(Smbd::NEEDS, Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let capture = Capture::start(smbd.port()).unwrap();
    let policies = ["--cache", "no-local,unbuffered", "--sync", "normal,write-through"];
    let (stored, _) = sweep(&sharebench, &smbd.url("", ""), &policies);
    let wire = capture.stop().unwrap();
    let mut unbuffered_writes = 0;
    let mut unbuffered_reads = 0;
    let mut through = 0;
    for step in &stored.steps {
        let operations = step["operations"].as_u64().unwrap();
        let unbuffered = text(step, "cache") == "unbuffered";
        let written = text(step, "sync") == "write-through";
        let sent = &step["evidence"]["sent"];
        assert_eq!(sent["unbuffered"], if unbuffered { operations } else { 0 }, "{step}");
        assert_eq!(sent["through"], if written { operations } else { 0 }, "{step}");
        let writes = text(step, "test").contains("write");
        unbuffered_writes += if unbuffered && writes { operations } else { 0 };
        unbuffered_reads += if unbuffered && !writes { operations } else { 0 };
        through += if unbuffered && written { operations } else { 0 };
    }
    let count =
        |filter: &str| wire.count("nbss", &format!("smb2.flags.response == 0 && {filter}")).unwrap() as u64;
    // Reads that prepare a reread have no part in these tests, so that the wire has no others.
    assert_eq!(count("smb2.cmd == 9 && smb2.write.flags.unbuffered == 1"), unbuffered_writes);
    assert_eq!(count("smb2.cmd == 9 && smb2.write.flags.write_through == 1"), through);
    assert_eq!(count("smb2.cmd == 8 && smb2.read_flags.unbuffered == 1"), unbuffered_reads);
    assert!(count("smb2.cmd == 5 && smb.nt.create_options.write_through == 1") > 0);
    assert!(count("smb2.cmd == 5 && smb.nt.create_options.intermediate_buffering == 1") > 0);
    // No lease and no oplock: this client has no cache to keep right.
    assert_eq!(count("smb2.cmd == 5 && smb2.create.oplock != 0"), 0);
    assert_eq!(left_in(&smbd.share()), Vec::<String>::new());
}

#[test]
fn ganesha_commits_every_write_through_request() {
    needs!(Ganesha::NEEDS, Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let refused = sharebench.run(&["sweep", &ganesha.url("", ""), "--cache", "normal,unbuffered"]).unwrap();
    assert_eq!(refused.code, Some(2), "{}", refused.text());
    assert!(refused.stderr.contains("nfs: cache=unbuffered: NFS has no request"), "{}", refused.stderr);
    assert_eq!(left_in(&ganesha.directory()), Vec::<String>::new());

    let capture = Capture::start(ganesha.port()).unwrap();
    let (stored, _) = sweep(&sharebench, &ganesha.url("", ""), &["--sync", "normal,write-through"]);
    let wire = capture.stop().unwrap();
    let mut through = 0;
    for step in stored.steps.iter().filter(|step| text(step, "sync") == "write-through") {
        let operations = step["operations"].as_u64().unwrap();
        let sent = &step["evidence"]["sent"];
        assert_eq!((&sent["through"], &sent["stable"]), (&operations.into(), &operations.into()), "{step}");
        through += operations;
    }
    let count =
        |filter: &str| wire.count("rpc", &format!("nfs.procedure_v3 == 7 && {filter}")).unwrap() as u64;
    // FILE_SYNC is 2 (RFC 1813, 3.3.7).
    assert_eq!(count("rpc.msgtyp == 0 && nfs.write.stable == 2"), through);
    assert!(count("rpc.msgtyp == 1 && nfs.write.committed == 2") >= through);
    assert_eq!(left_in(&ganesha.directory()), Vec::<String>::new());
}

#[test]
fn share_is_released_before_the_pre_step_command_runs() {
    needs!([Need::Root, Need::Program("mount"), Need::Program("umount"), Need::Program("unshare")]);
    let sharebench = Sharebench::new().unwrap();
    let home = sharebench.home();
    for name in ["below", "share"] {
        fs::create_dir(home.join(name)).unwrap();
    }
    // A bind mount stands for a share: it cannot be taken away while a file or directory of it is open.
    let script = "mount --bind below share && exec \"$0\" sweep ./share --file-sizes 64KiB --record-sizes 4KiB \
        --tests write,rewrite,read --repetitions 2 --pre-step-cmd 'umount share && mount --bind below share'";
    let ran = sharebench.run_by(&["unshare", "--mount", "sh", "-c", script]).unwrap().expect_success();
    assert_eq!(Stored::read(&sharebench, 1).steps.len(), 6, "{}", ran.text());
    assert_eq!(left_in(&home.join("below")), Vec::<String>::new());
}
