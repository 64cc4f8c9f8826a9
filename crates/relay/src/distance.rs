//! A simulated distance: round-trip time and rate.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sharebench_model::units::{BitRate, parse_duration};

/// The longest round trip: a connection by two geostationary satellites takes a tenth of it.
const MAX_ROUND_TRIP: Duration = Duration::from_secs(10);
/// The lowest rate: that of a modem. A lower one would hold a single request longer than a run waits.
const MIN_RATE: BitRate = BitRate(9_600);

/// The distance between a client and a server: `20ms`, `20ms/100Mbit`, `0`.
///
/// ```
/// use sharebench_relay::Distance;
/// let distance: Distance = "20ms/100Mbit".parse()?;
/// assert_eq!(distance.fact(), "20ms round trip at 100Mbit without loss");
/// # Ok::<(), sharebench_relay::DistanceError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Distance {
    /// Time that is added to each round trip: half of it in each direction.
    pub round_trip: Duration,
    /// Bits per second of each direction of each connection, without the headers of TCP and IP; unlimited if none.
    pub rate: Option<BitRate>,
}

/// Why a text is no distance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistanceError(String);

impl fmt::Display for DistanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DistanceError {}

impl Distance {
    /// True if neither a delay nor a rate is simulated.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The fact of a run that states the distance and what is not simulated.
    pub fn fact(&self) -> String {
        let rate = self.rate.map_or(String::new(), |rate| format!(" at {rate}"));
        format!("{} round trip{rate} without loss", round_trip_text(self.round_trip))
    }

    /// Delay of one direction. The way back has the nanosecond of an odd round trip.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only the thread of a relay delays"))]
    pub(crate) fn one_way(&self, back: bool) -> Duration {
        let out = self.round_trip / 2;
        if back { self.round_trip.saturating_sub(out) } else { out }
    }
}

fn parse_rate(text: &str) -> Result<BitRate, DistanceError> {
    let rate: BitRate = text.parse().map_err(|error| DistanceError(format!("{error}")))?;
    if rate < MIN_RATE {
        return Err(DistanceError(format!("{text}: the lowest rate is {MIN_RATE}")));
    }
    Ok(rate)
}

fn parse_round_trip(text: &str) -> Result<Duration, DistanceError> {
    // Zero needs no unit, so that the near end of an axis is short to write.
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let expected = || DistanceError(format!("'{text}' is not a distance; write 20ms, 20ms/100Mbit or 0"));
    let round_trip = parse_duration(text).map_err(|_| expected())?;
    if round_trip > MAX_ROUND_TRIP {
        return Err(DistanceError(format!(
            "{text}: the longest round trip is {}",
            round_trip_text(MAX_ROUND_TRIP)
        )));
    }
    Ok(round_trip)
}

/// A round trip in the largest unit that divides it: it is read back as the same.
fn round_trip_text(round_trip: Duration) -> String {
    let nanos = round_trip.as_nanos();
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
    match units.into_iter().find(|(unit, _)| nanos.is_multiple_of(*unit)) {
        Some((unit, name)) if nanos > 0 => format!("{}{name}", nanos / unit),
        _ => "0".to_owned(),
    }
}

impl FromStr for Distance {
    type Err = DistanceError;

    fn from_str(text: &str) -> Result<Self, DistanceError> {
        let (round_trip, rate) =
            text.split_once('/').map_or((text, None), |(round_trip, rate)| (round_trip, Some(rate)));
        Ok(Self {
            round_trip: parse_round_trip(round_trip.trim())?,
            rate: rate.map(str::trim).map(parse_rate).transpose()?,
        })
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&round_trip_text(self.round_trip))?;
        self.rate.map_or(Ok(()), |rate| write!(f, "/{rate}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_survive_a_round_trip() {
        for text in ["0", "20ms", "1500us", "2s", "7ns", "20ms/100Mbit", "0/2.5Gbit"] {
            assert_eq!(text.parse::<Distance>().unwrap().to_string(), text);
        }
        assert_eq!("1.5ms".parse::<Distance>().unwrap().to_string(), "1500us");
    }

    #[test]
    fn mistakes_are_named() {
        for (text, word) in [
            ("", "''"),
            ("far", "'far'"),
            ("20", "'20'"),
            ("-1ms", "'-1ms'"),
            ("11s", "longest round trip is 10s"),
            ("100Mbit", "'100Mbit'"),
            ("5ms/", "rate"),
            ("5ms/1Gbit/1Gbit", "rate"),
            ("5ms/1kbit", "lowest rate is 9.6kbit"),
            ("5ms/0Mbit", "0Mbit"),
            ("5ms/100MB", "100MB"),
            ("5ms,100Mbit", "write 20ms, 20ms/100Mbit"),
        ] {
            let error = text.parse::<Distance>().unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn both_directions_add_up_to_the_round_trip() {
        let distance: Distance = "7ns".parse().unwrap();
        assert_eq!(distance.one_way(false) + distance.one_way(true), Duration::from_nanos(7));
    }
}
