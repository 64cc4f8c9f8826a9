//! Lists of sizes and counts as typed: `4KiB`, `4KiB..16MiB x2`, `1..5 +1`.

use std::str::FromStr;

/// Maximum number of values of one range: more values are a typing error in a unit.
const MAX_VALUES: usize = 4096;

/// One item of a list: the value that it names, or all values of its range.
///
/// `A..B` doubles from `A` up to `B`, which belongs to it when it is hit; `A..B x3` multiplies by another
/// factor, `A..B +C` adds `C`.
///
/// ```
/// use sharebench_model::units::ByteSize;
/// use sharebench_plan::Values;
/// let values: Values<ByteSize> = "4KiB..64KiB x4".parse().unwrap();
/// assert_eq!(values.0, [ByteSize(4096), ByteSize(16384), ByteSize(65536)]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values<T>(pub Vec<T>);

/// A value that ranges can be made of.
pub trait Countable: Copy {
    /// From the text of one value; the error says what a value looks like.
    fn parse_one(text: &str) -> Result<Self, String>;
    /// As a number.
    fn number(self) -> u64;
    /// From a number; none when it is too large.
    fn from_number(number: u64) -> Option<Self>;
}

impl Countable for sharebench_model::units::ByteSize {
    fn parse_one(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error: sharebench_model::units::UnitError| error.to_string())
    }

    fn number(self) -> u64 {
        self.0
    }

    fn from_number(number: u64) -> Option<Self> {
        Some(Self(number))
    }
}

impl Countable for u32 {
    fn parse_one(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|_| format!("'{text}' is not a whole number such as 10, or a range such as 1..16"))
    }

    fn number(self) -> u64 {
        u64::from(self)
    }

    fn from_number(number: u64) -> Option<Self> {
        Self::try_from(number).ok()
    }
}

enum RangeStep<T> {
    Times(u64),
    Plus(T),
}

impl<T: Countable> FromStr for Values<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((first, rest)) = text.split_once("..") else {
            return one(text).map(|value| Self(vec![value]));
        };
        let (last, step) = match rest.trim().split_once([' ', '\t']) {
            Some((last, step)) => (last, Some(step.trim())),
            None => (rest.trim(), None),
        };
        let wrong = |why: &str| format!("'{text}' is no range: {why}; such as 4KiB..16MiB x2");
        if first.trim().is_empty() || last.is_empty() {
            return Err(wrong("it needs a first and a last value"));
        }
        let first = one::<T>(first)?;
        let last = one::<T>(last)?;
        if first.number() > last.number() {
            return Err(wrong("it ends below its start"));
        }
        let step = step_of::<T>(step.unwrap_or("x2")).map_err(|why| wrong(&why))?;
        let next = |value: &u64| match &step {
            RangeStep::Times(factor) => value.checked_mul(*factor),
            RangeStep::Plus(more) => value.checked_add(more.number()),
        };
        if first.number() == 0 && matches!(step, RangeStep::Times(_)) {
            return Err(wrong("0 never grows by a factor"));
        }
        let numbers = std::iter::successors(Some(first.number()), next);
        let numbers: Vec<u64> = numbers.take_while(|n| *n <= last.number()).take(MAX_VALUES + 1).collect();
        if numbers.len() > MAX_VALUES {
            return Err(wrong(&format!("it has more than {MAX_VALUES} values")));
        }
        Ok(Self(numbers.into_iter().filter_map(T::from_number).collect()))
    }
}

fn one<T: Countable>(text: &str) -> Result<T, String> {
    T::parse_one(text.trim())
}

fn step_of<T: Countable>(text: &str) -> Result<RangeStep<T>, String> {
    if let Some(factor) = text.strip_prefix(['x', '*']) {
        let factor = factor.trim().parse().ok().filter(|factor: &u64| *factor >= 2);
        return factor.map(RangeStep::Times).ok_or_else(|| format!("'{text}' is no factor of 2 or more"));
    }
    if let Some(more) = text.strip_prefix('+') {
        let more = one::<T>(more).ok().filter(|more| more.number() > 0);
        return more.map(RangeStep::Plus).ok_or_else(|| format!("'{text}' adds nothing"));
    }
    Err(format!("'{text}' is no step; write xN to multiply or +N to add"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sharebench_model::units::ByteSize;

    fn sizes(text: &str) -> Vec<u64> {
        text.parse::<Values<ByteSize>>().unwrap().0.into_iter().map(|size| size.0).collect()
    }

    #[test]
    fn ranges_double_multiply_and_add() {
        assert_eq!(sizes("512"), [512]);
        assert_eq!(sizes("1KiB..8KiB"), [1024, 2048, 4096, 8192]);
        assert_eq!(sizes(" 1KiB .. 9KiB x2 "), [1024, 2048, 4096, 8192]);
        assert_eq!(sizes("1KiB..16KiB x4"), [1024, 4096, 16384]);
        assert_eq!(sizes("512..2KiB +512"), [512, 1024, 1536, 2048]);
        assert_eq!(sizes("4KiB..4KiB"), [4096]);
        assert_eq!("1..5 +2".parse::<Values<u32>>().unwrap().0, [1, 3, 5]);
    }

    #[test]
    fn wrong_ranges_say_why() {
        let why = |text: &str| text.parse::<Values<ByteSize>>().unwrap_err();
        for (text, word) in [
            ("16MiB..4KiB", "below its start"),
            ("..4KiB", "first and a last"),
            ("4KiB..", "first and a last"),
            ("4KiB..8KiB x1", "factor of 2"),
            ("4KiB..8KiB +0", "adds nothing"),
            ("4KiB..8KiB twice", "no step"),
            ("4KiB..8parsecs", "8parsecs"),
            ("0..4KiB", "never grows"),
            ("1..1GiB +1", "more than 4096"),
            ("huge", "huge"),
        ] {
            assert!(why(text).contains(word), "{text}: {}", why(text));
        }
    }
}
