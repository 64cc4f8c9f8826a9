//! The bindery as a client sees it, before and after the login.

use super::tests::{Still, ask, login, options};
use super::*;
use crate::wire::bindery::*;
use crate::wire::login::{FILE_SERVER, GetAccessLevel, GetObjectId, ObjectId, USER};
use crate::wire::server_info::{ConnectionUser, GetConnectionUser, GetConnectionUserOld, GetServerInfo};
use crate::wire::server_info::{DateAndTime, ServerInfo};
use crate::wire::tests::hex;
use crate::wire::text::unpadded;
use crate::wire::{Codec, Completion, Pstr, Request, TransportKind};

fn accounts() -> Vec<User> {
    let mut bench = User::new("bench", 0x0001_0002, "benchpw");
    bench.groups = vec![b"LAB".to_vec()];
    bench.full_name = b"The Bench".to_vec();
    vec![bench, User::new("alice", 0x0001_0003, "x"), User::new("dave", 0x0001_0004, "y")]
}

fn served(users: Vec<User>) -> Server<MemoryVolume, Still> {
    let options = Options { users, max_connections: 100, ..options() };
    Server::new(options, vec![(b"SYS".to_vec(), MemoryVolume::new(1 << 20))], Still)
}

/// The calls of the client with connection number 1.
struct Calls {
    server: Server<MemoryVolume, Still>,
    sequence: u8,
}

impl Calls {
    /// A client that has not logged in.
    fn anonymous(users: Vec<User>) -> Self {
        let server = served(users);
        assert_eq!(ask(&server, 1, "111100ffffff00")[6], 0);
        Self { server, sequence: 0 }
    }

    /// A client that has logged in as BENCH.
    fn of_bench(users: Vec<User>) -> Self {
        let server = served(users);
        login(&server, "00");
        Self { server, sequence: 4 }
    }

    fn call<'a>(&mut self, request: impl Into<Request<'a>>) -> Result<Vec<u8>, Completion> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut packet = vec![0x22, 0x22, self.sequence, 1, 1, 0];
        request.into().put(&mut packet);
        let mut out = Vec::new();
        self.server.receive(Peer::Stream(1), TransportKind::Udp, &packet, &mut out);
        match out[6] {
            0 => Ok(out[8..].to_vec()),
            code => Err(Completion::from_code(code)),
        }
    }

    /// Ids, types and names of the objects that match.
    fn scan(&mut self, kind: u16, pattern: &str) -> Vec<(u32, u16, String)> {
        let mut found = Vec::new();
        let mut last = START;
        loop {
            let reply = match self.call(ScanObject { last, kind, pattern: name(pattern) }) {
                Err(Completion::NoSuchObject) => return found,
                reply => ScannedObject::decode(&reply.unwrap()).unwrap(),
            };
            last = reply.object.id;
            found.push((last, reply.object.kind, shown(&reply.object.name)));
        }
    }

    fn property(&mut self, kind: u16, object: &str, property: &str) -> Result<PropertyValue, Completion> {
        self.segment(kind, object, property, 1)
    }

    fn segment(
        &mut self,
        kind: u16,
        object: &str,
        property: &str,
        segment: u8,
    ) -> Result<PropertyValue, Completion> {
        let call = ReadProperty { kind, name: name(object), segment, property: name(property) };
        self.call(call).map(|reply| PropertyValue::decode(&reply).unwrap())
    }

    fn properties(&mut self, kind: u16, object: &str) -> Vec<(String, u8, u8)> {
        let mut found = Vec::new();
        let mut last = START;
        loop {
            let call = ScanProperty { kind, name: name(object), last, pattern: name("*") };
            let reply = ScannedProperty::decode(&self.call(call).unwrap()).unwrap();
            found.push((shown(&reply.name), reply.flags, reply.security));
            last = reply.instance;
            if reply.more == 0 {
                let call = ScanProperty { kind, name: name(object), last, pattern: name("*") };
                assert_eq!(self.call(call), Err(Completion::UnknownFunction));
                return found;
            }
        }
    }
}

