//! A call: name, arguments and result.

use super::line::{nanoseconds, number};

/// A call with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call<'a> {
    pub(super) name: &'a str,
    /// The arguments as they are printed.
    pub(super) arguments: Vec<&'a [u8]>,
    /// What it returned, or the name of the error.
    pub(super) result: Result<u64, &'a [u8]>,
    /// ns, with `-T`.
    pub(super) duration: Option<u64>,
}

impl<'a> Call<'a> {
    /// Reads the text of a call: `name(arguments) = result <seconds>`.
    pub(super) fn read(text: &'a [u8]) -> Option<Self> {
        let open = text.iter().position(|byte| *byte == b'(')?;
        let name = std::str::from_utf8(text.get(..open)?).ok()?;
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return None;
        }
        let (arguments, after) = arguments(text.get(open + 1..)?)?;
        let result = after.trim_ascii_start().strip_prefix(b"=")?.trim_ascii();
        let (result, duration) = match result.strip_suffix(b">") {
            Some(rest) => {
                let start = rest.iter().rposition(|byte| *byte == b'<')?;
                match nanoseconds(rest.get(start + 1..)?) {
                    Some(duration) => (rest.get(..start)?.trim_ascii_end(), Some(duration)),
                    None => (result, None),
                }
            }
            None => (result, None),
        };
        let mut words = result.split(|byte| *byte == b' ' || *byte == b'<');
        let value = words.next()?;
        let result = if value == b"-1" || value == b"?" {
            Err(words.next().unwrap_or_default())
        } else {
            Ok(value.strip_prefix(b"0x").map_or_else(
                || number(value),
                |hex| u64::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok(),
            )?)
        };
        Some(Self { name, arguments, result, duration })
    }

    pub(super) fn argument(&self, index: usize) -> &'a [u8] {
        self.arguments.get(index).copied().unwrap_or_default()
    }

    /// A number among the arguments.
    pub(super) fn number(&self, index: usize) -> Option<u64> {
        number(self.argument(index))
    }

    /// A descriptor among the arguments, also with its path (`-y`).
    pub(super) fn descriptor(&self, index: usize) -> Option<u64> {
        number(self.argument(index).split(|byte| *byte == b'<').next()?)
    }

    /// The flag is in an argument such as `O_RDWR|O_CREAT`, or in a structure such as `{flags=O_RDWR|O_CREAT, mode=0644}`.
    pub(super) fn has_flag(&self, index: usize, flag: &str) -> bool {
        let words = self.argument(index).split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
        words.into_iter().any(|word| word == flag.as_bytes())
    }
}

/// The arguments up to the bracket that ends them, and what follows it.
fn arguments(text: &[u8]) -> Option<(Vec<&[u8]>, &[u8])> {
    let mut found = Vec::new();
    let mut depth = 0u32;
    let mut start = 0;
    let mut quoted = false;
    let mut escaped = false;
    for (at, byte) in text.iter().enumerate() {
        if quoted {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => quoted = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => {
                let last = text.get(start..at)?.trim_ascii();
                if !(last.is_empty() && found.is_empty()) {
                    found.push(last);
                }
                return Some((found, text.get(at + 1..)?));
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                found.push(text.get(start..at)?.trim_ascii());
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}
