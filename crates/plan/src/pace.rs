//! Pace: who decides when the next transaction starts, and how long that is.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sharebench_model::Random;
use sharebench_model::units::parse_duration;

/// Pause of a closed motor between the end of a transaction and the start of the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Think {
    /// Always the same.
    Constant(Duration),
    /// Exponential with this mean, as if users acted independently.
    Exponential(Duration),
}

impl Think {
    /// The mean pause.
    pub fn mean(self) -> Duration {
        match self {
            Self::Constant(mean) | Self::Exponential(mean) => mean,
        }
    }

    /// The next pause in nanoseconds; takes from `random` only where there is chance in it.
    pub fn draw(self, random: &mut Random) -> u64 {
        match self {
            Self::Constant(pause) => pause.as_nanos() as u64,
            Self::Exponential(mean) => (mean.as_nanos() as f64 * random.exponential()).round() as u64,
        }
    }
}

impl fmt::Display for Think {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(pause) => f.write_str(&crate::write::duration_text(*pause)),
            Self::Exponential(mean) => write!(f, "exp {}", crate::write::duration_text(*mean)),
        }
    }
}

impl FromStr for Think {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (law, pause) = text.trim().split_once([' ', ':']).unwrap_or(("constant", text));
        let pause = parse_duration(pause).map_err(|_| {
            format!("'{text}' is no think time; write 1s, or 'exp 1s' for exponential pauses")
        })?;
        match law {
            "constant" => Ok(Self::Constant(pause)),
            "exp" | "exponential" => Ok(Self::Exponential(pause)),
            _ => Err(format!("'{law}' is no law of think times; known are constant and exp")),
        }
    }
}

/// Who decides when the next transaction starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrivals {
    /// Each motor, when its last one has ended and it has thought (closed load).
    #[default]
    Closed,
    /// A schedule of equal gaps, whatever the target does (open load).
    Constant,
    /// A schedule of exponential gaps: many users who know nothing of each other (open load).
    Poisson,
}

impl Arrivals {
    /// Every choice with its name in plans.
    pub const NAMES: [(&'static str, Self); 3] =
        [("closed", Self::Closed), ("constant", Self::Constant), ("poisson", Self::Poisson)];

    /// The name in plans.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, arrivals)| *arrivals == self).map_or("", |(name, _)| name)
    }
}

impl FromStr for Arrivals {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::NAMES
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, arrivals)| *arrivals)
            .ok_or_else(|| format!("'{text}' is no kind of arrivals; known are closed, constant and poisson"))
    }
}

/// The pace of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Motors pause between their transactions.
    Closed(Think),
    /// Transactions start by a schedule, on whichever motor is free.
    Open {
        /// Exponential gaps instead of equal ones.
        poisson: bool,
        /// Intended starts per second, of all motors together.
        rate: u32,
    },
}

impl Pace {
    /// The gap before the next intended start of an open load, in nanoseconds and their fractions; the
    /// pause of a closed one.
    pub fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::Closed(think) => think.draw(random) as f64,
            Self::Open { poisson: false, rate } => 1e9 / f64::from(rate),
            Self::Open { poisson: true, rate } => 1e9 / f64::from(rate) * random.exponential(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn think_times_survive_a_round_trip() {
        for (text, think) in [
            ("20ms", Think::Constant(Duration::from_millis(20))),
            ("exp 20ms", Think::Exponential(Duration::from_millis(20))),
            ("exp:1500us", Think::Exponential(Duration::from_micros(1500))),
        ] {
            assert_eq!(text.parse(), Ok(think));
            assert_eq!(think.to_string().parse(), Ok(think));
        }
        for text in ["", "exp", "exp 20", "uniform 20ms", "exp 20ms 3"] {
            assert!(text.parse::<Think>().is_err(), "{text}");
        }
    }

    #[test]
    fn drawn_pauses_have_their_mean() {
        let think = Think::Exponential(Duration::from_millis(20));
        let mut random = Random::new(1, 1);
        let mean = (0..100_000).map(|_| think.draw(&mut random)).sum::<u64>() as f64 / 100_000.0;
        assert!((mean / 20e6 - 1.0).abs() < 0.01, "{mean}");
    }
}
