//! How often a cell is measured: a fixed number of times, until it is known well enough, or until time is up.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Half-width of an interval as a share of the value, written `2%`; kept in thousandths of a percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Precision(u32);

impl Precision {
    /// Default half-width at which repetition stops.
    pub const DEFAULT: Self = Self(2_000);
    /// The allowed range: 0.1 % to 50 %.
    pub const RANGE: (Self, Self) = (Self(100), Self(50_000));

    /// As a share: 0.02 for 2 %.
    pub fn share(self) -> f64 {
        f64::from(self.0) / 100_000.0
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}%", f64::from(self.0) / 1_000.0))
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let error = || format!("'{text}' is no precision such as 2% or 0.5%");
        let trimmed = text.trim();
        let without_unit = || match trimmed.parse::<f64>() {
            Ok(_) => format!("'{trimmed}' has no unit; write {trimmed}%"),
            Err(_) => error(),
        };
        let number = trimmed.strip_suffix('%').ok_or_else(without_unit)?.trim_end();
        let percent: f64 = number.parse().map_err(|_| error())?;
        let thousandths = (percent * 1_000.0).round();
        if !(0.0..=100_000.0).contains(&thousandths) {
            return Err(error());
        }
        Ok(Self(thousandths as u32))
    }
}

/// When rounds over the cells end. A round measures each cell that takes part once on every target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeat {
    /// Rounds that every cell takes part in, unless a budget is used up before.
    pub least: u32,
    /// Rounds that no cell goes beyond.
    pub most: u32,
    /// A cell whose interval is as narrow as this takes part no longer; none for a fixed number of rounds
    /// and for a budget that is to be used up.
    pub precision: Option<Precision>,
    /// Time for all rounds together. The first round is measured to its end whatever it takes; from round
    /// [`Repeat::least`] on only the widest cells take part.
    pub budget: Option<Duration>,
}

impl Repeat {
    /// Fewest repetitions before an interval's width may stop a cell: with fewer, stopping on width covers
    /// less than it promises (93.5 % at 6, 95.1 % at 10 of nominal 95 %, by simulation).
    pub const MIN_REPETITIONS: u32 = 10;
    /// Maximum number of repetitions of a cell that does not become precise.
    pub const MAX_REPETITIONS: u32 = 60;
    /// Maximum number of repetitions, given as a number or within a time budget.
    pub const MAX_ASKED: u32 = 10_000;
    /// Repetitions of a quick run: the fewest for which a 95 % interval exists at all.
    pub const QUICK: u32 = 6;

    /// Every cell N times.
    pub fn times(repetitions: u32) -> Self {
        Self { least: repetitions, most: repetitions, precision: None, budget: None }
    }

    /// Until each cell is that precise.
    pub fn until(precision: Precision) -> Self {
        Self {
            least: Self::MIN_REPETITIONS,
            most: Self::MAX_REPETITIONS,
            precision: Some(precision),
            budget: None,
        }
    }

    /// For that long, or shorter when every cell is that precise.
    pub fn within(budget: Duration, precision: Option<Precision>) -> Self {
        Self { least: Self::MIN_REPETITIONS, most: Self::MAX_ASKED, precision, budget: Some(budget) }
    }

    /// True when the number of steps does not depend on what is measured.
    pub fn is_fixed(self) -> bool {
        self.precision.is_none() && self.budget.is_none()
    }

    /// Rounds that are certain to be measured to their end.
    pub fn certain(self) -> u32 {
        if self.budget.is_some() { self.least.min(1) } else { self.least }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precisions_are_percents() {
        for (text, share, shown) in
            [("2%", 0.02, "2%"), ("0.5 %", 0.005, "0.5%"), ("12.125%", 0.12125, "12.125%")]
        {
            let precision: Precision = text.parse().unwrap();
            assert!((precision.share() - share).abs() < 1e-12);
            assert_eq!(precision.to_string(), shown);
        }
        for wrong in ["2", "0.02", "-1%", "101%", "x%", "%", "NaN%", "inf%"] {
            assert!(wrong.parse::<Precision>().is_err(), "{wrong}");
        }
    }
}
