//! Paths as strace prints them, and below which directory they are.

/// The bytes of a string as strace prints it; none if it is none, or was cut.
pub(super) fn unquoted(argument: &[u8]) -> Option<Vec<u8>> {
    let inner = argument.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'\\' {
            bytes.push(*byte);
            continue;
        }
        let (kind, after) = rest.split_first()?;
        rest = after;
        match kind {
            b'n' => bytes.push(b'\n'),
            b't' => bytes.push(b'\t'),
            b'r' => bytes.push(b'\r'),
            b'v' => bytes.push(0x0B),
            b'f' => bytes.push(0x0C),
            b'x' => {
                let (digits, after) = rest.split_at_checked(2)?;
                bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
                rest = after;
            }
            b'0'..=b'7' => {
                // One to three octal digits.
                let more = rest.iter().take(2).take_while(|digit| matches!(digit, b'0'..=b'7')).count();
                let digits = rest.get(..more)?;
                rest = rest.get(more..)?;
                let value = digits
                    .iter()
                    .fold(u32::from(kind - b'0'), |value, digit| value * 8 + u32::from(digit - b'0'));
                bytes.push(value as u8);
            }
            other => bytes.push(*other),
        }
    }
    Some(bytes)
}

/// True for a path in the directory, at any depth, and for the directory.
pub(super) fn is_below(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}
