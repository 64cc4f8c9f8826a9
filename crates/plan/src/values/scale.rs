//! Scale: how large the data set of a load is.

use std::fmt;
use std::str::FromStr;

use sharebench_model::units::ByteSize;

/// Parts of a percentage: ten-thousandths of a percent, so that plans are equal when their texts are.
const PARTS: f64 = 10_000.0;

/// The size of a data set: the bytes of all its files, or a share of what the workload defines.
///
/// Bytes change the sizes of files and keep their number. A share keeps the sizes, and with them the sizes of requests
/// on whole files, as far as it can: it changes the number of files of each kind, and the size only of a kind of which
/// less than one file would be left.
///
/// ```
/// use sharebench_plan::Scale;
/// assert_eq!("1%".parse::<Scale>().unwrap().to_string(), "1%");
/// assert_eq!("24.2MB".parse::<Scale>().unwrap().to_string(), "24200000B");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Bytes of the shared files and those of one user.
    Bytes(ByteSize),
    /// A share of the workload's own data set, in millionths.
    Share(u64),
}

impl Scale {
    /// The workload's own data set.
    pub const WHOLE: Self = Self::Share(1_000_000);
    /// Smallest share: 0.01 %.
    pub(crate) const MIN_SHARE: u64 = 100;
    /// Largest share: 10,000 %.
    pub(crate) const MAX_SHARE: u64 = 100_000_000;

    /// This scale where a preset has `usual` as its own: a share is one of it.
    #[must_use]
    pub fn applied_to(self, usual: Option<Self>) -> Self {
        match (self, usual) {
            (Self::Share(share), Some(Self::Bytes(ByteSize(bytes)))) => {
                let part = u128::from(bytes) * u128::from(share) / 1_000_000;
                Self::Bytes(ByteSize(u64::try_from(part).unwrap_or(u64::MAX)))
            }
            (scale, _) => scale,
        }
    }
}

impl From<ByteSize> for Scale {
    fn from(bytes: ByteSize) -> Self {
        Self::Bytes(bytes)
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Share(share) => write!(f, "{}%", *share as f64 / PARTS),
        }
    }
}

impl FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(percent) = text.trim().strip_suffix('%') else {
            return text.parse().map(Self::Bytes).map_err(|_| {
                format!("'{text}' is not a scale; write a size such as 24.2MB, or a share of the data set such as 1%")
            });
        };
        let share = percent.trim().parse::<f64>().ok().map(|percent| (percent * PARTS).round());
        match share {
            Some(share) if (Self::MIN_SHARE as f64..=Self::MAX_SHARE as f64).contains(&share) => {
                Ok(Self::Share(share as u64))
            }
            _ => Err(format!("'{text}' is not a share from 0.01% to 10000%; such as 1%")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_shares_survive_a_round_trip() {
        for (text, scale) in [
            ("1%", Scale::Share(10_000)),
            ("0.01%", Scale::Share(100)),
            ("12.5%", Scale::Share(125_000)),
            ("10000%", Scale::Share(100_000_000)),
            ("64KiB", Scale::Bytes(ByteSize(64 << 10))),
        ] {
            assert_eq!(text.parse(), Ok(scale));
            assert_eq!(scale.to_string(), text);
        }
        for (text, said) in [
            ("0%", "from 0.01% to 10000%"),
            ("0.001%", "from 0.01%"),
            ("20000%", "to 10000%"),
            ("-1%", "'-1%' is not a share"),
            ("NaN%", "is not a share"),
            ("inf%", "is not a share"),
            ("%", "is not a share"),
            ("large", "'large' is not a scale; write a size such as 24.2MB, or a share"),
        ] {
            let error = text.parse::<Scale>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_share_is_one_of_the_size_that_a_preset_has() {
        let usual = Some(Scale::Bytes(ByteSize(5_600_000)));
        assert_eq!(Scale::Share(10_000).applied_to(usual), Scale::Bytes(ByteSize(56_000)));
        assert_eq!(Scale::Share(10_000).applied_to(None), Scale::Share(10_000));
        assert_eq!(Scale::Bytes(ByteSize(7)).applied_to(usual), Scale::Bytes(ByteSize(7)));
    }
}
