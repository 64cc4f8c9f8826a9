//! Calls on the bindery and on the users of connections (docs/protocols/ncp.md 2.4, 2.7).

use std::net::IpAddr;
use std::sync::Mutex;

use super::bindery::{Bindery, Object, Property, is_wild, matches};
use super::connection::Connection;
use super::connection_table::ConnectionTable;
use super::options::Peer;
use super::volume::VolumeResult;
use super::{Shared, lock};
use crate::wire::bindery::{
    ANY_KIND, ConnectionAddress, ConnectionAddressOld, IsObjectInSet, ObjectConnections,
    ObjectConnectionsOld, PropertyValue, ReadProperty, START, ScanObject, ScanProperty, ScannedObject,
    ScannedProperty, YES,
};
use crate::wire::ipx::Address;
use crate::wire::login::{AccessLevel, ObjectId, USER};
use crate::wire::server_info::ConnectionUser;
use crate::wire::text::{padded, unpadded};
use crate::wire::{Codec, Completion, Pstr};

/// Bindery access levels: write and read rights of a user, and of SUPERVISOR.
const USER_LEVEL: u8 = 0x11;
const SUPERVISOR_LEVEL: u8 = 0x33;
/// Type of a connection in the reply to 0x17/0x1A: a client of NCP.
const NCP_CLIENT: u8 = 2;

/// The object of the user of a connection, none before the login.
fn viewer<'s, V>(shared: &'s Shared<V>, connection: &Connection) -> Option<&'s Object> {
    connection.user.map(|user| shared.bindery.of_user(user))
}

/// The object of a type and exact name.
fn exact<'b>(bindery: &'b Bindery, kind: u16, name: &[u8]) -> VolumeResult<&'b Object> {
    if is_wild(name) || kind == ANY_KIND {
        return Err(Completion::WildcardNotAllowed);
    }
    bindery.find(kind, name).ok_or(Completion::NoSuchObject)
}

/// The same, if the user of the connection may read it.
fn readable<'s, V>(
    shared: &'s Shared<V>,
    connection: &Connection,
    kind: u16,
    name: &[u8],
) -> VolumeResult<&'s Object> {
    let object = exact(&shared.bindery, kind, name)?;
    let may = shared.bindery.may_read(object.security(), object, viewer(shared, connection));
    if may { Ok(object) } else { Err(Completion::BinderySecurity) }
}

/// A property of an object by name, if the user of the connection may read it.
fn property<V>(
    shared: &Shared<V>,
    connection: &Connection,
    object: &Object,
    name: &[u8],
) -> VolumeResult<Property> {
    let mut properties = object.properties();
    let found = properties.find(|property| property.name().eq_ignore_ascii_case(name));
    // FB also means that there is no such property (docs/protocols/ncp.md 3.6).
    let found = found.ok_or(Completion::UnknownFunction)?;
    let may = shared.bindery.may_read(found.security(), object, viewer(shared, connection));
    if may { Ok(found) } else { Err(Completion::BinderySecurity) }
}

const fn identity(object: &Object) -> ObjectId {
    ObjectId { id: object.id, kind: object.kind, name: object.name }
}

/// 0x17/0x35. A login needs the id, so that every client may request it.
pub fn object_id<V>(shared: &Shared<V>, kind: u16, name: &[u8], out: &mut Vec<u8>) -> VolumeResult<()> {
    ObjectId::put(&identity(exact(&shared.bindery, kind, name)?), out);
    Ok(())
}

/// 0x17/0x36.
pub fn object_name<V>(
    shared: &Shared<V>,
    connection: &Connection,
    id: u32,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let object = shared.bindery.with_id(id).ok_or(Completion::NoSuchObject)?;
    if !shared.bindery.may_read(object.security(), object, viewer(shared, connection)) {
        return Err(Completion::BinderySecurity);
    }
    ObjectId::put(&identity(object), out);
    Ok(())
}

