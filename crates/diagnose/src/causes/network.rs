//! Causes on the path: distance, rate, window, loss.

use sharebench_model::units::{percent, show_nanos, show_rate};
use sharebench_stats::{bootstrap_intervals, median};

use super::gain::exactly;
use super::segments::is_loopback;
use super::{Case, Cause, Finding, Gain, Saving, settings};
use crate::budget::Part;
use crate::evidence::Experiment;
use crate::operations::{LEVEL, Operation, RESAMPLES, SEED};

/// Round trips from which distance is felt: a switched network has less than 0.5 ms.
const LONG_ROUND_TRIP_NS: f64 = 1e6;
/// Rates above which a stream is not called slow: what a link of 1 Gbit/s carries.
const GIGABIT: f64 = 120e6;
/// Rates above which a single connection is not called slow.
const FAST_CONNECTION: f64 = 300e6;
/// Several connections are faster from this factor on, and the link is full up to the other one.
const SCALES: f64 = 1.3;
const SCALES_NOT: f64 = 1.25;
/// Share of the sending time in which the server's window was full, from which the window limits.
const WINDOW_LIMITED: f64 = 0.3;
/// Retransmissions per segment from which loss matters.
const LOSS: f64 = 0.001;
/// Segments below which loss is not judged.
const MIN_SEGMENTS: u64 = 1_000;

pub(super) fn judge(case: &mut Case<'_>) {
    long_round_trip(case);
    streams(case);
    loss(case);
}

fn long_round_trip(case: &mut Case<'_>) {
    let Some(network) = case.evidence.network_ns.filter(|network| *network >= LONG_ROUND_TRIP_NS) else {
        return;
    };
    let Some(budget) = case.budget(Operation::SmallRead) else { return };
    let weight = budget.share(Part::Network);
    let total = budget.total_ns.value;
    if weight < 0.3 {
        return;
    }
    let source = if case.evidence.is_network_inferred {
        format!(
            "{} reads in flight together take little longer than one, so the time of one is distance and not work; \
             TCP itself ends earlier, at a relay or proxy, or does not show its round trip",
            case.evidence.burst
        )
    } else {
        "smallest round trip of TCP".to_owned()
    };
    let evidence = format!(
        "round trip {} of the {} of a 4 KiB read ({source}).",
        show_nanos(network),
        show_nanos(total)
    );
    let gain = depth_gain(case).unwrap_or_else(|| {
        let saving = Saving::new(Operation::SmallRead, total, exactly(network.min(total)));
        Gain::computed("small operations with requests in flight together", saving)
    });
    let settings = settings(
        case.evidence,
        &[
            (
                "*",
                "Keep more requests in flight: larger records, read-ahead, parallel copies (robocopy /MT, rsync in parallel).",
            ),
            ("*", "Move client and server closer, or work on a remote desktop next to the server."),
            (
                "smb",
                "Mount option: rasize=16777216 (read-ahead); actimeo=60 saves round trips for attributes.",
            ),
            (
                "nfs",
                "Mount options: nconnect=4,rsize=1048576,wsize=1048576,actimeo=60; raise read_ahead_kb of the mount.",
            ),
            (
                "ncp",
                "SET parameters do not shorten the path; use a client with packet burst or larger buffers.",
            ),
        ],
    );
    case.find(Finding {
        cause: Cause::LongRoundTrip,
        title: "The network round trip is long, and each request waits for it.".to_owned(),
        evidence,
        gain,
        settings,
        weight,
    });
}

/// How much faster small reads are with several in flight.
fn depth_gain(case: &Case<'_>) -> Option<Gain> {
    let series = &case.evidence.series;
    let samples = [series.elapsed(Operation::SmallReadAgain), series.elapsed(Operation::Burst)];
    let statistic = |drawn: &mut [Vec<f64>]| {
        let [one, burst] = [0, 1].map(|index| median(&mut drawn[index]).unwrap_or(f64::NAN));
        [f64::from(case.evidence.burst) * one / burst]
    };
    let [value] = statistic(&mut samples.clone());
    let interval = bootstrap_intervals(&[&samples[0], &samples[1]], LEVEL, RESAMPLES, SEED, statistic);
    let factor = sharebench_stats::Estimate {
        value,
        interval: interval.map(|[interval]| interval),
        n: samples[1].len(),
    };
    let saving =
        Saving::by_factor(Operation::SmallReadAgain, series.typical_ns(Operation::SmallReadAgain), factor);
    value.is_finite().then_some(Gain::Measured {
        what: "small reads, several in flight instead of one",
        factor,
        saving,
    })
}

/// One stream: limited by the connection, by its window, or by the path as a whole.
fn streams(case: &mut Case<'_>) {
    let Some(compared) = case.evidence.comparisons.get(&Experiment::Connections).copied() else { return };
    let rate = compared.base_bytes_per_s;
    if rate >= FAST_CONNECTION || compared.client_share > 0.6 {
        return;
    }
    let scales = compared.ratio.interval.is_some_and(|interval| interval.low >= SCALES);
    if scales && case.found(Cause::ClientBusy).is_some() {
        let what = "whether one connection limits the stream";
        let why = "several threads get more of the busy CPUs than one; repeat on a quieter machine";
        case.verdict.unsettled.push(format!("{what}: {why}"));
    } else if scales {
        one_connection(case, rate, compared.ratio);
    } else if rate < GIGABIT {
        full_path(case, rate, compared.ratio);
    }
}

