//! The bindery of a server: its objects, their properties, and the users of its connections.

use super::ClientError;
use super::exchange::{Client, unless, wire};
use super::transport::Transport;
use crate::wire::bindery::{
    ConnectionAddress, GetConnectionAddress, GetObjectConnections, GetObjectName, IsObjectInSet,
    ObjectConnections, PropertyValue, ReadProperty, START, ScanObject, ScanProperty, ScannedObject,
    ScannedProperty,
};
use crate::wire::ipx::Address;
use crate::wire::login::{GetObjectId, ObjectId};
use crate::wire::server_info::{ConnectionUser, GetConnectionUser};
use crate::wire::text::unpadded;
use crate::wire::{Codec, Completion, Pstr, WireError};

/// The largest number of objects of a scan. A server that returns more does not end it.
const MAX_OBJECTS: usize = 100_000;
/// The largest number of properties of an object.
const MAX_PROPERTIES: usize = 1000;

/// Type and name of an object of a bindery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectName<'n> {
    /// Type: 1 user, 2 group, 4 file server.
    pub kind: u16,
    /// Name.
    pub name: &'n str,
}

/// An object of a bindery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinderyObject {
    /// Object id.
    pub id: u32,
    /// Type: 1 user, 2 group, 4 file server.
    pub kind: u16,
    /// Name.
    pub name: Vec<u8>,
}

impl From<ObjectId> for BinderyObject {
    fn from(object: ObjectId) -> Self {
        Self { id: object.id, kind: object.kind, name: unpadded(&object.name).to_vec() }
    }
}

/// A property of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinderyProperty {
    /// Name.
    pub name: Vec<u8>,
    /// True when its value is a set of object ids.
    pub is_set: bool,
    /// Write and read rights, one nibble each.
    pub security: u8,
}

/// A connection with a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedUser {
    /// Connection number.
    pub connection: u16,
    /// The user.
    pub user: BinderyObject,
    /// Login time: years since 1900, month, day, hour, minute, second, weekday.
    pub login: [u8; 7],
}

fn text<'a>(step: &'static str, text: &'a str) -> Result<Pstr<'a>, ClientError> {
    Pstr::new(text.as_bytes()).map_err(wire(step))
}

fn endless(step: &'static str, field: &'static str, len: usize) -> ClientError {
    wire(step)(WireError::TooLong { field, len, max: len - 1 })
}

impl<C: Transport> Client<C> {
    /// The object of a type and name; none if there is no such object.
    pub async fn object(&mut self, kind: u16, name: &str) -> Result<Option<BinderyObject>, ClientError> {
        const STEP: &str = "object id";
        let call = GetObjectId { kind, name: text(STEP, name)? };
        let found = self.ask::<ObjectId>(STEP, &call.into()).await;
        unless(found, &[Completion::NoSuchObject]).map(|object| object.map(BinderyObject::from))
    }

    /// The object with an id; none if there is no such object.
    pub async fn object_with_id(&mut self, id: u32) -> Result<Option<BinderyObject>, ClientError> {
        const STEP: &str = "object name";
        let found = self.ask::<ObjectId>(STEP, &GetObjectName { id }.into()).await;
        unless(found, &[Completion::NoSuchObject]).map(|object| object.map(BinderyObject::from))
    }

    /// The objects of a type, or of [`crate::wire::bindery::ANY_KIND`], whose names match a pattern with `*` and `?`.
    pub async fn objects(&mut self, kind: u16, pattern: &str) -> Result<Vec<BinderyObject>, ClientError> {
        const STEP: &str = "scan objects";
        let pattern = text(STEP, pattern)?;
        let mut last = START;
        let mut found: Vec<BinderyObject> = Vec::new();
        loop {
            let next = self.ask::<ScannedObject>(STEP, &ScanObject { last, kind, pattern }.into()).await;
            let Some(next) = unless(next, &[Completion::NoSuchObject])? else { return Ok(found) };
            let object = next.object;
            // The same object again, or too many: this scan would not end.
            if object.id == last || found.len() >= MAX_OBJECTS {
                return Err(endless(STEP, "scan", found.len() + 1));
            }
            last = object.id;
            found.push(object.into());
        }
    }

    /// The properties of an object that the user may read.
    pub async fn properties(&mut self, kind: u16, name: &str) -> Result<Vec<BinderyProperty>, ClientError> {
        const STEP: &str = "scan properties";
        let name = text(STEP, name)?;
        let pattern = text(STEP, "*")?;
        let mut last = START;
        let mut found: Vec<BinderyProperty> = Vec::new();
        loop {
            let call = ScanProperty { kind, name, last, pattern };
            let next = self.ask::<ScannedProperty>(STEP, &call.into()).await;
            // In the bindery this code means that there is no further property (docs/protocols/ncp.md 3.6).
            let Some(reply) = unless(next, &[Completion::UnknownFunction])? else { return Ok(found) };
            if found.len() >= MAX_PROPERTIES {
                return Err(endless(STEP, "scan", found.len() + 1));
            }
            found.push(BinderyProperty {
                name: unpadded(&reply.name).to_vec(),
                is_set: reply.flags & crate::wire::bindery::SET != 0,
                security: reply.security,
            });
            if reply.more == 0 {
                return Ok(found);
            }
            last = reply.instance;
        }
    }

