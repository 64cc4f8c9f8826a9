//! Samba's smbtorture against the embedded SMB server: no suite passes fewer tests than tests/smb/smbtorture/counts.tsv has.

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

/// Suites whose result depends on what a directory of the host can store.
const DIRECTORY_SUITES: [&str; 3] = ["streams", "getinfo", "rename"];

/// Tests of suites that take too long, or that are not counted.
const TESTS: [&str; 6] = [
    "lease.request",
    "session.reauth2",
    "session.reauth3",
    "acls.INHERITFLAGS",
    "acls.SDFLAGSVSCHOWN",
    "ioctl.compress_notsup_set",
];

fn run(options: &[&str], tests: &[&str]) {
    let sharebench = Sharebench::new().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/smb/smbtorture/run");
    let fixed = [script, "--jobs", "4", "--sharebench", sharebench.binary()];
    println!("{}", program::run(&[&fixed[..], options, tests].concat(), &[]).unwrap());
}

#[test]
fn suites_of_smbtorture_pass_at_least_the_recorded_number_of_tests() {
    needs!([Need::Program("smbtorture"), Need::Program("python3")]);
    run(&["--check", "--server", "memory"], &SUITES);
    run(&["--check", "--server", "directory"], &DIRECTORY_SUITES);
}

#[test]
fn renewed_logins_inherited_descriptors_and_leases_are_as_smbtorture_expects() {
    needs!([Need::Program("smbtorture"), Need::Program("python3")]);
    run(&["--pass", "--server", "memory"], &TESTS);
    run(&["--pass", "--server", "directory"], &["lease.rename_wait"]);
}
