//! Six load machines in networks of their own measure as one: the laboratory of 1997 in small.

use std::time::Duration;

use serde_json::Value;
use sharebench_model::Histogram;
use sharebench_tests::program::PATIENCE;
use sharebench_tests::{
    Ended, Ganesha, GaneshaOptions, Lab, Need, Sharebench, Smbd, SmbdOptions, Wiring, needs, widen_window,
};

use crate::stored::Stored;

/// The clients' part of the wiring that most tests use.
pub const WIRING: Wiring = Wiring { clients: 6, rate: "100mbit", last_rate: "100mbit", ahead_s: 0 };
/// The server as clients reach it.
pub const SERVER: &str = "10.97.0.100";

/// A URL of a server on loopback, as clients reach it.
pub fn seen(url: &str) -> String {
    url.replace("127.0.0.1", SERVER)
}

/// Runs the program on every client.
pub fn mpirun(lab: &Lab, sharebench: &Sharebench, arguments: &[&str]) -> Ended {
    let home = sharebench.home().display().to_string();
    let mut words = lab.mpirun();
    words.extend(["--wdir", &home, sharebench.binary()].map(str::to_owned));
    words.extend(arguments.iter().map(|word| (*word).to_owned()));
    let env = [("SHAREBENCH_PASSWORD", Smbd::PASSWORD), ("HOME", home.as_str())];
    let mut program = lab.start(&words, &env, &sharebench.home().join("mpirun.log")).unwrap();
    let code = program.wait(4 * PATIENCE).unwrap().code();
    Ended { code, stdout: program.output(), stderr: String::new() }
}

fn number(value: &Value, path: &[&str]) -> u64 {
    path.iter().fold(value, |value, name| &value[*name]).as_u64().unwrap_or_else(|| panic!("no {path:?}"))
}

fn histogram(value: &Value) -> Histogram {
    // The standard encoding in base64, read back without the help of the program that wrote it.
    let text = value["hdr_v2_base64"].as_str().unwrap();
    Histogram::from_v2(&from_base64(text)).unwrap()
}

fn from_base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(value).collect();
    let bits = digits.chunks(4).flat_map(|four| {
        let whole =
            four.iter().fold(0_u32, |whole, digit| whole << 6 | u32::from(*digit)) << (6 * (4 - four.len()));
        [(whole >> 16) as u8, (whole >> 8) as u8, whole as u8][..four.len() - 1].to_vec()
    });
    bits.collect()
}

/// How far apart ranks start is the machine's affair; that it is measured, stored and judged is ours.
fn assert_start_skew_is_reported(step: &Value) {
    let skew = number(step, &["start_skew_ns"]);
    println!("started within {skew} ns of each other");
    let checks = step["checks"].as_array().unwrap();
    let start = checks.iter().find(|check| check["name"] == "start").unwrap();
    assert!(start["detail"].as_str().unwrap().contains("6 ranks started within"), "{start}");
}

/// What ranks counted is what the step holds, to the byte and the bucket.
pub fn adds_up(step: &Value) {
    let ranks = step["ranks"].as_array().unwrap();
    assert_eq!(ranks.len(), 6);
    for path in [&["bytes", "read"][..], &["bytes", "written"], &["operations"], &["transactions"]] {
        let sum: u64 = ranks.iter().map(|rank| number(rank, path)).sum();
        assert_eq!(sum, number(step, path), "{path:?}");
    }
    let hosts: Vec<&str> = ranks.iter().map(|rank| rank["host"].as_str().unwrap()).collect();
    assert_eq!(hosts, ["c0", "c1", "c2", "c3", "c4", "c5"]);
    let mut merged = Histogram::new();
    for rank in ranks {
        merged.merge(&histogram(&rank["response"]));
    }
    let mut parts = Histogram::new();
    if let Some(transactions) = step["load"]["transactions"].as_array() {
        for part in transactions {
            parts.merge(&histogram(&part["response"]));
        }
    } else {
        parts = histogram(&step["response"]);
    }
    assert_eq!(merged, parts);
}

