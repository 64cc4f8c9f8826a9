//! Simulated distances: as an axis of a sweep over each protocol, and as a relay for other clients.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use rustix::process::Signal;
use serde_json::Value;
use sharebench_tests::need::Need;
use sharebench_tests::program::PATIENCE;
use sharebench_tests::{Sharebench, needs};

const SMALL: [&str; 8] =
    ["--tests", "read", "--file-sizes", "64KiB", "--record-sizes", "16KiB", "--repetitions", "1"];

#[test]
fn each_target_is_measured_at_each_distance() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let urls = [served.smb_url(""), served.nfs_url(""), served.ncp_url("")];
    let targets = urls.each_ref().map(String::as_str);
    let line = [&["sweep"][..], &targets, &["--vary", "far=0,2ms/1Gbit"], &SMALL].concat();
    let _ = sharebench.run(&line).unwrap().expect_success();
    let exported = sharebench.run(&["export", "last", "--format", "json"]).unwrap().expect_success();
    let run: Value = serde_json::from_str(&exported.stdout).unwrap();
    let mut found: Vec<(String, Option<String>)> = run["targets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|target| {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            (text(&target["name"]).unwrap(), text(&target["facts"]["simulated_distance"]))
        })
        .collect();
    found.sort();
    let expected = ["ncp", "nfs", "smb"].map(|protocol| {
        let far = Some("2ms round trip at 1Gbit without loss".to_owned());
        [(format!("{protocol} (far=0)"), None), (format!("{protocol} (far=2ms/1Gbit)"), far)]
    });
    assert_eq!(found, expected.concat());
    let shown = sharebench.run(&["show", "last"]).unwrap().expect_success();
    assert!(shown.stdout.contains("nfs (far=2ms/1Gbit)"), "{}", shown.stdout);
    assert_eq!(std::fs::read_dir(served.directory()).unwrap().count(), 0, "leftovers");
}

#[test]
fn relay_serves_any_client_until_a_signal() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let target = format!("127.0.0.1:{}", served.nfs_port);
    let mut relay = sharebench.start(&["relay", "0", &target, "--delay", "1ms"], "relay.log").unwrap();
    relay.wait_for_output("relaying; press Ctrl-C", PATIENCE).unwrap();
    let printed = relay.output();
    let (address, rest) = printed.split_once(" -> ").unwrap();
    assert!(rest.contains("1ms round trip without loss"), "{printed}");
    let port = address.rsplit(':').next().unwrap();
    let url = format!("nfs://127.0.0.1:{port}/share?mountport={port}");
    let _ = sharebench.run(&[&["sweep", url.as_str()], &SMALL[..]].concat()).unwrap().expect_success();
    relay.signal(Signal::INT);
    assert!(relay.wait(PATIENCE).unwrap().success(), "{}", relay.output());
    let printed = relay.output();
    assert!(printed.contains("\nrelayed ") && printed.contains(" connections: "), "{printed}");
    assert!(!printed.contains("not accepted"), "{printed}");
}

#[test]
fn a_relay_with_few_file_descriptors_says_so_and_serves_further_clients_later() {
    const CLIENTS: usize = 64;
    needs!([Need::Program("prlimit")]);
    let sharebench = Sharebench::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = listener.local_addr().unwrap().to_string();
    let mut relay =
        sharebench.start_by(&["prlimit", "--nofile=64"], &["relay", "0", &target], &[], "relay.log").unwrap();
    relay.wait_for_output("allow 24 connections at a time, not 4096", PATIENCE).unwrap();
    let printed = relay.output();
    let (address, _) = printed.split_once(" -> ").unwrap();
    let connect = |_| {
        let client = TcpStream::connect(address).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client
    };
    let clients: Vec<TcpStream> = (0..CLIENTS).map(connect).collect();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || std::io::copy(&mut stream.try_clone().unwrap(), &mut stream));
        }
    });
    for mut client in clients {
        client.write_all(b"a").unwrap();
        client.read_exact(&mut [0]).unwrap();
    }
    relay.signal(Signal::INT);
    assert!(relay.wait(PATIENCE).unwrap().success(), "{}", relay.output());
    assert!(relay.output().contains("\nrelayed 64 connections: 64 B"), "{}", relay.output());
}

#[test]
fn target_that_refuses_is_named_at_any_distance() {
    let sharebench = Sharebench::new().unwrap();
    let closed = sharebench_tests::program::free_port().unwrap();
    for far in ["0", "3ms"] {
        let url = format!("smb://lab@127.0.0.1:{closed}/share?far={far}");
        let ended = sharebench.run(&[&["sweep", url.as_str()], &SMALL[..]].concat()).unwrap();
        assert_eq!(ended.code, Some(3), "{}", ended.text());
        assert!(
            ended.stderr.contains(&format!("127.0.0.1:{closed}: Connection refused")),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn steps_have_the_figures_of_their_own_connection_and_not_those_of_the_relay() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    for url in [served.smb_url(""), served.nfs_url("")] {
        let line = [&["sweep", url.as_str(), "--vary", "far=0,1ms"], &SMALL[..]].concat();
        let _ = sharebench.run(&line).unwrap().expect_success();
        let exported = sharebench.run(&["export", "last", "--format", "json"]).unwrap().expect_success();
        let run: Value = serde_json::from_str(&exported.stdout).unwrap();
        for step in run["steps"].as_array().unwrap() {
            let target = &run["targets"][usize::try_from(step["target"].as_u64().unwrap()).unwrap()];
            if target["facts"]["simulated_distance"].is_string() {
                assert!(step["tcp"].is_null(), "{step}");
                continue;
            }
            let number = |name: &str| step["tcp"][name].as_u64().unwrap();
            // Each pass sends four requests; an acknowledgement may share a segment with the next request.
            assert!(number("segments_sent") >= 4, "{step}");
            assert!(
                number("pmtu") >= 576 && number("cwnd") >= 1 && number("rtt_us") >= number("min_rtt_us"),
                "{step}"
            );
        }
    }
}
