//! Captures of independent clients and servers (crates/ncp/tests/data). The expected counts are those of tshark 4.0, by
//! `-Y ncp.type==0x2222 -T fields -e ncp.func -e ncp.subfunc`.

use std::collections::BTreeMap;
use std::io::Cursor;

use crate::input::{ReadOptions, observe};
use crate::operation::{Access, Action, Observed, Outcome, Protocol, Unseen};
use crate::server::kind;

const SIGNED: &[u8] = include_bytes!("../../../../../ncp/tests/data/libncp-client-udp-tcp-signed.pcap");
const UNSIGNED: &[u8] = include_bytes!("../../../../../ncp/tests/data/libncp-client-udp-tcp-unsigned.pcap");
const BURST: &[u8] = include_bytes!("../../../../../ncp/tests/data/mars-server-ipx-in-udp-with-burst.pcap");

fn observed(capture: &[u8]) -> Observed {
    let input = ("capture".to_owned(), Box::new(Cursor::new(capture.to_vec())) as Box<dyn std::io::Read>);
    observe(std::iter::once(input), &ReadOptions::default()).unwrap()
}

fn counts(observed: &Observed) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for operation in &observed.operations {
        *counts.entry(kind(&operation.action)).or_default() += 1;
    }
    counts
}

#[test]
fn operations_are_those_that_tshark_counts() {
    for (capture, reads, writes, bindery) in [(SIGNED, 14, 12, 8), (UNSIGNED, 12, 10, 8)] {
        let observed = observed(capture);
        let expected = [
            ("bindery", bindery),
            ("close", 2),
            ("connect", 2),
            ("create", 2),
            ("directory", 2),
            ("lock", 4),
            ("read", reads),
            ("remove", 2),
            ("space", 2),
            ("stat", 2),
            ("write", writes),
        ];
        assert_eq!(counts(&observed), BTreeMap::from(expected));
        assert_eq!(observed.unseen, Unseen::default());
        // One over UDP, one over TCP.
        assert!(observed.users.len() == 2 && observed.users[0].protocol == Protocol::Ncp);
        let created = Action::Open { file: Some(1), access: Access::Write, created: true };
        assert!(observed.operations.iter().any(|operation| operation.action == created));
    }
}

#[test]
fn bursts_are_reads_and_writes() {
    let observed = observed(BURST);
    // Function 0x48 eleven times less those without an open file, and the bursts that tshark does not decode.
    let counts = counts(&observed);
    let of = |kind| counts.get(kind).copied().unwrap_or(0);
    let opens = of("open") + of("create");
    assert_eq!((opens, of("close"), of("read"), of("write"), of("set size")), (4, 3, 9, 26, 1));
    let burst = observed.operations.iter().find_map(|operation| match operation.action {
        Action::Read { offset: 4, asked: 7000, bytes, .. } => Some((bytes, operation.outcome)),
        _ => None,
    });
    assert_eq!(burst, Some((7000, Outcome::Done)));
    // Addresses of IPX are those of the machines: the burst belongs to the user of the connection.
    assert_eq!(observed.users.len(), 2);
    assert_eq!(observed.unseen, Unseen::default());
}

#[test]
fn data_may_be_cut() {
    // The global header, then the header of each packet: seconds, microseconds, captured length, length.
    let mut cut = UNSIGNED[..24].to_vec();
    let mut rest = &UNSIGNED[24..];
    while let Some((header, after)) = rest.split_at_checked(16) {
        let captured = u32::from_le_bytes(*header[8..].first_chunk().unwrap()) as usize;
        let kept = captured.min(256);
        cut.extend(&header[..8]);
        cut.extend((kept as u32).to_le_bytes());
        cut.extend(&header[12..]);
        cut.extend(&after[..kept]);
        rest = &after[captured..];
    }
    let cut = observed(&cut);
    let whole = observed(UNSIGNED);
    assert_eq!(counts(&cut), counts(&whole));
    assert_eq!(cut.operations, whole.operations);
}
