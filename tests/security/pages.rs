//! Other users of the machine, slow clients and web pages of other hosts, at the HTTP listeners of the program.

use std::io::{Read, Write};
use std::net::TcpStream;

use sharebench_tests::program::{PATIENCE, Program, free_port};
use sharebench_tests::{Sharebench, Signal};

use crate::attack::Attack;

/// Connections with half a request each.
const SLOW: usize = 200;
/// Pages that never read.
const DEAF: usize = 100;
/// A host name that an attacker lets resolve to 127.0.0.1.
const FOREIGN: &str = "evil.example";

/// The rows, in the order of the table.
pub const ATTACKS: &[Attack] = &[
    Attack { what: WITHOUT_TOKEN, on: "`report --serve`", needs: &[], act: without_token },
    Attack { what: SLOW_LORIS, on: "`report --serve`", needs: &[], act: slow },
    Attack { what: REBINDING, on: "`report --serve`", needs: &[], act: rebound_pages },
    Attack { what: REBINDING, on: "`--prometheus`", needs: &[], act: rebound_metrics },
    Attack { what: WITHOUT_TOKEN, on: "`--dashboard`", needs: &[], act: dashboard_without_token },
    Attack { what: SLOW_LORIS, on: "`--dashboard`", needs: &[], act: slow_dashboard },
    Attack { what: REBINDING, on: "`--dashboard`", needs: &[], act: rebound_dashboard },
    Attack {
        what: "100 pages that read nothing of the events of a run",
        on: "`--dashboard`",
        needs: &[],
        act: deaf_pages,
    },
];

const WITHOUT_TOKEN: &str = "GET of every page without the token, and with a wrong one";
const SLOW_LORIS: &str = "200 connections with half a request each (slow loris)";

const REBINDING: &str = "a web page of another host whose name resolves to 127.0.0.1 (DNS rebinding)";

/// Pages that a program serves: those of a results database with one run, or the dashboard of a run.
struct Pages {
    _sharebench: Sharebench,
    program: Program,
    address: String,
    /// Path of the list, which ends with a slash.
    path: String,
}

fn pages() -> Pages {
    let sharebench = Sharebench::new().unwrap();
    std::fs::create_dir(sharebench.home().join("here")).unwrap();
    let line = ["sweep", "here", "--file-sizes=64KiB", "--record-sizes=8KiB", "--tests=write", "--quick"];
    let _ = sharebench.run(&[&line[..], &["plan:min_sample_time=5ms"]].concat()).unwrap().expect_success();
    let mut program = sharebench.start(&["report", "--serve"], "serve.log").unwrap();
    program.wait_for_output("Ctrl-C", PATIENCE).unwrap();
    served_by(sharebench, program)
}

/// The dashboard of a run without an end.
fn dashboard() -> Pages {
    let sharebench = Sharebench::new().unwrap();
    std::fs::create_dir(sharebench.home().join("here")).unwrap();
    let line = ["sweep", "here", "--file-sizes=64KiB", "--record-sizes=8KiB", "--tests=write,read"];
    let more = ["plan:min_sample_time=1ms", "--time-budget=1h", "--dashboard"];
    let mut program = sharebench.start(&[&line[..], &more].concat(), "run.log").unwrap();
    program.wait_for_output("/\n", PATIENCE).unwrap();
    served_by(sharebench, program)
}

/// The address that the program has printed.
fn served_by(sharebench: Sharebench, program: Program) -> Pages {
    let output = program.output();
    let url = output.split_once("http://").unwrap().1.split_whitespace().next().unwrap();
    let (address, path) = url.split_once('/').unwrap();
    let address = address.to_owned();
    let path = format!("/{path}");
    Pages { _sharebench: sharebench, program, address, path }
}

