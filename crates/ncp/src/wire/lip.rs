//! Large internet packets: probes that find the largest packet of a path (docs/protocols/ncp.md 2.2).

/// The observed starts of probes: type 1111 with a text at 4, and type 4C69, which is the text itself
/// (docs/protocols/ncp.md 2.2).
const FORMS: [(usize, &[u8]); 2] = [(4, b"LIP Echo Data   "), (0, b"Lip Echo Data")];
const TYPE: [u8; 2] = [0x11, 0x11];

/// The shortest probe.
pub const MIN_PROBE: usize = 20;

/// Appends a probe of `len` bytes, at least [`MIN_PROBE`].
pub fn put_probe(len: usize, out: &mut Vec<u8>) {
    let (at, text) = FORMS[0];
    let start = out.len();
    out.extend_from_slice(&TYPE);
    out.resize(start + at, 0);
    out.extend_from_slice(text);
    out.resize(start + len.max(MIN_PROBE), 0);
}

/// True for a packet that an echo socket returns unchanged.
pub fn is_probe(packet: &[u8]) -> bool {
    FORMS.iter().any(|(at, text)| {
        let typed = *at == 0 || packet.starts_with(&TYPE);
        typed && packet.get(*at..).is_some_and(|rest| rest.starts_with(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// docs/protocols/ncp.md 2.2: from the description alone.
    #[test]
    fn probe_has_the_probed_length() {
        let mut probe = Vec::new();
        put_probe(1500, &mut probe);
        assert_eq!((probe.len(), &probe[..20]), (1500, &b"\x11\x11\0\0LIP Echo Data   "[..]));
        assert!(is_probe(&probe) && is_probe(b"Lip Echo Data and more"));
        assert!(
            !is_probe(b"\x11\x11\x01\xff\x01\xff\0")
                && !is_probe(b"")
                && !is_probe(b"\0\0\0\0LIP Echo Data   ")
        );
        put_probe(0, &mut probe);
        assert_eq!(probe.len(), 1520);
    }
}
