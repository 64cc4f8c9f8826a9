//! Security descriptors that a client stores: parts of a self-relative descriptor (MS-DTYP 2.4.6).

use super::security_descriptor::{UnixOwner, parts, put_descriptor};
use super::{Field, Reader, WireError};

/// Longest descriptor, in bytes: the length of an ACL has 16 bits, and identifiers are short.
pub const MAX_BYTES: usize = 68 << 10;
/// Control flags (MS-DTYP 2.4.6): a DACL is present, all parts are in one block, and those about inheritance.
const DACL_PRESENT: u16 = 0x0004;
const SELF_RELATIVE: u16 = 0x8000;
const DACL_INHERITANCE: u16 = 0x1400;
/// One of them: the list was inherited; and the flag without which a client cannot set it.
const AUTO_INHERITED: u16 = 0x0400;
const AUTO_INHERIT_REQUESTED: u16 = 0x0100;
/// Flags of an entry (MS-DTYP 2.4.4.1): files inherit it, directories do, those below them do not, it concerns only what inherits
/// it, and it was inherited.
const FILES: u8 = 0x1;
const DIRECTORIES: u8 = 0x2;
const NOT_FURTHER: u8 = 0x4;
const INHERIT_ONLY: u8 = 0x8;
const INHERITED: u8 = 0x10;
/// Bytes of the header of a list, and of that of an entry.
const LIST_HEADER: usize = 8;
const ENTRY_HEADER: usize = 4;
/// Bytes of the fixed part.
const FIXED: usize = 20;

/// The access control list of a descriptor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Dacl {
    /// There is none.
    #[default]
    Absent,
    /// An absent list that gives everybody every access.
    Null,
    /// An encoded list.
    List(Vec<u8>),
}

/// The parts of a descriptor. Identifiers and lists stay encoded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Descriptor {
    /// Flags of the DACL about inheritance.
    control: u16,
    /// Owner; empty if there is none.
    owner: Vec<u8>,
    /// Group; empty if there is none.
    group: Vec<u8>,
    /// Who has which access.
    dacl: Dacl,
}

impl Descriptor {
    /// The descriptor that expresses a Unix owner, group and mode.
    pub fn of_mode(owner: UnixOwner) -> Self {
        let mut encoded = Vec::new();
        put_descriptor(parts::OWNER | parts::GROUP | parts::DACL, owner, &mut encoded);
        Self::decode(&encoded).unwrap_or_default()
    }

