//! Faults of NFS-Ganesha: its settings, slow calls below it, and a proxy in front of it.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;

use sharebench_tests::{Ganesha, GaneshaOptions, Need, SlowCall, SlowCalls};

use crate::fault::{Condition, Fault, FaultyServer, KnownFault, Planted, with_option};
use crate::splitter;

const NEEDS: &[Need] = &Ganesha::NEEDS;

fn plant(options: &GaneshaOptions) -> io::Result<Planted> {
    let ganesha = Ganesha::start(options)?;
    Ok(Planted::new(ganesha.url("", "")).keeping(ganesha))
}

fn slow(condition: Condition, call: SlowCall, amount: u64, commits: bool) -> io::Result<Planted> {
    let slow = condition.is_faulty().then(|| SlowCalls::new(call, amount)).transpose()?;
    plant(&GaneshaOptions { slow, commits, ..GaneshaOptions::default() })
}

fn far(condition: Condition, distance: &str) -> io::Result<Planted> {
    let ganesha = Ganesha::start(&GaneshaOptions::default())?;
    let near = ganesha.url("", "");
    let url = if condition.is_faulty() { with_option(&near, &format!("far={distance}")) } else { near };
    Ok(Planted::new(url).keeping(ganesha))
}

/// A directory of root with a file that everybody may read, for the user of the query.
fn foreign_directory(squash: &'static str, query: &str) -> io::Result<Planted> {
    let ganesha = Ganesha::start(&GaneshaOptions { squash: Some(squash), ..GaneshaOptions::default() })?;
    std::fs::set_permissions(ganesha.directory(), Permissions::from_mode(0o755))?;
    std::fs::write(ganesha.directory().join("data"), vec![7; 4 << 20])?;
    Ok(Planted::new(ganesha.url("", query)).keeping(ganesha))
}

/// A proxy that splits replies, with Nagle's algorithm or without.
fn split(condition: Condition) -> io::Result<Planted> {
    let ganesha = Ganesha::start(&GaneshaOptions::default())?;
    let port = splitter::start(ganesha.port(), !condition.is_faulty())?;
    let url = ganesha.url("", "").replacen(&format!(":{}", ganesha.port()), &format!(":{port}"), 1);
    Ok(Planted::new(url).keeping(ganesha))
}

const GANESHA: FaultyServer = FaultyServer { name: "ganesha", needs: NEEDS };

/// The table.
pub const FAULTS: &[Fault] = &[
    GANESHA.fault("clean-ganesha", "no fault", &[], false, |_| plant(&GaneshaOptions::default())),
    Fault {
        known: &[KnownFault { operation: "4 KiB read", part: "network", ms: 5.0 }],
        ..GANESHA.fault(
            "far-ganesha",
            "round trip of 5 ms (relay)",
            &["long-round-trip"],
            false,
            |condition| far(condition, "5ms"),
        )
    },
    Fault {
        known: &[KnownFault { operation: "1 MiB read", part: "transfer", ms: 83.9 }],
        ..GANESHA.fault(
            "rate-ganesha",
            "100 Mbit/s per connection (relay)",
            &["one-connection"],
            false,
            |condition| far(condition, "200us,100Mbit"),
        )
    },
    GANESHA.fault(
        "small-requests-ganesha",
        "MaxRead and MaxWrite of 8 KiB",
        &["small-requests"],
        true,
        |condition| {
            let transfer = condition.is_faulty().then_some(8 << 10);
            plant(&GaneshaOptions { transfer, ..GaneshaOptions::default() })
        },
    ),
    Fault {
        known: &[KnownFault { operation: "4 KiB read", part: "storage", ms: 5.0 }],
        ..GANESHA.fault("storage-ganesha", "each preadv takes 5 ms", &["slow-storage"], true, |condition| {
            slow(condition, SlowCall::Read, 5_000, false)
        })
    },
    Fault {
        known: &[KnownFault { operation: "4 KiB sync write", part: "storage", ms: 8.0 }],
        ..GANESHA.fault("fsync-ganesha", "fsync takes 8 ms", &["stable-writes"], true, |condition| {
            slow(condition, SlowCall::Sync, 8_000, false)
        })
    },
    GANESHA.fault(
        "commit-ganesha",
        "NFS_Commit = true, fsync takes 8 ms",
        &["synchronous-writes"],
        true,
        |condition| slow(condition, SlowCall::Sync, 8_000, true),
    ),
    Fault {
        known: &[KnownFault { operation: "4 KiB read", part: "protocol", ms: 2.0 }],
        ..GANESHA.fault("work-ganesha", "sending a reply takes 2 ms", &["protocol-work"], true, |condition| {
            slow(condition, SlowCall::Send, 2_000, false)
        })
    },
    GANESHA.fault(
        "nagle-ganesha",
        "a proxy splits replies, with Nagle's algorithm",
        &["delayed-acknowledgement"],
        true,
        split,
    ),
    GANESHA.fault(
        "root-squash-ganesha",
        "Squash = Root_Squash, a directory of root",
        &["root-squash"],
        false,
        |_| foreign_directory("Root_Squash", "uid=0&gid=0"),
    ),
    GANESHA.fault(
        "wrong-uid-ganesha",
        "a directory of root, used as uid 1000",
        &["wrong-uid"],
        false,
        |_| foreign_directory("No_Root_Squash", "uid=1000&gid=1000"),
    ),
];
