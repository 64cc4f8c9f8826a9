//! The difference between the clocks of server and client.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Offset of a server's clock from this machine's clock, from one request whose reply contains the server's time.
///
/// The server reads its clock at some moment between request and reply. The estimate assumes the middle, so half of the
/// round trip is its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockOffset {
    /// Seconds by which the server's clock is ahead of this machine's; negative if it is late.
    pub seconds: f64,
    /// Half of the round trip, in seconds.
    pub uncertainty_s: f64,
}

impl ClockOffset {
    /// The offset of a server that answered with `server` since 1970, to a request sent at `sent` and answered at
    /// `received`.
    pub fn new(server: Duration, sent: SystemTime, received: SystemTime) -> Self {
        let seconds = |time: SystemTime| {
            time.duration_since(UNIX_EPOCH)
                .map_or_else(|before| -before.duration().as_secs_f64(), |after| after.as_secs_f64())
        };
        let (sent, received) = ends(seconds(sent), seconds(received));
        let uncertainty_s = (received - sent) / 2.0;
        Self { seconds: server.as_secs_f64() - (sent + uncertainty_s), uncertainty_s }
    }
}

/// A clock that was set back between request and reply must not make the uncertainty negative.
fn ends(sent: f64, received: f64) -> (f64, f64) {
    (sent.min(received), received.max(sent))
}

impl fmt::Display for ClockOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:+.3} s (+- {:.3} s)", self.seconds, self.uncertainty_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_the_round_trip_is_compared() {
        let at = |seconds: f64| UNIX_EPOCH + Duration::from_secs_f64(seconds);
        let offset = ClockOffset::new(Duration::from_secs(1_000_010), at(1_000_000.0), at(1_000_000.5));
        assert_eq!(offset.to_string(), "+9.750 s (+- 0.250 s)");
        let late = ClockOffset::new(Duration::from_secs(1_000_000), at(1_000_002.0), at(1_000_002.0));
        assert_eq!(late.to_string(), "-2.000 s (+- 0.000 s)");
    }
}