    /// Decodes a descriptor. A list of the system is ignored.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        Self::decode_with_control(bytes).map(|(descriptor, _)| descriptor)
    }

    /// Decodes a descriptor that a client sets: its list was inherited only if the client requests that explicitly.
    pub fn decode_request(bytes: &[u8]) -> Result<Self, WireError> {
        let (mut descriptor, control) = Self::decode_with_control(bytes)?;
        if control & AUTO_INHERIT_REQUESTED == 0 {
            descriptor.control &= !AUTO_INHERITED;
        }
        Ok(descriptor)
    }

    /// The descriptor, and all of its control flags.
    fn decode_with_control(bytes: &[u8]) -> Result<(Self, u16), WireError> {
        let mut reader = Reader::new(bytes, "security descriptor");
        let revision: u8 = reader.get()?;
        if revision != 1 {
            return Err(reader.bad("Revision", u64::from(revision)));
        }
        let _reserved: u8 = reader.get()?;
        let control: u16 = reader.get()?;
        let mut offset = || -> Result<usize, WireError> { Ok(reader.get::<u32>()? as usize) };
        let owner = offset()?;
        let group = offset()?;
        let _system_list = offset()?;
        let list = offset()?;
        let dacl = match (control & DACL_PRESENT != 0, list) {
            (false, _) => Dacl::Absent,
            (true, 0) => Dacl::Null,
            (true, at) => Dacl::List(acl(bytes, at)?.to_vec()),
        };
        let identifier = |at| if at == 0 { Ok(Vec::new()) } else { sid(bytes, at).map(<[u8]>::to_vec) };
        let inheritance = if dacl == Dacl::Absent { 0 } else { control & DACL_INHERITANCE };
        let owner = identifier(owner)?;
        let group = identifier(group)?;
        Ok((Self { control: inheritance, owner, group, dacl }, control))
    }

    /// Encodes the parts that a client requests, see [`parts`].
    pub fn encode(&self, requested: u32) -> Vec<u8> {
        let part = |bit: u32, bytes: &[u8]| if requested & bit == 0 { Vec::new() } else { bytes.to_vec() };
        let owner = part(parts::OWNER, &self.owner);
        let group = part(parts::GROUP, &self.group);
        let (present, list) = match &self.dacl {
            Dacl::List(list) => (true, part(parts::DACL, list)),
            Dacl::Null => (true, Vec::new()),
            Dacl::Absent => (false, Vec::new()),
        };
        let mut control = SELF_RELATIVE;
        if present && requested & parts::DACL != 0 {
            control |= DACL_PRESENT | self.control & DACL_INHERITANCE;
        }
        let mut out = vec![1, 0];
        control.put(&mut out);
        let mut at = FIXED as u32;
        for bytes in [&owner, &group, &Vec::new(), &list] {
            (if bytes.is_empty() { 0 } else { at }).put(&mut out);
            at += bytes.len() as u32;
        }
        for bytes in [owner, group, list] {
            out.extend_from_slice(&bytes);
        }
        out
    }

    /// Replaces the parts that a client sets.
    pub fn set(&mut self, new: Self, changed: u32) {
        if changed & parts::OWNER != 0 {
            self.owner = new.owner;
        }
        if changed & parts::GROUP != 0 {
            self.group = new.group;
        }
        if changed & parts::DACL != 0 {
            self.dacl = new.dacl;
            self.control = new.control;
        }
    }

    /// Replaces the list by one that is inherited, see [`Self::inherited`].
    pub fn inherit(&mut self, inherited: Self) {
        self.dacl = inherited.dacl;
        self.control = inherited.control;
    }

    /// The list that a new file or directory inherits (MS-DTYP 2.5.3.4.1); none if no entry is inherited.
    pub fn inherited(&self, directory: bool) -> Option<Self> {
        let Dacl::List(list) = &self.dacl else { return None };
        let control = self.control & AUTO_INHERITED;
        let mark = if control == 0 { 0 } else { INHERITED };
        let mut entries = Vec::new();
        let mut count = 0u16;
        let mut rest = list.get(LIST_HEADER..)?;
        while let [_, flags, low, high, ..] = *rest {
            let len = usize::from(u16::from_le_bytes([low, high])).max(ENTRY_HEADER);
            let (entry, following) = rest.split_at_checked(len)?;
            rest = following;
            let Some(flags) = inherited_flags(flags, directory) else { continue };
            let at = entries.len();
            entries.extend_from_slice(entry);
            if let Some(place) = entries.get_mut(at + 1) {
                *place = flags | mark;
            }
            count += 1;
        }
        if count == 0 {
            return None;
        }
        let mut inherited = vec![list.first().copied()?, 0];
        ((LIST_HEADER + entries.len()) as u16).put(&mut inherited);
        count.put(&mut inherited);
        0u16.put(&mut inherited);
        inherited.append(&mut entries);
        Some(Self { control, dacl: Dacl::List(inherited), ..Self::default() })
    }
}

/// The flags about inheritance of an entry in the list of a new file or directory; none if that does not inherit the entry.
fn inherited_flags(flags: u8, directory: bool) -> Option<u8> {
    let further = flags & NOT_FURTHER == 0;
    match (directory, flags & FILES != 0, flags & DIRECTORIES != 0) {
        (false, true, _) => Some(0),
        (true, _, true) => Some(if further { flags & (FILES | DIRECTORIES) } else { 0 }),
        // For the files below it.
        (true, true, false) if further => Some(FILES | INHERIT_ONLY),
        _ => None,
    }
}

/// The identifier at an offset (MS-DTYP 2.4.2).
fn sid(bytes: &[u8], at: usize) -> Result<&[u8], WireError> {
    let reader = Reader::new(bytes, "security identifier");
    let count = reader.slice(at, 2)?.get(1).copied().unwrap_or_default();
    reader.slice(at, 8 + 4 * usize::from(count))
}

