//! Read-only calls on the bindery: objects, their properties, and the connections of an object (docs/protocols/ncp.md
//! 2.7).

use super::bytes::message;
use super::ipx::Address;
use super::login::ObjectId;
use super::{Be16, Be32, Codec, Le16, Le32, Pstr, Raw, Reader, U8, WireError};

/// Object type of a group.
pub const GROUP: u16 = 2;
/// Matches every object type in a scan.
pub const ANY_KIND: u16 = 0xFFFF;
/// Starts a scan.
pub const START: u32 = u32::MAX;
/// Bytes of a segment of a property value.
pub const SEGMENT_LEN: usize = 128;
/// Flag of a property whose value is a set of object ids.
pub const SET: u8 = 0x02;
/// Flag of an object or property that exists until the server stops.
pub const DYNAMIC: u8 = 0x01;
/// Present: what follows exists.
pub const YES: u8 = 0xFF;

/// Names of properties.
#[expect(missing_docs, reason = "the names are the protocol's")]
pub mod property {
    pub const LOGIN_CONTROL: &[u8] = b"LOGIN_CONTROL";
    pub const GROUPS: &[u8] = b"GROUPS_I'M_IN";
    pub const SECURITY_EQUALS: &[u8] = b"SECURITY_EQUALS";
    pub const GROUP_MEMBERS: &[u8] = b"GROUP_MEMBERS";
    pub const IDENTIFICATION: &[u8] = b"IDENTIFICATION";
    pub const NET_ADDRESS: &[u8] = b"NET_ADDRESS";
}

message! {
    /// 0x17/0x36: requests the object with an id; the reply is an [`ObjectId`] (docs/protocols/ncp.md 2.7).
    GetObjectName {
        /// Object id.
        id: u32 as Be32,
    }
}

message! {
    /// 0x17/0x37: requests the next object that matches a pattern (docs/protocols/ncp.md 2.7).
    ScanObject<'a> {
        /// Id of the last object returned; [`START`] at the start.
        last: u32 as Be32,
        /// Type of the objects, or [`ANY_KIND`].
        kind: u16 as Be16,
        /// Pattern of the object names.
        pattern: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// Reply to 0x17/0x37 (docs/protocols/ncp.md 2.7).
    ScannedObject {
        /// The object.
        object: ObjectId as ObjectId,
        /// [`DYNAMIC`] or 0.
        dynamic: u8 as U8,
        /// Write and read rights, one nibble each.
        security: u8 as U8,
        /// [`YES`] if the object has properties.
        has_properties: u8 as U8,
    }
}

message! {
    /// 0x17/0x3C: requests the next property of an object that matches a pattern (docs/protocols/ncp.md 2.7).
    ScanProperty<'a> {
        /// Type of the object.
        kind: u16 as Be16,
        /// Name of the object.
        name: Pstr<'a> as Pstr<'a>,
        /// Instance of the last property returned; [`START`] at the start.
        last: u32 as Be32,
        /// Pattern of the property names.
        pattern: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// Reply to 0x17/0x3C (docs/protocols/ncp.md 2.7).
    ScannedProperty {
        /// Name, padded with NUL.
        name: [u8; 16] as Raw<16>,
        /// [`SET`], [`DYNAMIC`].
        flags: u8 as U8,
        /// Write and read rights, one nibble each.
        security: u8 as U8,
        /// Number with which the scan continues.
        instance: u32 as Be32,
        /// [`YES`] if the property has a value.
        has_value: u8 as U8,
        /// [`YES`] if more properties follow.
        more: u8 as U8,
    }
}

message! {
    /// 0x17/0x3D: reads 128 bytes of a property (docs/protocols/ncp.md 2.7).
    ReadProperty<'a> {
        /// Type of the object.
        kind: u16 as Be16,
        /// Name of the object.
        name: Pstr<'a> as Pstr<'a>,
        /// Segment number, from 1.
        segment: u8 as U8,
        /// Name of the property.
        property: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// Reply to 0x17/0x3D (docs/protocols/ncp.md 2.7).
    PropertyValue {
        /// The segment.
        value: [u8; SEGMENT_LEN] as Raw<SEGMENT_LEN>,
        /// [`YES`] if more segments follow.
        more: u8 as U8,
        /// [`SET`], [`DYNAMIC`].
        flags: u8 as U8,
    }
}

