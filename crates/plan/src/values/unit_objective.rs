//! The objective of a unit: when a target sustains one more of what the users of a workload stand for.

use std::fmt;
use std::str::FromStr;

use sharebench_model::UnitObjective;

/// A [`UnitObjective`] as plans write it: `missed<=1%`, `pace>=95%`, `busy>=90%`.
///
/// ```
/// use sharebench_plan::WantedObjective;
/// assert_eq!("busy>=90%".parse::<WantedObjective>().unwrap().to_string(), "busy>=90%");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedObjective(pub UnitObjective);

impl fmt::Display for WantedObjective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for WantedObjective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "'{text}' is not an objective of a unit; write missed<=1% (at most 1 % of transactions later than their \
                 deadline), pace>=95% (of the requested rate) or busy>=90% (of the time between reads)"
            )
        };
        let text = text.trim();
        let (kind, limit) = text.split_once("<=").or_else(|| text.split_once(">=")).ok_or_else(wrong)?;
        let percent: f64 =
            limit.trim().strip_suffix('%').ok_or_else(wrong)?.trim().parse().map_err(|_| wrong())?;
        let ppm = (percent * 10_000.0).round();
        // Neither is met by everything, and neither by nothing.
        if !(ppm > 0.0 && ppm < 1e6) {
            return Err(format!("'{text}': the limit must be above 0 % and below 100 %"));
        }
        let ppm = ppm as u32;
        match (kind.trim(), text.contains("<=")) {
            ("missed", true) => Ok(Self(UnitObjective::Missed { most_ppm: ppm })),
            ("pace", false) => Ok(Self(UnitObjective::Pace { least_ppm: ppm })),
            ("busy", false) => Ok(Self(UnitObjective::Busy { least_ppm: ppm })),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_survive_a_round_trip_and_mistakes_say_what_to_write() {
        for text in ["missed<=1%", "missed<=0.02%", "pace>=95%", "busy>=90%", "busy>=99.9%"] {
            assert_eq!(text.parse::<WantedObjective>().map(|found| found.to_string()), Ok(text.to_owned()));
        }
        for (text, said) in [
            ("", "write missed<=1%"),
            ("missed<1%", "write missed<=1%"),
            ("missed>=1%", "write missed<=1%"),
            ("pace<=95%", "pace>=95%"),
            ("fast>=95%", "busy>=90%"),
            ("pace>=95", "pace>=95%"),
            ("pace>=NaN%", "above 0 % and below 100 %"),
            ("pace>=100%", "above 0 % and below 100 %"),
            ("missed<=0%", "above 0 % and below 100 %"),
        ] {
            let error = text.parse::<WantedObjective>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
