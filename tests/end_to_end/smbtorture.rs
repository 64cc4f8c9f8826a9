//! Samba's smbtorture against the embedded SMB server: no suite passes fewer tests than tests/smbtorture/counts.tsv has.

use sharebench_tests::{Need, Sharebench, needs, program};

/// Suites without tests that wait for the timeout of a break, so that they end within a minute.
const SUITES: [&str; 12] = [
    "connect",
    "read",
    "rw",
    "credits",
    "rename",
    "dir",
    "getinfo",
    "compound",
    "sharemode",
    "delete-on-close-perms",
    "streams",
    "fileid",
];

#[test]
fn suites_of_smbtorture_pass_at_least_the_recorded_number_of_tests() {
    needs!([Need::Program("smbtorture"), Need::Program("python3")]);
    let sharebench = Sharebench::new().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/smbtorture/run");
    let fixed = [script, "--check", "--jobs", "4", "--sharebench", sharebench.binary()];
    println!("{}", program::run(&[&fixed[..], &SUITES].concat(), &[]).unwrap());
}
