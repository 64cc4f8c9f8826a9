//! What the kernel knows of the TCP connections of a step.

use serde::{Deserialize, Serialize};

/// The kernel's figures of one connection at one instant (`tcp_info` of Linux). Counts and times are sums since the
/// connection was opened.
///
/// `sent` figures concern what this machine sends: requests and the data of writes. The server's figures for what it sends
/// are not visible here, except that `out_of_order` grows when segments of the server were lost or overtook each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpReading {
    /// Smallest round-trip time that the kernel measured in the last minutes, microseconds.
    pub min_rtt_us: u32,
    /// Smoothed round-trip time (RFC 6298), microseconds; it includes delayed acknowledgements.
    pub rtt_us: u32,
    /// Mean deviation of the round-trip time (RFC 6298), microseconds.
    pub rttvar_us: u32,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Path MTU, bytes.
    pub pmtu: u32,
    /// Segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Segments received.
    pub segments_received: u64,
    /// Segments received out of order.
    pub out_of_order: u64,
    /// Time with data to send or unacknowledged, microseconds.
    pub busy_us: u64,
    /// Part of `busy_us` in which the receive window of the server limited sending.
    pub rwnd_limited_us: u64,
    /// Part of `busy_us` in which this machine's send buffer limited sending.
    pub sndbuf_limited_us: u64,
}

/// The figures of the connections of a step over its measured windows.
///
/// Counts are sums of all connections and windows. Of the values at an instant, which are read at the end of each window,
/// the extreme one is kept that limits most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpCounts {
    /// Smallest minimum of the round-trip time, microseconds.
    pub min_rtt_us: u32,
    /// Largest smoothed round-trip time, microseconds.
    pub rtt_us: u32,
    /// Largest mean deviation of the round-trip time, microseconds.
    #[serde(default)]
    pub rttvar_us: u32,
    /// Smallest congestion window, segments.
    pub cwnd: u32,
    /// Smallest path MTU, bytes.
    pub pmtu: u32,
    /// Segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Segments received.
    #[serde(default)]
    pub segments_received: u64,
    /// Segments received out of order.
    pub out_of_order: u64,
    /// Time with data to send or unacknowledged, microseconds; of several connections their sum.
    pub busy_us: u64,
    /// Part of `busy_us` in which the receive window of the server limited sending.
    pub rwnd_limited_us: u64,
    /// Part of `busy_us` in which this machine's send buffer limited sending.
    pub sndbuf_limited_us: u64,
}

impl TcpReading {
    /// What happened since the earlier reading `earlier`; none if a count decreased, because the connection is another one.
    pub fn since(self, earlier: Self) -> Option<TcpCounts> {
        Some(TcpCounts {
            min_rtt_us: self.min_rtt_us,
            rtt_us: self.rtt_us,
            rttvar_us: self.rttvar_us,
            cwnd: self.cwnd,
            pmtu: self.pmtu,
            segments_sent: self.segments_sent.checked_sub(earlier.segments_sent)?,
            retransmissions: self.retransmissions.checked_sub(earlier.retransmissions)?,
            segments_received: self.segments_received.checked_sub(earlier.segments_received)?,
            out_of_order: self.out_of_order.checked_sub(earlier.out_of_order)?,
            busy_us: self.busy_us.checked_sub(earlier.busy_us)?,
            rwnd_limited_us: self.rwnd_limited_us.checked_sub(earlier.rwnd_limited_us)?,
            sndbuf_limited_us: self.sndbuf_limited_us.checked_sub(earlier.sndbuf_limited_us)?,
        })
    }

    /// The figures of this and of another connection of the same session, as one: sums of what is counted and of the
    /// windows, and the path that limits most.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            min_rtt_us: self.min_rtt_us.min(other.min_rtt_us),
            rtt_us: self.rtt_us.max(other.rtt_us),
            rttvar_us: self.rttvar_us.max(other.rttvar_us),
            cwnd: self.cwnd.saturating_add(other.cwnd),
            pmtu: self.pmtu.min(other.pmtu),
            segments_sent: self.segments_sent + other.segments_sent,
            retransmissions: self.retransmissions + other.retransmissions,
            segments_received: self.segments_received + other.segments_received,
            out_of_order: self.out_of_order + other.out_of_order,
            busy_us: self.busy_us + other.busy_us,
            rwnd_limited_us: self.rwnd_limited_us + other.rwnd_limited_us,
            sndbuf_limited_us: self.sndbuf_limited_us + other.sndbuf_limited_us,
        }
    }
}

impl TcpCounts {
    /// The figures of this and of another window or connection.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            min_rtt_us: self.min_rtt_us.min(other.min_rtt_us),
            rtt_us: self.rtt_us.max(other.rtt_us),
            rttvar_us: self.rttvar_us.max(other.rttvar_us),
            cwnd: self.cwnd.min(other.cwnd),
            pmtu: self.pmtu.min(other.pmtu),
            segments_sent: self.segments_sent + other.segments_sent,
            retransmissions: self.retransmissions + other.retransmissions,
            segments_received: self.segments_received + other.segments_received,
            out_of_order: self.out_of_order + other.out_of_order,
            busy_us: self.busy_us + other.busy_us,
            rwnd_limited_us: self.rwnd_limited_us + other.rwnd_limited_us,
            sndbuf_limited_us: self.sndbuf_limited_us + other.sndbuf_limited_us,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(rtt_us: u32, cwnd: u32, segments_sent: u64) -> TcpReading {
        TcpReading {
            min_rtt_us: rtt_us / 2,
            rtt_us,
            cwnd,
            pmtu: 1_500,
            segments_sent,
            ..TcpReading::default()
        }
    }

    #[test]
    fn counts_are_differences_and_the_rest_is_of_the_later_reading() {
        let counts = reading(40, 10, 107).since(reading(80, 20, 100)).unwrap();
        assert_eq!((counts.rtt_us, counts.cwnd, counts.segments_sent), (40, 10, 7));
    }

    #[test]
    fn connections_of_one_session_count_as_one() {
        let both = reading(40, 10, 107).and(reading(80, 20, 100));
        assert_eq!((both.min_rtt_us, both.rtt_us, both.cwnd, both.segments_sent), (20, 80, 30, 207));
    }

    #[test]
    fn another_connection_has_no_difference() {
        assert_eq!(reading(40, 10, 5).since(reading(40, 10, 100)), None);
    }

    #[test]
    fn joined_counts_are_sums_and_the_values_that_limit_most() {
        let a = reading(40, 10, 3).since(TcpReading::default()).unwrap();
        let b = reading(90, 4, 5).since(TcpReading::default()).unwrap();
        let both = a.and(b);
        assert_eq!((both.min_rtt_us, both.rtt_us, both.cwnd, both.segments_sent), (20, 90, 4, 8));
        assert_eq!(a.and(b), b.and(a));
    }
}
