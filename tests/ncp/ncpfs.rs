//! The Linux kernel's ncpfs at the embedded NCP server.

use std::fs;

use sharebench_tests::need::not_available;
use sharebench_tests::{KernelGuest, Need, Served, Sharebench, Smbd, needs};

/// Environment variable with the path of the module, which no distribution of today's kernels contains (docs/protocols/netware.md).
const MODULE: &str = "SHAREBENCH_NCPFS_MODULE";
const NAME: &str = "the_kernels_ncpfs_lists_reads_writes_renames_and_deletes";

#[test]
fn the_kernels_ncpfs_lists_reads_writes_renames_and_deletes() {
    needs!(KernelGuest::NEEDS, [Need::Program("python3")]);
    let Ok(module) = std::env::var(MODULE) else {
        not_available(
            NAME,
            "SHAREBENCH_NCPFS_MODULE does not name the kernel module ncpfs (docs/protocols/netware.md)",
        );
        return;
    };
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let directory = served.directory();
    fs::create_dir(directory.join("many")).unwrap();
    for index in 0..300 {
        fs::write(directory.join(format!("many/File with a long name {index}")), "").unwrap();
    }
    fs::write(directory.join("Read me.txt"), "content".repeat(10_000)).unwrap();
    let guest = KernelGuest::prepare(&[served.ncp_port]).unwrap();
    let script = fs::read_to_string(KernelGuest::tool("ncpfs-operations")).unwrap();
    let port = served.ncp_port.to_string();
    let env = [
        ("MODULE", module.as_str()),
        ("MOUNTER", &KernelGuest::tool("ncp-mount")),
        ("MACHINE", KernelGuest::MACHINE),
        ("PORT", &port),
        ("ACCOUNT", Served::USER),
        ("NCP_PASSWORD", Smbd::PASSWORD),
        ("SERVED", &directory.display().to_string()),
    ];
    let printed = guest.run(&script, &env, KernelGuest::LONG).unwrap();
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines, ["listed and read", "df", "written", "renamed", "deleted"]);
    // What the server kept.
    assert_eq!(fs::metadata(directory.join("three/moved")).unwrap().len(), 3_000_004);
    assert_eq!(
        fs::read(directory.join("three/moved")).unwrap(),
        fs::read(directory.join("three/two/file")).unwrap()
    );
    let mut left: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["Read me.txt", "three"]);
}
