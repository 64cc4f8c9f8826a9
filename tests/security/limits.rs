//! Silent connections up to the limit of a server, and guessed passwords.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use sharebench_tests::{Served, Sharebench};

use crate::attack::{Attack, message, sweep, sweep_as};

/// Limit of the server, and silent connections that exceed it.
const LIMIT: &str = "--max-clients=100";
const SILENT: usize = 300;
/// Wrong passwords in a row.
const GUESSES: usize = 12;
const PATIENCE: Duration = Duration::from_secs(120);

/// The rows, in the order of the table.
pub const ATTACKS: &[Attack] = &[
    Attack { what: FLOOD, on: "embedded SMB", needs: &[], act: || flood(|at| (at.smb_port, at.smb_url(""))) },
    Attack { what: FLOOD, on: "embedded NFS", needs: &[], act: || flood(|at| (at.nfs_port, at.nfs_url(""))) },
    Attack { what: FLOOD, on: "embedded NCP", needs: &[], act: || flood(|at| (at.ncp_port, at.ncp_url(""))) },
    Attack { what: GUESSING, on: "embedded NCP", needs: &[], act: guess },
];

const FLOOD: &str = "300 silent connections to a server for 100 clients (`--max-clients`)";
const GUESSING: &str = "12 wrong passwords, then the correct one from the same address";

fn flood(place: fn(&Served) -> (u16, String)) -> String {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve_by(&[], "served", &[LIMIT]).unwrap();
    let (port, url) = place(&served);
    let silent: Vec<TcpStream> =
        (0..SILENT).filter_map(|_| TcpStream::connect(("127.0.0.1", port)).ok()).collect();
    let start = Instant::now();
    // The server closes connections that are older than a second, or that have not logged in within 30 s.
    while sweep(&sharebench, &url).code != Some(0) {
        assert!(start.elapsed() < PATIENCE, "no client is served: {}", served.output());
    }
    drop(silent);
    "other clients are served".to_owned()
}

fn guess() -> String {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    for number in 0..GUESSES {
        let wrong = format!("wrong-{number}");
        let ended = sweep_as(&sharebench, &served.ncp_url(""), &[("SHAREBENCH_PASSWORD", &wrong)]);
        assert_eq!(ended.code, Some(3), "{}", ended.text());
    }
    let output = served.output();
    assert!(output.contains("failed login of \"LAB\" from 127.0.0.1"), "{output}");
    let outcome = message(&sweep(&sharebench, &served.ncp_url("")), &["locked out"]);
    format!(
        "rejected for a time that grows with each failure ({outcome}); failures are logged with address and name"
    )
}
