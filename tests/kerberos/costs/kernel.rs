//! The client's CPU time of protected reads next to that of the Linux kernel's client, which runs in the guest.

use sharebench_tests::{KernelGuest, Realm};

use super::cpu::CpuGroup;
use super::goals::{Measured, measure, ratios, row};
use super::peers::Peers;
use super::{ROUNDS, digits, median};
use crate::kernel::NAME;

/// Size of the file that the guest reads.
const FILE_MIB: u32 = 64;
/// Passes over the file of a short and of a long run. Boot, login and mount are the same in both.
const PASSES: [u32; 2] = [1, 9];

/// The table of all flavors.
pub fn table(realm: &Realm, peers: &Peers) -> String {
    let flavors = ["sys", "krb5i", "krb5p"];
    let port = |flavor: &str| if flavor == "sys" { peers.open_port } else { peers.kerberos_nfs_port };
    let urls = flavors.map(|flavor| format!("nfs://localhost:{}/share?vers=4.1&sec={flavor}", port(flavor)));
    let [sys, tickets @ ..] = urls;
    let mut runs = 0;
    let [open] = measure(peers, &[sys], "", &mut runs);
    let [integrity, privacy] = measure(peers, &tickets, &peers.tickets(), &mut runs);
    let ours = [open, integrity, privacy];
    let ports = [realm.port().unwrap(), peers.open_port, peers.kerberos_nfs_port];
    let guest = KernelGuest::prepare(&ports).unwrap();
    let group = CpuGroup::make().unwrap();
    let mounts = flavors.map(|flavor| {
        let port = port(flavor);
        format!("mount -t nfs -o proto=tcp,vers=4.1,rsize=1048576,port={port},sec={flavor} {NAME}:/share")
    });
    let mut kernel = flavors.map(|_| Vec::new());
    for mount in &mounts {
        // The first run makes the file.
        read(realm, &guest, &group, mount, 1);
    }
    for _ in 0..ROUNDS {
        for (mount, figures) in mounts.iter().zip(&mut kernel) {
            let [short, long] = PASSES.map(|passes| read(realm, &guest, &group, mount, passes));
            figures.push((long - short) / 1e3 / f64::from((PASSES[1] - PASSES[0]) * FILE_MIB));
        }
    }
    let mut table = String::from(
        "| 1 MiB reads over NFSv4.1 | kernel us/MiB | ours us/MiB | ours next to the kernel [range] | goal |\n|---|---|---|---|---|\n",
    );
    for ((flavor, Measured { client_us, .. }), kernel_us) in flavors.iter().zip(&ours).zip(&kernel) {
        let goal = if *flavor == "sys" { "" } else { "at most 1.0" };
        let figures = [kernel_us, client_us].map(|figures| digits(median(figures.clone()))).join(" | ");
        table += &row(&format!("{flavor} | {figures}"), &ratios(client_us, kernel_us), goal);
    }
    table
}

/// CPU time in nanoseconds of a guest that boots, mounts and reads the file `passes` times.
fn read(realm: &Realm, guest: &KernelGuest, group: &CpuGroup, mount: &str, passes: u32) -> f64 {
    let before = group.spent_ns();
    let env = [
        ("REALM", realm.directory().to_str().unwrap()),
        ("MACHINE", KernelGuest::MACHINE),
        ("NAME", NAME),
        ("MOUNT", mount),
        ("FILE_MIB", &FILE_MIB.to_string()),
        ("PASSES", &passes.to_string()),
    ];
    let script = [
        include_str!("../../kernel-guest/kerberos-login"),
        include_str!("../../kernel-guest/kerberos-reads"),
    ];
    let join = group.script();
    let prefix = ["sh", "-c", &join, "join"];
    let printed = guest.run_under(&prefix, &script.concat(), &env, KernelGuest::LONG).unwrap();
    assert!(printed.contains("rsize=1048576,"), "{printed}");
    let calls = format!("calls: {}", passes * FILE_MIB);
    assert!(printed.lines().any(|line| line == calls), "no '{calls}' in: {printed}");
    group.spent_ns() - before
}
