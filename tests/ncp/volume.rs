//! NCP, SMB and NFS on one embedded volume: conformance, a verified sweep, and the packets as tshark parses them.

use std::fs;

use sharebench_doubles::conformance::Suite;
use sharebench_ncp::target::NcpTarget;
use sharebench_target::Secret;
use sharebench_tests::{Capture, Captured, Sharebench, Smbd, needs};

use crate::adapters::{conform, url};
use crate::plans::left_in;
use crate::stored::Stored;

/// Durable writes to files opened without write-through do not exist in this protocol.
const SKIP: &[&str] = &["flush and durable write"];
/// Requests are counted: no datagram is sent again because this machine stood still.
const PATIENT: &str = "&retry=5s";

#[test]
fn ncp_conforms_at_the_embedded_server_over_a_directory() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let udp = ["", "&sign=3&buffer=1024", "&burst=on"];
    let ipx = ["", "&sign=3", "&burst=on"];
    let tcp = ["", "?sign=3"].map(|options| served.ncp_url(options)).into_iter();
    let udp = udp.map(|options| served.ncp_url(&format!("?transport=udp{PATIENT}{options}")));
    let ipx = ipx.map(|options| served.ipx_url(&format!("?transport=ipx{PATIENT}{options}")));
    for text in tcp.chain(udp).chain(ipx) {
        let target = NcpTarget::from_url(url(&text), Secret::new(Smbd::PASSWORD)).unwrap();
        // Datagrams: the receive buffer of the server's one socket holds those of few connections.
        let max_depth = if text.contains("transport") { 4 } else { 32 };
        let secret = Some(Smbd::PASSWORD.into());
        conform(&target, &Suite { skip: SKIP, max_depth, secret, ..Suite::default() });
    }
    assert_eq!(fs::read_dir(served.directory()).unwrap().count(), 0, "the suite left something");
}

#[test]
fn sweep_over_three_protocols_is_verified_and_tshark_finds_every_request() {
    needs!(Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    for directory in ["smb", "nfs", "tcp", "udp"] {
        fs::create_dir(served.directory().join(directory)).unwrap();
    }
    // Unsigned on TCP: there tshark takes a signature that begins with 4C69, 9999 or the like for a packet.
    let tcp = "tcp?split=on";
    let udp = format!("udp?transport=udp&buffer=8192&sign=3{PATIENT}");
    let capture = Capture::start_with_datagrams(served.ncp_port).unwrap();
    let run = sharebench
        .run(&[
            "sweep",
            &served.smb_url("smb"),
            &served.nfs_url("nfs"),
            &served.ncp_url(tcp),
            &served.ncp_url(&udp),
            "--file-sizes=256KiB",
            "--record-sizes=4KiB,8KiB",
            "--tests=write,read,random-read",
            // Every read is a measured one.
            "--server-cache=as-is",
            "--repetitions=1",
            "plan:min_sample_time=20ms",
        ])
        .unwrap()
        .expect_success();
    let captured = capture.stop().unwrap().one_request_at_a_time();

    let stored = Stored::read(&sharebench, 1);
    assert_eq!(stored.steps.len(), 4 * 2 * 3, "{}", run.text());
    for step in &stored.steps {
        assert_eq!(step["errors"], serde_json::json!({}), "{step}");
    }
    let mut reads = 0;
    let mut writes = 0;
    for target in 0..4 {
        let read = stored.sum(target, &["bytes", "read"]);
        assert!(read > 0 && stored.sum(target, &["verified_bytes"]) == read, "target {target}");
        if target >= 2 {
            let operations = (stored.operations(target, "read"), stored.operations(target, "write"));
            let requests = stored.sum(target, &["wire", "requests"]);
            assert_eq!(requests, operations.0 + operations.1, "target {target}: nothing was sent again");
            (reads, writes) = (reads + operations.0, writes + operations.1);
        }
    }
    // Reads are 87/64 and writes 87/65. Each target's file is filled before it is read, in its records.
    let seen = captured.ncp_requests().unwrap();
    println!("{seen:?}");
    let filling = 2 * (256 / 4 + 256 / 8);
    assert_eq!((seen[&(0x57, 64)], seen[&(0x57, 65)]), (reads, writes + filling));
    assert_eq!(captured.ncp_oddities().unwrap(), (0, 0), "malformed, replies without request");
    for directory in ["smb", "nfs", "tcp", "udp"] {
        assert_eq!(left_in(&served.directory().join(directory)), Vec::<String>::new());
    }
}

#[test]
fn mistakes_of_an_ncp_target_are_reported_before_the_run() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let few = ["--file-sizes=64KiB", "--tests=read", "--repetitions=1"];
    for (target, flags, code, words) in [
        (served.ncp_url("none"), &[][..], 3, "directory"),
        (served.ncp_url("?sign=9"), &[], 2, "0 to 3"),
        (served.ncp_url(""), &["--record-sizes=64KiB"], 2, "one ncp request carries at most"),
        (served.ncp_url("?connections=2"), &["--depths=4"], 2, "at most 2 requests in flight"),
        (served.ncp_url("").replace("SHARE", "NOSUCH"), &[], 3, "share or export"),
    ] {
        let line: Vec<&str> = [&["sweep", target.as_str()][..], &few, flags].concat();
        let ended = sharebench.run(&line).unwrap();
        assert_eq!(ended.code, Some(code), "{target}: {}", ended.text());
        assert!(ended.stderr.contains(words), "{target}: {}", ended.stderr);
    }
    let ended = sharebench.run_with(
        &["sweep", &served.ncp_url(""), "--file-sizes=64KiB", "--tests=read", "--repetitions=1"],
        &[("SHAREBENCH_PASSWORD", "wrong")],
    );
    let ended = ended.unwrap();
    assert!(ended.code != Some(0) && ended.stderr.contains("user or password"), "{}", ended.text());
}

