//! Faults of mounts and of the network, in a guest whose kernel mounts the shares and has a queue that loses and delays.

use std::io;

use sharebench_tests::{Ganesha, GaneshaOptions, KernelGuest, Need, Smbd, SmbdOptions};

use crate::fault::{Condition, Fault, FaultyServer, GuestRun, Planted};

const NEEDS: &[Need] = &[
    Need::Root,
    Need::File("/dev/net/tun"),
    Need::Program("ip"),
    Need::Program("tc"),
    Need::Program("gcc"),
    Need::Program("modprobe"),
    Need::Program("mount.cifs"),
    Need::Program("mount.nfs"),
    Need::Program("smbd"),
    Need::Program("ganesha.nfsd"),
];

/// The guest mounts smbd's share with these options.
fn cifs(options: &str) -> io::Result<Planted> {
    let smbd = Smbd::start(&SmbdOptions::default())?;
    let guest = KernelGuest::prepare(&[smbd.port()])?;
    let port = smbd.port();
    let user = smbd.user();
    let setup = format!(
        "mkdir -p /mnt/nas; PASSWD='{}' mount -t cifs //{}/share /mnt/nas -o vers=3.1.1,username={user},port={port}{options}",
        Smbd::PASSWORD,
        KernelGuest::MACHINE
    );
    Ok(Planted::new("/mnt/nas").in_guest(GuestRun { guest, setup }).keeping(smbd))
}

/// The guest mounts ganesha's export with these options.
fn nfs(options: &str) -> io::Result<Planted> {
    let ganesha = Ganesha::start(&GaneshaOptions::default())?;
    let port = ganesha.port();
    let mount_port = ganesha.mount_port();
    let guest = KernelGuest::prepare(&[port, mount_port])?;
    let setup = format!(
        "mkdir -p /mnt/nas; mount -t nfs {}:{} /mnt/nas -o \
         vers=3,proto=tcp,nolock,port={port},mountport={mount_port},mountproto=tcp{options}",
        KernelGuest::MACHINE,
        ganesha.export()
    );
    Ok(Planted::new("/mnt/nas").in_guest(GuestRun { guest, setup }).keeping(ganesha))
}

/// The program in the guest uses ganesha directly, over a link that the guest changes.
fn link(condition: Condition, change: &str) -> io::Result<Planted> {
    let ganesha = Ganesha::start(&GaneshaOptions::default())?;
    let guest = KernelGuest::prepare(&[ganesha.port(), ganesha.mount_port()])?;
    let setup = if condition.is_faulty() { change.to_owned() } else { ":".to_owned() };
    let url = ganesha.url("", "").replacen("127.0.0.1", KernelGuest::MACHINE, 1);
    Ok(Planted::new(url).in_guest(GuestRun { guest, setup }).keeping(ganesha))
}

/// What arrives passes through a second device, because a queue delays only what is sent.
fn arriving(queue: &str) -> String {
    format!(
        "/run/modprobe ifb numifbs=1; ip link set ifb0 up; tc qdisc add dev vec0 ingress; tc filter add dev vec0 parent ffff: \
         protocol all u32 match u32 0 0 action mirred egress redirect dev ifb0; tc qdisc add dev ifb0 root {queue}"
    )
}

const GUEST: FaultyServer = FaultyServer { name: "kernel guest", needs: NEEDS };

/// The table.
pub const FAULTS: &[Fault] = &[
    GUEST.fault("noac-guest", "NFS mount with noac", &["no-attribute-cache"], false, |_| nfs(",noac")),
    GUEST.fault("rsize-guest", "NFS mount with rsize=8192", &["small-requests"], false, |_| {
        nfs(",rsize=8192,wsize=8192")
    }),
    GUEST.fault("uncached-guest", "CIFS mount with cache=none", &["no-client-cache"], false, |_| {
        cifs(",cache=none")
    }),
    GUEST.fault("loss-guest", "1 % of the sent packets are lost (netem)", &["loss"], false, |condition| {
        link(condition, "tc qdisc add dev vec0 root netem loss 1%")
    }),
    GUEST.fault("jitter-guest", "packets take 1 to 9 ms longer (netem)", &["jitter"], false, |condition| {
        link(condition, "tc qdisc add dev vec0 root netem delay 5ms 4ms rate 1gbit limit 10000")
    }),
    GUEST.fault(
        "reordering-guest",
        "a fifth of the received packets overtakes others (netem)",
        &["reordering"],
        false,
        |condition| link(condition, &arriving("netem delay 400us reorder 20% 50% limit 10000")),
    ),
    GUEST.fault(
        "rate-guest",
        "what is received passes a link of 100 Mbit/s (tbf)",
        &["low-link-rate"],
        false,
        |condition| link(condition, &arriving("tbf rate 100mbit burst 64kb latency 200ms")),
    ),
    GUEST.fault("mtu-guest", "MTU of 576 bytes", &["small-mtu"], false, |condition| {
        link(condition, "ip link set vec0 mtu 576")
    }),
];
