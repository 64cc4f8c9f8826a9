//! Pace: who decides when the next transaction starts, and how long that is.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sharebench_model::Random;
use sharebench_model::units::parse_duration;

use super::{duration_text, lognormal, lognormal_mean};

/// Maximum number of pauses in a list.
const MAX_LISTED: usize = 100;

/// Pause of a closed user between the end of a transaction and the start of the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Think {
    /// Always the same.
    Constant(Duration),
    /// Exponential with this mean, as if users acted independently.
    Exponential(Duration),
    /// Lognormal with this median and this 95th percentile, as people's pauses are: many short, few long.
    Lognormal(Duration, Duration),
    /// One of these, each as likely.
    List(Vec<Duration>),
    /// N transactions on average with the first pause between them, then the second: bursts of work. How many it
    /// is, is geometric.
    Burst(u32, Duration, Duration),
    /// A fixed pace instead of a pause: one start per period, immediately if the last transaction took longer.
    Every(Duration),
    /// At the time stamps of a loadfile, immediately if the last line took longer.
    Stamps,
}

impl Think {
    /// The mean think time, or the period of a pace. None where think time does not determine the starts.
    pub fn mean(&self) -> Duration {
        match self {
            Self::Stamps => Duration::ZERO,
            Self::Constant(mean) | Self::Exponential(mean) | Self::Every(mean) => *mean,
            Self::Lognormal(median, p95) => {
                let mean = lognormal_mean(median.as_nanos() as f64, p95.as_nanos() as f64);
                Duration::from_nanos(mean as u64)
            }
            Self::Burst(count, within, between) => (*within * (*count - 1) + *between) / *count,
            Self::List(pauses) => {
                pauses.iter().sum::<Duration>() / u32::try_from(pauses.len()).unwrap_or(1).max(1)
            }
        }
    }

    /// The next pause in nanoseconds; takes from `random` only where there is chance in it.
    pub fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Self::Stamps => 0,
            Self::Constant(pause) | Self::Every(pause) => pause.as_nanos() as u64,
            Self::Exponential(mean) => (mean.as_nanos() as f64 * random.exponential()).round() as u64,
            Self::Lognormal(median, p95) => {
                lognormal(median.as_nanos() as f64, p95.as_nanos() as f64, random).round() as u64
            }
            Self::Burst(count, within, between) => {
                let pause = if random.below(u64::from(*count)) == 0 { between } else { within };
                pause.as_nanos() as u64
            }
            Self::List(pauses) => {
                let picked = pauses.get(random.below(pauses.len() as u64) as usize);
                picked.map_or(0, |pause| pause.as_nanos() as u64)
            }
        }
    }
}

impl fmt::Display for Think {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = duration_text;
        match self {
            Self::Constant(pause) => f.write_str(&text(*pause)),
            Self::Exponential(mean) => write!(f, "exp {}", text(*mean)),
            Self::Lognormal(median, p95) => write!(f, "lognormal {} {}", text(*median), text(*p95)),
            Self::List(pauses) => {
                f.write_str("list")?;
                pauses.iter().try_for_each(|pause| write!(f, " {}", text(*pause)))
            }
            Self::Burst(count, within, between) => {
                write!(f, "burst {count} {} {}", text(*within), text(*between))
            }
            Self::Every(period) => write!(f, "every {}", text(*period)),
            Self::Stamps => f.write_str("stamps"),
        }
    }
}

impl FromStr for Think {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split([' ', ':']).filter(|word| !word.is_empty()).collect();
        let (law, pauses) = match words.as_slice() {
            ["stamps"] => return Ok(Self::Stamps),
            [pause] => ("constant", vec![*pause]),
            [law, pauses @ ..] => (*law, pauses.to_vec()),
            [] => ("constant", Vec::new()),
        };
        let known = ["constant", "exp", "exponential", "lognormal", "list", "burst", "every"];
        if !known.contains(&law) {
            return Err(format!(
                "'{law}' is not a law of think times; known are constant, exp, lognormal, list, burst and every"
            ));
        }
        let wrong = || {
            format!(
                "'{text}' is no think time; write 1s, 'exp 1s', 'lognormal 1s 10s' (median and 95th percentile), \
                 'list 1s 2s 5s', 'burst 10 100ms 5s' (transactions, pause within, pause between), 'every 1s' or, \
                 with a loadfile, stamps"
            )
        };
        if let ("burst", [count, within, between]) = (law, pauses.as_slice()) {
            let count =
                count.parse().ok().filter(|count| (2..=1_000_000).contains(count)).ok_or_else(wrong)?;
            let pause = |text: &str| parse_duration(text).map_err(|_| wrong());
            return Ok(Self::Burst(count, pause(within)?, pause(between)?));
        }
        let read: Result<Vec<Duration>, String> =
            pauses.iter().map(|pause| parse_duration(pause).map_err(|_| wrong())).collect();
        match (law, read?.as_slice()) {
            ("constant", [pause]) => Ok(Self::Constant(*pause)),
            ("exp" | "exponential", [mean]) => Ok(Self::Exponential(*mean)),
            ("every", [period]) if !period.is_zero() => Ok(Self::Every(*period)),
            ("lognormal", [median, p95]) if !median.is_zero() && median <= p95 => {
                Ok(Self::Lognormal(*median, *p95))
            }
            ("list", pauses) if (1..=MAX_LISTED).contains(&pauses.len()) => Ok(Self::List(pauses.to_vec())),
            _ => Err(wrong()),
        }
    }
}

