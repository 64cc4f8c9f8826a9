//! Peers that stall: they accept connections, send a byte now and then, or never answer. A signal ends the program.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use sharebench_tests::program::{PATIENCE, Program, free_port, free_ports, poll};
use sharebench_tests::{Sharebench, Signal};

use crate::attack::Attack;

/// Pause between two bytes of a peer: shorter than every timeout for one read.
const DRIP: Duration = Duration::from_millis(200);
/// What an exporter with valid metrics answers.
const METRICS: &str = "HTTP/1.0 200 OK\r\n\r\nprocess_cpu_seconds_total 3\n";

/// The rows, in the order of the table.
pub const ATTACKS: &[Attack] = &[
    Attack {
        what: "an exporter that sends a byte every 0.2 s without end (`--server-metrics`)",
        on: "the start of a run",
        needs: &[],
        act: exporter_at_start,
    },
    Attack {
        what: "an exporter that sends a byte every 0.2 s without end (`--server-metrics`)",
        on: "the start of a run, and SIGTERM",
        needs: &[],
        act: exporter_and_signal,
    },
    Attack {
        what: "an exporter that stalls after its first answer (`--server-metrics`)",
        on: "the end of a run",
        needs: &[],
        act: exporter_at_end,
    },
    Attack {
        what: "a client that sends a byte every 0.2 s without end (`--prometheus`)",
        on: "the end of a run",
        needs: &[],
        act: scraper_at_end,
    },
    Attack {
        what: "a server that accepts a connection and never answers (`--timeout=10m`)",
        on: "sharebench over SMB, and SIGTERM",
        needs: &[],
        act: || silent(|port| format!("smb://lab@127.0.0.1:{port}/share")),
    },
    Attack {
        what: "a server that accepts a connection and never answers (`--timeout=10m`)",
        on: "sharebench over NFS, and SIGTERM",
        needs: &[],
        act: || silent(|port| format!("nfs://127.0.0.1:{port}/share?mountport={port}")),
    },
    Attack {
        what: "a server that accepts a connection and never answers (`--timeout=10m`)",
        on: "sharebench over NCP, and SIGTERM",
        needs: &[],
        act: || silent(|port| format!("ncp://lab@127.0.0.1:{port}/SHARE")),
    },
    Attack {
        what: "a volume that takes 10 minutes for a call, and two SIGTERM (`serve --service-time 10m`)",
        on: "embedded SMB, NFS and NCP",
        needs: &[],
        act: blocked_servers,
    },
];

/// A short sweep of a local directory.
const SWEEP: [&str; 6] = [
    "sweep",
    "here",
    "--file-sizes=64KiB",
    "--record-sizes=8KiB",
    "--tests=write,read",
    "plan:min_sample_time=100ms",
];

fn lab() -> Sharebench {
    let sharebench = Sharebench::new().unwrap();
    std::fs::create_dir(sharebench.home().join("here")).unwrap();
    sharebench
}

/// A server that does this with each connection, and reports each connection first.
fn serve(answer: fn(usize, TcpStream)) -> (u16, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (connected, connections) = channel();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let _ = connected.send(());
            std::thread::spawn(move || answer(number, stream));
        }
    });
    (port, connections)
}

/// Sends bytes until the peer closes the connection.
fn drip(mut stream: TcpStream) {
    let _ = stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n");
    while stream.write_all(b"#").is_ok() {
        std::thread::sleep(DRIP);
    }
}

fn ended(program: &mut Program) -> ExitStatus {
    let status = program.wait(PATIENCE).unwrap_or_else(|still| panic!("{still}"));
    let output = program.output();
    assert!(!output.contains("panicked") && status.signal().is_none(), "{status}: {output}");
    status
}

fn with_metrics(sharebench: &Sharebench, port: u16) -> Program {
    let url = format!("http://127.0.0.1:{port}/metrics");
    let line = [&SWEEP[..], &["--repetitions=1", "--server-metrics", &url]].concat();
    sharebench.start(&line, "run.log").unwrap()
}

fn exporter_at_start() -> String {
    let sharebench = lab();
    let (port, _connections) = serve(|_, stream| drip(stream));
    let mut run = with_metrics(&sharebench, port);
    let status = ended(&mut run);
    assert!(run.output().contains("no complete response within"), "{}", run.output());
    format!("exit {}: \"no complete response\"", status.code().unwrap())
}

