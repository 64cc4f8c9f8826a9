//! Paths below the root directory, as operations state them and as the system takes them.

use std::borrow::Cow;
use std::ffi::CString;

use sharebench_model::OpError;
use sharebench_target::is_working_directory;

use crate::path_components;

/// First of the 128 private characters that represent the bytes 0x80 to 0xFF of names that are not UTF-8.
const FIRST_ESCAPE: u32 = 0x10_FF80;
/// With which the UTF-8 form of all of them begins.
const FIRST_BYTE_OF_ESCAPES: u8 = 0xF4;

/// A path below the root. It has no empty component, no `.` and no `..`, so that no name leads out of the root; the empty
/// path is the root itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RelativePath<'p>(Cow<'p, [u8]>);

impl<'p> RelativePath<'p> {
    /// Checks a path and brings it into the system's form.
    pub fn parse(path: &'p str) -> Result<Self, OpError> {
        path_components::check(path)?;
        let bytes = path.as_bytes();
        if bytes.contains(&0) {
            return Err(path_components::refused(path, "holds a NUL byte"));
        }
        // Few names have a character that could be an escape.
        let decoded = if bytes.contains(&FIRST_BYTE_OF_ESCAPES) {
            Cow::Owned(decode(path))
        } else {
            Cow::Borrowed(bytes)
        };
        Ok(Self(decoded))
    }

    /// The path of the working directory of sharebench that contains the name, at the top or in a recycle bin, and the path
    /// below it.
    pub fn in_working_directory(&self) -> Option<(&[u8], &[u8])> {
        let mut end = 0;
        for part in self.0.split(|byte| *byte == b'/') {
            end += part.len();
            if std::str::from_utf8(part).is_ok_and(is_working_directory) {
                return Some((&self.0[..end], self.0.get(end + 1..).unwrap_or_default()));
            }
            end += 1;
        }
        None
    }

    /// True if it is a working directory.
    pub fn is_working_directory(&self) -> bool {
        self.in_working_directory().is_some_and(|(_, rest)| rest.is_empty())
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// True if it is a name in the root, or the root itself.
    pub fn is_single(&self) -> bool {
        !self.0.contains(&b'/')
    }
}

/// The directory of the last component, and that component.
pub(crate) fn split_last(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&[], path),
    }
}

/// A name or path for a system call. It was checked for NUL bytes, which the system's own names do not contain.
pub(crate) fn c_string(path: &[u8]) -> CString {
    let path = if path.is_empty() { b"." } else { path };
    CString::new(path).unwrap_or_default()
}

fn is_escape(c: char) -> bool {
    (FIRST_ESCAPE..FIRST_ESCAPE + 128).contains(&u32::from(c))
}

/// A name of the system as text. Bytes that are not UTF-8 become private characters, which [`decode`] converts back, so
/// that every name that was listed can also be opened and removed. These characters themselves are converted bytewise
/// as well, so that two names never become the same text.
pub(crate) fn encode(name: &[u8]) -> String {
    let escape = |byte: &u8| char::from_u32(FIRST_ESCAPE - 0x80 + u32::from(*byte)).unwrap_or_default();
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_escape(c) {
                text.extend(c.encode_utf8(&mut [0; 4]).as_bytes().iter().map(escape));
            } else {
                text.push(c);
            }
        }
        text.extend(chunk.invalid().iter().map(escape));
    }
    text
}

/// The name of the system that a text stands for.
fn decode(text: &str) -> Vec<u8> {
    let mut name = Vec::with_capacity(text.len());
    for c in text.chars() {
        if is_escape(c) {
            name.push((u32::from(c) - FIRST_ESCAPE + 0x80) as u8);
        } else {
            name.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use sharebench_model::ErrorClass;

    use super::*;

    #[test]
    fn no_path_leaves_the_root() {
        for path in ["..", "a/../../b", "/etc", "a//b", "a/", "./a", "a\0b"] {
            let error = RelativePath::parse(path).unwrap_err();
            assert_eq!(error.class, ErrorClass::Refused, "{path}");
        }
        assert_eq!(RelativePath::parse("a b/..c/d").unwrap().bytes(), b"a b/..c/d");
        assert_eq!(c_string(RelativePath::parse("").unwrap().bytes()).to_str(), Ok("."));
    }

    #[test]
    fn a_path_is_split_at_its_working_directory_and_its_last_component() {
        let path = RelativePath::parse(".sharebench-1-0/a/b").unwrap();
        assert_eq!(path.in_working_directory(), Some((&b".sharebench-1-0"[..], &b"a/b"[..])));
        assert_eq!(split_last(b"a/b"), (&b"a"[..], &b"b"[..]));
        assert_eq!(split_last(b"b"), (&b""[..], &b"b"[..]));
        let path = RelativePath::parse("1f2e3d4c.s00/a").unwrap();
        assert_eq!(path.in_working_directory(), Some((&b"1f2e3d4c.s00"[..], &b"a"[..])));
        let path = RelativePath::parse(".recycle/a/.sharebench-1-0/b").unwrap();
        assert_eq!(path.in_working_directory(), Some((&b".recycle/a/.sharebench-1-0"[..], &b"b"[..])));
        assert_eq!(RelativePath::parse("a/sharebench-1-0").unwrap().in_working_directory(), None);
    }

    #[test]
    fn every_name_of_the_system_survives_the_way_through_text() {
        let own = "\u{10FFFF}x\u{10FF80}".as_bytes();
        let names: [&[u8]; 6] =
            [b"plain", "grün".as_bytes(), b"\xff", b"a\xc3", b"\xf4\x8f\xbf\xbf\x80", own];
        let texts: Vec<String> = names.iter().map(|name| encode(name)).collect();
        for (name, text) in names.iter().zip(&texts) {
            assert_eq!(decode(text), *name);
            assert_eq!(texts.iter().filter(|other| *other == text).count(), 1);
        }
        assert_eq!(texts[0], "plain");
    }
}