/// The list at an offset, by the length in its header (MS-DTYP 2.4.5).
fn acl(bytes: &[u8], at: usize) -> Result<&[u8], WireError> {
    let reader = Reader::new(bytes, "access control list");
    let mut header = Reader::new(reader.slice(at, 8)?, "access control list");
    header.take(2)?;
    let len: u16 = header.get()?;
    reader.slice(at, usize::from(len).max(8))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: u32 = parts::OWNER | parts::GROUP | parts::DACL;

    #[test]
    fn a_descriptor_round_trips_with_all_and_with_single_parts() {
        let whole = Descriptor::of_mode(UnixOwner { uid: 1000, gid: 100, mode: 0o640 });
        assert_eq!(Descriptor::decode(&whole.encode(ALL)), Ok(whole.clone()));
        let owner = Descriptor::decode(&whole.encode(parts::OWNER)).unwrap();
        assert_eq!((owner.owner.len(), owner.group.len(), &owner.dacl), (16, 0, &Dacl::Absent));
        let mut changed = Descriptor::of_mode(UnixOwner { uid: 0, gid: 0, mode: 0 });
        changed.set(whole.clone(), ALL);
        assert_eq!(changed, whole);
        let null = Descriptor { dacl: Dacl::Null, ..Descriptor::default() };
        assert_eq!(Descriptor::decode(&null.encode(ALL)), Ok(null));
    }

    /// A descriptor with an entry for everybody for each of these flags.
    fn with_entries(control: u16, flags: &[u8]) -> Descriptor {
        let entry = |flags: &u8| {
            [&[0, *flags, 20, 0][..], &[0xFF, 1, 31, 0], &[1, 1, 0, 0, 0, 0, 0, 1], &[0; 4]].concat()
        };
        let entries: Vec<u8> = flags.iter().flat_map(entry).collect();
        let mut list = vec![2, 0];
        ((LIST_HEADER + entries.len()) as u16).put(&mut list);
        (flags.len() as u32).put(&mut list);
        list.extend_from_slice(&entries);
        Descriptor { control, dacl: Dacl::List(list), ..Descriptor::default() }
    }

    #[test]
    fn entries_are_inherited_by_their_flags() {
        // Flags of an entry, and those that a file and a directory inherit.
        for (flags, file, directory) in [
            (0, None, None),
            (FILES, Some(0), Some(FILES | INHERIT_ONLY)),
            (DIRECTORIES, None, Some(DIRECTORIES)),
            (FILES | DIRECTORIES, Some(0), Some(FILES | DIRECTORIES)),
            (FILES | DIRECTORIES | INHERIT_ONLY | INHERITED, Some(0), Some(FILES | DIRECTORIES)),
            (FILES | NOT_FURTHER, Some(0), None),
            (FILES | DIRECTORIES | NOT_FURTHER, Some(0), Some(0)),
        ] {
            for (control, mark) in [(0, 0), (AUTO_INHERITED, INHERITED), (0x1000, 0)] {
                for (is_directory, expected) in [(false, file), (true, directory)] {
                    let found = with_entries(control, &[0, flags]).inherited(is_directory);
                    let expected =
                        expected.map(|flags| with_entries(control & AUTO_INHERITED, &[flags | mark]));
                    assert_eq!(found, expected, "{flags:#x} {control:#x} {is_directory}");
                }
            }
        }
        let mut cut = with_entries(0, &[FILES]);
        cut.dacl = Dacl::List(vec![2, 0, 28, 0, 1, 0, 0, 0, 0, FILES, 20, 0]);
        assert_eq!(cut.inherited(false), None);
    }

    #[test]
    fn a_list_counts_as_inherited_only_on_request() {
        for (sent, kept) in [(0, 0), (0x0400, 0), (0x0500, 0x0400), (0x1100, 0x1000), (0x1500, 0x1400)] {
            let new = Descriptor::decode_request(&{
                let mut bytes = with_entries(0, &[0]).encode(ALL);
                bytes[2..4].copy_from_slice(&(sent | DACL_PRESENT | SELF_RELATIVE).to_le_bytes());
                bytes
            });
            let mut descriptor = Descriptor::default();
            descriptor.set(new.unwrap(), parts::DACL);
            let encoded = descriptor.encode(ALL);
            assert_eq!(u16::from_le_bytes([encoded[2], encoded[3]]) & 0x1500, kept, "{sent:#x}");
        }
    }

    proptest! {
        #[test]
        fn garbage_causes_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() { *first = 1; }
            if let Ok(decoded) = Descriptor::decode(&bytes) {
                let _ = (decoded.inherited(true), decoded.inherited(false));
                prop_assert!(decoded.encode(ALL).len() <= 20 + 3 * bytes.len());
            }
        }
    }
}
