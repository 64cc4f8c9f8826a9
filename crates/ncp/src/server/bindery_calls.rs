//! Calls on the bindery and on the users of connections (docs/protocols/ncp.md 2.4, 2.7).

use std::net::IpAddr;

use super::bindery::{Object, Property, is_wild, matches};
use super::execute::Execution;
use super::mutex::lock;
use super::peer::Peer;
use super::volume::{Volume, VolumeResult};
use crate::wire::bindery::{
    ANY_KIND, ConnectionAddress, ConnectionAddressOld, GetObjectConnections, GetObjectConnectionsOld,
    IsObjectInSet, ObjectConnections, ObjectConnectionsOld, PropertyValue, ReadProperty, START, ScanObject,
    ScanProperty, ScannedObject, ScannedProperty, YES,
};
use crate::wire::ipx::Address;
use crate::wire::login::{AccessLevel, ObjectId, USER};
use crate::wire::server_info::ConnectionUser;
use crate::wire::text::{padded, unpadded};
use crate::wire::{BinderyCall, Completion, Pstr};

/// Bindery access levels: write and read rights of a user, and of SUPERVISOR.
const USER_LEVEL: u8 = 0x11;
const SUPERVISOR_LEVEL: u8 = 0x33;
/// Type of a connection in the reply to 0x17/0x1A: a client of NCP.
const NCP_CLIENT: u8 = 2;

impl<'s, V: Volume> Execution<'s, V> {
    /// Calls on the bindery, and on the users and addresses of connections.
    pub fn bindery_call(&mut self, call: &BinderyCall<'_>) -> VolumeResult<()> {
        match call {
            // A login needs the id, so that every client may request it.
            BinderyCall::GetObjectId(call) => self.reply(&identity(self.object(call.kind, &call.name)?)),
            BinderyCall::GetObjectName(call) => {
                let object = self.shared.bindery.with_id(call.id).ok_or(Completion::NoSuchObject)?;
                self.check_readable(object.security(), object)?;
                self.reply(&identity(object))
            }
            BinderyCall::ScanObject(call) => self.scan_objects(call),
            BinderyCall::ScanProperty(call) => self.scan_properties(call),
            BinderyCall::ReadProperty(call) => self.read_property(call),
            BinderyCall::IsObjectInSet(call) => self.is_in_set(call),
            BinderyCall::GetAccessLevel(_) => self.access_level(),
            BinderyCall::GetObjectConnectionsOld(call) => self.object_connections_old(call),
            BinderyCall::GetObjectConnections(call) => self.object_connections(call),
            BinderyCall::GetConnectionUserOld(call) => self.connection_user(call.connection.into()),
            BinderyCall::GetConnectionUser(call) => self.connection_user(call.connection),
            BinderyCall::GetConnectionAddressOld(call) => {
                let address = self.address(call.connection.into())?;
                self.reply(&ConnectionAddressOld { address })
            }
            BinderyCall::GetConnectionAddress(call) => {
                let address = self.address(call.connection.into())?;
                self.reply(&ConnectionAddress { address, kind: NCP_CLIENT })
            }
        }
    }

