//! Loads with observers or concurrent runs: a kept data set of two runs at once, metrics for Prometheus, an exporter on the
//! server, and limits of the process.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Instant;

use sharebench_tests::program::{PATIENCE, free_port, poll};
use sharebench_tests::{Need, Program, Sharebench, needs};

use crate::plans::left_in;
use crate::stored::Stored;

const KEPT: &str = "
[load]
users = [2]
think = 'exp 20ms'
warm_up = '0s'
measure = '500ms'
[workload]
name = 'kept'
[[workload.files]]
name = 'docs'
count = 600
size = '64KiB'
depth = 1
[[workload.transactions]]
operations = ['copy-from-server']
";

#[test]
fn run_does_not_touch_the_data_set_of_another_run() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    sharebench.write("kept.toml", KEPT).unwrap();
    let url = served.nfs_url("");
    let line = ["load", &url, "--preset", "kept.toml", "--keep-data", "--timeout", "5s"];
    let mut first = sharebench.start(&[&line[..], &["--db", "first.db"]].concat(), "first.log").unwrap();
    // It is being made, or whole already where this test was held up.
    let begun = || {
        let made = fs::read_dir(served.directory()).unwrap().filter_map(Result::ok);
        let signs = |path: &Path| ["growing", "complete"].iter().any(|sign| path.join(sign).is_file());
        made.map(|entry| entry.path()).any(|path| signs(&path))
    };
    assert!(poll(PATIENCE, begun), "{}", first.output());
    let mut second = sharebench.start(&[&line[..], &["--db", "second.db"]].concat(), "second.log").unwrap();
    for run in [&mut first, &mut second] {
        let status = run.wait(2 * PATIENCE).unwrap();
        assert_eq!(status.code(), Some(0), "{}", run.output());
    }
    assert!(first.output().contains("the data set stays in .sharebench-set-"), "{}", first.output());
    // The second one had come in time to see it being made, or found it whole.
    let said = second.output();
    assert!(said.contains("another run is making") || said.contains("unchanged and used again"), "{said}");
    let left = left_in(served.directory());
    assert!(left.len() == 1 && left[0].starts_with(".sharebench-set-"), "{left:?}");
    assert!(served.directory().join(&left[0]).join("complete").is_file());
    let again = sharebench.run(&line).unwrap().expect_success();
    assert!(again.stderr.contains("unchanged and used again"), "{}", again.text());
    let _ = sharebench.run(&["clean", &url]).unwrap().expect_success();
    assert_eq!(left_in(served.directory()), Vec::<String>::new());
}

/// Answers like a `node_exporter` whose two processors are busy for three quarters of the time.
fn exporter() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let start = Instant::now();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            assert!(line.starts_with("GET /metrics "), "{line}");
            let idle = start.elapsed().as_secs_f64() / 4.0;
            let body = format!(
                "node_cpu_seconds_total{{cpu=\"0\",mode=\"idle\"}} {idle}\n\
                 node_cpu_seconds_total{{cpu=\"1\",mode=\"idle\"}} {idle}\n\
                 node_cpu_seconds_total{{cpu=\"1\",mode=\"user\"}} 5\n"
            );
            write!(stream, "HTTP/1.0 200 OK\r\n\r\n{body}").unwrap();
        }
    });
    port
}

/// What a run that serves its metrics says; nothing when it does not answer.
pub fn metrics(port: u16) -> String {
    let mut text = String::new();
    if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
        let asked = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        // A run that has just ended answers no more.
        let _ = asked.and_then(|()| stream.read_to_string(&mut text).map(drop));
    }
    text
}

/// Transactions that such a run has counted so far.
pub fn transactions(metrics: &str) -> u64 {
    let counted = metrics.lines().find_map(|line| line.strip_prefix("sharebench_transactions_total "));
    counted.and_then(|count| count.parse().ok()).unwrap_or(0)
}

