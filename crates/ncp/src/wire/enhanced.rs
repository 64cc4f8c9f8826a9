//! Function 0x59, the enhanced file system of later NetWare: the calls of 0x57 with other paths.
//!
//! A path has its directory before its volume, the kind of its names, five reserved bytes, and components whose lengths have
//! two bytes if they are UTF-8. This is what Wireshark's table of NCP describes, and what
//! `testing/btest/Traces/ncp.pcap` of zeek/zeek shows for the sub-functions 1, 2, 3, 6 and 32; the others follow the description alone.

use super::{Le16, Pstr, Reader, U8};

/// The function.
const ENHANCED: u8 = 0x59;
/// The function that it repeats.
const NAME_SPACE: u8 = 0x57;
/// Names are UTF-8.
const UTF8: u8 = 1;

/// Rewrites a call of 0x59 as the call of 0x57 that does the same, which [`super::Request`] decodes; none for all other calls, and for those that 0x57 cannot
/// express: a malformed or cut one, or one with a component of more than 255 bytes.
pub fn as_name_space_call(body: &[u8]) -> Option<Vec<u8>> {
    let mut reader = Reader::new(body);
    if reader.get::<U8>().ok()? != ENHANCED {
        return None;
    }
    let sub = reader.get::<U8>().ok()?;
    let mut call = vec![NAME_SPACE];
    match sub {
        // Open or create, also with a callback.
        1 | 32 => with_path(1, 14, &mut reader, &mut call)?,
        // The same with the number of a stream and more flags.
        30 | 33 => {
            let [space, _, mode, _, rest @ ..] = *reader.take(18).ok()?.first_chunk::<18>()?;
            let [low, high, _, _, fields @ ..] = rest;
            call.extend_from_slice(&[1, space, mode, low, high]);
            call.extend_from_slice(&fields);
            path(&mut reader, &mut call)?;
        }
        2 => with_path(2, 2, &mut reader, &mut call)?,
        3 => with_pattern(3, 17, &mut reader, &mut call)?,
        4 => {
            call.push(4);
            call.extend_from_slice(reader.take(4).ok()?);
            let from = start(&mut reader, &mut call)?;
            let to = start(&mut reader, &mut call)?;
            components(from, &mut reader, &mut call)?;
            components(to, &mut reader, &mut call)?;
        }
        6 => with_path(6, 8, &mut reader, &mut call)?,
        7 => with_path(7, 46, &mut reader, &mut call)?,
        8 | 12 | 22 => with_path(sub, 4, &mut reader, &mut call)?,
        // 40 has more error codes.
        20 | 40 => with_pattern(20, 19, &mut reader, &mut call)?,
        _ => return None,
    }
    Some(call)
}

/// The kind and the number of the components of a path.
type Kind = (u8, u8);

/// A call with this many bytes before its path.
fn with_path(sub: u8, head: usize, reader: &mut Reader<'_>, call: &mut Vec<u8>) -> Option<()> {
    call.push(sub);
    call.extend_from_slice(reader.take(head).ok()?);
    path(reader, call)
}

/// A call with this many bytes before its pattern.
fn with_pattern(sub: u8, head: usize, reader: &mut Reader<'_>, call: &mut Vec<u8>) -> Option<()> {
    call.push(sub);
    call.extend_from_slice(reader.take(head).ok()?);
    let kind = reader.get::<U8>().ok()?;
    components((kind, 1), reader, call)
}

fn path(reader: &mut Reader<'_>, call: &mut Vec<u8>) -> Option<()> {
    let kind = start(reader, call)?;
    components(kind, reader, call)
}

/// Rewrites the start of a path, and the number of its components.
fn start(reader: &mut Reader<'_>, call: &mut Vec<u8>) -> Option<Kind> {
    let [base @ .., volume, flag, kind, _, _, _, _, _, count] = *reader.take(13).ok()?.first_chunk::<13>()?;
    call.push(volume);
    call.extend_from_slice(&base);
    call.extend_from_slice(&[flag, count]);
    Some((kind, count))
}

