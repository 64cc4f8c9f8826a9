//! The path of a name-space call: a volume, a base and components below it (docs/protocols/ncp.md 3.4, `HandlePath`).

use super::bytes::message;
use super::{Codec, Le32, Pstr, Reader, U8, WireError};

/// Meanings of the base of a path.
#[expect(missing_docs, reason = "the names are the field's")]
pub mod base {
    pub const HANDLE: u8 = 0;
    pub const DIRECTORY: u8 = 1;
    /// No base: the first component is the volume.
    pub const NONE: u8 = 0xFF;
}

message! {
    /// The start of a path (docs/protocols/ncp.md 3.4).
    PathStart {
        /// Volume.
        volume: u8 as U8,
        /// A short directory handle or a directory number.
        base: u32 as Le32,
        /// Meaning of the base: see [`base`].
        flag: u8 as U8,
    }
}

impl PathStart {
    /// The start of a path whose first component is a volume.
    pub const NONE: Self = Self { volume: 0, base: 0, flag: base::NONE };

    /// A start at a directory, by its number.
    pub const fn directory(volume: u8, number: u32) -> Self {
        Self { volume, base: number, flag: base::DIRECTORY }
    }

    /// A start at a directory, by its short handle.
    pub const fn handle(handle: u8) -> Self {
        Self { volume: 0, base: handle as u32, flag: base::HANDLE }
    }
}

/// Components below the start of a path: at most 255, each of at most 255 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Components<'a> {
    count: u8,
    strings: &'a [u8],
}

impl<'a> Components<'a> {
    /// No components: the path is its start.
    pub const NONE: Self = Self { count: 0, strings: &[] };

    /// Encodes components without their count; [`Codec::decode`] makes [`Components`] of the result.
    pub fn pack<'n>(names: impl IntoIterator<Item = &'n [u8]>) -> Result<Vec<u8>, WireError> {
        let mut out = vec![0];
        let mut count = 0usize;
        for name in names {
            Pstr::put(&Pstr::new(name)?, &mut out);
            count += 1;
        }
        out[0] =
            u8::try_from(count).map_err(|_| WireError::TooLong { field: "path", len: count, max: 255 })?;
        Ok(out)
    }

    /// Number of components.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// True when there are no components.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The components in order from the start.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut reader = Reader::new(self.strings);
        (0..self.count).map_while(move |_| reader.get::<Pstr<'a>>().ok().map(Pstr::bytes))
    }

    /// Reads `count` components.
    fn strings(count: u8, reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let all = reader.rest();
        for _ in 0..count {
            reader.get::<Pstr<'a>>()?;
        }
        Ok(Self { count, strings: &all[..all.len() - reader.rest().len()] })
    }
}

impl<'a> Codec<'a> for Components<'a> {
    type Value = Self;

    fn put(value: &Self, out: &mut Vec<u8>) {
        out.push(value.count);
        out.extend_from_slice(value.strings);
    }

    fn get(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let count = reader.get::<U8>()?;
        Self::strings(count, reader)
    }
}

message! {
    /// A file or directory: start and components (docs/protocols/ncp.md 3.4).
    HandlePath<'a> {
        /// Where the path starts.
        start: PathStart as PathStart,
        /// The names below it.
        components: Components<'a> as Components<'a>,
    }
}

/// Two paths in the form of a rename: both starts, then the components of both (docs/protocols/ncp.md 3.4,
/// sub-function 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PathPair<'a> {
    /// The old path.
    pub from: HandlePath<'a>,
    /// The new path.
    pub to: HandlePath<'a>,
}

impl<'a> Codec<'a> for PathPair<'a> {
    type Value = Self;

    fn put(value: &Self, out: &mut Vec<u8>) {
        for path in [&value.from, &value.to] {
            PathStart::put(&path.start, out);
            out.push(path.components.count);
        }
        out.extend_from_slice(value.from.components.strings);
        out.extend_from_slice(value.to.components.strings);
    }

    fn get(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let from = reader.get::<PathStart>()?;
        let from_count = reader.get::<U8>()?;
        let to = reader.get::<PathStart>()?;
        let to_count = reader.get::<U8>()?;
        let from = HandlePath { start: from, components: Components::strings(from_count, reader)? };
        let to = HandlePath { start: to, components: Components::strings(to_count, reader)? };
        Ok(Self { from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::{bytes, hex};

    /// docs/protocols/ncp.md 3.4; libncp-client-udp-tcp-unsigned.pcap, frame 21, from byte 22.
    #[test]
    fn absolute_path_starts_with_its_volume() {
        let packed = Components::pack([&b"SYS"[..], b"PEER.DAT"]).unwrap();
        let path = HandlePath { start: PathStart::NONE, components: Components::decode(&packed).unwrap() };
        let wire = hex("00 00000000 ff 02 03535953 08504545522e444154");
        assert_eq!(bytes::<HandlePath>(&path), wire);
        let decoded = HandlePath::decode(&wire).unwrap();
        assert_eq!(decoded.components.iter().collect::<Vec<_>>(), [&b"SYS"[..], b"PEER.DAT"]);
    }

    /// docs/protocols/ncp.md 3.4; linux-kernel-client-udp-tcp.pcap, frames 30 and 50.
    #[test]
    fn path_may_start_at_a_directory_or_handle() {
        let root = HandlePath { start: PathStart::directory(0, 1), components: Components::default() };
        assert_eq!(bytes::<HandlePath>(&root), hex("00 01000000 01 00"));
        assert!(root.components.is_empty());
        assert_eq!(bytes::<PathStart>(&PathStart::handle(2)), hex("00 02000000 00"));
    }

    /// docs/protocols/ncp.md 3.4, sub-function 4; linux-kernel-client-udp-tcp.pcap, frame 755.
    #[test]
    fn rename_has_both_starts_before_the_names() {
        let wire = hex("00 01000000 01 01 00 03000000 01 01 0666312e646174 0666322e646174");
        let pair = PathPair::decode(&wire).unwrap();
        assert_eq!((pair.from.start.base, pair.to.start.base), (1, 3));
        assert_eq!(pair.from.components.iter().next(), Some(&b"f1.dat"[..]));
        assert_eq!(pair.to.components.iter().next(), Some(&b"f2.dat"[..]));
        assert_eq!(bytes::<PathPair>(&pair), wire);
    }

    #[test]
    fn missing_and_too_many_components_are_errors() {
        assert!(HandlePath::decode(&hex("00 00000000 ff 02 03535953")).is_err());
        assert!(Components::pack(std::iter::repeat_n(&b"A"[..], 256)).is_err());
    }
}
