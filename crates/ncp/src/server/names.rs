//! DOS names and patterns, as clients send them.

use crate::wire::Completion;

/// A name in upper case that is 8.3 and holds nothing that leads out of its directory.
pub fn checked(name: &[u8]) -> Result<Vec<u8>, Completion> {
    let upper = name.to_ascii_uppercase();
    let mut parts = upper.split(|byte| *byte == b'.');
    let (base, extension) = (parts.next().unwrap_or_default(), parts.next());
    let fits = (1..=8).contains(&base.len())
        && extension.is_none_or(|extension| (1..=3).contains(&extension.len()))
        && parts.next().is_none();
    let forbidden = |byte: &u8| *byte <= b' ' || b"\"*+,/:;<=>?[\\]|\x7f".contains(byte);
    if fits && !upper.iter().any(forbidden) { Ok(upper) } else { Err(Completion::BadFileName) }
}

/// A pattern of DOS: '*' and '?', also in the forms of the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<u8>);

impl Pattern {
    /// A pattern as a client sent it: wildcards may have their high bit set, or FF before them.
    pub fn new(sent: &[u8]) -> Self {
        let plain = sent.iter().filter(|byte| **byte != 0xFF).map(|byte| match byte {
            0xAA => b'*',
            0xBF => b'?',
            0xAE => b'.',
            other => other.to_ascii_uppercase(),
        });
        Self(plain.collect())
    }

    /// True when it holds a wildcard.
    pub fn is_wild(&self) -> bool {
        self.0.iter().any(|byte| b"*?".contains(byte))
    }

    /// True for a name in upper case that it matches. "*.*" matches names without extension as well.
    pub fn matches(&self, name: &[u8]) -> bool {
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

/// Matches in time that grows with the product of both lengths at most.
fn glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut seen, mut star) = (0, 0, None);
    while seen < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[seen] => {
                at += 1;
                seen += 1;
            }
            _ => {
                let Some((before, taken)) = star else { return false };
                star = Some((before, taken + 1));
                (at, seen) = (before + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*' || *byte == b'?')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_8_3_and_lead_nowhere() {
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

    /// ncp.md 3.2: AA, BF and AE are '*', '?' and '.'; 3.4: FF before a wildcard.
    #[test]
    fn patterns_match_in_every_form() {
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
    fn many_stars_take_no_long_time() {
        assert!(!matches_long());
    }

    fn matches_long() -> bool {
        let pattern: Vec<u8> = b"*A".repeat(120);
        Pattern::new(&[&pattern[..], b"B"].concat()).matches(&[b'A'; 255])
    }
}