fn components((kind, count): Kind, reader: &mut Reader<'_>, call: &mut Vec<u8>) -> Option<()> {
    for _ in 0..count {
        let name = if kind == UTF8 {
            let len = reader.get::<Le16>().ok()?;
            reader.take(usize::from(len)).ok()?
        } else {
            reader.get::<Pstr<'_>>().ok()?.bytes()
        };
        call.push(u8::try_from(name.len()).ok()?);
        call.extend_from_slice(name);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::handle_path::PathStart;
    use crate::wire::{NameSpaceCall, Request};

    const PATH: &[u8] = b"\x02\0\0\0\0\0\x01\0\0\0\0\0\x02\x08\0STUDENTS\x03\0A.B";

    fn call(sub: u8, head: &[u8], path: &[u8]) -> Vec<u8> {
        [&[ENHANCED, sub], head, path].concat()
    }

    /// `testing/btest/Traces/ncp.pcap` of zeek/zeek, frames 8 and 483, with other names.
    #[test]
    fn opens_and_searches_of_a_capture_are_those_of_0x57() {
        let head = [4, 0xa1, 0x26, 0, 0xac, 0x15, 0, 0x84, 0, 0, 0, 0, 1, 0];
        let body = as_name_space_call(&call(32, &head, PATH)).unwrap();
        let Ok(Request::NameSpace(NameSpaceCall::OpenCreate(open))) = Request::decode(&body) else {
            panic!("{body:?}")
        };
        assert_eq!((open.mode, open.mask.0, open.extended, open.access), (0xa1, 0x15ac, 0x8400, 1));
        assert_eq!(open.path.start, PathStart::handle(2));
        assert_eq!(open.path.components.iter().collect::<Vec<_>>(), [&b"STUDENTS"[..], b"A.B"]);

        let search = b"\x04\0\x26\0\xaf\x05\x02\x80\x02\x34\x4f\x04\0\xff\xff\xff\xff\x01\x05\0a.url";
        let body = as_name_space_call(&call(3, search, &[])).unwrap();
        let Ok(Request::NameSpace(NameSpaceCall::SearchNext(next))) = Request::decode(&body) else {
            panic!("{body:?}")
        };
        assert_eq!((next.sequence.directory, next.sequence.entry), (0x44f34, u32::MAX));
        assert_eq!(next.pattern.bytes(), b"a.url");
    }

    #[test]
    fn every_call_keeps_its_fields() {
        let with_stream = [4, 0, 0xa1, 0, 0x26, 0, 0, 0, 0xac, 0x15, 0, 0x84, 0, 0, 0, 0, 1, 0];
        let body = as_name_space_call(&call(33, &with_stream, PATH)).unwrap();
        let Ok(Request::NameSpace(NameSpaceCall::OpenCreate(open))) = Request::decode(&body) else {
            panic!("{body:?}")
        };
        assert_eq!((open.space, open.mode, open.search, open.mask.0), (4, 0xa1, 0x26, 0x15ac));
        assert_eq!((open.extended, open.access, open.path.components.len()), (0x8400, 1, 2));

        let both = [&PATH[..13], &PATH[..13], &PATH[13..], &PATH[13..]].concat();
        let body = as_name_space_call(&call(4, &[4, 1, 6, 0], &both)).unwrap();
        let Ok(Request::NameSpace(NameSpaceCall::Rename(rename))) = Request::decode(&body) else {
            panic!("{body:?}")
        };
        assert_eq!((rename.search, rename.paths.to.start), (6, PathStart::handle(2)));
        assert_eq!(rename.paths.to.components.iter().last(), Some(&b"A.B"[..]));

        for (sub, head) in [(2, 2), (6, 8), (7, 46), (8, 4), (12, 4), (22, 4)] {
            let body = as_name_space_call(&call(sub, &vec![0; head], PATH)).unwrap();
            let request = Request::decode(&body).unwrap();
            assert!(!matches!(request, Request::Unknown(..)), "{request:?}");
            assert_eq!(request.function().sub, Some(sub));
            let end = [&b"\x08STUDENTS\x03A.B"[..]].concat();
            assert!(body.ends_with(&end), "{body:?}");
        }
        let set = [&[0; 19][..], b"\0\x01*"].concat();
        let body = as_name_space_call(&call(40, &set, &[])).unwrap();
        let Ok(Request::NameSpace(NameSpaceCall::SearchSet(next))) = Request::decode(&body) else {
            panic!("{body:?}")
        };
        assert_eq!(next.pattern.bytes(), b"*", "lengths of ASCII names have one byte");
    }

    #[test]
    fn other_calls_and_cut_or_longer_names_have_no_counterpart() {
        let whole = call(8, &[0; 4], PATH);
        for len in 0..whole.len() {
            assert_eq!(as_name_space_call(&whole[..len]), None, "{len}");
        }
        assert_eq!(as_name_space_call(&call(71, &[0; 40], PATH)), None);
        assert_eq!(as_name_space_call(&[&[NAME_SPACE], &whole[1..]].concat()), None);
        let long = [&PATH[..12], &[1, 0, 1], &[b'x'; 256]].concat();
        assert_eq!(as_name_space_call(&call(8, &[0; 4], &long)), None);
    }
}
