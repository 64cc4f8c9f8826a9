//! Units: binary sizes (`KiB`), SI rates (`MB/s`), durations and instants, read and written one way everywhere.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A size in bytes; shown with the largest binary unit that divides it, read as `64KiB`, `4k`, `1MB`.
///
/// ```
/// use sharebench_model::units::ByteSize;
/// assert_eq!("64KiB".parse(), Ok(ByteSize(65536)));
/// assert_eq!("24.2MB".parse(), Ok(ByteSize(24_200_000)));
/// assert_eq!(ByteSize(1 << 20).to_string(), "1MiB");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "ByteSizeText", into = "String")]
pub struct ByteSize(pub u64);

/// Why a text is no size or duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not {expected}")]
pub struct UnitError {
    text: String,
    expected: &'static str,
}

const SIZES: [(&str, u64); 5] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

fn size_unit(unit: &str) -> Option<u64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        // A bare letter is binary, as in fio and IOzone.
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    })
}

/// Splits `12.5MiB` into the exact decimal 125 / 10^1 and `MiB`, so that no size passes through a float.
fn split_number(text: &str) -> Option<(u128, u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || whole.len() + fraction.len() > 24 || fraction.contains('.') {
        return None;
    }
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    Some((digits, fraction.len() as u32, unit.trim()))
}

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { text: text.to_owned(), expected: "a size such as 512, 64KiB or 24.2MB" };
        let (digits, scale, unit) = split_number(text.trim()).ok_or_else(error)?;
        let bytes = digits.checked_mul(u128::from(size_unit(unit).ok_or_else(error)?)).ok_or_else(error)?;
        u64::try_from(bytes / 10u128.pow(scale)).map(ByteSize).map_err(|_| error())
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) =
            SIZES.into_iter().find(|(_, n)| self.0 >= *n && self.0.is_multiple_of(*n)).unwrap_or(("B", 1));
        f.pad(&format!("{}{unit}", self.0 / factor))
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ByteSizeText {
    Number(u64),
    Text(String),
}

impl TryFrom<ByteSizeText> for ByteSize {
    type Error = UnitError;

    fn try_from(value: ByteSizeText) -> Result<Self, UnitError> {
        match value {
            ByteSizeText::Number(bytes) => Ok(Self(bytes)),
            ByteSizeText::Text(text) => text.parse(),
        }
    }
}

impl From<ByteSize> for String {
    fn from(size: ByteSize) -> Self {
        size.to_string()
    }
}

/// A rate in bits per second, as links are sold: read and shown as `1Gbit`, `100Mbit`, `2.5Gbit`.
///
/// ```
/// use sharebench_model::units::BitRate;
/// assert_eq!("2.5Gbit".parse(), Ok(BitRate(2_500_000_000)));
/// assert_eq!(BitRate(10_000_000).to_string(), "10Mbit");
/// assert!("1GB".parse::<BitRate>().is_err(), "bytes are no bits");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(pub u64);

const BIT_RATES: [(&str, u64); 4] =
    [("Gbit", 1_000_000_000), ("Mbit", 1_000_000), ("kbit", 1_000), ("bit", 1)];

impl BitRate {
    /// The same in bytes per second.
    pub fn bytes_per_s(self) -> f64 {
        self.0 as f64 / 8.0
    }
}

impl FromStr for BitRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let expected = "a link rate such as 100Mbit, 1Gbit or 2.5Gbit";
        let error = || UnitError { text: text.to_owned(), expected };
        let (digits, scale, unit) = split_number(text.trim()).ok_or_else(error)?;
        let unit = unit.strip_suffix("/s").unwrap_or(unit);
        let known = BIT_RATES.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
        let bits = digits.checked_mul(u128::from(known.ok_or_else(error)?.1)).ok_or_else(error)?;
        let bits = u64::try_from(bits / 10u128.pow(scale)).map_err(|_| error())?;
        if bits == 0 { Err(error()) } else { Ok(Self(bits)) }
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A tenth of a unit is a usual rate: 2.5Gbit.
        let whole = |n: u64| self.0 >= n && (self.0 * 10).is_multiple_of(n);
        let (unit, factor) = BIT_RATES.into_iter().find(|(_, n)| whole(*n)).unwrap_or(("bit", 1));
        f.pad(&format!("{}{unit}", self.0 as f64 / factor as f64))
    }
}

