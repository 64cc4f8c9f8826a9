//! Security descriptors that a client stores: parts of a self-relative descriptor (MS-DTYP 2.4.6).

use super::security_descriptor::{parts, put_descriptor};
use super::{Field, Reader, WireError};

/// Longest descriptor, in bytes: the length of an ACL has 16 bits, and identifiers are short.
pub const MAX_BYTES: usize = 68 << 10;
/// Control flags (MS-DTYP 2.4.6): a DACL is present, all parts are in one block, and those about inheritance.
const DACL_PRESENT: u16 = 0x0004;
const SELF_RELATIVE: u16 = 0x8000;
const DACL_INHERITANCE: u16 = 0x1400;
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
    pub fn of_mode(owner: (u32, u32, u32)) -> Self {
        let mut encoded = Vec::new();
        put_descriptor(parts::OWNER | parts::GROUP | parts::DACL, owner, &mut encoded);
        Self::decode(&encoded).unwrap_or_default()
    }

    /// Decodes a descriptor. A list of the system is ignored.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
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
        Ok(Self { control: inheritance, owner: identifier(owner)?, group: identifier(group)?, dacl })
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
            control |= DACL_PRESENT | self.control;
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
        let whole = Descriptor::of_mode((1000, 100, 0o640));
        assert_eq!(Descriptor::decode(&whole.encode(ALL)), Ok(whole.clone()));
        let owner = Descriptor::decode(&whole.encode(parts::OWNER)).unwrap();
        assert_eq!((owner.owner.len(), owner.group.len(), &owner.dacl), (16, 0, &Dacl::Absent));
        let mut changed = Descriptor::of_mode((0, 0, 0));
        changed.set(whole.clone(), ALL);
        assert_eq!(changed, whole);
        let null = Descriptor { dacl: Dacl::Null, ..Descriptor::default() };
        assert_eq!(Descriptor::decode(&null.encode(ALL)), Ok(null));
    }

    proptest! {
        #[test]
        fn garbage_causes_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() { *first = 1; }
            if let Ok(decoded) = Descriptor::decode(&bytes) {
                prop_assert!(decoded.encode(ALL).len() <= 20 + 3 * bytes.len());
            }
        }
    }
}
