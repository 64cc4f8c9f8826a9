//! Lines: process, time, and the text of a call or a part of it.

/// What follows the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text<'a> {
    /// A call with its result.
    Whole(&'a [u8]),
    /// The beginning of a call: another thread was traced before its result.
    Begun(&'a [u8]),
    /// The rest of a call that began earlier.
    Ended(&'a [u8]),
    /// The process or thread has ended.
    Exit,
    /// No call.
    Other,
}

/// A line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The process or thread; 0 where the trace has only one.
    pub(super) process: u32,
    /// ns since 1970.
    pub(super) time: u64,
    pub(super) text: Text<'a>,
}

impl<'a> Line<'a> {
    /// Reads a line; none if it has no time as of `-ttt`.
    pub(super) fn read(line: &'a [u8]) -> Option<Self> {
        let line = line.trim_ascii();
        let (process, rest) = match line.strip_prefix(b"[pid") {
            Some(rest) => {
                let end = rest.iter().position(|byte| *byte == b']')?;
                (number(rest.get(..end)?.trim_ascii())?, rest.get(end + 1..)?.trim_ascii_start())
            }
            None => match split(line) {
                Some((word, rest)) if !word.contains(&b'.') => (number(word)?, rest),
                _ => (0, line),
            },
        };
        let (time, text) = split(rest)?;
        let text = if let Some(begun) = text.strip_suffix(b"<unfinished ...>") {
            Text::Begun(begun)
        } else if let Some(rest) = text.strip_prefix(b"<... ") {
            let end = rest.windows(9).position(|part| part == b" resumed>")?;
            Text::Ended(rest.get(end + 9..)?)
        } else if text.starts_with(b"+++") {
            // "+++ exited with 0 +++", "+++ killed by SIGKILL +++"
            Text::Exit
        } else if text.starts_with(b"---") {
            Text::Other
        } else {
            Text::Whole(text)
        };
        Some(Self { process: u32::try_from(process).ok()?, time: nanoseconds(time)?, text })
    }
}

/// The first word, and what follows it.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = line.iter().position(u8::is_ascii_whitespace)?;
    Some((line.get(..end)?, line.get(end..)?.trim_ascii_start()))
}

/// A number without sign.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Seconds with a fraction, in nanoseconds.
pub(super) fn nanoseconds(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (seconds, fraction) = text.split_once('.')?;
    let digits = fraction.get(..fraction.len().min(9))?;
    let scale = 10u64.pow(9 - digits.len() as u32);
    let part = if digits.is_empty() { 0 } else { digits.parse::<u64>().ok()? };
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(part.checked_mul(scale)?)
}