/// 0x17/0x37: the next object that the user may read.
pub fn scan<V>(
    shared: &Shared<V>,
    connection: &Connection,
    call: &ScanObject<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let viewer = viewer(shared, connection);
    let last = (call.last != START).then_some(call.last);
    let mut objects = shared.bindery.after(last).iter();
    let found = objects.find(|object| {
        (call.kind == ANY_KIND || call.kind == object.kind)
            && matches(&call.pattern, unpadded(&object.name))
            && shared.bindery.may_read(object.security(), object, viewer)
    });
    let object = found.ok_or(Completion::NoSuchObject)?;
    let found = ScannedObject {
        object: identity(object),
        dynamic: object.flags(),
        security: object.security(),
        has_properties: if object.properties().next().is_some() { YES } else { 0 },
    };
    ScannedObject::put(&found, out);
    Ok(())
}

/// 0x17/0x3C: the next property that the user may read. The instance of a property is its number from 1.
pub fn scan_property<V>(
    shared: &Shared<V>,
    connection: &Connection,
    call: &ScanProperty<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let object = readable(shared, connection, call.kind, &call.name)?;
    let viewer = viewer(shared, connection);
    let last = if call.last == START { 0 } else { call.last };
    let mut properties = (1_u32..).zip(object.properties()).filter(|(instance, property)| {
        *instance > last
            && matches(&call.pattern, property.name())
            && shared.bindery.may_read(property.security(), object, viewer)
    });
    let (instance, property) = properties.next().ok_or(Completion::UnknownFunction)?;
    let found = ScannedProperty {
        name: padded(property.name()).map_err(|_| Completion::InvalidName)?,
        flags: property.flags(),
        security: property.security(),
        instance,
        has_value: YES,
        more: if properties.next().is_some() { YES } else { 0 },
    };
    ScannedProperty::put(&found, out);
    Ok(())
}

/// 0x17/0x3D.
pub fn read_property<V>(
    shared: &Shared<V>,
    connection: &Connection,
    call: &ReadProperty<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let object = readable(shared, connection, call.kind, &call.name)?;
    let property = property(shared, connection, object, &call.property)?;
    let segment = shared.bindery.segment(object, property, call.segment);
    let (value, more) = segment.ok_or(Completion::NoSuchSegment)?;
    let value = PropertyValue { value, more: if more { YES } else { 0 }, flags: property.flags() };
    PropertyValue::put(&value, out);
    Ok(())
}

/// 0x17/0x43.
pub fn is_in_set<V>(
    shared: &Shared<V>,
    connection: &Connection,
    call: &IsObjectInSet<'_>,
) -> VolumeResult<()> {
    let object = readable(shared, connection, call.kind, &call.name)?;
    let property = property(shared, connection, object, &call.property)?;
    if !property.is_set() {
        return Err(Completion::NotASet);
    }
    let member = exact(&shared.bindery, call.member_kind, &call.member)?;
    if object.has_member(member.id) { Ok(()) } else { Err(Completion::NoSuchMember) }
}

/// 0x17/0x46.
pub fn access_level<V>(shared: &Shared<V>, connection: &Connection, out: &mut Vec<u8>) {
    let (level, id) = match viewer(shared, connection) {
        None => (0, u32::MAX),
        Some(user) if shared.bindery.is_supervisor(user) => (SUPERVISOR_LEVEL, user.id),
        Some(user) => (USER_LEVEL, user.id),
    };
    AccessLevel::put(&AccessLevel { level, id }, out);
}

/// The connections of an object with numbers above `last`.
fn connections_of<V>(
    shared: &Shared<V>,
    connection: &Connection,
    connections: &Mutex<ConnectionTable>,
    (kind, name, last): (u16, &[u8], u16),
) -> VolumeResult<Vec<u16>> {
    let object = readable(shared, connection, kind, name)?;
    Ok(object.user.map_or_else(Vec::new, |user| lock(connections).numbers_of(user, last)))
}

