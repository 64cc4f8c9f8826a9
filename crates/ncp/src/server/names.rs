//! DOS names, long names and wildcard patterns (docs/protocols/ncp.md 3.2, 3.4).

use super::wildcards::rest_after;
use crate::wire::name_space::space;
use crate::wire::{Completion, short_name};

/// A name space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameSpace {
    /// 8.3 in upper case.
    Dos,
    /// Names as stored.
    Long,
}

impl NameSpace {
    /// Ids of the name spaces of a volume, with or without long names.
    pub const fn ids(has_long_names: bool) -> &'static [u8] {
        if has_long_names { &[space::DOS, space::LONG] } else { &[space::DOS] }
    }

    /// The name space of an id.
    pub const fn from_id(id: u8) -> Result<Self, Completion> {
        match id {
            space::DOS => Ok(Self::Dos),
            space::LONG => Ok(Self::Long),
            _ => Err(Completion::InvalidNameSpace),
        }
    }

    /// The id of the name space.
    pub const fn id(self) -> u8 {
        match self {
            Self::Dos => space::DOS,
            Self::Long => space::LONG,
        }
    }

    /// Checks and normalises a name from a client.
    pub fn checked(self, name: &[u8]) -> Result<Vec<u8>, Completion> {
        match self {
            Self::Dos => checked(name),
            Self::Long => checked_long(name),
        }
    }

    /// A stored name in the form of this name space.
    pub fn shown(self, name: &[u8]) -> Vec<u8> {
        match self {
            // The root has an empty name.
            Self::Dos if !name.is_empty() => dos_name(name),
            _ => name.to_vec(),
        }
    }
}

/// Checks an 8.3 name and converts it to upper case; a name that leads out of its directory is refused.
pub fn checked(name: &[u8]) -> Result<Vec<u8>, Completion> {
    short_name(name).ok_or(Completion::BadFileName)
}

/// The DOS form of a name: the name in upper case if it is 8.3, otherwise two letters, `~`, five letters of its hash,
/// and the extension.
pub fn dos_name(name: &[u8]) -> Vec<u8> {
    if let Ok(short) = checked(name) {
        return short;
    }
    let letters = |part: &[u8], limit: usize| -> Vec<u8> {
        part.iter()
            .filter(|byte| byte.is_ascii_alphanumeric())
            .take(limit)
            .map(u8::to_ascii_uppercase)
            .collect()
    };
    let dot = name.iter().rposition(|byte| *byte == b'.').filter(|dot| *dot > 0);
    let (base, extension) = name.split_at(dot.unwrap_or(name.len()));
    let mut short = letters(base, 2);
    short.resize(2, b'_');
    short.push(b'~');
    // FNV-1a, so that a name has the same short form on every server.
    let fold = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    let hash = name.iter().fold(0x811C_9DC5, fold);
    short
        .extend((0..5).map(|digit| b"0123456789ABCDEFGHIJKLMNOPQRSTUV"[(hash >> (digit * 5) & 31) as usize]));
    let extension = letters(extension, 3);
    if !extension.is_empty() {
        short.push(b'.');
        short.extend(extension);
    }
    short
}

/// True for a name that [`dos_name`] may have derived from a longer one.
pub fn is_made(name: &[u8]) -> bool {
    name.get(2) == Some(&b'~')
}

/// Checks a long name; a name that leads out of its directory is refused. The case is preserved.
pub fn checked_long(name: &[u8]) -> Result<Vec<u8>, Completion> {
    let dots = name == b"." || name == b"..";
    let leads_away = |byte: &u8| matches!(byte, b'/' | 0);
    if name.is_empty() || dots || name.iter().any(leads_away) {
        return Err(Completion::BadFileName);
    }
    Ok(name.to_vec())
}

/// A DOS pattern with '*' and '?', in plain and wire form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<u8>);

impl Pattern {
    /// Parses a pattern as sent: wildcards may have the high bit set or FF before them.
    pub fn new(sent: &[u8]) -> Self {
        let plain = sent.iter().filter(|byte| **byte != 0xFF).map(|byte| match byte {
            0xAA => b'*',
            0xBF => b'?',
            0xAE => b'.',
            other => other.to_ascii_uppercase(),
        });
        Self(plain.collect())
    }