    /// The object of the user of the connection, none before the login.
    fn viewer(&self) -> Option<&'s Object> {
        self.connection.user.map(|user| self.shared.bindery.of_user(user))
    }

    /// True when the user may read something of an object with this security.
    fn may_read(&self, security: u8, object: &Object) -> bool {
        self.shared.bindery.may_read(security, object, self.viewer())
    }

    fn check_readable(&self, security: u8, object: &Object) -> VolumeResult<()> {
        if self.may_read(security, object) { Ok(()) } else { Err(Completion::BinderySecurity) }
    }

    /// The object of a type and exact name.
    fn object(&self, kind: u16, name: &[u8]) -> VolumeResult<&'s Object> {
        if is_wild(name) || kind == ANY_KIND {
            return Err(Completion::WildcardNotAllowed);
        }
        self.shared.bindery.find(kind, name).ok_or(Completion::NoSuchObject)
    }

    /// The same, if the user may read it.
    fn readable_object(&self, kind: u16, name: &[u8]) -> VolumeResult<&'s Object> {
        let object = self.object(kind, name)?;
        self.check_readable(object.security(), object).map(|()| object)
    }

    /// A property of an object by name, if the user may read it.
    fn property(&self, object: &Object, name: &[u8]) -> VolumeResult<Property> {
        let mut properties = object.properties();
        let found = properties.find(|property| property.name().eq_ignore_ascii_case(name));
        // FB also means that there is no such property (docs/protocols/ncp.md 3.6).
        let found = found.ok_or(Completion::UnknownFunction)?;
        self.check_readable(found.security(), object).map(|()| found)
    }

    /// 0x17/0x37: the next object that the user may read.
    fn scan_objects(&mut self, call: &ScanObject<'_>) -> VolumeResult<()> {
        let last = (call.last != START).then_some(call.last);
        let mut objects = self.shared.bindery.after(last).iter();
        let found = objects.find(|object| {
            (call.kind == ANY_KIND || call.kind == object.kind)
                && matches(&call.pattern, unpadded(&object.name))
                && self.may_read(object.security(), object)
        });
        let object = found.ok_or(Completion::NoSuchObject)?;
        self.reply(&ScannedObject {
            object: identity(object),
            dynamic: object.flags(),
            security: object.security(),
            has_properties: flag(object.properties().next().is_some()),
        })
    }

    /// 0x17/0x3C: the next property that the user may read. The instance of a property is its number from 1.
    fn scan_properties(&mut self, call: &ScanProperty<'_>) -> VolumeResult<()> {
        let object = self.readable_object(call.kind, &call.name)?;
        let last = if call.last == START { 0 } else { call.last };
        let mut properties = (1_u32..).zip(object.properties()).filter(|(instance, property)| {
            *instance > last
                && matches(&call.pattern, property.name())
                && self.may_read(property.security(), object)
        });
        let (instance, property) = properties.next().ok_or(Completion::UnknownFunction)?;
        let more = flag(properties.next().is_some());
        self.reply(&ScannedProperty {
            name: padded(property.name()).map_err(|_| Completion::InvalidName)?,
            flags: property.flags(),
            security: property.security(),
            instance,
            has_value: YES,
            more,
        })
    }

    /// 0x17/0x3D.
    fn read_property(&mut self, call: &ReadProperty<'_>) -> VolumeResult<()> {
        let object = self.readable_object(call.kind, &call.name)?;
        let property = self.property(object, &call.property)?;
        let segment = self.shared.bindery.segment(object, property, call.segment);
        let (value, more) = segment.ok_or(Completion::NoSuchSegment)?;
        self.reply(&PropertyValue { value, more: flag(more), flags: property.flags() })
    }

    /// 0x17/0x43.
    fn is_in_set(&self, call: &IsObjectInSet<'_>) -> VolumeResult<()> {
        let object = self.readable_object(call.kind, &call.name)?;
        let property = self.property(object, &call.property)?;
        if !property.is_set() {
            return Err(Completion::NotASet);
        }
        let member = self.object(call.member_kind, &call.member)?;
        if object.has_member(member.id) { Ok(()) } else { Err(Completion::NoSuchMember) }
    }

    /// 0x17/0x46.
    fn access_level(&mut self) -> VolumeResult<()> {
        let (level, id) = match self.viewer() {
            None => (0, u32::MAX),
            Some(user) if self.shared.bindery.is_supervisor(user) => (SUPERVISOR_LEVEL, user.id),
            Some(user) => (USER_LEVEL, user.id),
        };
        self.reply(&AccessLevel { level, id })
    }

    /// The connections of an object with numbers above `last`.
    fn connections_of(&self, kind: u16, name: &[u8], last: u16) -> VolumeResult<Vec<u16>> {
        let object = self.readable_object(kind, name)?;
        Ok(object.user.map_or_else(Vec::new, |user| lock(self.connections).numbers_of(user, last)))
    }

    /// 0x17/0x15: connections with numbers of one byte.
    fn object_connections_old(&mut self, call: &GetObjectConnectionsOld<'_>) -> VolumeResult<()> {
        let numbers = self.connections_of(call.kind, &call.name, 0)?;
        let numbers: Vec<u8> = numbers.into_iter().filter_map(|number| u8::try_from(number).ok()).collect();
        let numbers = Pstr::new(&numbers).map_err(|_| Completion::Failure)?;
        self.reply(&ObjectConnectionsOld { numbers })
    }

    /// 0x17/0x1B: as many connections as a reply holds; a client continues after the last one.
    fn object_connections(&mut self, call: &GetObjectConnections<'_>) -> VolumeResult<()> {
        let last = u16::try_from(call.last).unwrap_or(u16::MAX);
        ObjectConnections::put_numbers(self.connections_of(call.kind, &call.name, last)?, self.out);
        Ok(())
    }

    /// A connection number that the client may request: its own, and after the login every one.
    fn requested(&self, number: u32) -> VolumeResult<u16> {
        let number = u16::try_from(number).map_err(|_| Completion::BadConnectionNumber)?;
        let may = self.connection.user.is_some() || number == self.connection.number;
        if may { Ok(number) } else { Err(Completion::BadConnectionNumber) }
    }

    /// 0x17/0x16 and 0x17/0x1C: the user of a connection and the time of the login, all zero before the login.
    fn connection_user(&mut self, number: u32) -> VolumeResult<()> {
        let number = self.requested(number)?;
        // The table has the state after the last request, which is also that of the requesting connection: no request both
        // logs in and requests the user.
        let known = lock(self.connections).numbered(number).ok_or(Completion::BadConnectionNumber)?;
        let mut user = ConnectionUser { id: 0, kind: 0, name: [0; 48], login: [0; 7], reserved: 0 };
        if let Some(login) = known.login() {
            let object = self.shared.bindery.of_user(login.user);
            let at = login.at;
            user.id = object.id;
            user.kind = USER;
            user.name = object.name;
            user.login = [at.year, at.month, at.day, at.hour, at.minute, at.second, at.weekday];
        }
        self.reply(&user)
    }

    /// The address of the client of a connection.
    fn address(&self, number: u32) -> VolumeResult<Address> {
        let peer = lock(self.connections).peer(self.requested(number)?);
        peer.map(ipx_address).ok_or(Completion::BadConnectionNumber)
    }
}

const fn identity(object: &Object) -> ObjectId {
    ObjectId { id: object.id, kind: object.kind, name: object.name }
}

/// The byte of a truth value.
const fn flag(is: bool) -> u8 {
    if is { YES } else { 0 }
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
