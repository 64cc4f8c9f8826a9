//! What is said of NCP, held against others: service times against tshark's, a report against what was asked for, a cache
//! against the wire.

use std::fs;

use sharebench_tests::{Capture, Served, Sharebench, needs, program};

use crate::plans::left_in;
use crate::stored::Stored;

/// Work of the server per operation in seconds, large compared with the delay that a loaded machine adds.
const SERVICE: f64 = 0.02;
/// Operations of each kind, enough that a stall of one second in one of them does not change the result.
const SAMPLE: &str = "plan:min_sample_time=2500ms";
/// tshark sees packets on the wire, so that its mean is below ours; this much above it is the client's own.
const BOUND: f64 = 1.5;

#[test]
fn service_times_agree_with_tshark() {
    needs!(Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let port = program::free_port().unwrap();
    let addr = format!("127.0.0.1:{port}");
    let service = format!("{}ms", SERVICE * 1e3);
    let line =
        ["serve", "--memory", "16MiB", "--ncp", &addr, "--account", Served::USER, "--service-time", &service];
    let mut served = sharebench.start(&line, "served.log").unwrap();
    served.wait_for_output("serving", program::PATIENCE).unwrap();
    let capture = Capture::start(port).unwrap();
    let target = format!("ncp://{}@{addr}/SHARE", Served::USER);
    let run = sharebench.run(&[
        "sweep",
        &target,
        "--file-sizes=128KiB",
        "--record-sizes=4KiB",
        "--tests=write,read",
        // Every read is a measured one.
        "--server-cache=as-is",
        "--repetitions=1",
        SAMPLE,
    ]);
    let run = run.unwrap().expect_success();
    let captured = capture.stop().unwrap().one_request_at_a_time();
    let stored = Stored::read(&sharebench, 1);
    assert_eq!(stored.steps.len(), 2, "{}", run.text());
    let times = captured.ncp_service_times().unwrap();
    for (test, call) in [("read", 64), ("write", 65)] {
        let (calls, mean) = times[&(0x57, call)];
        let step = stored.steps.iter().find(|step| step["coordinates"]["test"]["text"] == test).unwrap();
        let ours = step["service"]["mean_ns"].as_f64().unwrap() / 1e9;
        println!("{test}: {calls} calls, {mean:.6} s at tshark, {ours:.6} s at sharebench");
        // Writes are also those that laid the file out.
        assert!(calls >= step["operations"].as_u64().unwrap(), "{test}");
        assert!(test == "write" || calls == stored.operations(0, "read"), "{calls} calls");
        assert!(mean >= SERVICE && ours < mean * BOUND, "{test}: {ours} against {mean}");
        assert!(test == "write" || ours >= mean * 0.98, "{test}: {ours} below {mean}");
    }
}

#[test]
fn report_of_three_protocols_names_the_negotiated_ncp_options() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    for directory in ["ncp", "vlm", "smb", "nfs"] {
        fs::create_dir(served.directory().join(directory)).unwrap();
    }
    let run = sharebench.run(&[
        "sweep",
        &served.ncp_url("ncp?sign=2&split=on&commit=on"),
        &served.ipx_url("vlm?transport=ipx&profile=vlm-1.20"),
        &served.smb_url("smb"),
        &served.nfs_url("nfs"),
        "--file-sizes=64KiB",
        "--record-sizes=1KiB,4KiB",
        "--tests=write,read",
        "--repetitions=1",
        "plan:min_sample_time=5ms",
    ]);
    let run = run.unwrap().expect_success();
    let stored = Stored::read(&sharebench, 1);
    assert_eq!(stored.steps.len(), 4 * 2 * 2, "{}", run.text());
    for target in 0..4 {
        let read = stored.sum(target, &["bytes", "read"]);
        assert!(read > 0 && stored.sum(target, &["verified_bytes"]) == read, "target {target}");
    }
    let _ = sharebench.run(&["report", "1", "-o", "r.html"]).unwrap().expect_success();
    let page = fs::read_to_string(sharebench.home().join("r.html")).unwrap();
    for fact in [
        ("transport", "tcp"),
        ("buffer", "61440"),
        ("signed", "true"),
        ("commit", "on request, and on close"),
        ("connections", "1"),
        ("resent", "0"),
        ("transport", "ipx"),
        ("buffer", "1420"),
        ("lip", "packets of 1500 bytes"),
        ("burst_window", "auto, at most 22944"),
        ("burst_gap", "auto"),
        ("client_cache", "5 buffers of 1420 bytes for each file"),
        ("profile", "VLM-1.20-like (from documents)"),
        ("signed", "false"),
        ("commit", "on request"),
    ] {
        // A row of the table of targets, with a column for each.
        let words = sharebench_model::Fact::words_for(fact.0);
        let row = page.split("<tr>").find(|row| row.contains(&format!(">{words}</th>"))).unwrap_or_default();
        assert!(row.contains(&format!(">{}</td>", fact.1)), "{fact:?}: {row}");
    }
    for directory in ["ncp", "vlm", "smb", "nfs"] {
        assert_eq!(left_in(&served.directory().join(directory)), Vec::<String>::new());
    }
}

#[test]
fn cache_reduces_the_bytes_on_the_wire() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let sweep = |options: &str| {
        let run = sharebench.run(&[
            "sweep",
            // Requests are counted: none is sent again because this machine stood still.
            &served.ncp_url(&format!("?transport=udp&buffer=8192&retry=5s{options}")),
            "--file-sizes=64KiB",
            "--record-sizes=512",
            "--tests=write,read,reread",
            "--repetitions=1",
            "plan:min_sample_time=5ms",
        ]);
        run.unwrap().expect_success()
    };
    sweep("");
    sweep("&cache=16");
    let plain = Stored::read(&sharebench, 1);
    let cached = Stored::read(&sharebench, 2);
    for stored in [&plain, &cached] {
        assert_eq!(stored.steps.len(), 3);
        let read = stored.sum(0, &["bytes", "read"]);
        assert!(read > 0 && stored.sum(0, &["verified_bytes"]) == read);
    }
    let bytes = |stored: &Stored| stored.sum(0, &["bytes", "read"]) + stored.sum(0, &["bytes", "written"]);
    let wire = |stored: &Stored| {
        stored.sum(0, &["wire", "payload_sent"]) + stored.sum(0, &["wire", "payload_received"])
    };
    let requests = |stored: &Stored| stored.sum(0, &["wire", "requests"]);
    println!("{} of {} bytes, {} requests", wire(&cached), bytes(&cached), requests(&cached));
    assert_eq!((wire(&plain), requests(&plain)), (bytes(&plain), bytes(&plain) / 512));
    assert!(requests(&cached) * 4 < bytes(&cached) / 512, "{} requests", requests(&cached));
    assert!(wire(&cached) < bytes(&cached), "a file read again comes from the cache");
    let said = |stored: &Stored| {
        let checks = stored.steps.iter().filter_map(|step| step["checks"].as_array()).flatten();
        checks.filter(|check| check["name"] == "client-cache").count()
    };
    assert!(said(&plain) == 0 && said(&cached) > 0, "{} of {}", said(&cached), said(&plain));
    for step in cached.steps.iter().chain(&plain.steps) {
        let checks = step["checks"].as_array().unwrap();
        assert!(checks.iter().all(|check| check["verdict"] != "invalid"), "{checks:?}");
    }
}
