//! Golden bytes of opens, attributes, listings, locks and callbacks; every other operation is read as it was written.

use proptest::prelude::*;

use super::{bytes, decode, words};
use crate::v4::attribute_types::{
    Ace, FileType, FsId, FsLocation, FsLocations, ModeUmask, SetTime, SpecData, Time,
};
use crate::v4::attributes::{Attributes, SetAttributes, UNKNOWN_ATTRIBUTE};
use crate::v4::bitmap::Bitmap;
use crate::v4::callback::{
    CallbackHead, CallbackSequence, CallbackSequenced, NotifyLock, Recall, RecallAny, ReferringCall,
    ReferringCalls,
};
use crate::v4::client_id::{ClientIdConfirm, NetworkAddress, SetClientId};
use crate::v4::data::StateId;
use crate::v4::item::{Item, Opaque};
use crate::v4::list::List;
use crate::v4::listing::{ListedEntry, ReadDir, get_listing, put_end, put_entry};
use crate::v4::lock::{
    Denied, KnownLocker, Lock, LockKind, LockTest, Locker, NewLocker, TO_END_OF_FILE, Unlock,
};
use crate::v4::names::{
    Create, Created, GssMechanism, NewObject, Renamed, SecurityFlavor, SecurityFlavors, SetAttr,
};
use crate::v4::open::{
    ChangeInfo, Delegation, DelegationKind, ExclusiveCreate, Open, OpenClaim, OpenHow, Opened,
    ReadDelegation, SpaceLimit, StateOwner, WriteDelegation,
};
use crate::v4::session::{BindConnection, TestStateId, TestedStateId};
use crate::v4::sparse::{
    Clone4, Content, Copied, Copy, CopyRequirements, Found, Seek, Segment, SegmentsHead, ServerLocation,
};
use crate::xdr::{Reader, Writer, XdrError};

const STATE: StateId = StateId { sequence: 1, other: [9; 12] };
const NINES: u32 = 0x0909_0909;
const CHANGE: ChangeInfo = ChangeInfo { atomic: true, before: 3, after: 4 };

fn round_trip<T>(item: T)
where
    T: for<'a> Item<'a> + PartialEq + std::fmt::Debug,
{
    assert_eq!(T::get(&mut Reader::new(&bytes(&item))), Ok(item));
}

/// Like [`round_trip`] for items that borrow from their message.
macro_rules! borrowed_round_trip {
    ($type:ty, $($item:expr),+ $(,)?) => {
        $({
            let item: $type = $item;
            let message = bytes(&item);
            let mut reader = Reader::new(&message);
            assert_eq!(<$type>::get(&mut reader), Ok(item));
            assert!(reader.rest().is_empty());
        })+
    };
}