fn name(text: &str) -> Pstr<'_> {
    Pstr::new(text.as_bytes()).unwrap()
}

fn shown(padded: &[u8]) -> String {
    String::from_utf8(unpadded(padded).to_vec()).unwrap()
}

fn object(id: u32, kind: u16, name: &str) -> (u32, u16, String) {
    (id, kind, name.to_owned())
}

#[test]
fn scan_finds_server_before_the_login_and_users_and_groups_after_it() {
    let server = || object(3, FILE_SERVER, "SHARE");
    let mut calls = Calls::anonymous(accounts());
    assert_eq!(calls.scan(ANY_KIND, "*"), [server()]);
    assert_eq!(calls.call(GetObjectName { id: 1 }), Err(Completion::BinderySecurity));
    let mut calls = Calls::of_bench(accounts());
    let expected = [
        object(1, USER, "SUPERVISOR"),
        object(2, GROUP, "EVERYONE"),
        server(),
        object(0x100, GROUP, "LAB"),
        object(0x0001_0002, USER, "BENCH"),
        object(0x0001_0003, USER, "ALICE"),
        object(0x0001_0004, USER, "DAVE"),
    ];
    assert_eq!(calls.scan(ANY_KIND, "*"), expected);
    assert_eq!(calls.scan(FILE_SERVER, "*"), [server()]);
    assert_eq!(calls.scan(USER, "a*e"), [object(0x0001_0003, USER, "ALICE")]);
    assert_eq!(calls.scan(GROUP, "nobody"), []);
    for (id, kind, text) in expected {
        let found = ObjectId::decode(&calls.call(GetObjectName { id }).unwrap()).unwrap();
        assert_eq!((found.id, found.kind, shown(&found.name)), (id, kind, text.clone()));
        let found = calls.call(GetObjectId { kind, name: name(&text.to_lowercase()) }).unwrap();
        assert_eq!(ObjectId::decode(&found).unwrap().id, id, "{text}");
    }
    assert_eq!(calls.call(GetObjectName { id: 77 }), Err(Completion::NoSuchObject));
    assert_eq!(calls.call(GetObjectId { kind: USER, name: name("A*") }), Err(Completion::WildcardNotAllowed));
}

#[test]
fn properties_of_users_groups_and_server_are_listed_and_read() {
    let mut calls = Calls::of_bench(accounts());
    let set = |name: &str, security| (name.to_owned(), SET, security);
    let item = |name: &str, security| (name.to_owned(), 0, security);
    assert_eq!(
        calls.properties(USER, "bench"),
        [
            item("LOGIN_CONTROL", 0x32),
            set("GROUPS_I'M_IN", 0x31),
            set("SECURITY_EQUALS", 0x32),
            item("IDENTIFICATION", 0x31)
        ]
    );
    assert_eq!(calls.properties(USER, "ALICE"), [set("GROUPS_I'M_IN", 0x31)], "what concerns Alice alone");
    assert_eq!(calls.properties(GROUP, "EVERYONE"), [set("GROUP_MEMBERS", 0x31)]);
    let everyone = calls.property(GROUP, "EVERYONE", "group_members").unwrap();
    assert_eq!(everyone.value[..20], hex("00000001 00010002 00010003 00010004 00000000"));
    assert_eq!((everyone.more, everyone.flags), (0, SET));
    for property in ["GROUPS_I'M_IN", "SECURITY_EQUALS"] {
        let groups = calls.property(USER, "BENCH", property).unwrap();
        assert_eq!(groups.value[..12], hex("00000002 00000100 00000000"));
    }
    let full_name = calls.property(USER, "BENCH", "IDENTIFICATION").unwrap();
    assert_eq!(unpadded(&full_name.value), b"The Bench");
    let control = calls.property(USER, "BENCH", "LOGIN_CONTROL").unwrap();
    assert_eq!((control.value[3], &control.value[56..62]), (0, &[126, 11, 21, 1, 2, 3][..]));
    let address = calls.property(FILE_SERVER, "SHARE", "NET_ADDRESS").unwrap();
    assert_eq!((&address.value[..12], address.flags), (&hex("53485242 000000000001 0451")[..], DYNAMIC));
    for (object, property, refused) in [
        ("ALICE", "LOGIN_CONTROL", Completion::BinderySecurity),
        ("ALICE", "IDENTIFICATION", Completion::UnknownFunction),
        ("BENCH", "PASSWORD", Completion::UnknownFunction),
        ("NOBODY", "IDENTIFICATION", Completion::NoSuchObject),
        ("B*", "IDENTIFICATION", Completion::WildcardNotAllowed),
    ] {
        assert_eq!(calls.property(USER, object, property), Err(refused), "{object} {property}");
    }
    for segment in [0, 2] {
        let beyond = calls.segment(USER, "BENCH", "LOGIN_CONTROL", segment);
        assert_eq!(beyond, Err(Completion::NoSuchSegment));
    }
}