    /// The whole value of a property, a multiple of 128 bytes; none if the object has no such property.
    pub async fn property(
        &mut self,
        kind: u16,
        name: &str,
        property: &str,
    ) -> Result<Option<Vec<u8>>, ClientError> {
        const STEP: &str = "read property";
        let name = text(STEP, name)?;
        let property = text(STEP, property)?;
        let mut value = Vec::new();
        // Segments are counted in one byte.
        for segment in 1..=u8::MAX {
            let call = ReadProperty { kind, name, segment, property };
            let read = self.ask::<PropertyValue>(STEP, &call.into()).await;
            let Some(reply) = unless(read, &[Completion::UnknownFunction])? else { return Ok(None) };
            value.extend_from_slice(&reply.value);
            if reply.more == 0 {
                break;
            }
        }
        Ok(Some(value))
    }

    /// Object ids of a property that is a set; none if the object has no such property.
    pub async fn set(
        &mut self,
        kind: u16,
        name: &str,
        property: &str,
    ) -> Result<Option<Vec<u32>>, ClientError> {
        let value = self.property(kind, name, property).await?;
        let ids = |value: Vec<u8>| {
            let ids = value.chunks_exact(4).map(|id| id.try_into().map_or(0, u32::from_be_bytes));
            // Places without a member are zero.
            ids.filter(|id| *id != 0).collect()
        };
        Ok(value.map(ids))
    }

    /// True when a member is in the set of an object.
    pub async fn is_in_set(
        &mut self,
        object: ObjectName<'_>,
        property: &str,
        member: ObjectName<'_>,
    ) -> Result<bool, ClientError> {
        const STEP: &str = "object in set";
        let call = IsObjectInSet {
            kind: object.kind,
            name: text(STEP, object.name)?,
            property: text(STEP, property)?,
            member_kind: member.kind,
            member: text(STEP, member.name)?,
        };
        let done = self.call(STEP, &call.into()).await;
        Ok(unless(done, &[Completion::NoSuchMember])?.is_some())
    }

    /// Connection numbers of an object.
    pub async fn object_connections(&mut self, kind: u16, name: &str) -> Result<Vec<u32>, ClientError> {
        const STEP: &str = "connections of an object";
        let name = text(STEP, name)?;
        let mut found: Vec<u32> = Vec::new();
        loop {
            let last = found.last().copied().unwrap_or_default();
            let data = self.call(STEP, &GetObjectConnections { last, kind, name }.into()).await?;
            let before = found.len();
            let list = ObjectConnections::decode(data).map_err(wire(STEP))?;
            // Numbers that do not ascend would be returned without an end.
            found.extend(list.numbers().filter(|number| *number > last));
            if found.len() == before {
                return Ok(found);
            }
            if found.len() > MAX_OBJECTS {
                return Err(endless(STEP, "list", found.len()));
            }
        }
    }

    /// The user of a connection; none if the number is not in use or nobody has logged in.
    pub async fn connection_user(&mut self, connection: u16) -> Result<Option<ConnectedUser>, ClientError> {
        const STEP: &str = "user of a connection";
        let call = GetConnectionUser { connection: u32::from(connection) };
        let found = self.ask::<ConnectionUser>(STEP, &call.into()).await;
        // Servers answer a number that is not in use with one of these codes.
        let unused = [Completion::BadConnectionNumber, Completion::NoSuchObject, Completion::Failure];
        let Some(found) = unless(found, &unused)? else { return Ok(None) };
        let user = BinderyObject { id: found.id, kind: found.kind, name: unpadded(&found.name).to_vec() };
        Ok((found.id != 0).then_some(ConnectedUser { connection, user, login: found.login }))
    }

    /// The IPX address of a connection.
    pub async fn connection_address(&mut self, connection: u16) -> Result<Address, ClientError> {
        const STEP: &str = "address of a connection";
        let reply: ConnectionAddress = self.ask(STEP, &GetConnectionAddress { connection }.into()).await?;
        Ok(reply.address)
    }

    /// The users of all connections. It sends a request for each number that the server information shows as possible.
    pub async fn users(&mut self) -> Result<Vec<ConnectedUser>, ClientError> {
        let last = self.server_info().await?.max_connections;
        let mut users = Vec::new();
        for connection in 1..=last {
            users.extend(self.connection_user(connection).await?);
        }
        Ok(users)
    }
}
