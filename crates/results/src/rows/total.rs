//! The sum of the integers of a run, which bounds every sum that an analysis computes.

use std::cell::Cell;

use crate::error::Problem;

/// Largest sum of the integers of all steps: with it, neither bytes nor times nor counts overflow when they are added. A
/// run that reaches it would have transferred eight exabytes.
const MAX_TOTAL: u64 = i64::MAX.cast_unsigned();

/// The integers of steps that were read or written so far: counts, bytes and times, but not numbers that identify a step.
///
/// A database may come from anywhere, and a damaged or malicious integer must be an error of its column and not an
/// overflow in whatever adds it.
#[derive(Debug, Default)]
pub(crate) struct Total(Cell<u64>);

impl Total {
    /// Adds an integer, and returns it.
    pub(crate) fn number(&self, column: &'static str, value: u64) -> Result<u64, Problem> {
        let sum = self.0.get().checked_add(value).filter(|sum| *sum <= MAX_TOTAL);
        let too_large = || Problem::value(column, format!("{value} is too large for a sum of all steps"));
        self.0.set(sum.ok_or_else(too_large)?);
        Ok(value)
    }

    /// Adds the integers of a JSON text, and returns it.
    pub(crate) fn json<T: AsRef<str>>(&self, column: &'static str, text: T) -> Result<T, Problem> {
        let mut rest = text.as_ref().as_bytes();
        while let Some((&first, after)) = rest.split_first() {
            match first {
                b'"' => rest = after_string(after),
                b'0'..=b'9' => {
                    let number = rest.iter().take_while(|byte| b"0123456789.eE+-".contains(byte)).count();
                    let (digits, after) = rest.split_at(number);
                    rest = after;
                    if digits.iter().all(u8::is_ascii_digit) {
                        let value = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
                        self.number(column, value.unwrap_or(u64::MAX))?;
                    }
                }
                _ => rest = after,
            }
        }
        Ok(text)
    }
}

/// What follows a string of JSON whose first quote was read.
fn after_string(mut rest: &[u8]) -> &[u8] {
    loop {
        match rest {
            [b'"', after @ ..] => return after,
            [b'\\', _, after @ ..] | [_, after @ ..] => rest = after,
            [] => return rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Total;

    fn sum(texts: &[&str]) -> Option<u64> {
        let total = Total::default();
        texts.iter().all(|text| total.json("errors", *text).is_ok()).then(|| total.0.get())
    }

    #[test]
    fn integers_of_json_are_added_and_no_other_digits() {
        assert_eq!(sum(&[r#"{"a":1,"b":[2,30],"99\"9":null,"c":-4,"d":"777"}"#, "5"]), Some(42));
        assert_eq!(sum(&[r"[1.5,1e300,0.12345678901234567890,2E+30,7]"]), Some(7));
        assert_eq!(sum(&["[9223372036854775807]"]), Some(u64::MAX >> 1));
        for text in ["[9223372036854775807, 1]", "9223372036854775808", "99999999999999999999999"] {
            assert_eq!(sum(&[text]), None, "{text}");
        }
        assert_eq!(sum(&["9223372036854775807", "0", "1"]), None);
        assert_eq!(sum(&["\"", "\"\\", ""]), Some(0));
    }
}
