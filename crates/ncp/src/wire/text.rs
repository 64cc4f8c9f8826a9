//! Strings with a length byte, and names in fields of fixed length.

use std::ops::Deref;

use super::{Codec, Reader, WireError};

/// A string of at most 255 bytes after a length byte, without NUL (docs/protocols/ncp.md 0). Names are bytes in the
/// code page of the machine that created them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Pstr<'a>(&'a [u8]);

impl<'a> Pstr<'a> {
    /// A string that can be sent; fails with `TooLong` above 255 bytes.
    pub const fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        if bytes.len() > 255 {
            return Err(WireError::TooLong { field: "string", len: bytes.len(), max: 255 });
        }
        Ok(Self(bytes))
    }

    /// The bytes, with the lifetime of the packet.
    pub const fn bytes(self) -> &'a [u8] {
        self.0
    }
}

impl Deref for Pstr<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0
    }
}

impl<'a> Codec<'a> for Pstr<'a> {
    type Value = Self;

    fn put(value: &Self, out: &mut Vec<u8>) {
        out.push(value.0.len() as u8);
        out.extend_from_slice(value.0);
    }

    fn get(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let [len] = reader.array()?;
        reader.take(usize::from(len)).map(Self)
    }
}

/// A name padded with NUL to a field of `N` bytes.
pub fn padded<const N: usize>(name: &[u8]) -> Result<[u8; N], WireError> {
    let mut place = [0; N];
    let target = place.get_mut(..name.len());
    target.ok_or(WireError::TooLong { field: "name", len: name.len(), max: N })?.copy_from_slice(name);
    Ok(place)
}

/// The name in a padded field.
pub fn unpadded(place: &[u8]) -> &[u8] {
    place.split(|byte| *byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn string_has_a_length_byte_and_at_most_255_bytes() {
        let mut bytes = Vec::new();
        Pstr::put(&Pstr::new(b"SYS").unwrap(), &mut bytes);
        assert_eq!(bytes, b"\x03SYS");
        assert_eq!(Pstr::decode(b"\x03SYSx").unwrap().bytes(), b"SYS");
        assert_eq!(Pstr::decode(b"\x04SYS"), Err(WireError::Truncated { wanted: 4, left: 3 }));
        assert!(Pstr::new(&[0; 256]).is_err());
    }

    #[test]
    fn padding_is_added_and_removed() {
        assert_eq!(padded::<5>(b"ABC"), Ok(*b"ABC\0\0"));
        assert_eq!(unpadded(b"ABC\0D"), b"ABC");
        assert!(padded::<2>(b"ABC").is_err());
    }
}
