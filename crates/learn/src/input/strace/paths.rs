//! Paths: what strace prints, relative to what, and below which directory.

use std::net::SocketAddr;

use crate::input::recorder::Recorder;

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

/// A path from a directory on, without `.`, `..` and empty parts. A directory that is not known is the empty path.
pub(in crate::input) fn joined(directory: &[u8], path: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    let base: &[u8] = if path.starts_with(b"/") { b"" } else { directory };
    for part in base.split(|byte| *byte == b'/').chain(path.split(|byte| *byte == b'/')) {
        match part {
            b"" | b"." => {}
            b".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let mut whole = Vec::new();
    for part in parts {
        whole.push(b'/');
        whole.extend_from_slice(part);
    }
    whole
}

/// The directory of a path, and the name in it.
pub(in crate::input) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    let (directory, name) = path.split_at(slash);
    (directory, name.strip_prefix(b"/").unwrap_or(name))
}

/// The file of a path, with what its name shows.
pub(in crate::input) fn named(server: SocketAddr, path: &[u8], recorder: &mut Recorder) -> u32 {
    let file = recorder.file(server, path);
    let (directory, name) = split(path);
    let directory = recorder.file(server, directory);
    if directory != file {
        recorder.directory(directory);
        recorder.name(file, Some(directory), name);
    }
    file
}

/// True for a path in the directory, at any depth, and for the directory.
pub(super) fn is_below(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}
