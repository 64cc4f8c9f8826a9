//! Searches over loads: until throughput falls, or for the highest load that keeps an objective.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sharebench_model::Measure;
use sharebench_model::units::{parse_duration, percent, show_nanos};

/// How a load continues after the steps that the plan names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Search {
    /// More users, until throughput falls.
    Stress,
    /// Open loads below and at the ceiling that the closed steps found, then bisection between met and missed objectives.
    Knee(Slo),
}

impl Search {
    /// Maximum number of added steps.
    pub const MAX_ADDED: u32 = 12;
}

/// One service level objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Objective {
    /// A quantile of the response times, in hundredths of a percent, stays below.
    Response(u32, Duration),
    /// The mean response time stays below.
    Mean(Duration),
    /// The share of failed operations, in millionths, stays below.
    Errors(u32),
}

/// The objectives that a step must meet, all of them: `p95<20ms,errors<0.1%`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slo(Vec<Objective>);

/// Smallest share of its scheduled starts that an open load has to complete.
const OFFERED: f64 = 0.98;

impl Slo {
    /// True if a step kept the objective, with the arithmetic as a text.
    pub fn judge(&self, measure: &Measure) -> (bool, String) {
        let mut kept = measure.transactions > 0;
        let mut said = Vec::new();
        for objective in &self.0 {
            let (holds, text) = objective.judge(measure);
            kept &= holds;
            said.push(text);
        }
        (kept, said.join(", "))
    }

    /// True if an open load of `rate` starts per second met the objectives. A growing backlog misses them, whatever the
    /// response times are so far.
    pub fn judge_open(&self, measure: &Measure, rate: u32) -> (bool, String) {
        let (kept, mut detail) = self.judge(measure);
        let planned = f64::from(rate) * measure.window_ns as f64 / 1e9;
        // Four standard deviations of a Poisson schedule.
        let least = planned * OFFERED - 4.0 * planned.sqrt();
        let backlog = (measure.transactions as f64) < least;
        if backlog {
            detail.push_str(", and the load fell short of the schedule");
        }
        (kept && !backlog, detail)
    }
}

impl Objective {
    fn judge(self, measure: &Measure) -> (bool, String) {
        let time = |name: String, found: f64, limit: Duration| {
            let holds = found < limit.as_nanos() as f64;
            let limit = limit.as_nanos() as f64;
            (holds, format!("{name} {} of at most {}", show_nanos(found), show_nanos(limit)))
        };
        match self {
            Self::Response(quantile, limit) => {
                let found = measure.response.quantile(f64::from(quantile) / 1e4);
                time(format!("p{}", scaled(quantile, 100)), found as f64, limit)
            }
            Self::Mean(limit) => time("mean".into(), measure.response.mean(), limit),
            Self::Errors(limit) => {
                let attempts = (measure.operations + measure.error_count()).max(1);
                let share = measure.error_count() as f64 / attempts as f64;
                let text = format!("{} errors of at most {} %", percent(share, 3), scaled(limit, 10_000));
                // None is always few enough.
                (share * 1e6 < f64::from(limit) || measure.error_count() == 0, text)
            }
        }
    }
}

/// `9550` of hundredths as `95.5`.
fn scaled(number: u32, per: u32) -> String {
    (f64::from(number) / f64::from(per)).to_string()
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, objective) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "," })?;
            let text = super::duration_text;
            match objective {
                Objective::Response(quantile, limit) => {
                    write!(f, "p{}<{}", scaled(*quantile, 100), text(*limit))?;
                }
                Objective::Mean(limit) => write!(f, "mean<{}", text(*limit))?,
                Objective::Errors(limit) => write!(f, "errors<{}%", scaled(*limit, 10_000))?,
            }
        }
        Ok(())
    }
}

impl FromStr for Slo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').map(|part| objective(part.trim())).collect::<Result<Vec<_>, _>>().map(Self)
    }
}

fn objective(text: &str) -> Result<Objective, String> {
    let wrong = || format!("'{text}' is not an objective; write such as p95<20ms, mean<5ms or errors<0.1%");
    let (what, limit) = text.split_once('<').ok_or_else(wrong)?;
    let hundredths = |text: &str, per: f64, most: f64| {
        let number: f64 = text.trim().parse().map_err(|_| wrong())?;
        if number > 0.0 && number <= most { Ok((number * per).round() as u32) } else { Err(wrong()) }
    };
    if what.trim() == "errors" {
        let share = limit.trim().strip_suffix('%').ok_or_else(wrong)?;
        return hundredths(share, 10_000.0, 100.0).map(Objective::Errors);
    }
    let limit = parse_duration(limit.trim()).map_err(|_| wrong())?;
    match what.trim() {
        "mean" | "art" => Ok(Objective::Mean(limit)),
        what => {
            let quantile = what.strip_prefix('p').ok_or_else(wrong)?;
            hundredths(quantile, 100.0, 99.99).map(|quantile| Objective::Response(quantile, limit))
        }
    }
}

#[cfg(test)]
mod tests {
    use sharebench_model::{ErrorClass, Histogram};

    use super::*;

    #[test]
    fn objectives_survive_a_round_trip() {
        for text in ["p95<20ms,errors<0.1%", "mean<5ms", "p99.9<1s,p50<2ms"] {
            assert_eq!(text.parse::<Slo>().map(|slo| slo.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "p95", "p95<20", "p0<1ms", "p100<1ms", "errors<1", "errors<101%", "speed<1s"] {
            assert!(text.parse::<Slo>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_part_of_an_objective_counts() {
        let mut response = Histogram::new();
        response.record_n(10_000_000, 96);
        response.record_n(90_000_000, 4);
        let mut measure = Measure {
            transactions: 100,
            operations: 100,
            window_ns: 1_000_000_000,
            response,
            ..Measure::default()
        };
        let kept = |text: &str, measure: &Measure| text.parse::<Slo>().unwrap().judge(measure).0;
        assert!(kept("p95<20ms,errors<0.1%", &measure) && !kept("p99<20ms", &measure));
        assert!(kept("mean<14ms", &measure) && !kept("mean<13ms,p95<20ms", &measure));
        measure.errors.insert(ErrorClass::Busy, 1);
        assert!(!kept("p95<20ms,errors<0.1%", &measure) && kept("p95<20ms,errors<1%", &measure));
        let open = |rate| "p95<20ms".parse::<Slo>().unwrap().judge_open(&measure, rate).0;
        assert!(open(100) && !open(200), "half of what was to start");
        assert!(!kept("p95<20ms", &Measure::default()), "an empty step meets no objective");
    }
}