/// Reads `200ms`, `1.5s`, `2m`, `1h`; a number without unit is refused.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let error = || UnitError { text: text.to_owned(), expected: "a duration such as 200ms, 10s or 5m" };
    let (digits, scale, unit) = split_number(text.trim()).ok_or_else(error)?;
    let nanos: u128 = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "" => {
            let expected = "a duration, because it has no unit; write 200ms, 10s or 5m";
            return Err(UnitError { text: text.to_owned(), expected });
        }
        _ => return Err(error()),
    };
    let nanos = digits.checked_mul(nanos).ok_or_else(error)? / 10u128.pow(scale);
    u64::try_from(nanos).map(Duration::from_nanos).map_err(|_| error())
}

/// Writes a size for people: the exact number of the largest unit that divides it, `64 KiB`; with three significant
/// digits where that number would be long, `1.81 GiB`.
///
/// Plans and axes have exact sizes, which [`ByteSize`] writes; this is for sums and amounts.
///
/// ```
/// use sharebench_model::units::show_size;
/// assert_eq!(show_size(64 << 10), "64 KiB");
/// assert_eq!(show_size(33_856 << 10), "33.1 MiB");
/// ```
pub fn show_size(bytes: u64) -> String {
    let exact = SIZES.into_iter().find(|(_, size)| bytes >= *size && bytes.is_multiple_of(*size));
    let (unit, size) = exact.unwrap_or(("B", 1));
    if bytes / size < 1000 {
        return format!("{} {unit}", bytes / size);
    }
    let (unit, size) = SIZES.into_iter().find(|(_, size)| bytes >= *size).unwrap_or(("B", 1));
    format!("{} {unit}", three_digits(bytes as f64 / size as f64))
}

/// Writes a duration with three significant digits: `1.23 ms`; no time is `0 ns`.
pub fn show_nanos(nanos: f64) -> String {
    if nanos == 0.0 {
        return "0 ns".to_owned();
    }
    let (value, unit) = match nanos {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "us"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// Writes a long duration, given in seconds: `12 s`, `3.5 min`, `2.1 h`, `12 days`, `519 years`.
pub fn show_seconds(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.1} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s if s < 63_072_000.0 => format!("{:.0} days", s / 86_400.0),
        s => format!("{:.0} years", s / 31_536_000.0),
    }
}