#[test]
fn membership_of_sets_is_answered() {
    let mut calls = Calls::of_bench(accounts());
    for (kind, object, property, member_kind, member, expected) in [
        (GROUP, "LAB", "GROUP_MEMBERS", USER, "BENCH", Ok(())),
        (GROUP, "LAB", "GROUP_MEMBERS", USER, "ALICE", Err(Completion::NoSuchMember)),
        (GROUP, "LAB", "GROUP_MEMBERS", USER, "NOBODY", Err(Completion::NoSuchObject)),
        (USER, "BENCH", "SECURITY_EQUALS", GROUP, "EVERYONE", Ok(())),
        (USER, "BENCH", "SECURITY_EQUALS", USER, "SUPERVISOR", Err(Completion::NoSuchMember)),
        (USER, "BENCH", "LOGIN_CONTROL", USER, "BENCH", Err(Completion::NotASet)),
        (USER, "BENCH", "NODE_CONTROL", USER, "BENCH", Err(Completion::UnknownFunction)),
    ] {
        let call = IsObjectInSet {
            kind,
            name: name(object),
            property: name(property),
            member_kind,
            member: name(member),
        };
        assert_eq!(calls.call(call).map(|_| ()), expected, "{object} {property} {member}");
    }
}

#[test]
fn set_of_many_members_is_read_in_segments() {
    let users =
        accounts().into_iter().chain((0..100).map(|at| User::new(&format!("u{at}"), 0x2_0000 + at, "")));
    let mut calls = Calls::of_bench(users.collect());
    let mut members = Vec::new();
    for segment in 1.. {
        let value = calls.segment(GROUP, "EVERYONE", "GROUP_MEMBERS", segment).unwrap();
        let ids = value.value.chunks(4).map(|id| u32::from_be_bytes(id.try_into().unwrap()));
        members.extend(ids.filter(|id| *id != 0));
        if value.more == 0 {
            assert_eq!(segment, 4);
            break;
        }
    }
    assert_eq!(members.len(), 104);
    assert!(members.is_sorted());
    let beyond = calls.segment(GROUP, "EVERYONE", "GROUP_MEMBERS", 5);
    assert_eq!(beyond, Err(Completion::NoSuchSegment));
}

