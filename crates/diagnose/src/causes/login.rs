//! Causes of a slow log-in.

use sharebench_model::units::show_nanos;
use sharebench_stats::{Estimate, Interval};

use super::{Case, Cause, Finding, Gain, Saving, settings};
use crate::operations::Operation;

/// Time of name resolution from which it is slow, nanoseconds.
const SLOW_NAME_NS: f64 = 200e6;
/// Time of any other phase from which it is slow, nanoseconds, in addition to its round trips.
const SLOW_PHASE_NS: f64 = 500e6;
/// Time that a phase may take where nothing is slow, nanoseconds.
const HEALTHY_NS: f64 = 100e6;
/// Round trips that a phase may need.
const ROUND_TRIPS: f64 = 6.0;

pub(super) fn judge(case: &mut Case<'_>) {
    let login = &case.evidence.login;
    let round_trip = case.evidence.series.typical_ns(Operation::Empty).unwrap_or(0.0);
    let is_slow = |(name, time): &&(&str, f64)| match *name {
        "name resolution" => *time >= SLOW_NAME_NS,
        _ => *time - ROUND_TRIPS * round_trip >= SLOW_PHASE_NS,
    };
    let slowest = login.phases.iter().filter(is_slow).max_by(|a, b| a.1.total_cmp(&b.1));
    let Some(&(phase, time)) = slowest else { return };
    let cause = match phase {
        "name resolution" => Cause::SlowNameResolution,
        "log-in" => Cause::SlowAuthentication,
        "negotiate" | "share" => Cause::ReverseLookup,
        _ => Cause::SlowLogin,
    };
    let likely = match cause {
        Cause::ReverseLookup => {
            " The server does something before it replies, which the network does not explain: most often it looks up the name of this client."
        }
        _ => "",
    };
    let setting: &[(&str, &str)] = match phase {
        "name resolution" => &[(
            "*",
            "Client: resolvectl query HOST; remove dead servers from /etc/resolv.conf, or add the host to /etc/hosts.",
        )],
        "port mapper" => {
            &[("nfs", "Give the ports in the URL (mountport=), or start rpcbind on the server.")]
        }
        "connect" => &[(
            "*",
            "An address of the host does not answer: check IPv6 and IPv4, firewalls, and the server's backlog.",
        )],
        "log-in" => &[
            (
                "smb",
                "The server's authentication is slow: domain controllers (wbinfo -P), smb.conf: winbind cache time = 300; hostname lookups = no.",
            ),
            (
                "ncp",
                "The bindery or eDirectory is slow: check time synchronisation and the replica (DSREPAIR).",
            ),
        ],
        _ => &[
            ("*", "The server may look up the client's name: give it an entry in /etc/hosts or reverse DNS."),
            (
                "smb",
                "smb.conf: hostname lookups = no; hosts allow with addresses instead of names; no root preexec scripts.",
            ),
            (
                "nfs",
                "exports with addresses instead of names and netgroups; ganesha.conf: Clients = addresses; rpc.mountd without -g.",
            ),
        ],
    };
    let total = login.total_ns;
    // A log-in is measured once or twice, so that there is no interval: its phase needs some time in any case.
    let saved = Estimate { value: time, interval: Some(Interval::new(time - HEALTHY_NS, time)), n: 1 };
    case.find(Finding {
        cause,
        title: format!("Opening a session is slow: {phase}."),
        evidence: format!(
            "{phase} takes {} of the {} from the name to the open directory.{likely}",
            show_nanos(time),
            show_nanos(total)
        ),
        gain: Gain::computed("log-ins", Saving::per("log-in", total, saved)),
        settings: settings(case.evidence, setting),
        weight: 0.25,
    });
}