#[test]
fn sweep_by_packet_burst_is_verified_and_tshark_finds_its_packets() {
    needs!(Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let capture = Capture::start_with_datagrams(served.ncp_port).unwrap();
    let bursts = format!("{PATIENT}&burst=on&window=32768");
    let stored = burst_sweep(&sharebench, &served.ncp_url(&format!("?transport=udp{bursts}")), 1);
    seen_as_bursts(&capture.stop().unwrap(), &stored, 1436);
    let capture = Capture::start_with_datagrams(served.ipx_port).unwrap();
    let stored = burst_sweep(&sharebench, &served.ipx_url(&format!("?transport=ipx{bursts}")), 2);
    seen_as_bursts(&capture.stop().unwrap().of_ipx(), &stored, 1434);
    assert_eq!(left_in(served.directory()), Vec::<String>::new());
}

/// Writes and reads a file by records of 32 KiB, verified.
fn burst_sweep(sharebench: &Sharebench, target: &str, number: u32) -> Stored {
    let run = sharebench
        .run(&[
            "sweep",
            target,
            "--file-sizes=256KiB",
            "--record-sizes=32KiB",
            "--tests=write,read",
            "--repetitions=1",
            "plan:min_sample_time=5ms",
        ])
        .unwrap()
        .expect_success();
    let stored = Stored::read(sharebench, number);
    assert_eq!(stored.steps.len(), 2, "{}", run.text());
    for step in &stored.steps {
        assert_eq!(step["errors"], serde_json::json!({}), "{step}");
    }
    let read = stored.sum(0, &["bytes", "read"]);
    assert!(read > 0 && stored.sum(0, &["verified_bytes"]) == read);
    stored
}

/// 32 KiB and a head in fragments, and nothing that tshark cannot take apart.
fn seen_as_bursts(captured: &Captured, stored: &Stored, fragment: u64) {
    let reads = stored.operations(0, "read");
    let writes = stored.operations(0, "write");
    let packets = captured.ncp_bursts().unwrap();
    let least = (32_768_u64.div_ceil(fragment) + 1) * (reads + writes);
    println!("{reads} reads, {writes} writes, {packets} packets of bursts");
    assert!(packets >= least, "{packets} of {least}");
    assert_eq!(captured.ncp_oddities().unwrap(), (0, 0), "malformed, replies without request");
    assert!(!captured.ncp_requests().unwrap().contains_key(&(0x57, 64)), "no read went the ordinary way");
}
