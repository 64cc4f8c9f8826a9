//! The SMB client of the Linux kernel at the embedded server: random operations over mounts of all dialects, protections and
//! caches, and over several channels.

use sharebench_tests::{KernelGuest, Need, Served, Sharebench, Smbd, needs, program};

const RANDOM_OPERATIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/kernel-guest/random-operations");

/// Names and options of the mounts, one per line.
const MOUNTS: &str = "\
2.0 vers=2.0
2.1 vers=2.1
3.0 vers=3.0
3.1.1 vers=3.1.1
sign vers=3.1.1,sign
seal vers=3.1.1,seal
cache=none vers=3.1.1,cache=none
multichannel vers=3.1.1,multichannel,max_channels=4
resilient vers=2.1,resilienthandles";

/// With SMB1, which is served on loopback addresses only.
const SMB1_MOUNTS: &str = "\
1.0 vers=1.0
1.0-cache=none vers=1.0,cache=none";

/// A port in the namespace of the guest, in which nobody else listens.
const PORT: &str = "4450";

/// Number of random operations per mount.
fn count() -> &'static str {
    if std::env::var_os("SHAREBENCH_LONG").is_some() { "20000" } else { "250" }
}

/// Runs the operations over each of the mounts.
fn run(guest: &KernelGuest, port: &str, mounts: &str) -> std::io::Result<String> {
    let share = format!("//{}/share", KernelGuest::MACHINE);
    let env = [
        ("SHARE", share.as_str()),
        ("PORT", port),
        ("USER", Served::USER),
        ("PASSWD", Smbd::PASSWORD),
        ("MOUNTS", mounts),
        ("RANDOM_OPERATIONS", RANDOM_OPERATIONS),
        ("COUNT", count()),
    ];
    guest.run(include_str!("../kernel-guest/random-mounts"), &env, 12 * KernelGuest::LONG)
}

#[test]
fn random_operations_agree_over_kernel_mounts_of_every_kind() {
    needs!(KernelGuest::NEEDS, [Need::Program("python3")]);
    let sharebench = Sharebench::new().unwrap();
    let guest = KernelGuest::prepare(&[]).unwrap();
    // In the network of the guest, so that the address of the server is one that further channels can use.
    let enter = guest.enter();
    let words: Vec<&str> = enter.iter().map(String::as_str).collect();
    let at = format!("{}:{PORT}", KernelGuest::MACHINE);
    std::fs::create_dir(sharebench.home().join("served")).unwrap();
    let line = ["serve", "served", "--smb", &at, "--account", Served::USER];
    let mut server = sharebench.start_by(&words, &line, &[], "served.log").unwrap();
    server.wait_for_output("serving", program::PATIENCE).unwrap();
    let printed = run(&guest, PORT, MOUNTS).unwrap();
    println!("{printed}");
    agree(&printed, MOUNTS);
}

#[test]
fn random_operations_agree_over_kernel_mounts_of_smb1() {
    needs!(KernelGuest::NEEDS, [Need::Program("python3")]);
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve_by(&[], "served", &["--smb1"]).unwrap();
    let guest = KernelGuest::prepare(&[served.smb_port]).unwrap();
    let printed = run(&guest, &served.smb_port.to_string(), SMB1_MOUNTS).unwrap();
    println!("{printed}");
    agree(&printed, SMB1_MOUNTS);
}

/// Checks that the operations over each mount gave what the model gave.
fn agree(printed: &str, mounts: &str) {
    for name in mounts.lines().filter_map(|line| line.split(' ').next()) {
        let channels = if name == "multichannel" { 4 } else { 1 };
        let wanted = format!("{name}: {channels} channels: no mismatch: {} operations", count());
        assert!(printed.contains(&wanted), "no '{wanted}' in {printed}");
    }
}
