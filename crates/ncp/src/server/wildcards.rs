//! Names with the wildcards `*` and `?`.

/// The rest of a pattern after a match of the whole name, in any case; none if the name does not match. It takes time
/// proportional to the product of both lengths at most.
pub fn rest_after<'p>(pattern: &'p [u8], name: &[u8]) -> Option<&'p [u8]> {
    let mut at = 0;
    let mut seen = 0;
    let mut star = None;
    while seen < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(byte) if *byte == b'?' || byte.eq_ignore_ascii_case(&name[seen]) => {
                at += 1;
                seen += 1;
            }
            _ => {
                // Another character for the last star.
                let (before, taken) = star?;
                star = Some((before, taken + 1));
                at = before + 1;
                seen = taken + 1;
            }
        }
    }
    Some(&pattern[at..])
}