#[test]
fn six_clients_sweep_samba_and_ganesha_together_and_read_files_of_their_neighbours() {
    needs!(Smbd::NEEDS, Ganesha::NEEDS, Lab::NEEDS, [Need::Mpi]);
    Lab::within(WIRING, |lab| {
        let sharebench = Sharebench::with_mpi().unwrap();
        let options = SmbdOptions { address: Some(Lab::SERVER), ..SmbdOptions::default() };
        let smbd = Smbd::start(&options).unwrap();
        let ganesha =
            Ganesha::start(&GaneshaOptions { everywhere: true, ..GaneshaOptions::default() }).unwrap();
        let smb = seen(&smbd.url("", ""));
        let nfs = seen(&ganesha.url("", ""));
        let swept = [
            "sweep",
            &smb,
            &nfs,
            "--file-sizes=256KiB",
            "--record-sizes=32KiB",
            "--tests=write,rewrite,read",
            "--repetitions=1",
            "plan:min_sample_time=100ms",
        ];
        let line = sharebench.line(&swept).unwrap();
        let line: Vec<&str> = line.iter().map(String::as_str).chain(["--shift-ranks", "1"]).collect();
        let ran = mpirun(lab, &sharebench, &line).expect_success();
        println!("{}", ran.text());
        let stored = Stored::read(&sharebench, 1);
        assert_eq!(stored.steps.len(), 2 * 3);
        for step in &stored.steps {
            adds_up(step);
            assert_start_skew_is_reported(step);
            assert_eq!(step["coordinates"]["jobs"]["count"], 6, "{}", step["coordinates"]);
            assert_eq!(step["verified_bytes"], step["bytes"]["read"]);
            assert!(step["errors"].as_object().unwrap().is_empty(), "{}", step["errors"]);
        }
        let output = ran.text();
        for words in ["6 ranks on c0, c1, c2, c3, c4, c5", "start skew: at most", "rank  host"] {
            assert_eq!(output.matches(words).count(), 1, "'{words}' in {output}");
        }
        // Only rank 0 makes and removes directories; nothing is left.
        assert_eq!(std::fs::read_dir(smbd.share()).unwrap().count(), 0);
        assert_eq!(std::fs::read_dir(ganesha.directory()).unwrap().count(), 0);
    });
}

#[test]
fn fifty_users_on_six_clients_with_wrong_clocks_load_embedded_servers() {
    needs!(Lab::NEEDS, [Need::Mpi]);
    Lab::within(Wiring { ahead_s: 5_000, ..WIRING }, |lab| {
        let sharebench = Sharebench::with_mpi().unwrap();
        let served = sharebench.serve_at("served", "0.0.0.0").unwrap();
        let targets = [served.smb_url(""), served.ncp_url("")].map(|url| seen(&url));
        let [smb, ncp] = targets.each_ref().map(String::as_str);
        let load = [
            "load",
            smb,
            ncp,
            "--workload=copy",
            "--users=50",
            "--think=200ms",
            "--warm-up=200ms",
            "--scale=160KB",
            "--block=8KB",
            "--measure",
        ];
        let measure = |window: &str| {
            let ran = mpirun(lab, &sharebench, &[&load[..], &[window]].concat()).expect_success();
            println!("{}", ran.text());
            Stored::last(&sharebench)
        };
        // Of each user some, so that the counts of all ranks are met.
        let stored = widen_window(Duration::from_secs(4), measure, |stored| {
            stored.steps.iter().all(|step| number(step, &["transactions"]) > 50)
        });
        assert_eq!(stored.steps.len(), 2);
        for step in &stored.steps {
            adds_up(step);
            assert_start_skew_is_reported(step);
            let users: Vec<u64> =
                step["ranks"].as_array().unwrap().iter().map(|rank| number(rank, &["users"])).collect();
            assert_eq!(users, [9, 9, 8, 8, 8, 8]);
            assert!(number(step, &["transactions"]) > 50, "{step}");
        }
        assert_eq!(std::fs::read_dir(served.directory()).unwrap().count(), 0);
    });
}
