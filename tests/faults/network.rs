//! Faults of the network: the connection breaks, drops all packets, or becomes slow.

use std::time::Duration;

use sharebench_tests::program::poll;

use crate::case::{After, Case, Course, PLAIN};
use crate::fault_test::FaultTest;
use crate::peer::Kind;
use crate::peer::Kind::{Ncp, Nfs, Smb, Smbd};
use crate::stage::Stage;

/// Longer than it takes to open the connections of a session.
const LIMIT: Duration = Duration::from_secs(60);

const fn reset(at: Kind) -> Case {
    let fault = "connection reset";
    Case {
        fault,
        at,
        stage: Stage::Proxy,
        inject: |test| test.proxy().reset(),
        after: After::Resume,
        ..PLAIN
    }
}

const fn reset_smb1(at: Kind) -> Case {
    Case { options: "dialect=nt1", ..reset(at) }
}

/// The last connection that was opened belongs to the session that works.
const fn lost_channel(at: Kind) -> Case {
    let fault = "one of the connections of a session reset";
    let inject = |test: &mut FaultTest| {
        let proxy = test.proxy();
        // Not while a session opens its connections, because without the first one there is no session.
        assert!(poll(LIMIT, || proxy.accepted().is_multiple_of(4)), "{} connections", proxy.accepted());
        proxy.reset_one(proxy.accepted() - 1);
    };
    Case { fault, at, options: "channels=4", stage: Stage::Proxy, inject, run: Course::Endures, ..PLAIN }
}

const fn lost_channels(at: Kind) -> Case {
    let fault = "all connections of a session reset";
    Case { fault, options: "channels=4", ..reset(at) }
}

const fn half_open(at: Kind) -> Case {
    let fault = "connection half open: the peer is gone without a reset";
    let inject = |test: &mut FaultTest| test.proxy().leave_half_open();
    Case { fault, at, stage: Stage::Proxy, silent: true, inject, ..PLAIN }
}

const fn swallowed(at: Kind) -> Case {
    let fault = "all packets dropped, also of new connections";
    let inject = |test: &mut FaultTest| test.proxy().swallow();
    let heal = |test: &mut FaultTest| test.proxy().heal();
    Case { fault, at, stage: Stage::Proxy, silent: true, inject, heal, ..PLAIN }
}

const fn slow(at: Kind) -> Case {
    let fault = "link slowed to 4 MB/s and 2 ms";
    let inject = |test: &mut FaultTest| test.proxy().slow_down(4_000_000, Duration::from_millis(2));
    Case { fault, at, stage: Stage::Proxy, inject, run: Course::Endures, ..PLAIN }
}

/// The rows, in the order of the table.
pub const CASES: &[Case] = &[
    reset(Smb),
    reset(Nfs),
    reset(Ncp),
    reset_smb1(Smbd),
    lost_channel(Smbd),
    lost_channel(Smb),
    lost_channels(Smb),
    half_open(Smb),
    half_open(Nfs),
    half_open(Ncp),
    swallowed(Smb),
    swallowed(Nfs),
    swallowed(Ncp),
    slow(Smb),
    slow(Nfs),
    slow(Ncp),
];
