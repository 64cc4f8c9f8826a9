//! Consecutive load steps over embedded servers: one connection per user, and accounts that close over all steps.

use std::time::Duration;

use serde_json::Value;
use sharebench_tests::{Cut, FaultProxy, Served, Sharebench, widen_window};

use crate::plans::left_in;
use crate::stored::Stored;

/// Runs steps of 2, 4 and 6 users through a proxy, and gives the number of connections that the server accepted.
fn connections(
    sharebench: &Sharebench,
    port: u16,
    url: impl Fn(u16) -> String,
    flags: &[&str],
) -> (usize, Stored) {
    let measure = |window: &str| {
        let proxy = FaultProxy::start(port, Cut::Bytes).unwrap();
        let url = url(proxy.port());
        let words = ["load", &url, "--users=2,4,6", "--workload=copy", "--scale=300KB"];
        let times = ["--think=exp:20ms", "--warm-up=200ms", "--measure", window];
        let _ = sharebench.run(&[&words[..], &times, flags].concat()).unwrap().expect_success();
        (proxy.accepted(), Stored::last(sharebench))
    };
    widen_window(Duration::from_millis(1500), measure, |(_, stored)| stored.all_users_reported())
}

fn check<'v>(step: &'v Value, name: &str) -> &'v str {
    let checks = step["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("no check {name} in {checks:?}"))["verdict"].as_str().unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn users_of_consecutive_steps_connect_once_and_their_bytes_are_those_of_the_wire() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let nfs = |port: u16| format!("nfs://127.0.0.1:{port}{}/?mountport={}", Served::EXPORT, served.nfs_port);
    let ncp = |port: u16| format!("ncp://{}@127.0.0.1:{port}/SHARE/", Served::USER);
    let urls: [(u16, &dyn Fn(u16) -> String); 2] = [(served.nfs_port, &nfs), (served.ncp_port, &ncp)];
    for (port, url) in urls {
        let (drained, logging_off) = connections(&sharebench, port, url, &[]);
        let (kept, stored) = connections(&sharebench, port, url, &["plan:keep_users=true"]);
        assert_eq!(drained - kept, 6, "six users instead of two, four and six: {drained} and {kept}");
        assert_eq!(stored.steps.len(), 3);
        let mut app = [0; 2];
        let mut wire = [0; 2];
        for step in &stored.steps {
            let outside = &step["load"]["outside_window"];
            assert!(number(&outside["operations"]) > 0, "users work between windows: {outside}");
            app[0] += number(&step["bytes"]["read"]) + number(&outside["bytes"]["read"]);
            app[1] += number(&step["bytes"]["written"]) + number(&outside["bytes"]["written"]);
            wire[0] +=
                number(&step["wire"]["payload_received"]) + number(&outside["wire"]["payload_received"]);
            wire[1] += number(&step["wire"]["payload_sent"]) + number(&outside["wire"]["payload_sent"]);
            assert_eq!(check(step, "errors"), "valid");
            assert_eq!(check(step, "verified"), "valid");
        }
        assert_eq!(app, wire, "run {}", stored.number);
        assert_eq!(check(&stored.steps[2], "series"), "valid");
        let compared = sharebench.run(&["compare", &logging_off.number, &stored.number]).unwrap();
        assert!(compared.stdout.contains("conditions differ: users between steps"), "{}", compared.text());
    }
    assert_eq!(left_in(served.directory()), Vec::<String>::new());
}
