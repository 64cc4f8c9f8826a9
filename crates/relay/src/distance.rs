//! A simulated distance: round-trip time and rate.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sharebench_model::units::{BitRate, parse_duration};

/// The longest round trip: a connection by two geostationary satellites takes a tenth of it.
const MAX_ROUND_TRIP: Duration = Duration::from_secs(10);
/// The lowest rate: that of a modem. A lower one would hold a single request longer than a run waits.
const MIN_RATE: BitRate = BitRate(9_600);
/// The most distances of an axis.
const MAX_DISTANCES: usize = 16;

/// The distance between a client and a server: `20ms`, `20ms,100Mbit`, `0`.
///
/// ```
/// use sharebench_relay::Distance;
/// let distances = Distance::list("0,5ms,20ms,100Mbit")?;
/// let shown: Vec<String> = distances.iter().map(Distance::to_string).collect();
/// assert_eq!(shown, ["0", "5ms", "20ms,100Mbit"]);
/// assert_eq!(distances[2].fact(), "20ms round trip at 100Mbit without loss");
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

    /// Reads a list of distances, such as `0,5ms,20ms`. A rate belongs to the distance before it.
    ///
    /// # Errors
    /// The text that is neither a round trip nor a rate, a distance that is listed twice, or too many distances.
    pub fn list(text: &str) -> Result<Vec<Self>, DistanceError> {
        let mut distances: Vec<Self> = Vec::new();
        for part in text.split(',').map(str::trim) {
            match (parse_rate(part)?, distances.last_mut()) {
                (None, _) => distances.push(Self { round_trip: parse_round_trip(part)?, rate: None }),
                (rate, Some(Self { rate: none @ None, .. })) => *none = rate,
                (Some(_), _) => {
                    return Err(DistanceError(format!(
                        "{part}: a rate follows its round trip, as in 20ms,{part}"
                    )));
                }
            }
        }
        if distances.len() > MAX_DISTANCES {
            return Err(DistanceError(format!("{} distances; at most {MAX_DISTANCES}", distances.len())));
        }
        for (index, distance) in distances.iter().enumerate() {
            if distances[..index].contains(distance) {
                return Err(DistanceError(format!("{distance} is listed twice")));
            }
        }
        Ok(distances)
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

/// A rate, or nothing if the text is not written as one.
fn parse_rate(text: &str) -> Result<Option<BitRate>, DistanceError> {
    if !text.to_ascii_lowercase().trim_end_matches("/s").ends_with("bit") {
        return Ok(None);
    }
    let rate: BitRate = text.parse().map_err(|error| DistanceError(format!("{error}")))?;
    if rate < MIN_RATE {
        return Err(DistanceError(format!("{text}: the lowest rate is {MIN_RATE}")));
    }
    Ok(Some(rate))
}

fn parse_round_trip(text: &str) -> Result<Duration, DistanceError> {
    // Zero needs no unit, so that the near end of an axis is short to write.
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let expected = || DistanceError(format!("'{text}' is no distance; write 20ms, 20ms,100Mbit or 0"));
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
        match Self::list(text)?[..] {
            [distance] => Ok(distance),
            _ => {
                Err(DistanceError(format!("'{text}' has several distances; write one, such as 20ms,100Mbit")))
            }
        }
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&round_trip_text(self.round_trip))?;
        self.rate.map_or(Ok(()), |rate| write!(f, ",{rate}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_survive_a_round_trip() {
        for text in ["0", "20ms", "1500us", "2s", "7ns", "20ms,100Mbit", "0,2.5Gbit"] {
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
            ("100Mbit", "follows its round trip"),
            ("5ms,1Gbit,1Gbit", "follows its round trip"),
            ("5ms,1kbit", "lowest rate is 9.6kbit"),
            ("5ms,0Mbit", "0Mbit"),
            ("5ms,100MB", "'100MB'"),
            ("5ms,5ms", "listed twice"),
            ("5ms,", "''"),
        ] {
            let error = Distance::list(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
        let many: Vec<String> = (0..17).map(|n| format!("{n}ms")).collect();
        assert!(Distance::list(&many.join(",")).unwrap_err().to_string().contains("at most 16"));
        assert!("1ms,2ms".parse::<Distance>().unwrap_err().to_string().contains("several"));
    }

    #[test]
    fn both_directions_add_up_to_the_round_trip() {
        let distance: Distance = "7ns".parse().unwrap();
        assert_eq!(distance.one_way(false) + distance.one_way(true), Duration::from_nanos(7));
    }
}
