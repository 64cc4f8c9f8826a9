//! The bindery: the objects that the accounts define, with their properties (docs/protocols/ncp.md 2.7). No call changes
//! it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;

use super::mutex::lock;
use super::options::{Options, User};
use super::wildcards::rest_after;
use crate::wire::Codec;
use crate::wire::bindery::{DYNAMIC, GROUP, SEGMENT_LEN, SET, property};
use crate::wire::ipx::Address;
use crate::wire::login::{FILE_SERVER, USER};
use crate::wire::server_info::DateAndTime;
use crate::wire::text::{padded, unpadded};

const SUPERVISOR: &[u8] = b"SUPERVISOR";
const EVERYONE: &[u8] = b"EVERYONE";
/// Object id of SUPERVISOR, unless it is an account, which has an id of its own.
const SUPERVISOR_ID: u32 = 1;
const EVERYONE_ID: u32 = 2;
const SERVER_ID: u32 = 3;
/// Object id of the first group other than EVERYONE.
const FIRST_GROUP: u32 = 0x0100;
/// The longest name of an object, which has a NUL after it.
const MAX_NAME: usize = 47;
/// Object ids of a segment of a set.
const IDS: usize = SEGMENT_LEN / 4;
/// Half hours of a week, one bit each.
const WEEK: usize = 42;

/// A property, with its name, flags and security.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    LoginControl,
    Groups,
    SecurityEquals,
    Identification,
    GroupMembers,
    NetAddress,
}

impl Property {
    /// Name of the property.
    pub const fn name(self) -> &'static [u8] {
        match self {
            Self::LoginControl => property::LOGIN_CONTROL,
            Self::Groups => property::GROUPS,
            Self::SecurityEquals => property::SECURITY_EQUALS,
            Self::Identification => property::IDENTIFICATION,
            Self::GroupMembers => property::GROUP_MEMBERS,
            Self::NetAddress => property::NET_ADDRESS,
        }
    }

    /// [`SET`] and [`DYNAMIC`].
    pub const fn flags(self) -> u8 {
        match self {
            Self::LoginControl | Self::Identification => 0,
            Self::Groups | Self::SecurityEquals | Self::GroupMembers => SET,
            Self::NetAddress => DYNAMIC,
        }
    }

    /// Write and read rights.
    pub const fn security(self) -> u8 {
        match self {
            // Restrictions and the last login of a user concern that user.
            Self::LoginControl | Self::SecurityEquals => 0x32,
            Self::Groups | Self::Identification | Self::GroupMembers => 0x31,
            Self::NetAddress => 0x40,
        }
    }

    /// True when the value is a set of object ids.
    pub const fn is_set(self) -> bool {
        self.flags() & SET != 0
    }
}

/// A user, a group or the server itself.
#[derive(Debug)]
pub struct Object {
    pub id: u32,
    pub kind: u16,
    /// Name, padded with NUL.
    pub name: [u8; 48],
    /// Index of the account of a user; SUPERVISOR may have none.
    pub user: Option<usize>,
    full_name: Vec<u8>,
    /// The groups of a user, or the members of a group, in ascending order.
    related: Vec<u32>,
}

impl Object {
    /// Write and read rights: every client may find the server, users find the other objects.
    pub const fn security(&self) -> u8 {
        if self.kind == FILE_SERVER { 0x40 } else { 0x31 }
    }

    /// [`DYNAMIC`] for the server, as servers announce themselves.
    pub const fn flags(&self) -> u8 {
        if self.kind == FILE_SERVER { DYNAMIC } else { 0 }
    }

    /// The properties that the object has.
    pub fn properties(&self) -> impl Iterator<Item = Property> {
        let all: &[Property] = match self.kind {
            USER => &[
                Property::LoginControl,
                Property::Groups,
                Property::SecurityEquals,
                Property::Identification,
            ],
            GROUP => &[Property::GroupMembers],
            _ => &[Property::NetAddress],
        };
        let named = !self.full_name.is_empty();
        all.iter().copied().filter(move |property| *property != Property::Identification || named)
    }

    /// True when the object with this id is in its set.
    pub fn has_member(&self, id: u32) -> bool {
        self.related.binary_search(&id).is_ok()
    }
}

/// The objects of a server.
///
/// It is built once from the options: a user for each account and SUPERVISOR, EVERYONE and the groups that accounts
/// name, and the server itself. Objects are sorted by id, so that a scan continues after the last id in logarithmic time,
/// and are found by type and name in constant time. Only the time of the last login of a user changes.
#[derive(Debug)]
pub struct Bindery {
    objects: Vec<Object>,
    by_name: HashMap<(u16, Vec<u8>), usize>,
    /// Index of the object of each account.
    of_user: Vec<usize>,
    supervisor: u32,
    address: Address,
    last_logins: Mutex<HashMap<u32, DateAndTime>>,
}

