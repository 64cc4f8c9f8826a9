//! What single requests and all samples together show of a server: its clock, whether it permits to cache, its distance.

use std::time::{SystemTime, UNIX_EPOCH};

use sharebench_model::{MetaOp, OpError, OpenHow, TcpReading};
use sharebench_stats::median;
use sharebench_target::call;

use crate::evidence::{ClockOffset, Evidence};
use crate::files::{Connection, Files};
use crate::mount::MountFacts;
use crate::operations::Operation;
use crate::system;
use crate::work::Work;

/// A round trip that requests in flight share belongs to the network beyond what TCP measures if it is longer by this many
/// nanoseconds and by this factor: then TCP ends at a relay or proxy on the way.
const HIDDEN_ROUND_TRIP: (f64, f64) = (500_000.0, 3.0);
/// Quantile of the fastest requests.
const FASTEST: f64 = 0.1;
/// Largest MTU of a network, bytes: beyond it is loopback, where segments change their order between processors without loss.
pub(crate) const LARGEST_MTU: u32 = 9_216;
/// Coarsest clock of a file system (FAT), seconds.
const CLOCK_GRAIN_S: f64 = 2.0;

impl Work<'_> {
    /// What the server shows by single requests: its clock, and whether it permits to cache files.
    pub(crate) async fn observe_server(
        &self,
        connection: &mut Connection,
        files: &Files,
        evidence: &mut Evidence,
    ) -> Result<(), OpError> {
        // A refusal of the request itself leaves the question open.
        let asked = connection.session.request_caching(&files.small).await;
        evidence.is_caching_granted = asked.and_then(Result::ok);
        let Some(path) = files.written.as_ref().map(|path| format!("{path}3")) else { return Ok(()) };
        let before = SystemTime::now();
        let created = call(&mut *connection.session, MetaOp::open(path.as_str(), OpenHow::CreateNew)).await?;
        let after = SystemTime::now();
        let (file, _) = created.into_opened()?;
        call(&mut *connection.session, MetaOp::Close { file }).await?;
        let seconds =
            |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        let before = seconds(before);
        let after = seconds(after);
        evidence.clock = connection.session.modified(&path).await.map(|modified| ClockOffset {
            ahead_s: seconds(modified) - f64::midpoint(before, after),
            error_s: (after - before).abs() / 2.0 + CLOCK_GRAIN_S,
        });
        Ok(())
    }
}

/// The user id of this client: the one of the URL, or of this process at a mount of NFS.
pub(crate) fn own_uid(evidence: &Evidence) -> Option<u32> {
    let is_nfs = evidence.mount.as_ref().is_some_and(MountFacts::is_nfs);
    let stated = evidence.facts.get("uid").and_then(|uid| uid.parse().ok());
    stated.or_else(|| is_nfs.then(system::own_uid))
}

/// Determines the round trip of the network: the smallest one of TCP, unless requests in flight show that TCP ends earlier.
///
/// Of several requests in flight, each takes the time of the server, but all share one round trip. What the first of them
/// takes longer than a further one is therefore no work. On a path with jitter that time is an average of round trips, and TCP
/// has the smallest one: it ends earlier only if the fastest requests take longer as well.
pub(crate) fn find_network(evidence: &mut Evidence, tcp: Option<TcpReading>) {
    evidence.network_ns = tcp.map(|tcp| f64::from(tcp.min_rtt_us) * 1e3);
    let shared = shared_time(evidence);
    let fastest = evidence.series.quantile_ns(Operation::Empty, FASTEST).unwrap_or(f64::INFINITY);
    let (longer, factor) = HIDDEN_ROUND_TRIP;
    evidence.is_network_inferred = match (evidence.network_ns, shared) {
        (Some(tcp), Some(shared)) => {
            let least = shared.min(fastest);
            least > tcp + longer && least > tcp * factor
        }
        // Below that it may as well be the time in which the server's threads wake up.
        (None, Some(shared)) => shared > longer,
        (_, None) => false,
    };
    if evidence.is_network_inferred {
        evidence.network_ns = shared;
    }
}

/// Time of a request that further requests in flight share, without the client's CPU time, nanoseconds.
fn shared_time(evidence: &Evidence) -> Option<f64> {
    let series = &evidence.series;
    let further_requests = f64::from(evidence.burst.checked_sub(1).filter(|further| *further > 0)?);
    let one = series.typical_ns(Operation::SmallReadAgain)?;
    let burst = series.typical_ns(Operation::Burst)?;
    let empty = series.typical_ns(Operation::Empty)?;
    let further = ((burst - one) / further_requests).max(0.0);
    let client = median(&mut series.figures(Operation::Empty, |sample| sample.cpu_ns)).unwrap_or(0.0);
    Some(((one - further).min(empty) - client).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::Sample;

    const TCP: TcpReading = TcpReading {
        min_rtt_us: 1_000,
        rtt_us: 1_100,
        rttvar_us: 50,
        cwnd: 10,
        pmtu: 1_500,
        segments_sent: 0,
        retransmissions: 0,
        segments_received: 0,
        out_of_order: 0,
        busy_us: 0,
        rwnd_limited_us: 0,
        sndbuf_limited_us: 0,
    };

    /// Eight reads in flight take 8 ms, one takes 7 ms: they share most of it. Empty requests take these times, ms.
    fn network_ms(empty: [f64; 5], tcp: Option<TcpReading>) -> (Option<f64>, bool) {
        let mut evidence = Evidence { burst: 8, ..Evidence::default() };
        let of_empty = empty.map(|ms| (Operation::Empty, ms * 1e6));
        let others = [(Operation::SmallReadAgain, 7e6), (Operation::Burst, 8e6)];
        for (operation, elapsed_ns) in of_empty.into_iter().chain(others) {
            let sample = Sample { elapsed_ns, cpu_ns: 0.0, starved_ns: 0.0, unseen_ns: 0.0, requests: 1 };
            evidence.series.add(operation, sample);
        }
        find_network(&mut evidence, tcp);
        (evidence.network_ns.map(|ns| (ns / 1e6).round()), evidence.is_network_inferred)
    }

    #[test]
    fn shared_time_beyond_the_round_trip_of_tcp_is_distance_to_a_proxy() {
        let steady = [6.9, 7.0, 7.0, 7.1, 7.3];
        assert_eq!(network_ms(steady, Some(TCP)), (Some(7.0), true));
        assert_eq!(network_ms(steady, None), (Some(7.0), true), "no figures of TCP");
    }

    #[test]
    fn jitter_is_no_distance_to_a_proxy() {
        assert_eq!(network_ms([1.7, 4.0, 7.0, 8.0, 9.0], Some(TCP)), (Some(1.0), false));
    }
}
