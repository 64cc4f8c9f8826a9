//! Function codes and the framing of calls: with a length field, with a sub-function, or with neither
//! (docs/protocols/ncp.md 1.2).

use super::{Be16, Reader, U8, WireError};

/// A function code and, in some families, a sub-function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Function {
    /// The byte after the header.
    pub code: u8,
    /// The sub-function within a family.
    pub sub: Option<u8>,
}

/// The framing of the calls of a function code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// The data follows the function code.
    Plain,
    /// The sub-function follows, then the data.
    Sub,
    /// A big-endian count of the following bytes, then the sub-function and the data.
    Counted,
}

impl Family {
    /// The family of a function code.
    pub const fn from_code(code: u8) -> Self {
        match code {
            0x15 | 0x16 | 0x17 | 0x23 | 0x5A | 0x7B => Self::Counted,
            0x20 | 0x22 | 0x56 | 0x57 | 0x58 | 0x59 | 0x68 | 0x6F => Self::Sub,
            _ => Self::Plain,
        }
    }
}

impl Function {
    /// A function without sub-functions.
    pub const fn plain(code: u8) -> Self {
        Self { code, sub: None }
    }

    /// A sub-function of a family.
    pub const fn sub(code: u8, sub: u8) -> Self {
        Self { code, sub: Some(sub) }
    }

    /// Parses the framing of a call: the function and its data, which ends where the length field says.
    pub fn split(body: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(body);
        let code = reader.get::<U8>()?;
        let mut data = match Family::from_code(code) {
            Family::Plain => return Ok((Self::plain(code), reader.rest())),
            Family::Sub => reader,
            Family::Counted => {
                let count = reader.get::<Be16>()?;
                Reader::new(reader.take(usize::from(count))?)
            }
        };
        let sub = data.get::<U8>()?;
        Ok((Self::sub(code, sub), data.rest()))
    }

    /// Appends a call whose data `put` appends.
    pub fn frame(self, out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
        out.push(self.code);
        let start = out.len();
        if Family::from_code(self.code) == Family::Counted {
            out.extend_from_slice(&[0; 2]);
        }
        out.extend(self.sub);
        put(out);
        if Family::from_code(self.code) == Family::Counted {
            // No call of these families approaches 64 KiB: the longest contains a few strings.
            let count = (out.len() - start - 2) as u16;
            out[start..start + 2].copy_from_slice(&count.to_be_bytes());
        }
    }
}

impl std::fmt::Display for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.sub {
            Some(sub) if self.code == 0x57 => write!(f, "87/{sub}"),
            Some(sub) => write!(f, "0x{:02X}/0x{sub:02X}", self.code),
            None => write!(f, "0x{:02X}", self.code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(function: Function, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        function.frame(&mut out, |out| out.extend_from_slice(data));
        out
    }

    /// docs/protocols/ncp.md 1.2: the length field counts the sub-function.
    #[test]
    fn length_field_counts_the_following_bytes() {
        let bytes = framed(Function::sub(0x16, 0x05), b"\x03SYS");
        assert_eq!(bytes, [0x16, 0x00, 0x05, 0x05, 0x03, b'S', b'Y', b'S']);
        let signed: Vec<u8> = bytes.iter().copied().chain([9; 8]).collect();
        assert_eq!(Function::split(&signed), Ok((Function::sub(0x16, 0x05), &b"\x03SYS"[..])));
    }

    /// docs/protocols/ncp.md 1.2; linux-kernel-client-udp-tcp.pcap, frame 28: name spaces of a volume.
    #[test]
    fn family_57_has_no_length_field() {
        assert_eq!(framed(Function::sub(0x57, 24), &[0, 0, 0]), [0x57, 0x18, 0, 0, 0]);
        assert_eq!(Function::split(&[0x57, 0x18, 0, 0, 0]), Ok((Function::sub(0x57, 24), &[0u8, 0, 0][..])));
    }

    #[test]
    fn data_follows_functions_without_family() {
        assert_eq!(framed(Function::plain(0x21), &[4, 0]), [0x21, 4, 0]);
        assert_eq!(Function::split(&[0x14]), Ok((Function::plain(0x14), &[][..])));
    }

    #[test]
    fn invalid_length_field_is_an_error() {
        assert_eq!(Function::split(&[0x17, 0, 9, 0x11]), Err(WireError::Truncated { wanted: 9, left: 1 }));
        assert_eq!(Function::split(&[0x17, 0, 0, 0x11]), Err(WireError::Truncated { wanted: 1, left: 0 }));
        assert!(Function::split(&[]).is_err());
    }

    #[test]
    fn functions_are_printed_as_in_the_documents() {
        assert_eq!(Function::sub(0x57, 64).to_string(), "87/64");
        assert_eq!(Function::sub(0x17, 0x18).to_string(), "0x17/0x18");
        assert_eq!(Function::plain(0x48).to_string(), "0x48");
    }
}
