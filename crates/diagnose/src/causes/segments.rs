//! Causes in how segments travel: stalls by delayed acknowledgements, order, size, jitter, and the address family.

use sharebench_model::units::{percent, show_nanos};

use super::gain::exactly;
use super::{Case, Cause, Finding, Gain, Saving, settings};
use crate::evidence::Experiment;
use crate::observations::LARGEST_MTU;
use crate::operations::Operation;
use crate::tcp_options::stalled_share;

/// Factor from which an option of the socket matters.
const MATTERS: f64 = 1.15;
/// Share of received segments out of order from which their order matters.
const DISORDER: f64 = 0.01;
/// Segments below which nothing is said of their order.
const MIN_SEGMENTS: u64 = 1_000;
/// Path MTU below which tunnels waste a part of the link: the least of IPv6 (RFC 8200, 5).
const SMALL_MTU: u32 = 1_280;
/// The MTU of Ethernet, and what the headers of IP and TCP take of a segment, bytes.
const ETHERNET_MTU: f64 = 1_500.0;
const HEADER_BYTES: f64 = 52.0;
/// Spread of an empty request (10th to 90th percentile) from which it is jitter: nanoseconds, and share of the median.
const JITTER_NS: f64 = 1e6;
const JITTER: f64 = 0.5;
/// Share of the spread that the deviation of TCP's round trip must have. Packets of a stream that follow each other share their
/// delay, so that TCP sees less variation in it than requests do that come one at a time: a tenth with netem.
const DEVIATION: f64 = 0.08;

pub(super) fn judge(case: &mut Case<'_>) {
    delayed_acknowledgement(case);
    reordering(case);
    small_mtu(case);
    jitter(case);
    address_family(case);
}

fn delayed_acknowledgement(case: &mut Case<'_>) {
    let Some(compared) = case.evidence.comparisons.get(&Experiment::Acknowledge).copied() else { return };
    let stalled = stalled_share(case.evidence);
    let total = case.evidence.series.typical_ns(Operation::SmallReadAgain);
    if !case.exceeds(compared.ratio, MATTERS, "stalls by delayed acknowledgements") {
        return;
    }
    case.find(Finding {
        cause: Cause::DelayedAcknowledgement,
        title: "Replies wait for an acknowledgement that this client delays (Nagle's algorithm on the other side).".to_owned(),
        evidence: format!(
            "{} of the small operations take 30 ms longer than the network; if each segment is acknowledged at once, small \
             reads are {:.1} times as fast.",
            percent(stalled, 0),
            compared.ratio.value
        ),
        gain: Gain::Measured {
            what: "small operations, with TCP_NODELAY at the server or proxy",
            factor: compared.ratio,
            saving: Saving::by_factor(Operation::SmallReadAgain, total, compared.ratio),
        },
        settings: settings(case.evidence, &[
            ("smb", "smb.conf: socket options = TCP_NODELAY (the default; remove other socket options)."),
            ("nfs", "ganesha and nfsd set TCP_NODELAY by themselves: look for a proxy or tunnel on the way."),
            ("*", "Proxy or VPN: enable TCP_NODELAY (HAProxy: option http-no-delay; nginx: tcp_nodelay on; stunnel: socket = l:TCP_NODELAY=1)."),
            ("*", "Client, as a workaround: ip route change ... quickack 1."),
        ]),
        weight: 1.0 - 1.0 / compared.ratio.value,
    });
}

/// The connection does not leave this machine.
pub(super) fn is_loopback(case: &Case<'_>) -> bool {
    let write = case.evidence.write.as_ref().and_then(|write| write.tcp);
    case.evidence.read.or(write).is_some_and(|tcp| tcp.pmtu > LARGEST_MTU)
}

fn reordering(case: &mut Case<'_>) {
    let read = case.evidence.read;
    let write = case.evidence.write.as_ref().and_then(|write| write.tcp);
    let of = |tcp: Option<sharebench_model::TcpCounts>| {
        tcp.map_or((0, 0), |tcp| (tcp.out_of_order, tcp.segments_received))
    };
    let out_of_order = of(read).0 + of(write).0;
    let received = of(read).1 + of(write).1;
    let share = out_of_order as f64 / received.max(1) as f64;
    let rate = rate_of_reads(case);
    // Segments after a lost one arrive out of order as well.
    if is_loopback(case) || received < MIN_SEGMENTS || share < DISORDER || case.found(Cause::Loss).is_some() {
        return;
    }
    case.find(Finding {
        cause: Cause::Reordering,
        title: "Segments overtake each other on the way.".to_owned(),
        evidence: format!(
            "{out_of_order} of {received} received segments were out of order ({}), while few were sent again.",
            percent(share, 1)
        ),
        gain: Gain::computed_stream("streams; a rough estimate", rate, 1.0 + (share * 10.0).min(1.0)),
        settings: settings(case.evidence, &[
            ("*", "Bonded links and multipath routes: distribute by connection and not by packet (bonding mode 802.3ad with xmit_hash_policy=layer3+4 instead of balance-rr)."),
            ("*", "sysctl net.ipv4.tcp_reordering=10 on the side that sends."),
        ]),
        weight: 0.45,
    });
}