/// 0x17/0x15: connections with numbers of one byte.
pub fn object_connections_old<V>(
    shared: &Shared<V>,
    connection: &Connection,
    connections: &Mutex<ConnectionTable>,
    (kind, name): (u16, &[u8]),
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let numbers = connections_of(shared, connection, connections, (kind, name, 0))?;
    let numbers: Vec<u8> = numbers.into_iter().filter_map(|number| u8::try_from(number).ok()).collect();
    let numbers = Pstr::new(&numbers).map_err(|_| Completion::Failure)?;
    ObjectConnectionsOld::put(&ObjectConnectionsOld { numbers }, out);
    Ok(())
}

/// 0x17/0x1B: as many connections as a reply holds; a client continues after the last one.
pub fn object_connections<V>(
    shared: &Shared<V>,
    connection: &Connection,
    connections: &Mutex<ConnectionTable>,
    (kind, name, last): (u16, &[u8], u32),
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let last = u16::try_from(last).unwrap_or(u16::MAX);
    let numbers = connections_of(shared, connection, connections, (kind, name, last))?;
    ObjectConnections::put_numbers(numbers, out);
    Ok(())
}

/// A connection number that the client may request: its own, and after the login every one.
fn requested(connection: &Connection, number: u32) -> VolumeResult<u16> {
    let number = u16::try_from(number).map_err(|_| Completion::BadConnectionNumber)?;
    let may = connection.user.is_some() || number == connection.number;
    if may { Ok(number) } else { Err(Completion::BadConnectionNumber) }
}

/// 0x17/0x16 and 0x17/0x1C: the user of a connection and the time of the login, all zero before the login.
pub fn connection_user<V>(
    shared: &Shared<V>,
    connection: &Connection,
    connections: &Mutex<ConnectionTable>,
    number: u32,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let number = requested(connection, number)?;
    // The table has the state after the last request, which is also that of the requesting connection: no request both
    // logs in and requests the user.
    let known = lock(connections).numbered(number).ok_or(Completion::BadConnectionNumber)?;
    let mut user = ConnectionUser { id: 0, kind: 0, name: [0; 48], login: [0; 7], reserved: 0 };
    if let Some(login) = known.login() {
        let object = shared.bindery.of_user(login.user);
        let at = login.at;
        user.id = object.id;
        user.kind = USER;
        user.name = object.name;
        user.login = [at.year, at.month, at.day, at.hour, at.minute, at.second, at.weekday];
    }
    ConnectionUser::put(&user, out);
    Ok(())
}

/// 0x17/0x13.
pub fn connection_address_old(
    connection: &Connection,
    connections: &Mutex<ConnectionTable>,
    number: u8,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let address = address(connection, connections, u32::from(number))?;
    ConnectionAddressOld::put(&ConnectionAddressOld { address }, out);
    Ok(())
}

/// 0x17/0x1A.
pub fn connection_address(
    connection: &Connection,
    connections: &Mutex<ConnectionTable>,
    number: u16,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let address = address(connection, connections, u32::from(number))?;
    ConnectionAddress::put(&ConnectionAddress { address, kind: NCP_CLIENT }, out);
    Ok(())
}

fn address(
    connection: &Connection,
    connections: &Mutex<ConnectionTable>,
    number: u32,
) -> VolumeResult<Address> {
    let peer = lock(connections).peer(requested(connection, number)?);
    peer.map(ipx_address).ok_or(Completion::BadConnectionNumber)
}

/// The IPX form of an address: that of RFC 1234 for IPv4, zeros for what has none.
fn ipx_address(peer: Peer) -> Address {
    let (ip, socket) = match peer {
        Peer::Ipx(address) => return address,
        Peer::Ip(address) => (Some(address.ip()), address.port()),
        Peer::AddressedStream(_, ip) => (Some(ip), 0),
        Peer::Stream(_) => (None, 0),
    };
    let node = match ip.map(|ip| ip.to_canonical()) {
        Some(IpAddr::V4(ip)) => {
            let [a, b, c, d] = ip.octets();
            [0, 0, a, b, c, d]
        }
        _ => [0; 6],
    };
    Address { network: 0, node, socket }
}
