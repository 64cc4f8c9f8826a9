//! Faults of our own servers: the relay in front of them, and the device model below them. Their sizes are known exactly.

use std::io;

use sharebench_tests::program::{PATIENCE, Program, free_ports};
use sharebench_tests::{Scratch, Smbd};

use crate::fault::{Condition, Fault, FaultyServer, KnownFault, Planted, with_option};
use crate::run::binary;

/// A server of ours over memory.
struct Own {
    smb: u16,
    nfs: u16,
    ncp: u16,
}

impl Own {
    /// Starts it; the planted fault keeps it.
    fn start(flags: &[&str]) -> io::Result<(Self, (Program, Scratch))> {
        let scratch = Scratch::new("own")?;
        let [smb, nfs, ncp] = free_ports()?;
        let [smb_at, nfs_at, ncp_at] = [smb, nfs, ncp].map(|port| format!("127.0.0.1:{port}"));
        let binary = binary();
        let line =
            [binary, "serve", "--memory", "256MiB", "--smb", &smb_at, "--nfs", &nfs_at, "--ncp", &ncp_at];
        let line = [&line[..], &["--account", "lab"], flags].concat();
        let env = [("SHAREBENCH_PASSWORD", Smbd::PASSWORD)];
        let mut program = Program::start(&line, &env, &scratch.path().join("log"))?;
        program.wait_for_output("serving", PATIENCE)?;
        Ok((Self { smb, nfs, ncp }, (program, scratch)))
    }

    fn smb_url(&self) -> String {
        format!("smb://lab@127.0.0.1:{}/share", self.smb)
    }

    fn nfs_url(&self) -> String {
        format!("nfs://127.0.0.1:{0}/share?mountport={0}", self.nfs)
    }

    fn ncp_url(&self) -> String {
        format!("ncp://lab@127.0.0.1:{}/SHARE", self.ncp)
    }
}

type Url = fn(&Own) -> String;

/// The server at a simulated distance.
fn far(condition: Condition, url: Url, distance: &str) -> io::Result<Planted> {
    let (own, kept) = Own::start(&[])?;
    let near = url(&own);
    let url = if condition.is_faulty() { with_option(&near, &format!("far={distance}")) } else { near };
    Ok(Planted::new(url).keeping(kept))
}

/// The server over a device.
fn device(condition: Condition, url: Url, flags: &[&str]) -> io::Result<Planted> {
    let (own, kept) = Own::start(if condition.is_faulty() { flags } else { &[] })?;
    Ok(Planted::new(url(&own)).keeping(kept))
}

const fn trip(ms: f64) -> [KnownFault; 2] {
    [
        KnownFault { operation: "4 KiB read", part: "network", ms },
        KnownFault { operation: "1 MiB read", part: "network", ms },
    ]
}

const TRIP_20: [KnownFault; 2] = trip(20.0);
const TRIP_5: [KnownFault; 2] = trip(5.0);
/// Over NCP a read of 1 MiB is 18 requests of at most 60 KiB, one after another.
const NCP_TRIP_20: [KnownFault; 2] = [
    KnownFault { operation: "4 KiB read", part: "network", ms: 20.0 },
    KnownFault { operation: "1 MiB read", part: "network", ms: 18.0 * 20.0 },
];
const DEVICE_5: [KnownFault; 1] = [KnownFault { operation: "4 KiB read", part: "storage", ms: 5.0 }];
/// 1 MiB at 100 Mbit/s.
const RATE_100: [KnownFault; 1] = [KnownFault { operation: "1 MiB read", part: "transfer", ms: 83.9 }];

const OWN_SMB: FaultyServer = FaultyServer { name: "own SMB", needs: &[] };
const OWN_NFS: FaultyServer = FaultyServer { name: "own NFS", needs: &[] };
const OWN_NCP: FaultyServer = FaultyServer { name: "own NCP", needs: &[] };

/// The table.
pub const FAULTS: &[Fault] = &[
    OWN_SMB.fault("clean-own-smb", "no fault", &[], false, |_| far(Condition::Fixed, Own::smb_url, "")),
    OWN_NFS.fault("clean-own-nfs", "no fault", &[], false, |_| far(Condition::Fixed, Own::nfs_url, "")),
    OWN_NCP.fault("clean-own-ncp", "no fault", &[], false, |_| far(Condition::Fixed, Own::ncp_url, "")),
    Fault {
        known: &TRIP_20,
        ..OWN_SMB.fault("far-smb", "round trip of 20 ms (relay)", &["long-round-trip"], false, |condition| {
            far(condition, Own::smb_url, "20ms")
        })
    },
    Fault {
        known: &TRIP_5,
        ..OWN_NFS.fault("far-nfs", "round trip of 5 ms (relay)", &["long-round-trip"], false, |condition| {
            far(condition, Own::nfs_url, "5ms")
        })
    },
    Fault {
        known: &NCP_TRIP_20,
        ..OWN_NCP.fault("far-ncp", "round trip of 20 ms (relay)", &["long-round-trip"], false, |condition| {
            far(condition, Own::ncp_url, "20ms")
        })
    },
    Fault {
        known: &RATE_100,
        ..OWN_NFS.fault(
            "rate-nfs",
            "100 Mbit/s per connection (relay)",
            &["one-connection"],
            false,
            |condition| far(condition, Own::nfs_url, "200us,100Mbit"),
        )
    },
    Fault {
        known: &DEVICE_5,
        ..OWN_NFS.fault(
            "device-nfs",
            "each operation takes 5 ms, no cache (device model)",
            &["slow-storage"],
            true,
            |condition| device(condition, Own::nfs_url, &["--service-time", "5ms"]),
        )
    },
    Fault {
        known: &DEVICE_5,
        ..OWN_SMB.fault(
            "device-smb",
            "each operation takes 5 ms, no cache (device model)",
            &["slow-storage"],
            true,
            |condition| device(condition, Own::smb_url, &["--service-time", "5ms"]),
        )
    },
    Fault {
        known: &DEVICE_5,
        ..OWN_NCP.fault(
            "device-ncp",
            "each operation takes 5 ms, no cache (device model)",
            &["slow-storage"],
            true,
            |condition| device(condition, Own::ncp_url, &["--service-time", "5ms"]),
        )
    },
    Fault {
        known: &DEVICE_5,
        ..OWN_NFS.fault(
            "no-read-ahead",
            "5 ms, a cache of 4 MiB and no read-ahead (device model)",
            &["no-read-ahead"],
            true,
            |condition| device(condition, Own::nfs_url, &["--service-time", "5ms", "--cache", "4MiB"]),
        )
    },
];
