//! The clients of the Linux kernel mount our servers with tickets.

use std::sync::Arc;

use sharebench_gss::AcceptorKeys;
use sharebench_server::{EmbeddedServers, MemoryVolume, ServeOptions, Volume};
use sharebench_tests::{KernelGuest, Need, Realm, Scratch, needs};

/// By this name the guest reaches this machine.
pub const NAME: &str = "files.lab.test";
/// Size of the copied file; it is not a multiple of any record or block.
const SIZE: usize = 3_000_001;

/// Commands that mount the servers with tickets, up to the mount point. All but two need `SHAREBENCH_LONG`: their
/// calls are protected in the same way.
fn mounts(smb: u16, nfs: u16) -> Vec<String> {
    let cifs = |more: &str| format!("mount -t cifs -o vers=3.1.1,sec=krb5,port={smb}{more} //{NAME}/share");
    let export = |options: &str| format!("mount -t nfs -o proto=tcp,port={nfs},{options} {NAME}:/share");
    let mut mounts = vec![cifs(""), export("vers=4.1,sec=krb5p")];
    if std::env::var_os("SHAREBENCH_LONG").is_some() {
        mounts.push(cifs(",seal"));
        mounts.push(export("vers=4.2,sec=krb5i,nconnect=2"));
        mounts.push(export("vers=4.0,sec=krb5"));
        mounts.push(export(&format!("vers=3,nolock,mountproto=tcp,mountport={nfs},sec=krb5p")));
    }
    mounts
}

#[test]
fn kernel_mounts_our_servers_with_tickets() {
    needs!(
        Realm::NEEDS,
        KernelGuest::NEEDS,
        [Need::Program("rpc.gssd"), Need::Program("cifs.upcall"), Need::Program("request-key")]
    );
    let Some(realm) = Realm::enter("kernel::kernel_mounts_our_servers_with_tickets") else { return };
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(64 << 20));
    let keys = Some(AcceptorKeys::read(&realm.keytab()).unwrap());
    let any = Some(([127, 0, 0, 1], 0).into());
    let options = ServeOptions { smb: any, nfs: any, keys, ..ServeOptions::default() };
    let servers = EmbeddedServers::start(&volume, &options).unwrap();
    let [smb, nfs] = ["smb", "nfs"].map(|protocol| servers.addr(protocol).unwrap().port());
    let guest = KernelGuest::prepare(&[realm.port().unwrap(), smb, nfs]).unwrap();
    let scratch = Scratch::new("source").unwrap();
    let source = scratch.file("source");
    std::fs::write(&source, (0..SIZE).map(|at| (at % 251) as u8).collect::<Vec<u8>>()).unwrap();
    let mounts = mounts(smb, nfs);
    let env = [
        ("REALM", realm.directory().to_str().unwrap()),
        ("MACHINE", KernelGuest::MACHINE),
        ("NAME", NAME),
        ("SOURCE", &source),
        ("MOUNTS", &mounts.join("\n")),
    ];
    let script =
        [include_str!("../kernel-guest/kerberos-login"), include_str!("../kernel-guest/kerberos-mounts")];
    let printed = guest.run(&script.concat(), &env, KernelGuest::LONG).unwrap();
    assert_eq!(printed.matches(&format!("same: {SIZE} bytes")).count(), mounts.len(), "{printed}");
    for security in ["vers=3.1.1,sec=krb5,", "vers=4.1,", "sec=krb5p,"] {
        assert!(printed.contains(security), "no '{security}' in: {printed}");
    }
}
