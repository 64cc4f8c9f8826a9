//! Operations of minor version 2.

use sharebench_nfs::v4::data::{Read, StateId, WriteHead};
use sharebench_nfs::v4::item::Item;
use sharebench_nfs::v4::list::List;
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::sparse::{Clone4, Content, Copied, Copy, Found, Range, Seek, Segment, SegmentsHead};
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::Reader;

use super::client::{Client, Results, Server};

/// A file with a hole of 1 MiB in front of five bytes.
fn sparse(client: &mut Client<'_>) -> StateId {
    let state = client.create("f");
    let stable = sharebench_nfs::protocol::StableHow::Unstable;
    let head = WriteHead { state, offset: 1 << 20, stable, count: 5 };
    let written = client.call(|call| call.path(&["export", "f"]).write(&head, b"bytes").done());
    assert_eq!(written.status, None);
    state
}

#[test]
fn holes_are_found_and_read_as_such() {
    let server = Server::new();
    let mut client = Client::new(&server, "one");
    let state = sparse(&mut client);
    let mut seek = |offset, what| {
        let seek = Seek { state, offset, what };
        let results = client.call(|call| call.path(&["export", "f"]).add(Operation::Seek, &seek).done());
        results.status.map_or_else(|| Ok(results.decode::<Found>(Operation::Seek)), Err)
    };
    assert_eq!(seek(0, Content::Data), Ok(Found { eof: false, offset: 1 << 20 }));
    assert_eq!(seek(10, Content::Hole), Ok(Found { eof: false, offset: 10 }));
    assert_eq!(seek(1 << 20, Content::Hole), Ok(Found { eof: true, offset: (1 << 20) + 5 }));
    assert_eq!(seek(2 << 20, Content::Data), Err(Nfs4Status::Nxio));
    let hole = |offset, length| Segment::Hole { offset, length };
    let data = Segment::Data { offset: 1 << 20, data: b"bytes" };
    for (offset, is_end, expected) in [
        (0, false, &[hole(0, 4096)][..]),
        (1 << 20, true, &[data]),
        ((1 << 20) - 10, true, &[hole((1 << 20) - 10, 10), data]),
        (2 << 20, true, &[]),
    ] {
        let results = read_plus(&mut client, Read { state, offset, count: 4096 });
        assert_eq!(segments(results.last(Operation::ReadPlus)), (is_end, expected.to_vec()), "{offset}");
    }
}

#[test]
fn a_hole_between_data_is_a_segment_of_its_own() {
    let server = Server::new();
    let mut client = Client::new(&server, "one");
    let state = sparse(&mut client);
    let stable = sharebench_nfs::protocol::StableHow::Unstable;
    let head = WriteHead { state, offset: 4000, stable, count: 4 };
    client.call(|call| call.path(&["export", "f"]).write(&head, b"data").done());
    // The whole block at the front would not fit into the reply cache of the session.
    let results = read_plus(&mut client, Read { state, offset: 4000, count: 1 << 20 });
    let (is_end, segments) = segments(results.last(Operation::ReadPlus));
    assert!(is_end);
    let [Segment::Data { offset: 4000, data }, Segment::Hole { offset, length }, last] = segments[..] else {
        panic!("{segments:?}");
    };
    assert_eq!((4000 + data.len() as u64, offset + length), (offset, 1 << 20), "each byte is in one of them");
    assert!(data.starts_with(b"data\0"));
    assert_eq!(last, Segment::Data { offset: 1 << 20, data: b"bytes" });
}

fn read_plus(client: &mut Client<'_>, read: Read) -> Results {
    let results = client.call(|call| call.path(&["export", "f"]).add(Operation::ReadPlus, &read).done());
    assert_eq!(results.status, None);
    results
}

/// Whether the segments reach the end of the file, and the segments.
fn segments(result: &[u8]) -> (bool, Vec<Segment<'_>>) {
    let mut reader = Reader::new(result);
    let head = SegmentsHead::get(&mut reader).unwrap();
    let segments = (0..head.count).map(|_| Segment::get(&mut reader).unwrap()).collect();
    assert_eq!(reader.rest(), b"");
    (head.eof, segments)
}

#[test]
fn ranges_are_copied_cloned_reserved_and_freed() {
    let server = Server::new();
    let mut client = Client::new(&server, "one");
    let source_state = sparse(&mut client);
    let destination_state = client.create("g");
    let copy = Copy {
        source_state,
        destination_state,
        source_offset: 1 << 20,
        destination_offset: 3,
        count: 0,
        consecutive: true,
        synchronous: true,
        source_servers: List::default(),
    };
    let results = client.call(|call| {
        call.path(&["export", "f"]).add(Operation::SaveFh, &());
        call.path(&["export", "g"]).add(Operation::Copy, &copy);
    });
    let copied: Copied = results.decode(Operation::Copy);
    assert_eq!((copied.count, copied.callback), (5, None));
    assert_eq!(client.read("g", destination_state).as_deref(), Ok(&b"\0\0\0bytes"[..]));
    let free = Range { state: destination_state, offset: 0, length: 6 };
    let results = client.call(|call| call.path(&["export", "g"]).add(Operation::Deallocate, &free).done());
    assert_eq!(results.status, None);
    assert_eq!(client.read("g", destination_state).as_deref(), Ok(&b"\0\0\0\0\0\0es"[..]));
    let more = Range { state: destination_state, offset: 0, length: 10 };
    client.call(|call| call.path(&["export", "g"]).add(Operation::Allocate, &more).done());
    assert_eq!(client.read("g", destination_state).map(|data| data.len()), Ok(10));
    let clone = Clone4 {
        source_state: destination_state,
        destination_state: source_state,
        source_offset: 6,
        destination_offset: 0,
        count: 2,
    };
    let results = client.call(|call| {
        call.path(&["export", "g"]).add(Operation::SaveFh, &());
        call.path(&["export", "f"]).add(Operation::Clone, &clone);
    });
    assert_eq!(results.status, None);
    let whole = Clone4 { count: 100, ..clone };
    let results = client.call(|call| {
        call.path(&["export", "g"]).add(Operation::SaveFh, &());
        call.path(&["export", "f"]).add(Operation::Clone, &whole);
    });
    assert_eq!(results.status, Some(Nfs4Status::Inval), "beyond the end of the source");
}