    /// True when it contains a wildcard.
    pub fn is_wild(&self) -> bool {
        self.0.iter().any(|byte| b"*?".contains(byte))
    }

    /// Matches a name in any case. "*.*" also matches names without extension.
    pub fn matches(&self, name: &[u8]) -> bool {
        // At its end a name may lack characters for `?`, unlike in the bindery.
        let glob = |pattern, part| {
            rest_after(pattern, part).is_some_and(|rest| rest.iter().all(|byte| b"*?".contains(byte)))
        };
        match self.0.iter().rposition(|byte| *byte == b'.') {
            None => glob(&self.0, name),
            Some(dot) => {
                let at = name.iter().rposition(|byte| *byte == b'.').unwrap_or(name.len());
                let extension = name.get(at + 1..).unwrap_or_default();
                glob(&self.0[..dot], &name[..at]) && glob(&self.0[dot + 1..], extension)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dos_names_are_8_3_and_never_leave_their_directory() {
        assert_eq!(checked(b"bench.dat"), Ok(b"BENCH.DAT".to_vec()));
        for name in [
            "",
            ".",
            "..",
            "A.B.C",
            "TOOLONG99",
            "A.LONG",
            "A.",
            ".A",
            "A/B",
            "A\\B",
            "A:B",
            "A*",
            "A\0",
            "A B",
        ] {
            assert_eq!(checked(name.as_bytes()), Err(Completion::BadFileName), "{name:?}");
        }
    }

    /// docs/protocols/ncp.md 3.2: AA, BF and AE are '*', '?' and '.'; docs/protocols/ncp.md 3.4: FF before a wildcard.
    #[test]
    fn patterns_match_in_every_wire_form() {
        let matches = |pattern: &[u8], name: &str| Pattern::new(pattern).matches(name.as_bytes());
        for pattern in [&b"*.*"[..], b"\xff*", b"*", b"\xaa\xae\xaa", b"????????.???"] {
            assert!(matches(pattern, "FILE") && matches(pattern, "BENCH.DAT"), "{pattern:02x?}");
        }
        assert!(
            matches(b"b*.d?t", "BENCH.DAT")
                && matches(b"*H.DAT", "BENCH.DAT")
                && matches(b"NS1.DAT", "NS1.DAT")
        );
        assert!(
            !matches(b"*.TXT", "BENCH.DAT") && !matches(b"B", "BENCH.DAT") && !matches(b"*.", "BENCH.DAT")
        );
        assert!(Pattern::new(b"\xaa").is_wild() && !Pattern::new(b"A.B").is_wild());
    }

    #[test]
    fn pattern_with_many_stars_matches_in_bounded_time() {
        let pattern: Vec<u8> = b"*A".repeat(120);
        assert!(!Pattern::new(&[&pattern[..], b"B"].concat()).matches(&[b'A'; 255]));
    }

    #[test]
    fn long_names_have_valid_and_distinct_short_forms() {
        assert_eq!(dos_name(b"bench.dat"), b"BENCH.DAT");
        let names =
            ["with space", "d.o.t.s", ".hidden", "a.longer", "\u{65e5}\u{672c}", "name-000", "name-0001"];
        let short: std::collections::BTreeSet<_> =
            names.iter().map(|name| dos_name(name.as_bytes())).collect();
        assert_eq!(short.len(), names.len());
        assert!(short.iter().all(|name| checked(name).as_ref() == Ok(name)));
        assert!(is_made(&dos_name(b"with space")) && !is_made(b"BENCH.DAT"));
    }

    #[test]
    fn long_names_never_leave_their_directory() {
        assert_eq!(checked_long(b"a\\b:c"), Ok(b"a\\b:c".to_vec()));
        for name in [&b""[..], b".", b"..", b"a/b", b"a\0"] {
            assert_eq!(checked_long(name), Err(Completion::BadFileName));
        }
    }
}