/// Who decides when the next transaction starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrivals {
    /// Each user, when its last one has ended and it has thought (closed load).
    #[default]
    Closed,
    /// A schedule of equal gaps, whatever the target does (open load).
    Constant,
    /// A schedule with exponential gaps: many independent users (open load).
    Poisson,
    /// Users come by such a schedule, log on, perform some transactions with pauses, and log off (partly open load).
    Visits,
}

impl Arrivals {
    /// Every choice with its name in plans.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("closed", Self::Closed),
        ("constant", Self::Constant),
        ("poisson", Self::Poisson),
        ("visits", Self::Visits),
    ];

    /// The name in plans.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, arrivals)| *arrivals == self).map_or("", |(name, _)| name)
    }
}

impl FromStr for Arrivals {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, arrivals)| *arrivals).ok_or_else(|| {
            format!("'{text}' is no kind of arrivals; known are closed, constant, poisson and visits")
        })
    }
}

/// The pace of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pace {
    /// Users pause between their transactions.
    Closed(Think),
    /// Transactions start by a schedule, on whichever user is free.
    Open {
        /// Exponential gaps instead of equal ones.
        poisson: bool,
        /// Intended starts per second, of all users together.
        rate: u32,
    },
    /// Users come by a schedule of exponential gaps and stay for a while, each on whichever user is free.
    Visits {
        /// Users that come per second.
        rate: u32,
        /// Pause between two transactions of a visit.
        think: Think,
        /// Transactions of a visit on average; how many it is, is geometric: each may be the last.
        transactions: u32,
    },
}

impl Pace {
    /// True when a visit ends with the transaction that just ended; never for other loads.
    pub fn is_last(&self, random: &mut Random) -> bool {
        matches!(self, Self::Visits { transactions, .. } if random.below(u64::from(*transactions)) == 0)
    }

    /// The gap before the next intended start of an open load, in nanoseconds and their fractions; the
    /// pause of a closed one.
    pub fn draw(&self, random: &mut Random) -> f64 {
        match self {
            Self::Closed(think) => think.draw(random) as f64,
            Self::Open { poisson: false, rate } => 1e9 / f64::from(*rate),
            Self::Open { poisson: true, rate } | Self::Visits { rate, .. } => {
                1e9 / f64::from(*rate) * random.exponential()
            }
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
            ("lognormal 2s 20s", Think::Lognormal(Duration::from_secs(2), Duration::from_secs(20))),
            ("list 1s 2s", Think::List(vec![Duration::from_secs(1), Duration::from_secs(2)])),
            ("burst 10 100ms 5s", Think::Burst(10, Duration::from_millis(100), Duration::from_secs(5))),
            ("every 1s", Think::Every(Duration::from_secs(1))),
        ] {
            assert_eq!(text.parse(), Ok(think.clone()));
            assert_eq!(think.to_string().parse(), Ok(think));
        }
        for text in [
            "",
            "exp",
            "exp 20",
            "uniform 20ms",
            "exp 20ms 3",
            "lognormal 2s 1s",
            "lognormal 2s",
            "list",
            "every 0s",
            "burst 1 1s 2s",
            "burst 5 1s",
            "burst 5 1s 2",
        ] {
            assert!(text.parse::<Think>().is_err(), "{text}");
        }
    }

    #[test]
    fn drawn_pauses_have_their_mean() {
        for text in ["20ms", "exp 20ms", "lognormal 20ms 50ms", "list 10ms 20ms 90ms", "burst 4 5ms 90ms"] {
            let think: Think = text.parse().unwrap();
            let mut random = Random::new(1, 1);
            let mean = (0..100_000).map(|_| think.draw(&mut random)).sum::<u64>() as f64 / 100_000.0;
            let wanted = think.mean().as_nanos() as f64;
            assert!((mean / wanted - 1.0).abs() < 0.01, "{text}: {mean} instead of {wanted}");
        }
    }
}