/// Throughput of the stream of reads, bytes/s; 0 without one.
fn rate_of_reads(case: &Case<'_>) -> f64 {
    let compared = case.evidence.comparisons.get(&Experiment::Connections);
    compared.map_or(0.0, |compared| compared.base_bytes_per_s)
}

fn small_mtu(case: &mut Case<'_>) {
    let tcp = case.evidence.read.or(case.evidence.write.as_ref().and_then(|write| write.tcp));
    let Some(mtu) = tcp.map(|tcp| tcp.pmtu).filter(|mtu| (1..SMALL_MTU).contains(mtu)) else { return };
    let share = |mtu: f64| (mtu - HEADER_BYTES).max(1.0) / mtu;
    case.find(Finding {
        cause: Cause::SmallMtu,
        title: "The path carries only small packets.".to_owned(),
        evidence: format!(
            "the path MTU is {mtu} bytes: a packet carries {} of data, on Ethernet {}, and a transfer needs {:.1} times as many \
             packets.",
            percent(share(f64::from(mtu)), 0),
            percent(share(ETHERNET_MTU), 0),
            ETHERNET_MTU / f64::from(mtu)
        ),
        gain: Gain::computed_stream(
            "streams on a link that is full, without the work per packet",
            rate_of_reads(case),
            share(ETHERNET_MTU) / share(f64::from(mtu)),
        ),
        settings: settings(case.evidence, &[
            ("*", "ip link set dev eth0 mtu 1500 on each side; tracepath HOST names the hop with the small MTU; check tunnels and VPN."),
        ]),
        weight: 0.3,
    });
}

/// The time of an empty request varies, and so does TCP's own round trip, of which the server's work is no part.
fn jitter(case: &mut Case<'_>) {
    let series = &case.evidence.series;
    let quantile = |share| series.quantile_ns(Operation::Empty, share);
    let Some(((low, median), high)) = quantile(0.1).zip(quantile(0.5)).zip(quantile(0.9)) else { return };
    let spread = high - low;
    let write = case.evidence.write.as_ref().and_then(|write| write.tcp);
    let deviation = [case.evidence.read, write].into_iter().flatten().map(|tcp| tcp.rttvar_us).max();
    let deviation = f64::from(deviation.unwrap_or(0)) * 1e3;
    // Loopback has no jitter: there a server that waits for a CPU acknowledges late.
    if spread < JITTER_NS.max(JITTER * median) || deviation < DEVIATION * spread || is_loopback(case) {
        return;
    }
    // Losses and disorder vary the round trip too. Otherwise a spread as large as the median outranks the distance.
    let is_consequence =
        [Cause::Loss, Cause::Reordering].into_iter().any(|cause| case.found(cause).is_some());
    let size = if is_consequence { 1.0 - low / median } else { spread / median };
    case.find(Finding {
        cause: Cause::Jitter,
        title: "The round trip varies a lot, as over Wi-Fi or a full queue.".to_owned(),
        evidence: format!(
            "an empty request takes {} (10th percentile) to {} (90th); TCP's own round trip deviates by {}.",
            show_nanos(low),
            show_nanos(high),
            show_nanos(deviation)
        ),
        gain: Gain::computed("small operations", Saving::new(Operation::Empty, median, exactly(median - low))),
        settings: settings(case.evidence, &[
            ("*", "Connect by cable; on Wi-Fi use 5 or 6 GHz, and switch power saving off: iw dev wlan0 set power_save off."),
            ("*", "Full queues: tc qdisc replace dev eth0 root fq_codel on the router of the slowest link (bufferbloat)."),
        ]),
        weight: size.clamp(0.35, 1.0),
    });
}

fn address_family(case: &mut Case<'_>) {
    let Some(compared) = case.evidence.comparisons.get(&Experiment::AddressFamily).copied() else { return };
    if !case.exceeds(compared.ratio, MATTERS, "a slow address family") {
        return;
    }
    case.find(Finding {
        cause: Cause::SlowAddressFamily,
        title: "The other address family of the host is faster.".to_owned(),
        evidence: format!(
            "reading over the other of IPv4 and IPv6 is {:.1} times as fast, on the same host.",
            compared.ratio.value
        ),
        gain: Gain::measured_stream("reading a large file", compared.base_bytes_per_s, compared.ratio),
        settings: settings(case.evidence, &[
            ("*", "Compare the two paths: tracepath -4 HOST, tracepath -6 HOST; until it is repaired, prefer the faster one in /etc/gai.conf or /etc/hosts."),
            ("nfs", "Mount option: proto=tcp (IPv4) or proto=tcp6 (IPv6)."),
        ]),
        weight: 1.0 - 1.0 / compared.ratio.value,
    });
}