#[test]
fn an_open_that_creates_a_file_has_the_bytes_of_rfc_7530_section_16_16() {
    let attributes = SetAttributes { size: Some(0), mode: Some(0o644), ..SetAttributes::default() };
    let open = Open {
        sequence: 5,
        access: 3,
        deny: 0,
        owner: StateOwner { client_id: 7, owner: Opaque(b"own") },
        how: OpenHow::Guarded(attributes),
        claim: OpenClaim::Name(Opaque(b"f")),
    };
    let own = u32::from_be_bytes(*b"own\0");
    let f = u32::from_be_bytes(*b"f\0\0\0");
    let expected: [&[u32]; 3] = [
        &[5, 3, 0, 0, 7, 3, own],
        // OPEN4_CREATE, GUARDED4, two words of bitmap (size is 4, mode is 33), 12 bytes of values.
        &[1, 1, 2, 0x10, 0x2, 12, 0, 0, 0o644],
        &[0, 1, f],
    ];
    assert_eq!(bytes(&open), words(&expected.concat()));
    borrowed_round_trip!(Open<'_>, open);
}

#[test]
fn every_way_to_open_is_read_as_it_was_written() {
    let attributes = SetAttributes { modified: Some(SetTime::ServerTime), ..SetAttributes::default() };
    let exclusive = ExclusiveCreate { verifier: [2; 8], attributes };
    borrowed_round_trip!(
        OpenHow<'_>,
        OpenHow::Existing,
        OpenHow::Unchecked(attributes),
        OpenHow::Exclusive([1; 8]),
        OpenHow::ExclusiveWith(exclusive),
    );
    borrowed_round_trip!(
        OpenClaim<'_>,
        OpenClaim::Previous(DelegationKind::Read),
        OpenClaim::Delegated(crate::v4::open::DelegatedName { delegation: STATE, name: Opaque(b"n") }),
        OpenClaim::DelegatedBefore(Opaque(b"name")),
        OpenClaim::Handle,
        OpenClaim::DelegatedHandle(STATE),
        OpenClaim::DelegatedHandleBefore,
    );
}

#[test]
fn every_delegation_is_read_as_it_was_written() {
    let permissions = Ace { kind: 0, flags: 0, rights: 1, who: Opaque(b"OWNER@") };
    let write = |limit| Delegation::Write(WriteDelegation { state: STATE, recall: true, limit, permissions });
    borrowed_round_trip!(
        Delegation<'_>,
        Delegation::None,
        Delegation::Read(ReadDelegation { state: STATE, recall: false, permissions }),
        write(SpaceLimit::Size(1 << 40)),
        write(SpaceLimit::Blocks { count: 3, bytes: 512 }),
        Delegation::NoneBecause { reason: 1, later: true },
        Delegation::NoneBecause { reason: 7, later: false },
    );
    // WND4_NOT_WANTED is 0 and has no further word.
    assert_eq!(bytes(&Delegation::NoneBecause { reason: 0, later: false }), words(&[3, 0]));
    let set = Bitmap::from_numbers(&[33]);
    borrowed_round_trip!(
        Opened<'_>,
        Opened { state: STATE, change: CHANGE, flags: 4, set, delegation: Delegation::None },
    );
}

#[test]
fn attributes_follow_each_other_in_the_order_of_their_numbers() {
    let attributes = Attributes {
        kind: Some(FileType::Regular),
        size: Some(1 << 33),
        file_id: Some(8),
        mode: Some(0o600),
        owner: Some(Opaque(b"1000")),
        modified: Some(Time { seconds: 10, nanos: 11 }),
        ..Attributes::default()
    };
    let owner = u32::from_be_bytes(*b"1000");
    let expected = [
        // Bits 1, 4 and 20; bits 33, 36 and 53; 44 bytes.
        [2, 0x0010_0012, 0x0020_0012, 44].as_slice(),
        &[1, 2, 0, 0, 8, 0o600, 4, owner, 0, 10, 11],
    ];
    let message = words(&expected.concat());
    assert_eq!(bytes(&attributes), message);
    borrowed_round_trip!(Attributes<'_>, attributes);
    let mut writer = Writer::default();
    attributes.put_masked(Bitmap::from_numbers(&[1, 3]), &mut writer);
    assert_eq!(writer.as_slice(), words(&[1, 2, 4, 1]));
}

#[test]
fn structured_attributes_are_read_as_they_were_written() {
    let component = [Opaque(&b"srv"[..]), Opaque(b"data")];
    let path = List::new(&component);
    let location = [FsLocation { servers: List::new(&component[..1]), path }];
    let ace = [Ace { kind: 0, flags: 1, rights: 2, who: Opaque(b"EVERYONE@") }];
    let attributes = Attributes {
        supported: Some(Attributes::KNOWN),
        fs_id: Some(FsId { major: 1, minor: 2 }),
        acl: Some(List::new(&ace)),
        locations: Some(FsLocations { root: path, locations: List::new(&location) }),
        device: Some(SpecData { major: 8, minor: 1 }),
        layout_types: Some(List::new(&[1, 4])),
        exclusive_create: Some(SetAttributes::KNOWN),
        ..Attributes::default()
    };
    borrowed_round_trip!(Attributes<'_>, attributes);
    let message = bytes(&attributes);
    let read = Attributes::get(&mut Reader::new(&message)).unwrap();
    let servers = read.locations.unwrap().locations.iter().next().unwrap().servers;
    assert_eq!(servers.iter().collect::<Vec<_>>(), [Opaque(&b"srv"[..])]);
    let mode_umask = Some(ModeUmask { mode: 0o666, umask: 0o22 });
    borrowed_round_trip!(SetAttributes<'_>, SetAttributes { mode_umask, ..SetAttributes::default() });
}

#[test]
fn an_attribute_that_a_set_does_not_have_is_named_by_its_number() {
    let get = |message: &[u32]| SetAttributes::get(&mut Reader::new(&words(message))).map(drop);
    assert_eq!(get(&[1, 2, 4, 1]), Err(XdrError::BadValue { field: UNKNOWN_ATTRIBUTE, value: 1 }));
    assert!(get(&[1, 1 << 4, 12, 0, 0, 0]).is_err(), "bytes after the size");
    assert!(get(&[1, 1 << 4, 4, 0]).is_err(), "a size of four bytes");
    assert!(Bitmap::get(&mut Reader::new(&words(&[9]))).is_err());
    // A server ignores attributes that it does not know.
    let wide = words(&[5, 2, 0, 0, 0, 1]);
    assert_eq!(Bitmap::get(&mut Reader::new(&wide)), Ok(Bitmap::from_numbers(&[1])));
}

#[test]
fn a_listing_is_read_as_it_was_written() {
    let wanted = Bitmap::from_numbers(&[1, 4]);
    let mut writer = Writer::default();
    writer.raw(&[7; 8]);
    for cookie in 3..5 {
        let attributes =
            Attributes { kind: Some(FileType::Directory), size: Some(cookie), ..Attributes::default() };
        put_entry(&mut writer, &ListedEntry { cookie, name: Opaque(b"dir"), attributes }, wanted);
    }
    put_end(&mut writer, true);
    let mut cookies = Vec::new();
    let mut reader = Reader::new(writer.as_slice());
    let end = get_listing(&mut reader, |entry| cookies.push((entry.cookie, entry.attributes.size)));
    assert_eq!((end, cookies), (Ok(([7; 8], true)), vec![(3, Some(3)), (4, Some(4))]));
    assert!(reader.rest().is_empty());
    round_trip(ReadDir { cookie: 1, verifier: [1; 8], directory_bytes: 2, max_bytes: 3, wanted });
}

#[test]
fn locks_have_the_bytes_of_rfc_7530_section_16_10() {
    let owner = StateOwner { client_id: 6, owner: Opaque(b"lock") };
    let locker = NewLocker { open_sequence: 1, open_state: STATE, lock_sequence: 2, owner };
    let new =
        Lock { kind: LockKind::WriteWait, reclaim: false, offset: 5, length: 6, locker: Locker::New(locker) };
    let lock = u32::from_be_bytes(*b"lock");
    let expected = [[4, 0, 0, 5, 0, 6].as_slice(), &[1, 1, 1, NINES, NINES, NINES, 2, 0, 6, 4, lock]];
    assert_eq!(bytes(&new), words(&expected.concat()));
    let known = Locker::Known(KnownLocker { lock_state: STATE, lock_sequence: 3 });
    borrowed_round_trip!(Lock<'_>, new, Lock { locker: known, ..new });
    let kind = LockKind::Read;
    borrowed_round_trip!(LockTest<'_>, LockTest { kind, offset: 0, length: TO_END_OF_FILE, owner });
    borrowed_round_trip!(Denied<'_>, Denied { offset: 0, length: 1, kind, owner });
    round_trip(Unlock { kind, sequence: 0, state: STATE, offset: 1, length: 2 });
}

#[test]
fn operations_on_names_are_read_as_they_were_written() {
    let attributes = SetAttributes { mode: Some(0o755), ..SetAttributes::default() };
    let create = |object| Create { object, name: Opaque(b"new"), attributes };
    borrowed_round_trip!(
        Create<'_>,
        create(NewObject::Plain(FileType::Directory)),
        create(NewObject::SymbolicLink(Opaque(b"../x"))),
        create(NewObject::Block(SpecData { major: 1, minor: 2 })),
        create(NewObject::Character(SpecData { major: 1, minor: 2 })),
    );
    round_trip(Created { change: CHANGE, set: Bitmap::from_numbers(&[33]) });
    round_trip(Renamed { from: CHANGE, to: CHANGE });
    borrowed_round_trip!(SetAttr<'_>, SetAttr { state: STATE, attributes });
    let mechanism = GssMechanism { oid: Opaque(b"krb5"), quality: 0, service: 2 };
    let flavors = [SecurityFlavor::Gss(mechanism), SecurityFlavor::Rpc(1)];
    borrowed_round_trip!(SecurityFlavors<'_>, SecurityFlavors { flavors: List::new(&flavors) });
}

#[test]
fn clients_of_version_4_0_are_read_as_they_were_written() {
    let callback_address = NetworkAddress { network: Opaque(b"tcp"), address: Opaque(b"127.0.0.1.8.1") };
    let set = SetClientId {
        verifier: [1; 8],
        owner: Opaque(b"client"),
        callback_program: 0x4000_0000,
        callback_address,
        callback_ident: 1,
    };
    borrowed_round_trip!(SetClientId<'_>, set);
    round_trip(ClientIdConfirm { client_id: 9, verifier: [2; 8] });
    round_trip(BindConnection { session: [3; 16], direction: 3, rdma: false });
    borrowed_round_trip!(TestStateId<'_>, TestStateId { states: List::new(&[STATE, StateId::ANONYMOUS]) });
    borrowed_round_trip!(TestedStateId<'_>, TestedStateId { statuses: List::new(&[0, 10_025]) });
}

#[test]
fn operations_of_version_4_2_are_read_as_they_were_written() {
    round_trip(Seek { state: STATE, offset: 7, what: Content::Hole });
    round_trip(Found { eof: false, offset: 8 });
    let servers = [ServerLocation::Name(Opaque(b"nas"))];
    let copy = Copy {
        source_state: STATE,
        destination_state: STATE,
        source_offset: 1,
        destination_offset: 2,
        count: 3,
        consecutive: true,
        synchronous: true,
        source_servers: List::default(),
    };
    borrowed_round_trip!(Copy<'_>, copy, Copy { source_servers: List::new(&servers), ..copy });
    let requirements = CopyRequirements { consecutive: true, synchronous: false };
    let committed = crate::protocol::StableHow::FileSync;
    round_trip(Copied { callback: Some(STATE), count: 9, committed, verifier: [4; 8], requirements });
    round_trip(Clone4 {
        source_state: STATE,
        destination_state: STATE,
        source_offset: 0,
        destination_offset: 0,
        count: 0,
    });
    round_trip(SegmentsHead { eof: true, count: 2 });
    borrowed_round_trip!(
        Segment<'_>,
        Segment::Data { offset: 4, data: b"abcde" },
        Segment::Hole { offset: 9, length: 1 << 40 },
    );
}

#[test]
fn callbacks_are_read_as_they_were_written() {
    borrowed_round_trip!(
        CallbackHead<'_>,
        CallbackHead { tag: Opaque(b""), minor_version: 1, ident: 0, count: 2 }
    );
    let calls = [ReferringCall { sequence: 1, slot: 2 }];
    let referring = [ReferringCalls { session: [5; 16], calls: List::new(&calls) }];
    let sequence = CallbackSequence {
        session: [5; 16],
        sequence: 1,
        slot: 0,
        highest_slot: 0,
        cache_reply: false,
        referring: List::new(&referring),
    };
    let session = 0x0505_0505;
    let expected: [&[u32]; 3] = [
        &[session, session, session, session],
        &[1, 0, 0, 0],
        &[1, session, session, session, session, 1, 1, 2],
    ];
    assert_eq!(bytes(&sequence), words(&expected.concat()));
    borrowed_round_trip!(CallbackSequence<'_>, sequence);
    borrowed_round_trip!(Recall<'_>, Recall { state: STATE, truncate: false, handle: Opaque(b"file") });
    let owner = StateOwner { client_id: 1, owner: Opaque(b"o") };
    borrowed_round_trip!(NotifyLock<'_>, NotifyLock { handle: Opaque(b"file"), owner });
}

proptest! {
    #[test]
    fn arbitrary_bytes_of_any_operation_cause_no_panic(
        input in proptest::collection::vec(prop_oneof![4 => Just(0u8), 2 => Just(1u8), 2 => any::<u8>()], 0..400),
    ) {
        let decode_each: [fn(&[u8]); 16] = [
            |input| decode::<OpenHow<'_>>(input),
            |input| decode::<OpenClaim<'_>>(input),
            |input| decode::<Delegation<'_>>(input),
            |input| decode::<NewObject<'_>>(input),
            |input| decode::<Lock<'_>>(input),
            |input| decode::<Denied<'_>>(input),
            |input| decode::<SecurityFlavors<'_>>(input),
            |input| decode::<SetClientId<'_>>(input),
            |input| decode::<TestStateId<'_>>(input),
            |input| decode::<Copy<'_>>(input),
            |input| decode::<Copied>(input),
            |input| decode::<Segment<'_>>(input),
            |input| decode::<CallbackHead<'_>>(input),
            |input| decode::<CallbackSequence<'_>>(input),
            |input| decode::<CallbackSequenced>(input),
            |input| decode::<RecallAny>(input),
        ];
        for decode in decode_each {
            decode(&input);
        }
        // Not canonical: trailing zero words of a bitmap are not encoded again.
        let _ = Attributes::get(&mut Reader::new(&input));
        let _ = Open::get(&mut Reader::new(&input));
        let mut names = 0;
        let _ = get_listing(&mut Reader::new(&input), |entry| names += entry.name.0.len());
        prop_assert!(names <= input.len());
    }

    #[test]
    fn a_bitmap_is_read_as_it_was_written(numbers in proptest::collection::vec(0u32..96, 0..20)) {
        let bitmap = Bitmap::from_numbers(&numbers);
        round_trip(bitmap);
        prop_assert!(bitmap.iter().all(|number| numbers.contains(&number)));
        prop_assert!(numbers.iter().all(|number| bitmap.contains(*number)));
    }
}