/// Status code of a GET, or "no answer".
fn get(address: &str, path: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = Vec::new();
    let sent = stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
    let _ = sent.and_then(|()| stream.read_to_end(&mut answer));
    let text = String::from_utf8_lossy(&answer);
    text.strip_prefix("HTTP/1.1 ").map_or("no answer", |rest| &rest[..3]).to_owned()
}

fn without_token() -> String {
    statuses_without_token(&pages(), &["/", "/report?run=1", "/other"])
}

fn dashboard_without_token() -> String {
    statuses_without_token(&dashboard(), &["/", "/events", "/other"])
}

fn statuses_without_token(pages: &Pages, paths: &[&str]) -> String {
    let mut wrong = pages.path.clone();
    let last = if wrong.ends_with("0/") { "1/" } else { "0/" };
    wrong.replace_range(wrong.len() - 2.., last);
    let wrong_events = format!("{wrong}events");
    let paths = paths.iter().copied().chain([wrong.as_str(), wrong_events.as_str()]);
    let statuses: Vec<_> = paths.map(|path| get(&pages.address, path, "localhost")).collect();
    let with_token = get(&pages.address, &pages.path, "localhost");
    match statuses.iter().find(|status| *status != "403") {
        None => format!("status 403 for each; with the token status {with_token}"),
        Some(other) => format!("status {other}"),
    }
}

fn slow() -> String {
    status_among_slow_connections(&pages())
}

fn slow_dashboard() -> String {
    status_among_slow_connections(&dashboard())
}

fn status_among_slow_connections(pages: &Pages) -> String {
    let _slow: Vec<TcpStream> = (0..SLOW)
        .filter_map(|_| {
            let mut stream = TcpStream::connect(&pages.address).ok()?;
            stream.write_all(b"GET / HTTP/1.1\r\nX: ").ok().map(|()| stream)
        })
        .collect();
    match get(&pages.address, &pages.path, "localhost").as_str() {
        "200" => {
            "the owner's next request is answered; the oldest slow connection is closed for it".to_owned()
        }
        other => format!("the owner gets {other}"),
    }
}

fn rebound_pages() -> String {
    let pages = pages();
    format!("status {}", get(&pages.address, &pages.path, FOREIGN))
}

fn rebound_dashboard() -> String {
    let pages = dashboard();
    format!("status {}", get(&pages.address, &pages.path, FOREIGN))
}

/// Opens the events and never reads them, while the run measures on and ends at a signal.
fn deaf_pages() -> String {
    let mut pages = dashboard();
    let events = format!("GET {}events HTTP/1.1\r\nHost: localhost\r\n\r\n", pages.path);
    let deaf: Vec<TcpStream> = (0..DEAF)
        .filter_map(|_| {
            let mut stream = TcpStream::connect(&pages.address).ok()?;
            stream.write_all(events.as_bytes()).ok().map(|()| stream)
        })
        .collect();
    let status = get(&pages.address, &pages.path, "localhost");
    pages.program.signal(Signal::TERM);
    let ended = pages.program.wait(PATIENCE).unwrap();
    drop(deaf);
    let code = ended.code().map_or_else(|| "none".to_owned(), |code| code.to_string());
    format!("the owner's next request has status {status}; the run ends at the first signal (exit {code})")
}

fn rebound_metrics() -> String {
    let sharebench = Sharebench::new().unwrap();
    std::fs::create_dir(sharebench.home().join("here")).unwrap();
    let port = free_port().unwrap();
    let address = format!("127.0.0.1:{port}");
    let line = ["sweep", "here", "--file-sizes=64KiB", "--record-sizes=8KiB", "--time-budget=10m"];
    let mut run = sharebench.start(&[&line[..], &["--prometheus", &address]].concat(), "run.log").unwrap();
    run.wait_for_port(port, PATIENCE).unwrap();
    let foreign = get(&address, "/metrics", FOREIGN);
    let own = get(&address, "/metrics", &address);
    run.signal(Signal::TERM);
    run.wait(PATIENCE).unwrap();
    format!("status {foreign}; with the machine's own name status {own}")
}