#[test]
fn supervisor_has_an_object_without_account_and_rights_with_one() {
    let mut calls = Calls::of_bench(accounts());
    let found = calls.call(GetAccessLevel {}).unwrap();
    assert_eq!(found, hex("11 00010002"));
    assert_eq!(calls.property(USER, "SUPERVISOR", "LOGIN_CONTROL"), Err(Completion::BinderySecurity));
    let mut supervisor = User::new("bench", 0x0001_0002, "benchpw");
    supervisor.name = b"SUPERVISOR".to_vec();
    let users = vec![supervisor, User::new("alice", 0x0001_0003, "x")];
    let server = served(users);
    ask(&server, 1, "111100ffffff00");
    ask(&server, 1, "22220101010017000117");
    // The response of id 00010002 with the password of the captures, under the other name.
    let name_hex = "0a53555045525649534f52";
    assert_eq!(ask(&server, 1, &format!("222202010100170016187038ac5f8bcc23d20001{name_hex}"))[6], 0);
    let mut calls = Calls { server, sequence: 2 };
    assert_eq!(calls.call(GetAccessLevel {}).unwrap(), hex("33 00010002"));
    let control = calls.property(USER, "ALICE", "LOGIN_CONTROL").unwrap();
    assert_eq!((control.value[3], &control.value[56..62]), (0, &[0; 6][..]), "never logged in");
    assert_eq!(calls.scan(USER, "SUPER*"), [object(0x0001_0002, USER, "SUPERVISOR")]);
}

#[test]
fn users_and_addresses_of_connections_are_shown_after_the_login() {
    let mut calls = Calls::of_bench(accounts());
    // A second connection without a login, and one of an address.
    let anonymous = Peer::Ip("192.0.2.7:4000".parse().unwrap());
    let mut out = Vec::new();
    calls.server.receive(anonymous, TransportKind::Udp, &hex("111100ffffff00"), &mut out);
    let user = |reply: Vec<u8>| ConnectionUser::decode(&reply).unwrap();
    let time = DateAndTime { year: 126, month: 11, day: 21, hour: 1, minute: 2, second: 3, weekday: 6 };
    for reply in
        [calls.call(GetConnectionUser { connection: 1 }), calls.call(GetConnectionUserOld { connection: 1 })]
    {
        let found = user(reply.unwrap());
        assert_eq!((found.id, found.kind, shown(&found.name)), (0x0001_0002, USER, "BENCH".to_owned()));
        assert_eq!(DateAndTime::decode(&found.login), Ok(time));
    }
    let found = user(calls.call(GetConnectionUser { connection: 2 }).unwrap());
    assert_eq!((found.id, found.kind, found.login), (0, 0, [0; 7]));
    for connection in [0, 3, 0x1_0001] {
        let found = calls.call(GetConnectionUser { connection });
        assert_eq!(found, Err(Completion::BadConnectionNumber));
    }
    let of_alice = calls.call(GetObjectConnections { last: 0, kind: USER, name: name("ALICE") });
    assert_eq!(of_alice, Ok(vec![0]));
    let of_bench = calls.call(GetObjectConnections { last: 0, kind: USER, name: name("BENCH") });
    assert_eq!(of_bench, Ok(hex("01 01000000")));
    let later = calls.call(GetObjectConnections { last: 1, kind: USER, name: name("BENCH") });
    assert_eq!(later, Ok(vec![0]));
    let old = calls.call(GetObjectConnectionsOld { kind: USER, name: name("BENCH") });
    assert_eq!(old, Ok(hex("01 01")));
    let address = calls.call(GetConnectionAddress { connection: 2 });
    assert_eq!(address, Ok(hex("00000000 0000c0000207 0fa0 02")));
    let address = calls.call(GetConnectionAddressOld { connection: 2 });
    assert_eq!(address, Ok(hex("00000000 0000c0000207 0fa0")));
    let mut calls = Calls::anonymous(accounts());
    assert_eq!(calls.call(GetConnectionUser { connection: 2 }), Err(Completion::BadConnectionNumber));
    assert_eq!(user(calls.call(GetConnectionUser { connection: 1 }).unwrap()).id, 0);
}

#[test]
fn server_information_has_the_peak_and_few_possible_connections() {
    let mut calls = Calls::of_bench(accounts());
    for peer in 2..=9 {
        assert_eq!(ask(&calls.server, peer, "111100ffffff00")[6], 0);
    }
    for peer in 4..=9 {
        calls.server.disconnect(Peer::Stream(peer));
    }
    let info = ServerInfo::decode(&calls.call(GetServerInfo {}).unwrap()).unwrap();
    assert_eq!((info.connections, info.peak_connections, info.max_connections), (3, 9, 25));
}