message! {
    /// 0x17/0x43: whether an object is in a set; the reply has no data (docs/protocols/ncp.md 2.7).
    IsObjectInSet<'a> {
        /// Type of the object that has the set.
        kind: u16 as Be16,
        /// Its name.
        name: Pstr<'a> as Pstr<'a>,
        /// Name of the property.
        property: Pstr<'a> as Pstr<'a>,
        /// Type of the member.
        member_kind: u16 as Be16,
        /// Name of the member.
        member: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// 0x17/0x15: requests the connections of an object, in the older form with numbers of one byte
    /// (docs/protocols/ncp.md 2.7).
    GetObjectConnectionsOld<'a> {
        /// Type of the object.
        kind: u16 as Be16,
        /// Name of the object.
        name: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// Reply to 0x17/0x15 (docs/protocols/ncp.md 2.7).
    ObjectConnectionsOld<'a> {
        /// Connection numbers, one byte each.
        numbers: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// 0x17/0x1B: requests the connections of an object (docs/protocols/ncp.md 2.7).
    GetObjectConnections<'a> {
        /// The last connection number returned; 0 at the start.
        last: u32 as Le32,
        /// Type of the object.
        kind: u16 as Be16,
        /// Name of the object.
        name: Pstr<'a> as Pstr<'a>,
    }
}

/// Reply to 0x17/0x1B: a count of one byte and connection numbers of four (docs/protocols/ncp.md 2.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ObjectConnections<'a>(&'a [u8]);

impl<'a> ObjectConnections<'a> {
    /// The largest number of connections of a reply that fits into the smallest packet.
    pub const MAX: usize = 125;

    /// Appends a reply with the first [`Self::MAX`] of these connections.
    pub fn put_numbers(numbers: impl IntoIterator<Item = u16>, out: &mut Vec<u8>) {
        let start = out.len();
        out.push(0);
        for number in numbers.into_iter().take(Self::MAX) {
            Le32::put(&u32::from(number), out);
            out[start] += 1;
        }
    }

    /// The connection numbers.
    pub fn numbers(self) -> impl Iterator<Item = u32> + use<'a> {
        self.0.chunks_exact(4).map(|number| Reader::new(number).get::<Le32>().unwrap_or_default())
    }
}

impl<'a> Codec<'a> for ObjectConnections<'a> {
    type Value = Self;

    fn put(value: &Self, out: &mut Vec<u8>) {
        out.push((value.0.len() / 4) as u8);
        out.extend_from_slice(value.0);
    }

    fn get(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let count = reader.get::<U8>()?;
        reader.take(usize::from(count) * 4).map(Self)
    }
}

message! {
    /// 0x17/0x13: requests the address of a connection, in the older form (docs/protocols/ncp.md 2.7).
    GetConnectionAddressOld {
        /// Connection number.
        connection: u8 as U8,
    }
}

message! {
    /// Reply to 0x17/0x13 (docs/protocols/ncp.md 2.7).
    ConnectionAddressOld {
        /// The address.
        address: Address as Address,
    }
}

message! {
    /// 0x17/0x1A: requests the address of a connection (docs/protocols/ncp.md 2.7).
    GetConnectionAddress {
        /// Connection number.
        connection: u16 as Le16,
    }
}

