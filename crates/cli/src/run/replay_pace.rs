//! `--pace`: how fast the time stamps of a loadfile are replayed.

use std::fmt::Write;
use std::str::FromStr;
use std::time::Duration;

use sharebench_plan::{Think, TypedWorkload};

/// Factors that are replayed.
const FACTORS: std::ops::RangeInclusive<f64> = 0.01..=1000.0;

/// The pace of a replay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReplayPace {
    /// At the time stamps, that many times as fast.
    Stamps(f64),
    /// Each line when the one before has ended.
    Closed,
}

impl FromStr for ReplayPace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "as-recorded" => return Ok(Self::Stamps(1.0)),
            "closed" => return Ok(Self::Closed),
            _ => {}
        }
        let factor = text.strip_prefix('x').and_then(|factor| factor.parse::<f64>().ok());
        factor.filter(|factor| FACTORS.contains(factor)).map(Self::Stamps).ok_or_else(|| {
            format!("'{text}' is not a pace; write as-recorded, x2 (x0.01 to x1000) or closed")
        })
    }
}

impl ReplayPace {
    /// The think time of the load; scales the time stamps of the script.
    pub fn apply(self, workload: &mut TypedWorkload) -> Think {
        let factor = match self {
            Self::Closed => return Think::Constant(Duration::ZERO),
            Self::Stamps(factor) => factor,
        };
        if let Some(script) = workload.script.as_mut().filter(|_| (factor - 1.0).abs() > f64::EPSILON) {
            *script = scaled(script, factor);
            let source = workload.source.take().unwrap_or_default();
            workload.source = Some(format!("{source}, {factor} times as fast"));
        }
        Think::Stamps
    }
}

/// The script with its time stamps divided. A stamp that is no number stays, so that the reader of loadfiles reports it.
fn scaled(script: &str, factor: f64) -> String {
    let mut text = String::with_capacity(script.len());
    for line in script.lines() {
        let trimmed = line.trim_start();
        let (first, rest) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
        let is_stamp = first.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        match first.parse::<f64>() {
            // Writing to a String cannot fail.
            Ok(seconds) if is_stamp => drop(writeln!(text, "{:.6} {rest}", seconds / factor)),
            _ => drop(writeln!(text, "{line}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_divided_and_all_else_stays() {
        let script = "# 1.5 is no stamp here\n0.5 Flush 7 NT_STATUS_OK\n2 Close 7 NT_STATUS_OK\nMkdir \"\\a\" NT_STATUS_OK\n";
        let mut workload = TypedWorkload { script: Some(script.to_owned()), ..TypedWorkload::default() };
        assert_eq!("x2".parse::<ReplayPace>().unwrap().apply(&mut workload), Think::Stamps);
        let expected = "# 1.5 is no stamp here\n0.250000 Flush 7 NT_STATUS_OK\n1.000000 Close 7 NT_STATUS_OK\nMkdir \"\\a\" \
                        NT_STATUS_OK\n";
        assert_eq!(workload.script.as_deref(), Some(expected));
        assert_eq!("as-recorded".parse::<ReplayPace>().unwrap().apply(&mut workload), Think::Stamps);
        assert_eq!(workload.script.as_deref(), Some(expected));
        assert_eq!(
            "closed".parse::<ReplayPace>().unwrap().apply(&mut workload),
            Think::Constant(Duration::ZERO)
        );
        for wrong in ["", "2", "x0", "x-1", "xx", "xNaN", "x1e9", "fast"] {
            assert!(wrong.parse::<ReplayPace>().is_err(), "{wrong}");
        }
    }
}
