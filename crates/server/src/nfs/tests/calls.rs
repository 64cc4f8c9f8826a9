//! Calls that the client adapter never sends.

use sharebench_nfs::attributes::FileAttributes;
use sharebench_nfs::protocol::{MOUNT_PROGRAM, NFS_PROGRAM, Procedure};
use sharebench_nfs::rpc::{CallTemplate, Rejection, get_reply};
use sharebench_nfs::status::NfsStatus;
use sharebench_nfs::xdr::{Reader, Writer};

use super::memory;
use crate::nfs::state::ServerState;
use crate::nfs::v4::{LeaseClock, Peer};
use crate::{NfsServerOptions, ROOT};

pub(super) fn state() -> ServerState {
    ServerState::new(&memory(), NfsServerOptions::default(), LeaseClock::real(), None)
}

/// Performs a call and returns its result, or the rejection.
fn perform(
    state: &ServerState,
    program: u32,
    procedure: u32,
    arguments: impl FnOnce(&mut Writer),
) -> Result<Vec<u8>, Rejection> {
    let mut call = Writer::default();
    let mut out = Writer::default();
    CallTemplate::new(program, 3, None).put(&mut call, 77, procedure);
    arguments(&mut call);
    state.answer(&Peer::new().0, call.as_slice(), &mut out).unwrap();
    let mut reader = Reader::new(&out.as_slice()[4..]);
    let (xid, outcome) = get_reply(&mut reader).unwrap();
    assert_eq!(xid, 77);
    outcome.map(|()| reader.rest().to_vec())
}

fn nfs(state: &ServerState, procedure: Procedure, arguments: impl FnOnce(&mut Writer)) -> Vec<u8> {
    perform(state, NFS_PROGRAM, procedure as u32, arguments).unwrap()
}

fn status(result: &[u8]) -> Option<NfsStatus> {
    NfsStatus::from_code(Reader::new(result).u32().unwrap())
}

fn named<'a>(state: &'a ServerState, name: &'a [u8]) -> impl FnOnce(&mut Writer) + 'a {
    move |call| {
        state.handles.put(call, ROOT);
        call.opaque(name);
    }
}

#[test]
fn no_name_leads_out_of_the_volume() {
    let state = state();
    let up = nfs(&state, Procedure::Lookup, named(&state, b".."));
    let mut reader = Reader::new(&up[4..]);
    assert_eq!(state.handles.get(&mut reader), Ok(Ok(ROOT)));
    for name in [&b"../../etc"[..], b"a/b", b"a\0b", b"", &[0xff, 0xfe]] {
        for procedure in [Procedure::Lookup, Procedure::Remove, Procedure::RmDir] {
            let answer = status(&nfs(&state, procedure, named(&state, name)));
            assert_eq!(answer, Some(NfsStatus::Inval), "{procedure:?} {name:?}");
        }
    }
    let long = status(&nfs(&state, Procedure::Lookup, named(&state, &[b'n'; 256])));
    assert_eq!(long, Some(NfsStatus::NameTooLong));
}

#[test]
fn handles_of_other_instances_are_stale_and_guessed_ones_are_invalid() {
    let before = state();
    let state = state();
    let foreign = nfs(&state, Procedure::GetAttr, |call| before.handles.put(call, ROOT));
    assert_eq!(status(&foreign), Some(NfsStatus::Stale));
    let guessed = nfs(&state, Procedure::GetAttr, |call| call.opaque(&[0; 32]));
    assert_eq!(status(&guessed), Some(NfsStatus::BadHandle));
}

#[test]
fn special_files_are_not_supported() {
    let state = state();
    let result = nfs(&state, Procedure::MkNod, named(&state, b"pipe"));
    assert_eq!(status(&result), Some(NfsStatus::NotSupp));
}

#[test]
fn links_have_their_target_and_files_several_names() {
    let state = state();
    let file = state.volume.create(ROOT, "file", 0o644).unwrap().node;
    let link = |name: &'static [u8], target: &'static [u8]| {
        let state = &state;
        nfs(state, Procedure::SymLink, move |call| {
            named(state, name)(call);
            // No attributes.
            call.words(&[0; 6]);
            call.opaque(target);
        })
    };
    assert_eq!(status(&link(b"link", b"../outside")), None);
    assert_eq!(status(&link(b"link", b"other")), Some(NfsStatus::Exist));
    assert_eq!(status(&link(b"..", b"other")), Some(NfsStatus::Inval));
    let made = state.volume.lookup(ROOT, "link").unwrap();
    let read = |node| nfs(&state, Procedure::ReadLink, |call| state.handles.put(call, node));
    let text = read(made.node);
    assert_eq!(status(&text), None);
    assert!(text.ends_with(b"\0\0\0\x0a../outside\0\0"), "{text:?}");
    assert_eq!(status(&read(file)), Some(NfsStatus::Inval));
    let add = |node, name: &'static [u8]| {
        let state = &state;
        nfs(state, Procedure::Link, move |call| {
            state.handles.put(call, node);
            named(state, name)(call);
        })
    };
    assert_eq!(status(&add(file, b"second")), None);
    assert_eq!(status(&add(file, b"second")), Some(NfsStatus::Exist));
    assert_eq!(status(&add(ROOT, b"third")), Some(NfsStatus::IsDir));
    let second = state.volume.lookup(ROOT, "second").unwrap();
    assert_eq!((second.node, second.links), (file, 2));
}