/// Object ids that no object has yet.
struct FreeIds(BTreeSet<u32>);

impl FreeIds {
    /// The first free id from `wanted` on.
    fn take(&mut self, wanted: u32) -> u32 {
        let mut id = wanted;
        while !self.0.insert(id) {
            id += 1;
        }
        id
    }
}

fn object(id: u32, kind: u16, name: &[u8]) -> Object {
    let name = padded(&name[..name.len().min(MAX_NAME)]).unwrap_or([0; 48]);
    Object { id, kind, name, user: None, full_name: Vec::new(), related: Vec::new() }
}

impl Bindery {
    /// The bindery of a server with these options.
    pub fn new(options: &Options) -> Self {
        let users = &options.users;
        let mut free = FreeIds(users.iter().map(|user| user.id).collect());
        let known = users.iter().find(|user| user.name == SUPERVISOR).map(|user| user.id);
        let supervisor = known.unwrap_or_else(|| free.take(SUPERVISOR_ID));
        let mut objects = vec![object(free.take(SERVER_ID), FILE_SERVER, unpadded(&options.name))];
        if known.is_none() {
            objects.push(object(supervisor, USER, SUPERVISOR));
        }
        for (index, user) in users.iter().enumerate() {
            let full_name = user.full_name.clone();
            objects.push(Object { user: Some(index), full_name, ..object(user.id, USER, &user.name) });
        }
        let mut groups_of: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (name, members) in groups(users, supervisor) {
            let id = free.take(if name == EVERYONE { EVERYONE_ID } else { FIRST_GROUP });
            for member in &members {
                groups_of.entry(*member).or_default().push(id);
            }
            objects.push(Object { related: members.into_iter().collect(), ..object(id, GROUP, name) });
        }
        for user in objects.iter_mut().filter(|object| object.kind == USER) {
            user.related = groups_of.remove(&user.id).unwrap_or_default();
            user.related.sort_unstable();
        }
        Self::of_objects(objects, users.len(), supervisor, options.net_address)
    }

    fn of_objects(mut objects: Vec<Object>, users: usize, supervisor: u32, address: Address) -> Self {
        objects.sort_by_key(|object| object.id);
        let key = |object: &Object| (object.kind, unpadded(&object.name).to_ascii_uppercase());
        let by_name = objects.iter().enumerate().map(|(index, object)| (key(object), index)).collect();
        let mut of_user = vec![0; users];
        for (index, object) in objects.iter().enumerate() {
            if let Some(user) = object.user {
                of_user[user] = index;
            }
        }
        Self { objects, by_name, of_user, supervisor, address, last_logins: Mutex::default() }
    }

    /// The object of a type and name in any case.
    pub fn find(&self, kind: u16, name: &[u8]) -> Option<&Object> {
        self.by_name.get(&(kind, name.to_ascii_uppercase())).map(|index| &self.objects[*index])
    }

    /// The object with an id.
    pub fn with_id(&self, id: u32) -> Option<&Object> {
        let index = self.objects.binary_search_by_key(&id, |object| object.id).ok()?;
        Some(&self.objects[index])
    }

    /// The objects with ids above `last`, or all if it is none.
    pub fn after(&self, last: Option<u32>) -> &[Object] {
        let start = last.map_or(0, |last| self.objects.partition_point(|object| object.id <= last));
        &self.objects[start..]
    }

    /// The object of an account.
    pub fn of_user(&self, user: usize) -> &Object {
        &self.objects[self.of_user[user]]
    }

    /// True for SUPERVISOR.
    pub const fn is_supervisor(&self, object: &Object) -> bool {
        object.id == self.supervisor
    }

    /// True when a viewer, none before the login, may read something of an object with this security.
    pub fn may_read(&self, security: u8, object: &Object, viewer: Option<&Object>) -> bool {
        let reader = security & 0x0F;
        let Some(viewer) = viewer else { return reader == 0 };
        match reader {
            0 | 1 => true,
            2 => viewer.id == object.id || self.is_supervisor(viewer),
            3 => self.is_supervisor(viewer),
            _ => false,
        }
    }

    /// Stores the time of a login.
    pub fn note_login(&self, user: usize, at: DateAndTime) {
        lock(&self.last_logins).insert(self.of_user(user).id, at);
    }

