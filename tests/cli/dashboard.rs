//! `--dashboard`: the run in the browser while it measures, and the report in the same place afterwards.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use sharebench_tests::program::PATIENCE;
use sharebench_tests::{Program, Reader, Sharebench, Signal, needs};

const SWEEP: [&str; 10] = [
    "sweep",
    "./one",
    "./two",
    "--dashboard",
    "--file-sizes=64KiB,256KiB",
    "--record-sizes=4KiB,16KiB",
    "--tests=write,read",
    "plan:min_sample_time=1ms",
    "--title=nas <b>",
    "--pre-step-cmd=sleep 0.05",
];

fn directories(sharebench: &Sharebench) {
    for name in ["one", "two"] {
        fs::create_dir(sharebench.home().join(name)).unwrap();
    }
}

/// The printed address of the dashboard: host with port, and the path, which ends with a slash.
fn address(program: &mut Program) -> (String, String) {
    program.wait_for_output("/\n", PATIENCE).unwrap();
    let output = program.output();
    let url = output.split_once("dashboard: http://").unwrap().1.lines().next().unwrap();
    let (at, path) = url.split_once('/').unwrap();
    (at.to_owned(), format!("/{path}"))
}

/// Sends a GET and returns its connection.
fn get(at: &str, path: &str) -> TcpStream {
    let mut connection = TcpStream::connect(at).unwrap();
    connection.set_read_timeout(Some(PATIENCE)).unwrap();
    connection.write_all(format!("GET {path} HTTP/1.0\r\nHost: {at}\r\n\r\n").as_bytes()).unwrap();
    connection
}

fn text(mut connection: TcpStream) -> String {
    let mut bytes = Vec::new();
    connection.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn dashboard_shows_the_run_and_becomes_the_report() {
    let sharebench = Sharebench::new().unwrap();
    directories(&sharebench);
    let mut run = sharebench.start(&[&SWEEP[..], &["--repetitions=2"]].concat(), "run.log").unwrap();
    let (at, path) = address(&mut run);
    let page = text(get(&at, &path));
    assert!(page.starts_with("HTTP/1.0 200") && page.contains("new EventSource"), "{page:.300}");
    assert!(page.contains("nas &lt;b&gt;") && !page.contains("<b>:"), "the title is text");
    assert!(text(get(&at, "/events")).contains("403"));
    let lines = BufReader::new(get(&at, &format!("{path}events"))).lines();
    let mut finished = 0;
    let mut last = String::new();
    for line in lines {
        let line = line.unwrap();
        if let Some(data) = line.strip_prefix("data: ") {
            let data: serde_json::Value = serde_json::from_str(data).unwrap();
            finished += data["finished"].as_array().map_or(0, Vec::len);
            last = data.to_string();
        }
    }
    // 2 targets x 4 cells x 2 tests x 2 repetitions.
    assert_eq!((finished, last.as_str()), (32, "{\"report\":true}"));
    let report = text(get(&at, &path));
    assert!(report.contains("id=\"answer\"") && report.ends_with("</html>\n"), "{report:.300}");
    assert_eq!(run.wait(PATIENCE).unwrap().code(), Some(0), "{}", run.output());
    assert!(TcpStream::connect(&at).is_err(), "the listener ended with the process");
}

#[test]
fn run_with_a_dashboard_that_nobody_opens_ends_by_itself() {
    let sharebench = Sharebench::new().unwrap();
    directories(&sharebench);
    let ended =
        sharebench.run(&[&SWEEP[..], &["--repetitions=1", "--json"]].concat()).unwrap().expect_success();
    assert!(ended.stderr.starts_with("dashboard: http://127.0.0.1:"), "{}", ended.stderr);
    assert!(ended.stdout.lines().all(|line| line.starts_with('{')), "{}", ended.stdout);
    let rejected = sharebench.run(&["sweep", "./one", "--dashboard=0.0.0.0:0"]).unwrap();
    assert!(rejected.code == Some(2) && rejected.stderr.contains("loopback"), "{}", rejected.text());
}

#[test]
fn signal_ends_a_run_whose_dashboard_is_open() {
    let sharebench = Sharebench::new().unwrap();
    directories(&sharebench);
    let mut run = sharebench.start(&[&SWEEP[..], &["--time-budget=10m"]].concat(), "run.log").unwrap();
    let (at, path) = address(&mut run);
    let mut stream = BufReader::new(get(&at, &format!("{path}events")));
    let mut line = String::new();
    while !line.contains("\"number\":0") {
        line.clear();
        assert!(stream.read_line(&mut line).unwrap() > 0, "{}", run.output());
    }
    run.signal(Signal::TERM);
    // The page neither reads on nor loads the report.
    assert_eq!(run.wait(PATIENCE).unwrap().code(), Some(130), "{}", run.output());
}

#[test]
fn dashboard_in_a_browser_has_no_errors_and_turns_into_the_report() {
    needs!(Reader::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    directories(&sharebench);
    // Without an end: the browser stops it when it has seen the charts.
    let mut run = sharebench.start(&[&SWEEP[..], &["--time-budget=1h"]].concat(), "run.log").unwrap();
    let (at, path) = address(&mut run);
    let seen = Reader::watch(&format!("http://{at}{path}"), run.pid()).unwrap();
    assert_eq!(seen["console"], serde_json::json!([]), "{seen}");
    assert_eq!(seen["violations"], serde_json::json!([]), "{seen}");
    assert_eq!(seen["targets"], serde_json::json!(["one", "two"]), "{seen}");
    assert!(seen["charts"].as_u64() >= Some(1), "{seen}");
    assert_eq!(seen["title"], "nas <b>", "the page is the report: {seen}");
    let urls = seen["requests"].as_array().unwrap();
    assert!(urls.iter().all(|url| url.as_str().unwrap().contains(&path)), "{seen}");
    assert_eq!(run.wait(PATIENCE).unwrap().code(), Some(130), "{}", run.output());
}