#[test]
fn prometheus_scrapes_a_run_that_scrapes_the_server_exporter() {
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let port = free_port().unwrap();
    let exporter = exporter();
    let own = port.to_string();
    let url = format!("http://127.0.0.1:{exporter}/metrics");
    let line =
        ["load", "local", "--preset", "single", "--users", "3", "--think", "exp:5ms", "--scale", "64KiB"];
    // The exporter is asked once a second, and its answers must cover half of the window, whatever is late.
    let line = [&line[..], &["--warm-up", "0s", "--measure", "10s"]].concat();
    let line = [&line[..], &["--prometheus", &own, "--server-metrics", &url]].concat();
    let mut running = sharebench.start(&line, "run.log").unwrap();
    let reported = || {
        let seen = metrics(port);
        seen.contains("sharebench_users{target=\"local\"") && transactions(&seen) > 0
    };
    assert!(poll(PATIENCE, reported), "{}", running.output());
    assert!(running.wait(PATIENCE).unwrap().success(), "{}", running.output());
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "it ended with the run");
    let step = &Stored::read(&sharebench, 1).steps[0];
    let cpu = step["load"]["server"]["cpu"].as_f64().unwrap();
    assert!((cpu - 0.75).abs() < 0.1, "{}", step["load"]["server"]);
    assert!(running.output().contains("server CPU"), "{}", running.output());
    let wrong =
        sharebench.run(&["load", "local", "--server-metrics", &format!("http://127.0.0.1:{port}/")]).unwrap();
    assert!(wrong.code == Some(2) && wrong.stderr.contains("--server-metrics http://"), "{}", wrong.text());
    let taken = sharebench.run(&["load", "local", "--prometheus", &exporter.to_string()]).unwrap();
    assert!(taken.code == Some(2) && taken.stderr.contains("--prometheus 127.0.0.1:"), "{}", taken.text());
}

#[test]
fn load_of_a_server_is_read_from_a_real_exporter() {
    const EXPORTER: &str = "prometheus-node-exporter";
    needs!([Need::Program(EXPORTER)]);
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let port = free_port().unwrap();
    let listen = format!("--web.listen-address=127.0.0.1:{port}");
    let log = sharebench.home().join("exporter.log");
    let quiet = ["--collector.disable-defaults", "--collector.cpu"];
    let mut exporter =
        Program::start(&[&[EXPORTER, listen.as_str()][..], &quiet].concat(), &[], &log).unwrap();
    exporter.wait_for_port(port, PATIENCE).unwrap();
    let url = format!("http://127.0.0.1:{port}/metrics");
    let line =
        ["load", "local", "--preset", "single", "--users", "2", "--think", "exp:5ms", "--scale", "64KiB"];
    let line = [&line[..], &["--warm-up", "0s", "--measure", "10s", "--server-metrics", &url]].concat();
    let _ = sharebench.run(&line).unwrap().expect_success();
    let shown = sharebench.shown().unwrap();
    assert!(shown.contains("server CPU"), "{shown}");
    let server = &Stored::read(&sharebench, 1).steps[0]["load"]["server"];
    // This machine is the server: something ran on it, and no more than all of it.
    let cpu = server["cpu"].as_f64().unwrap();
    assert!(cpu > 0.0 && cpu <= 1.0, "{server}");
    let cores = std::thread::available_parallelism().unwrap().get() as u64;
    assert!(server["cores"].as_u64() >= Some(cores), "{server}");
    assert!(server["source"].to_string().contains("node_cpu_seconds_total"), "{server}");
}

#[test]
fn more_users_than_file_descriptors_are_rejected_with_a_remedy() {
    needs!([Need::Program("prlimit"), Need::Program("setpriv")]);
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    // Without the right to raise limits, which the superuser would have.
    let few = ["prlimit", "--nofile=300:300", "setpriv", "--bounding-set=-sys_resource"];
    let script =
        "exec \"$0\" load local --preset single --scale 64KiB --users 2,5000 --measure 100ms --warm-up 0s";
    let refused = sharebench.run_by(&[&few[..], &["sh", "-c", script]].concat()).unwrap();
    assert_eq!(refused.code, Some(2), "{}", refused.text());
    assert!(refused.stderr.contains("5000 users need 10"), "{}", refused.text());
    assert!(refused.stderr.contains("this process may have 300") && refused.stderr.contains("ulimit -Hn 10"));
    // The soft limit alone is raised unasked.
    let soft = ["prlimit", "--nofile=300:1000"];
    let script = "exec \"$0\" load local --preset single --scale 64KiB --users 60 --think exp:5ms --measure 300ms --warm-up 0s";
    let _ = sharebench.run_by(&[&soft[..], &["sh", "-c", script]].concat()).unwrap().expect_success();
    assert_eq!(left_in(&sharebench.home().join("local")), Vec::<String>::new());
}