fn exporter_and_signal() -> String {
    let sharebench = lab();
    let (port, connections) = serve(|_, stream| drip(stream));
    let mut run = with_metrics(&sharebench, port);
    connections.recv_timeout(PATIENCE).unwrap();
    run.signal(Signal::TERM);
    format!("exit {} at the first signal", ended(&mut run).code().unwrap())
}

fn exporter_at_end() -> String {
    let sharebench = lab();
    let (port, _connections) = serve(|number, mut stream| {
        if number > 0 {
            return drip(stream);
        }
        // The whole request, so that closing does not reset the connection before the answer has arrived.
        let mut request = Vec::new();
        let mut byte = [0];
        while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count > 0) {
            request.push(byte[0]);
        }
        let _ = stream.write_all(METRICS.as_bytes());
    });
    let url = format!("http://127.0.0.1:{port}/metrics");
    // Long enough for the second request, which stalls.
    let line = [&SWEEP[..], &["--repetitions=15", "--server-metrics", &url]].concat();
    let mut run = sharebench.start(&line, "run.log").unwrap();
    format!("exit {}: the run ends", ended(&mut run).code().unwrap())
}

fn scraper_at_end() -> String {
    let sharebench = lab();
    let port = free_port().unwrap();
    let address = port.to_string();
    let line = [&SWEEP[..], &["--repetitions=15", "--prometheus", &address]].concat();
    let mut run = sharebench.start(&line, "run.log").unwrap();
    run.wait_for_port(port, PATIENCE).unwrap();
    let mut streams: Vec<TcpStream> =
        (0..4).filter_map(|_| TcpStream::connect(("127.0.0.1", port)).ok()).collect();
    for stream in &mut streams {
        let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nX: ");
    }
    std::thread::spawn(move || {
        while streams.iter_mut().any(|stream| stream.write_all(b"x").is_ok()) {
            std::thread::sleep(DRIP);
        }
    });
    format!("exit {}: the run ends", ended(&mut run).code().unwrap())
}

fn silent(url: fn(u16) -> String) -> String {
    let sharebench = lab();
    let (port, connections) = serve(|_, mut stream| {
        // Reads and never answers.
        let mut buffer = [0; 4096];
        while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
    });
    let mut run = sharebench.start(&["sweep", &url(port), "--timeout=10m"], "run.log").unwrap();
    connections.recv_timeout(PATIENCE).unwrap();
    run.signal(Signal::TERM);
    format!("exit {} at the first signal", ended(&mut run).code().unwrap())
}

/// The servers cannot interrupt the threads that wait for the volume.
fn blocked_servers() -> String {
    let sharebench = lab();
    let ports = free_ports::<3>().unwrap();
    let [smb, nfs, ncp] = ports.map(|port| format!("127.0.0.1:{port}"));
    let line = ["serve", "here", "--service-time=10m", "--smb", &smb, "--nfs", &nfs, "--ncp", &ncp];
    let mut server = sharebench.start(&line, "serve.log").unwrap();
    server.wait_for_output("Ctrl-C", PATIENCE).unwrap();
    let urls = [
        format!("smb://{smb}/share"),
        format!("nfs://{nfs}/share?mountport={}", ports[1]),
        format!("ncp://{ncp}/SHARE"),
    ];
    let clients: Vec<Program> = urls
        .iter()
        .zip(["smb", "nfs", "ncp"])
        .map(|(url, name)| {
            let database = format!("{name}.db");
            let line = ["sweep", url, "--timeout=10m", "--quick", "--db", &database];
            sharebench.start(&line, &format!("{name}.log")).unwrap()
        })
        .collect();
    // A file that has been made is written next, which takes 10 minutes.
    let files = || {
        let directories = std::fs::read_dir(sharebench.home().join("here")).unwrap().flatten();
        let made = directories.map(|entry| std::fs::read_dir(entry.path()).unwrap().count());
        made.filter(|count| *count > 1).count()
    };
    assert!(poll(PATIENCE, || files() == clients.len()), "{}", clients[0].output());
    server.signal(Signal::TERM);
    server.wait_for_output("second signal", PATIENCE).unwrap();
    // Signals within a second count as one.
    std::thread::sleep(Duration::from_millis(1100));
    server.signal(Signal::TERM);
    let code = ended(&mut server).code().unwrap();
    drop(clients);
    format!("exit {code} at the second signal")
}
