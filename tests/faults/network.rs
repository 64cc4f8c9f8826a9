//! Faults of the network: the connection breaks, drops all packets, or becomes slow.

use std::time::Duration;

use crate::case::{After, Case, Course, PLAIN};
use crate::fault_test::FaultTest;
use crate::peer::Kind;
use crate::peer::Kind::{Ncp, Nfs, Smb};
use crate::stage::Stage;

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
