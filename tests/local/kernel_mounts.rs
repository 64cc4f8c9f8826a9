//! The clients of the Linux kernel at real servers, which validates the guest for tests of the embedded servers.

use sharebench_tests::{Ganesha, GaneshaOptions, KernelGuest, Smbd, SmbdOptions, SourceTree, needs};

/// The command that mounts `//machine/share`, up to the mount point.
pub fn cifs(port: u16, user: &str, password: &str) -> String {
    let machine = KernelGuest::MACHINE;
    format!("PASSWD='{password}' mount -t cifs //{machine}/share -o vers=3.1.1,username={user},port={port}")
}

/// The command that mounts an export, up to the mount point.
pub fn nfs3(port: u16, mount_port: u16, export: &str) -> String {
    let machine = KernelGuest::MACHINE;
    let options = format!("vers=3,proto=tcp,nolock,port={port},mountport={mount_port},mountproto=tcp");
    format!("mount -t nfs -o {options} {machine}:{export}")
}

#[test]
fn kernel_mounts_smbd_and_ganesha() {
    needs!(KernelGuest::NEEDS, Smbd::NEEDS, Ganesha::NEEDS);
    let source = SourceTree::make().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let guest = KernelGuest::prepare(&[smbd.port(), ganesha.port(), ganesha.mount_port()]).unwrap();

    let mount = cifs(smbd.port(), smbd.user(), Smbd::PASSWORD);
    let printed = guest.mount_and_compare(&mount, source.path()).unwrap();
    assert!(
        printed.contains("vers=3.1.1") && printed.contains("same: 20000001 bytes and 500 files"),
        "{printed}"
    );
    source.compare(&smbd.share(), &["tree/d1/"]).unwrap();

    let mount = nfs3(ganesha.port(), ganesha.mount_port(), &ganesha.export());
    let printed = guest.mount_and_compare(&mount, source.path()).unwrap();
    assert!(
        printed.contains("vers=3") && printed.contains("same: 20000001 bytes and 500 files"),
        "{printed}"
    );
    source.compare(&ganesha.directory(), &["tree/d1/"]).unwrap();
}
