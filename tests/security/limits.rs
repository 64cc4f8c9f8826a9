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
    Attack { what: FULL, on: "embedded SMB", needs: &[], act: || full("smb", |at| at.smb_url("")) },
    Attack { what: FULL, on: "embedded NFS", needs: &[], act: || full("nfs", |at| at.nfs_url("")) },
    Attack { what: FULL, on: "embedded NCP", needs: &[], act: || full("ncp", |at| at.ncp_url("")) },
    Attack {
        what: GUESSING,
        on: "embedded NCP",
        needs: &[],
        act: || guess(|served| served.ncp_url(""), "LAB", "locked out"),
    },
    Attack {
        what: GUESSING,
        on: "embedded SMB",
        needs: &[],
        act: || guess(|served| served.smb_url(""), Served::USER, "LOCKED_OUT"),
    },
];

const FLOOD: &str = "300 silent connections to a server for 100 clients (`--max-clients`)";
const FULL: &str = "more users than a server accepts connections (`--max-clients=10`)";
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

/// Guesses passwords until the server delays the logins of this address and name.
fn guess(url: fn(&Served) -> String, user: &str, delayed: &str) -> String {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let start = Instant::now();
    // On a slow machine a delay may end before the login with the correct password, which then begins anew.
    let last = loop {
        for number in 0..GUESSES {
            let wrong = format!("wrong-{number}");
            let ended = sweep_as(&sharebench, &url(&served), &[("SHAREBENCH_PASSWORD", &wrong)]);
            assert_eq!(ended.code, Some(3), "{}", ended.text());
        }
        let last = sweep(&sharebench, &url(&served));
        if last.code != Some(0) || start.elapsed() > PATIENCE {
            break last;
        }
    };
    let output = served.output();
    assert!(output.contains(&format!("failed login of {user:?} from 127.0.0.1")), "{output}");
    let outcome = message(&last, &[delayed]);
    format!(
        "rejected for a time that grows with each failure ({outcome}); failures are logged with address and name"
    )
}

/// Users that are logged in keep their connections, so that further ones are refused.
fn full(protocol: &str, url: fn(&Served) -> String) -> String {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve_by(&[], "served", &["--max-clients=10"]).unwrap();
    let users = ["--preset=single", "--users=40", "--scale=64KiB", "--warm-up=0s", "--measure=2s"];
    let url = url(&served);
    let line = [&["load", &url], &users[..], &["--think=10ms", "--timeout=20s"]].concat();
    let ended = sharebench.run(&line).unwrap();
    let output = served.output();
    let printed = output.lines().any(|line| {
        line.starts_with(&format!("sharebench: {protocol}: refused ")) && line.contains("--max-clients")
    });
    let named = ended.text().contains("limit of connections");
    format!(
        "the server {} its limit with the flag; the client {} it",
        if printed { "prints" } else { "does not print" },
        if named { "names" } else { "does not name" }
    )
}
