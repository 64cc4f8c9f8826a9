//! Rates as other programs report them: exact decimals with a unit.

use std::str::FromStr;

/// Bytes (or operations) per second; a larger rate is a mistake in the file: 100 TB/s.
const MAX_PLAUSIBLE: u128 = 100_000_000_000_000;

/// What a rate counts, and how many of it make one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateUnit {
    /// Bytes per second, with the number of bytes per unit.
    Bytes(u64),
    /// Operations per second.
    Operations,
}

impl FromStr for RateUnit {
    type Err = String;

    /// `B/s`, `KB/s` (1000), `KiB/s` (1024), and so on; `ops/s`.
    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "B/s" => Self::Bytes(1),
            "KB/s" | "kB/s" => Self::Bytes(1000),
            "MB/s" => Self::Bytes(1_000_000),
            "GB/s" => Self::Bytes(1_000_000_000),
            "KiB/s" => Self::Bytes(1 << 10),
            "MiB/s" => Self::Bytes(1 << 20),
            "GiB/s" => Self::Bytes(1 << 30),
            "ops/s" => Self::Operations,
            _ => {
                let known = "B/s, KB/s, MB/s, GB/s (thousands), KiB/s, MiB/s, GiB/s (1024) or ops/s";
                return Err(format!("'{text}' is not a unit of rate; known are {known}"));
            }
        })
    }
}

/// A rate in thousandths of a byte, or of an operation, per second; zero means that nothing was measured.
pub(crate) fn milli_per_s(text: &str, unit: RateUnit) -> Result<u64, String> {
    let factor = match unit {
        RateUnit::Bytes(factor) => factor,
        RateUnit::Operations => 1,
    };
    let (digits, scale) = decimal(text).ok_or_else(|| {
        format!("'{text}' is not a rate; write digits with one point at most, such as 1234.5")
    })?;
    let scaled = digits * u128::from(factor) * 1000;
    let divisor = 10u128.pow(scale);
    let milli = (scaled + divisor / 2) / divisor;
    if milli > MAX_PLAUSIBLE * 1000 {
        return Err(format!("a rate of {text} cannot be true (above 100 TB/s)"));
    }
    if milli == 0 && digits > 0 {
        return Err(format!("a rate of {text} is too small to keep"));
    }
    // Below 1e17, so it fits.
    Ok(milli as u64)
}

/// `12.50` as (1250, 2): plain digits with at most one point, no sign, no exponent.
pub(crate) fn decimal(text: &str) -> Option<(u128, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let fits = !whole.is_empty() && whole.len() <= 18 && fraction.len() <= 9;
    if !fits || !plain(whole) || !plain(fraction) {
        return None;
    }
    Some((format!("{whole}{fraction}").parse().ok()?, fraction.len() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_exact_to_a_thousandth_of_a_byte() {
        let kib = RateUnit::Bytes(1024);
        assert_eq!(milli_per_s("831569", kib), Ok(831_569 * 1_024_000));
        assert_eq!(milli_per_s("955451.50", kib), Ok(978_382_336_000));
        assert_eq!(milli_per_s("1.5", "MB/s".parse().unwrap()), Ok(1_500_000_000));
        assert_eq!(milli_per_s("0", kib), Ok(0));
        for text in ["", "-1", "1e9", "NaN", "inf", "1,5", "1.2.3", "0x10", "999999999999999", "+3", " 1"] {
            assert!(milli_per_s(text, kib).is_err(), "{text}");
        }
        assert!("kb".parse::<RateUnit>().is_err() && "KBps".parse::<RateUnit>().is_err());
    }
}