#[test]
fn an_exclusive_create_may_be_repeated_with_its_verifier_only() {
    let state = state();
    let create = |verifier: u64| {
        nfs(&state, Procedure::Create, |call| {
            named(&state, b"x")(call);
            call.u32(2);
            call.u64(verifier);
        })
    };
    let first = create(1);
    assert_eq!(status(&first), None);
    assert_eq!(create(1)[..40], first[..40], "the same handle");
    assert_eq!(status(&create(2)), Some(NfsStatus::Exist));
}

#[test]
fn wcc_data_describe_the_directory_before_and_after() {
    let state = state();
    let before = state.volume.attributes(ROOT).unwrap();
    let result = nfs(&state, Procedure::MkDir, |call| {
        named(&state, b"d")(call);
        sharebench_nfs::attributes::SetFileAttributes::default().put(call);
    });
    // Status, handle, attributes of the new directory; then before and after.
    let mut reader = Reader::new(&result[4 + 4 + 32 + 4 + 84..]);
    assert!(reader.boolean("before").unwrap());
    reader.u64().unwrap();
    let modified = sharebench_nfs::attributes::NfsTime::get(&mut reader).unwrap();
    assert_eq!(modified, crate::nfs::v3::reply::wire_time(before.modified));
    reader.u64().unwrap();
    let after = FileAttributes::get_optional(&mut reader).unwrap().unwrap();
    assert_eq!(after.links, 3);
    assert!(reader.rest().is_empty());
}

/// Names of a directory listed in pages of `bytes`, and the largest page.
fn list(state: &ServerState, bytes: u32, plus: bool) -> (Vec<String>, usize) {
    let mut names = Vec::new();
    let mut cookie = 0;
    let mut largest = 0;
    let procedure = if plus { Procedure::ReadDirPlus } else { Procedure::ReadDir };
    loop {
        let page = nfs(state, procedure, |call| {
            state.handles.put(call, ROOT);
            call.u64(cookie);
            call.u64(0);
            call.words(if plus { &[4096, 4096] } else { &[4096] });
            let at = call.len() - 4;
            call.patch(at, bytes);
        });
        assert_eq!(status(&page), None);
        largest = largest.max(page.len());
        let mut reader = Reader::new(&page[4..]);
        FileAttributes::get_optional(&mut reader).unwrap();
        reader.u64().unwrap();
        while reader.boolean("follows").unwrap() {
            reader.u64().unwrap();
            names.push(String::from_utf8(reader.opaque("name", 255).unwrap().to_vec()).unwrap());
            cookie = reader.u64().unwrap();
            if plus {
                assert!(FileAttributes::get_optional(&mut reader).unwrap().is_some());
                assert!(reader.boolean("handle").unwrap());
                assert!(state.handles.get(&mut reader).unwrap().is_ok());
            }
        }
        if reader.boolean("end").unwrap() {
            assert!(reader.rest().is_empty());
            return (names, largest);
        }
    }
}

#[test]
fn pages_of_a_directory_respect_the_limit_and_are_complete() {
    let state = state();
    let mut expected = vec![".".to_owned(), "..".to_owned()];
    for number in 0..300 {
        let name = format!("{number:0width$}", width = 1 + number % 40);
        if state.volume.create(ROOT, &name, 0o644).is_ok() {
            expected.push(name);
        }
    }
    expected.sort();
    for (bytes, plus) in [(512, false), (4096, false), (512, true), (32 << 10, true)] {
        let (mut names, largest) = list(&state, bytes, plus);
        names.sort();
        assert_eq!(names, expected);
        assert!(largest <= bytes as usize, "{largest} of {bytes}");
    }
    let small = nfs(&state, Procedure::ReadDir, |call| {
        state.handles.put(call, ROOT);
        call.u64(0);
        call.u64(0);
        call.u32(64);
    });
    assert_eq!(status(&small), Some(NfsStatus::TooSmall));
}

#[test]
fn unknown_programs_versions_and_invalid_arguments_are_rejected_with_their_reason() {
    let state = state();
    let none = |_: &mut Writer| {};
    assert_eq!(perform(&state, 100_021, 0, none), Err(Rejection::ProgramUnavailable));
    assert_eq!(perform(&state, NFS_PROGRAM, 22, none), Err(Rejection::ProcedureUnavailable));
    assert_eq!(perform(&state, MOUNT_PROGRAM, 6, none), Err(Rejection::ProcedureUnavailable));
    let get_attributes = Procedure::GetAttr as u32;
    assert_eq!(perform(&state, NFS_PROGRAM, get_attributes, none), Err(Rejection::GarbageArguments));
    let mut call = Writer::default();
    let mut out = Writer::default();
    CallTemplate::new(NFS_PROGRAM, 5, None).put(&mut call, 1, 0);
    state.answer(&Peer::new().0, call.as_slice(), &mut out).unwrap();
    let reply = get_reply(&mut Reader::new(&out.as_slice()[4..])).unwrap();
    assert_eq!(reply.1, Err(Rejection::ProgramMismatch { low: 3, high: 4 }));
}