message! {
    /// Reply to 0x17/0x1A (docs/protocols/ncp.md 2.7).
    ConnectionAddress {
        /// The address.
        address: Address as Address,
        /// Type of the connection; 2 is a client of NCP.
        kind: u8 as U8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::login::{FILE_SERVER, USER};
    use crate::wire::tests::{bytes, hex};
    use crate::wire::text::padded;

    fn name(text: &str) -> Pstr<'_> {
        Pstr::new(text.as_bytes()).unwrap()
    }

    /// linux-kernel-client-mars-server-ethernet-ipx.pcap, frames 43 to 46.
    #[test]
    fn scan_and_property_calls_match_captures() {
        let scan = ScanObject { last: START, kind: FILE_SERVER, pattern: name("*") };
        assert_eq!(bytes::<ScanObject>(&scan), hex("ffffffff0004012a"));
        let object = ObjectId { id: 0x0300_0001, kind: FILE_SERVER, name: padded(b"MARSRSV").unwrap() };
        let found = ScannedObject { object, dynamic: 1, security: 0x40, has_properties: 0xff };
        let wire = bytes::<ScannedObject>(&found);
        assert_eq!((wire.len(), &wire[54..]), (57, &[0x01, 0x40, 0xff][..]));
        let read = ReadProperty {
            kind: FILE_SERVER,
            name: name("MARSRSV"),
            segment: 1,
            property: name("NET_ADDRESS"),
        };
        assert_eq!(bytes::<ReadProperty>(&read), hex("0004074d415253525356010b4e45545f41444452455353"));
        assert_eq!(PropertyValue::decode(&[7; 130]).unwrap().flags, 7);
    }

    /// docs/protocols/ncp.md 2.7, from the description alone.
    #[test]
    fn names_sets_and_property_scans_have_their_fields_in_order() {
        assert_eq!(bytes::<GetObjectName>(&GetObjectName { id: 0x0001_0002 }), hex("00010002"));
        let scan = ScanProperty { kind: USER, name: name("AB"), last: START, pattern: name("*") };
        assert_eq!(bytes::<ScanProperty>(&scan), hex("0001 024142 ffffffff 012a"));
        let found = ScannedProperty {
            name: padded(property::GROUPS).unwrap(),
            flags: SET,
            security: 0x31,
            instance: 2,
            has_value: YES,
            more: 0,
        };
        let wire = bytes::<ScannedProperty>(&found);
        assert_eq!((wire.len(), &wire[16..]), (24, &hex("02 31 00000002 ff 00")[..]));
        let inside = IsObjectInSet {
            kind: GROUP,
            name: name("AB"),
            property: name("CD"),
            member_kind: USER,
            member: name("E"),
        };
        assert_eq!(bytes::<IsObjectInSet>(&inside), hex("0002 024142 024344 0001 0145"));
    }

    /// docs/protocols/ncp.md 2.7, from the description alone.
    #[test]
    fn connection_lists_have_numbers_of_one_or_four_bytes() {
        let old = GetObjectConnectionsOld { kind: USER, name: name("AB") };
        assert_eq!(bytes::<GetObjectConnectionsOld>(&old), hex("0001 024142"));
        let new = GetObjectConnections { last: 0x0102, kind: USER, name: name("AB") };
        assert_eq!(bytes::<GetObjectConnections>(&new), hex("02010000 0001 024142"));
        let mut wire = Vec::new();
        ObjectConnections::put_numbers([1, 0x0203], &mut wire);
        assert_eq!(wire, hex("02 01000000 03020000"));
        let list = ObjectConnections::decode(&wire).unwrap();
        assert_eq!(list.numbers().collect::<Vec<_>>(), [1, 0x0203]);
        assert_eq!(bytes::<ObjectConnections>(&list), wire);
        assert!(ObjectConnections::decode(&hex("02 01000000")).is_err());
        wire.clear();
        ObjectConnections::put_numbers(1..=500, &mut wire);
        assert_eq!(wire.len(), 1 + 4 * ObjectConnections::MAX);
        assert_eq!(bytes::<GetConnectionAddress>(&GetConnectionAddress { connection: 0x0102 }), hex("0201"));
        let address = Address { network: 1, node: [2; 6], socket: 0x4003 };
        let wire = bytes::<ConnectionAddress>(&ConnectionAddress { address, kind: 2 });
        assert_eq!(wire, hex("00000001 020202020202 4003 02"));
    }
}