/// Writes a rate in SI units with three significant digits: `1.23 MB/s`.
pub fn show_rate(bytes_per_second: f64) -> String {
    let (value, unit) = match bytes_per_second {
        r if r < 1e3 => (r, "B/s"),
        r if r < 1e6 => (r / 1e3, "kB/s"),
        r if r < 1e9 => (r / 1e6, "MB/s"),
        r => (r / 1e9, "GB/s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// Writes a number of operations per second with three significant digits: `4.10 ops/s`.
pub fn show_operation_rate(per_second: f64) -> String {
    format!("{} ops/s", three_digits(per_second))
}

/// A number with its noun: `1 cell`, `14 cells`.
pub fn counted<N: Copy + fmt::Display + PartialEq + From<u8>>(n: N, noun: &str) -> String {
    let plural = if n == N::from(1) { "" } else { "s" };
    format!("{n} {noun}{plural}")
}

/// Writes a share as a percentage with this number of decimals: 0.125 with one decimal is `12.5 %`.
pub fn percent(share: f64, decimals: usize) -> String {
    format!("{} %", fixed(share * 100.0, decimals))
}

/// The same with a sign, as differences are written: `+12 %`, `-3.4 %`; what rounds to zero has none: `0.0 %`.
pub fn signed_percent(share: f64, decimals: usize) -> String {
    let shown = percent(share, decimals);
    let is_zero = !shown.contains(|c: char| ('1'..='9').contains(&c));
    if share < 0.0 || is_zero { shown } else { format!("+{shown}") }
}

/// A number with this many decimals; one that rounds to zero has no sign.
fn fixed(value: f64, decimals: usize) -> String {
    let shown = format!("{value:.decimals$}");
    match shown.strip_prefix('-') {
        Some(zero) if zero.chars().all(|c| "0.".contains(c)) => zero.to_owned(),
        _ => shown,
    }
}

/// Writes a limit as a percentage, with at most three decimals and without trailing zeros: `2 %`, `0.5 %`.
///
/// ```
/// use sharebench_model::units::percent_limit;
/// assert_eq!(percent_limit(0.07), "7 %");
/// assert_eq!(percent_limit(0.12125), "12.125 %");
/// ```
pub fn percent_limit(share: f64) -> String {
    // The product alone has the error of a binary fraction: 0.07 x 100 is 7.000000000000001.
    format!("{} %", (share * 1e5).round() / 1e3)
}

/// A share in whole percents, where 100 means all: at most 99 below one.
pub fn whole_percent(share: f64) -> u64 {
    if share >= 1.0 { 100 } else { ((share * 100.0).round() as u64).min(99) }
}

/// Writes an instant, given in milliseconds since 1970, in UTC: `2026-11-21 05:10:00 UTC`.
///
/// ```
/// use sharebench_model::units::show_instant;
/// assert_eq!(show_instant(951_827_696_000), "2000-02-29 12:34:56 UTC");
/// ```
pub fn show_instant(unix_ms: u64) -> String {
    let instant = i64::try_from(unix_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    // Only a damaged file holds an instant after the year 9999.
    instant.map_or_else(
        || format!("{unix_ms} ms after 1970"),
        |instant| instant.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
    )
}

/// Three significant digits without exponent.
pub fn three_digits(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => fixed(value, 0),
        v if v >= 9.995 => fixed(value, 1),
        _ => fixed(value, 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_survive_a_round_trip() {
        for bytes in [0, 1, 511, 512, 1024, 65536, 24_200_000, 1 << 50] {
            assert_eq!(ByteSize(bytes).to_string().parse(), Ok(ByteSize(bytes)));
        }
    }

    #[test]
    fn absurd_sizes_are_refused() {
        for text in ["", "-1", "4 parsecs", "1.2.3k", "99999999999999999999T", ".5k", "k"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }

    #[test]
    fn instants_are_shown_in_utc_whatever_their_value() {
        assert_eq!(show_instant(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(show_instant(1_709_251_199_000), "2024-02-29 23:59:59 UTC");
        assert_eq!(show_instant(1_795_237_200_000), "2026-11-21 05:00:00 UTC");
        assert_eq!(show_instant(u64::MAX), "18446744073709551615 ms after 1970");
    }

    #[test]
    fn sizes_for_people_have_few_digits_and_are_read_as_plans_are() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1000 B"),
            (1025, "1.00 KiB"),
            (65_536, "64 KiB"),
            (1536 << 10, "1.50 MiB"),
            (1_943_000_000, "1.81 GiB"),
            (1 << 40, "1 TiB"),
        ] {
            assert_eq!(show_size(bytes), text);
            assert!(text.parse::<ByteSize>().is_ok(), "{text}");
        }
    }

    #[test]
    fn zero_has_no_sign_and_no_decimals_of_a_time() {
        assert_eq!([-0.004, 0.0, 0.004].map(|share| percent(share, 0)), ["0 %"; 3]);
        assert_eq!([-0.0004, 0.0004].map(|share| signed_percent(share, 1)), ["0.0 %"; 2]);
        assert_eq!([-0.0005, 0.12].map(|share| signed_percent(share, 2)), ["-0.05 %", "+12.00 %"]);
        assert_eq!([three_digits(-0.001), three_digits(-1.5), show_nanos(0.0)], ["0.00", "-1.50", "0 ns"]);
    }

    #[test]
    fn a_percentage_of_100_means_all() {
        assert_eq!(
            [0.0, 0.005, 0.016, 0.994, 0.9999, 1.0, 1.2].map(whole_percent),
            [0, 1, 2, 99, 99, 100, 100]
        );
        assert_eq!(percent(0.9999, 0), "100 %");
    }

    #[test]
    fn long_durations_are_shown_in_a_suitable_unit() {
        assert_eq!([12.0, 210.0, 7560.0].map(show_seconds), ["12 s", "3.5 min", "2.1 h"]);
        assert_eq!([1e6, 4_547_604.0 * 3600.0].map(show_seconds), ["12 days", "519 years"]);
    }

    #[test]
    fn nouns_agree_with_their_number() {
        assert_eq!(counted(0_usize, "cell"), "0 cells");
        assert_eq!(counted(1_u64, "cell"), "1 cell");
        assert_eq!(counted(2_u32, "cell"), "2 cells");
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert!(parse_duration("10").is_err());
    }
}
