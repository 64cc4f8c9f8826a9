//! 8.3 names, the only ones of the DOS name space (docs/protocols/ncp.md 3.7).

/// Longest part before the dot, and longest part after it.
const MAX_BASE: usize = 8;
const MAX_EXTENSION: usize = 3;

/// The name in upper case if it is 8.3: 1 to 8 bytes, or these and a dot and 1 to 3 bytes, without blanks, controls and
/// the characters that DOS reserves. None for every other name, among them `.` and `..`.
pub fn short_name(name: &[u8]) -> Option<Vec<u8>> {
    let mut parts = name.split(|byte| *byte == b'.');
    let base = parts.next().unwrap_or_default();
    let extension = parts.next();
    let fits = (1..=MAX_BASE).contains(&base.len())
        && extension.is_none_or(|extension| (1..=MAX_EXTENSION).contains(&extension.len()))
        && parts.next().is_none();
    let forbidden = |byte: &u8| *byte <= b' ' || b"\"*+,/:;<=>?[\\]|\x7f".contains(byte);
    (fits && !name.iter().any(forbidden)).then(|| name.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_have_eight_and_three_characters_at_most() {
        assert_eq!(short_name(b"bench.dat"), Some(b"BENCH.DAT".to_vec()));
        assert_eq!(short_name(b"~A1!#$%&.-@_"), Some(b"~A1!#$%&.-@_".to_vec()));
        for name in
            ["", ".", "..", "A.B.C", "TOOLONG99", "A.LONG", "A.", ".A", "A B", "A+B", "A\0", "A/B", "A=B"]
        {
            assert_eq!(short_name(name.as_bytes()), None, "{name:?}");
        }
    }
}