fn one_connection(case: &mut Case<'_>, rate: f64, factor: sharebench_stats::Estimate) {
    let evidence = case.evidence;
    let tcp = evidence.write.as_ref().and_then(|write| write.tcp);
    let limited =
        tcp.filter(|tcp| tcp.busy_us > 0).map_or(0.0, |tcp| tcp.rwnd_limited_us as f64 / tcp.busy_us as f64);
    let weight = 1.0 - 1.0 / factor.value;
    let gain = Gain::measured_stream("reading a large file over four connections", rate, factor);
    let is_window =
        limited >= WINDOW_LIMITED && evidence.network_ns.is_some_and(|ns| ns >= LONG_ROUND_TRIP_NS / 2.0);
    let finding = if is_window {
        Finding {
            cause: Cause::SmallWindow,
            title: "The server's receive window is too small for this distance.".to_owned(),
            evidence: format!(
                "while writing, the window was full for {} of the time; one connection reads {}.",
                percent(limited, 0),
                show_rate(rate)
            ),
            gain,
            settings: settings(
                evidence,
                &[
                    ("*", "Server: sysctl net.ipv4.tcp_rmem=\"4096 131072 16777216\" and tcp_wmem alike."),
                    ("smb", "smb.conf: remove SO_RCVBUF and SO_SNDBUF from socket options."),
                    (
                        "nfs",
                        "sunrpc: client and server take the buffers of tcp_rmem and tcp_wmem; mount again after the change.",
                    ),
                ],
            ),
            weight,
        }
    } else {
        Finding {
            cause: Cause::OneConnection,
            title: "One connection cannot use the path; several are faster.".to_owned(),
            evidence: format!(
                "one connection reads {} with 8 requests in flight; four with 2 each read {:.1} times as much.",
                show_rate(rate),
                factor.value
            ),
            gain,
            settings: settings(
                evidence,
                &[
                    (
                        "smb",
                        "smb.conf: server multi channel support = yes; mount option: multichannel,max_channels=4.",
                    ),
                    ("nfs", "Mount option: nconnect=4."),
                    ("*", "Copy several files at once."),
                ],
            ),
            weight,
        }
    };
    case.find(finding);
}

fn full_path(case: &mut Case<'_>, rate: f64, ratio: sharebench_stats::Estimate) {
    let Some(budget) = case.budget(Operation::LargeRead) else { return };
    let transfer = budget.share(Part::Transfer);
    // Slow storage makes large reads slow as well, but not repeated ones.
    if transfer < 0.5 || budget.share(Part::Storage) > 0.3 {
        return;
    }
    if ratio.interval.is_none_or(|interval| interval.high > SCALES_NOT) {
        let what = "whether the link or one connection limits the stream";
        case.verdict
            .unsettled
            .push(format!("{what}: the comparison of connections varies; repeat with a longer --for"));
        return;
    }
    let write = case
        .evidence
        .write
        .as_ref()
        .map_or(String::new(), |write| format!("; writes move {}", show_rate(write.bytes_per_s)));
    let evidence = format!(
        "a stream reads {} with one connection and with four (ratio {:.2}){write}; the transfer is {} of a 1 MiB read.",
        show_rate(rate),
        ratio.value,
        percent(transfer, 0)
    );
    case.find(Finding {
        cause: Cause::LowLinkRate,
        title: "The path moves few bytes per second, over any number of connections.".to_owned(),
        evidence,
        gain: Gain::computed_stream("large reads on a link of 1 Gbit/s", rate, (GIGABIT / rate).max(1.0)),
        settings: settings(case.evidence, &[
            ("*", "Check the negotiated rate of each link on the way (ethtool eth0), cables, Wi-Fi, VPN and shaping."),
            ("smb", "Windows servers from 2022 on can compress: Set-SmbServerConfiguration -RequestCompression $true."),
        ]),
        weight: transfer,
    });
}

fn loss(case: &mut Case<'_>) {
    let Some(tcp) = case.evidence.write.as_ref().and_then(|write| write.tcp) else { return };
    let rate = case.evidence.write.as_ref().map_or(0.0, |write| write.bytes_per_s);
    let lost = tcp.retransmissions as f64 / tcp.segments_sent.max(1) as f64;
    // Loopback loses nothing: there a server that waits for a CPU acknowledges so late that segments are sent again.
    if tcp.segments_sent < MIN_SEGMENTS || lost < LOSS || is_loopback(case) {
        return;
    }
    case.find(Finding {
        cause: Cause::Loss,
        title: "Segments are lost on the way to the server.".to_owned(),
        evidence: format!(
            "{} of {} segments were sent again ({}); {} arrived out of order.",
            tcp.retransmissions,
            tcp.segments_sent,
            percent(lost, 2),
            tcp.out_of_order
        ),
        gain: Gain::computed_stream("streams; a rough estimate", rate, 1.0 + (lost * 100.0).min(4.0)),
        settings: settings(case.evidence, &[
            ("*", "Look for errors and drops: ethtool -S eth0, switch ports, duplex mismatch, Wi-Fi signal, MTU of tunnels."),
            ("*", "sysctl net.ipv4.tcp_congestion_control=bbr on the side that sends, if the loss cannot be removed."),
        ]),
        // A percent of lost segments halves a stream.
        weight: (0.5 + lost * 50.0).min(0.999),
    });
}