    /// A segment of a property, counted from 1, and whether more follow; none beyond the last.
    pub fn segment(
        &self,
        object: &Object,
        property: Property,
        number: u8,
    ) -> Option<([u8; SEGMENT_LEN], bool)> {
        let index = usize::from(number.checked_sub(1)?);
        let mut segment = [0; SEGMENT_LEN];
        if !property.is_set() {
            let value = self.value(object, property);
            segment[..value.len()].copy_from_slice(&value);
            return (index == 0).then_some((segment, false));
        }
        let ids = object.related.get(index * IDS..).filter(|ids| index == 0 || !ids.is_empty())?;
        for (place, id) in segment.chunks_exact_mut(4).zip(ids) {
            place.copy_from_slice(&id.to_be_bytes());
        }
        // Segments are counted in one byte; members of larger sets are found by 0x17/0x43.
        Some((segment, ids.len() > IDS && number < u8::MAX))
    }

    /// The value of a property that is no set, at most a segment long.
    fn value(&self, object: &Object, property: Property) -> Vec<u8> {
        let mut value = Vec::new();
        match property {
            Property::LoginControl => {
                let last = lock(&self.last_logins).get(&object.id).copied();
                value.extend_from_slice(&login_control(object.user.is_some(), last));
            }
            Property::Identification => {
                let len = object.full_name.len().min(SEGMENT_LEN - 1);
                value.extend_from_slice(&object.full_name[..len]);
            }
            Property::NetAddress => Address::put(&self.address, &mut value),
            Property::Groups | Property::SecurityEquals | Property::GroupMembers => {}
        }
        value
    }
}

/// The groups by name with the ids of their members: EVERYONE, and those that accounts name.
fn groups(users: &[User], supervisor: u32) -> BTreeMap<&[u8], BTreeSet<u32>> {
    let mut groups: BTreeMap<&[u8], BTreeSet<u32>> = BTreeMap::new();
    groups.entry(EVERYONE).or_default().insert(supervisor);
    for user in users {
        for group in user.groups.iter().map(Vec::as_slice).chain([EVERYONE]) {
            groups.entry(group).or_default().insert(user.id);
        }
    }
    groups
}

/// The value of `LOGIN_CONTROL`: no restriction except for an object without account, which is disabled
/// (docs/protocols/ncp.md 2.7).
fn login_control(enabled: bool, last: Option<DateAndTime>) -> Vec<u8> {
    let mut value = Vec::new();
    // Never expires; 0 or FF: disabled.
    value.extend_from_slice(&[0, 0, 0, if enabled { 0 } else { 0xFF }]);
    // The password never expires; unlimited grace logins; no interval; their reset value; no least length; any number of
    // connections.
    value.extend_from_slice(&[0, 0, 0, 0xFF, 0, 0, 0xFF, 0, 0, 0]);
    value.extend_from_slice(&[0xFF; WEEK]);
    let last = last.map_or([0; 6], |at| [at.year, at.month, at.day, at.hour, at.minute, at.second]);
    value.extend_from_slice(&last);
    // Restriction: the user cannot change the password. Then an unused byte.
    value.extend_from_slice(&[1, 0]);
    // No limit of blocks; no bad login, reset time and address.
    value.extend_from_slice(&0x7FFF_FFFF_u32.to_be_bytes());
    value.extend_from_slice(&[0; 2 + 4 + 12]);
    value
}

/// Matches a name with `*` and `?`, in any case.
pub fn matches(pattern: &[u8], name: &[u8]) -> bool {
    rest_after(pattern, name).is_some_and(|rest| rest.iter().all(|byte| *byte == b'*'))
}

/// True when a name contains a wildcard.
pub fn is_wild(name: &[u8]) -> bool {
    name.iter().any(|byte| b"*?".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_matches_names_in_any_case() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "ALICE", true),
            ("al*E", "ALICE", true),
            ("a?ice", "ALICE", true),
            ("*i*c*", "ALICE", true),
            ("", "ALICE", false),
            ("ALIC", "ALICE", false),
            ("ALICE?", "ALICE", false),
            ("*x*", "ALICE", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern}, {name}");
        }
    }

    /// docs/protocols/ncp.md 2.7.
    #[test]
    fn login_control_has_86_bytes() {
        let at = DateAndTime { year: 126, month: 11, day: 21, hour: 1, minute: 2, second: 3, weekday: 6 };
        let value = login_control(true, Some(at));
        assert_eq!((value.len(), value[3], &value[56..62]), (86, 0, &[126, 11, 21, 1, 2, 3][..]));
        assert_eq!(login_control(false, None)[3], 0xFF);
    }
}
