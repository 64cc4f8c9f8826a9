//! Faults of Samba's smbd: its settings, and slow calls below it.

use std::io;

use sharebench_tests::{Need, SlowCall, SlowCalls, Smbd, SmbdOptions};

use crate::fault::{Condition, Fault, FaultyServer, KnownFault, Planted, with_option};

const NEEDS: &[Need] = &[Need::Program("smbd"), Need::Program("pdbedit"), Need::Program("gcc")];

fn plant(options: &SmbdOptions, query: &str) -> io::Result<Planted> {
    let smbd = Smbd::start(options)?;
    Ok(Planted::new(smbd.url("", query)).keeping(smbd))
}

/// Further lines of smb.conf.
fn lines(condition: Condition, lines: &'static str) -> io::Result<Planted> {
    let lines = if condition.is_faulty() { lines } else { "" };
    plant(&SmbdOptions { lines, ..SmbdOptions::default() }, "")
}

/// A slow call, with further lines in both conditions.
fn slow(condition: Condition, call: SlowCall, amount: u64, lines: &'static str) -> io::Result<Planted> {
    let slow = condition.is_faulty().then(|| SlowCalls::new(call, amount)).transpose()?;
    plant(&SmbdOptions { slow, lines, ..SmbdOptions::default() }, "")
}

/// Another URL of a clean server.
fn query(condition: Condition, faulty: &str, fixed: &str) -> io::Result<Planted> {
    plant(&SmbdOptions::default(), if condition.is_faulty() { faulty } else { fixed })
}

fn far(condition: Condition, distance: &str, lines: &'static str) -> io::Result<Planted> {
    let smbd = Smbd::start(&SmbdOptions { lines, ..SmbdOptions::default() })?;
    let near = smbd.url("", "");
    let url = if condition.is_faulty() { with_option(&near, &format!("far={distance}")) } else { near };
    Ok(Planted::new(url).keeping(smbd))
}

const SMBD: FaultyServer = FaultyServer { name: "smbd", needs: NEEDS };

/// The table.
pub const FAULTS: &[Fault] = &[
    SMBD.fault("clean-smbd", "no fault", &[], false, |_| plant(&SmbdOptions::default(), "")),
    Fault {
        known: &[KnownFault { operation: "4 KiB read", part: "network", ms: 20.0 }],
        ..SMBD.fault("far-smbd", "round trip of 20 ms (relay)", &["long-round-trip"], false, |condition| {
            far(condition, "20ms", "")
        })
    },
    Fault {
        known: &[KnownFault { operation: "1 MiB read", part: "transfer", ms: 83.9 }],
        ..SMBD.fault(
            "rate-smbd",
            "100 Mbit/s per connection (relay)",
            &["one-connection"],
            false,
            |condition| far(condition, "200us,100Mbit", ""),
        )
    },
    SMBD.fault("hmac-smbd", "dialect 2.1 signs with HMAC-SHA256", &["hmac-signing"], true, |condition| {
        query(condition, "dialect=2.1&sign=required", "sign=required")
    }),
    SMBD.fault(
        "encryption-smbd",
        "encryption with AES-128-CCM (dialect 3.0)",
        &["encryption"],
        true,
        |condition| query(condition, "dialect=3.0&encrypt=required", "dialect=3.0"),
    ),
    SMBD.fault(
        "dialect-smbd",
        "dialect 2.0.2, with requests of 64 KiB",
        &["old-dialect", "small-requests"],
        true,
        |condition| query(condition, "dialect=2.0.2", ""),
    ),
    SMBD.fault("small-requests-smbd", "requests of 8 KiB", &["small-requests"], true, |condition| {
        lines(condition, " smb2 max read = 8192\n smb2 max write = 8192")
    }),
    SMBD.fault("credits-smbd", "8 credits at a distance of 0.5 ms", &["few-credits"], true, |condition| {
        let lines = if condition.is_faulty() { " smb2 max credits = 8" } else { "" };
        far(Condition::Faulty, "500us", lines)
    }),
    SMBD.fault("leases-smbd", "no leases and no oplocks", &["refused-leases"], false, |condition| {
        lines(condition, " smb2 leases = no\n oplocks = no")
    }),
    Fault {
        known: &[KnownFault { operation: "4 KiB read", part: "storage", ms: 5.0 }],
        ..SMBD.fault("storage-smbd", "each pread takes 5 ms", &["slow-storage"], true, |condition| {
            slow(condition, SlowCall::Read, 5_000, "")
        })
    },
    Fault {
        known: &[KnownFault { operation: "4 KiB sync write", part: "storage", ms: 8.0 }],
        ..SMBD.fault("fsync-smbd", "fsync takes 8 ms", &["stable-writes"], true, |condition| {
            slow(condition, SlowCall::Sync, 8_000, "")
        })
    },
    Fault {
        known: &[KnownFault { operation: "4 KiB sync write", part: "storage", ms: 8.0 }],
        ..SMBD.fault(
            "sync-always-smbd",
            "sync always = yes, fsync takes 8 ms",
            &["synchronous-writes"],
            true,
            |condition| slow(condition, SlowCall::Sync, 8_000, " sync always = yes"),
        )
    },
    SMBD.fault(
        "scanner-smbd",
        "opening a file takes 6 ms (virus scanner)",
        &["expensive-opens"],
        true,
        |condition| slow(condition, SlowCall::Open, 6_000, ""),
    ),
    SMBD.fault(
        "listing-smbd",
        "each entry of a directory takes 0.3 ms",
        &["slow-listing"],
        true,
        |condition| slow(condition, SlowCall::Entry, 300, " case sensitive = yes"),
    ),
    SMBD.fault(
        "linear-smbd",
        "names are searched entry by entry, each takes 20 us",
        &["linear-directory", "slow-listing"],
        true,
        |condition| slow(condition, SlowCall::Entry, 20, " case sensitive = no"),
    ),
    SMBD.fault(
        "authentication-smbd",
        "looking up an account takes 0.8 s",
        &["slow-authentication"],
        true,
        |condition| slow(condition, SlowCall::User, 800_000, ""),
    ),
    SMBD.fault(
        "reverse-lookup-smbd",
        "hostname lookups = yes, a name takes 2 s",
        &["reverse-lookup"],
        true,
        |condition| slow(condition, SlowCall::Name, 2_000_000, " hostname lookups = yes"),
    ),
    Fault {
        known: &[KnownFault { operation: "4 KiB read", part: "protocol", ms: 2.0 }],
        ..SMBD.fault("work-smbd", "sending a reply takes 2 ms", &["protocol-work"], true, |condition| {
            slow(condition, SlowCall::Send, 2_000, "")
        })
    },
    SMBD.fault("clock-smbd", "times of files are 10 minutes ahead", &["clock-offset"], false, |condition| {
        slow(condition, SlowCall::Ahead, 600, "")
    }),
];
