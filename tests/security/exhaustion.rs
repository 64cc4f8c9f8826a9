//! Clients that exhaust the resources of a server without sending a complete request.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use sharebench_tests::{Served, Sharebench};

use crate::attack::{Attack, sweep};

/// Connections with half a request each.
const LORISES: usize = 300;
/// Maximum growth of the server's memory, in KiB.
const MAX_GROWTH: u64 = 64 << 10;
/// Bytes of fragments after which the server counts as unlimited.
const ENDLESS: usize = 8 << 20;

/// The rows, in the order of the table.
pub const ATTACKS: &[Attack] = &[
    Attack {
        what: SLOW,
        on: "embedded SMB",
        needs: &[],
        act: || slow(&[0, 0, 16, 0, 0xFE, b'S', b'M', b'B'], |served| (served.smb_port, served.smb_url(""))),
    },
    Attack {
        what: SLOW,
        on: "embedded NFS",
        needs: &[],
        act: || slow(&[0x80, 0x10, 0, 0, 1, 2, 3, 4], |served| (served.nfs_port, served.nfs_url(""))),
    },
    Attack {
        what: SLOW,
        on: "embedded NCP",
        needs: &[],
        act: || slow(b"DmdT\0\0\x10\0\0\0\0\x01", |served| (served.ncp_port, served.ncp_url(""))),
    },
    Attack { what: "a record in endless fragments", on: "embedded NFS", needs: &[], act: endless },
];

const SLOW: &str = "300 connections with half a request each (slow loris)";

fn memory(served: &Served) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", served.program().pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn slow(begin: &[u8], place: fn(&Served) -> (u16, String)) -> String {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let (port, url) = place(&served);
    let before = memory(&served);
    let lorises: Vec<TcpStream> = (0..LORISES)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            stream.write_all(begin).unwrap();
            stream
        })
        .collect();
    let _ = sweep(&sharebench, &url).expect_success();
    let growth = memory(&served).saturating_sub(before);
    assert!(growth < MAX_GROWTH, "{growth} KiB more");
    drop(lorises);
    "other clients are served, memory grows by less than 64 MiB; the connections are closed after 60 s"
        .to_owned()
}

/// Fragments of one byte, none of which is the last (RFC 5531, 11).
fn endless() -> String {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", served.nfs_port)).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    let fragments = [0, 0, 0, 1, 7].repeat(1000);
    let mut sent = 0;
    while sent < ENDLESS && stream.write_all(&fragments).is_ok() {
        sent += fragments.len();
    }
    let closed = sent < ENDLESS || matches!(stream.read(&mut [0; 8]), Ok(0) | Err(_));
    let _ = sweep(&sharebench, &served.nfs_url("")).expect_success();
    if closed { "the connection is closed".to_owned() } else { "accepted without limit".to_owned() }
}
