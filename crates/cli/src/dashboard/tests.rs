//! The dashboard over real sockets: a fixed run, its events, its end, and clients that are slow or not allowed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;
use sharebench_model::{Coordinates, ErrorClass, Measure, RunOutcome, StepResult, Value as AxisValue, axis};
use sharebench_plan::Plan;

use super::*;
use crate::http::tests::exchange;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
/// A name that would be markup, and would steer a terminal.
const HOSTILE: &str = "</script><img src=x>\u{1b}[31m";
/// Longest wait for bytes of the listener.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run on two targets whose events a test chooses. Its clock is that of the events.
struct FixedRun {
    dashboard: Dashboard,
    progress: RunProgress,
    now: Instant,
}

impl FixedRun {
    fn new() -> Self {
        let text = "title = 'nas'\nrepetitions = 6\n[[target]]\nname = 'smb'\nurl = '/a'\n[[target]]\nname = 'nfs'\n\
                    url = '/b'\n[sweep]\nfile_sizes = ['64KiB']\nrecord_sizes = ['4KiB']\ntests = ['read']\n";
        let plan = Plan::parse(text).unwrap().resolve().unwrap();
        let now = Instant::now();
        let mut progress = RunProgress::new(&plan, 0, 1, now);
        progress.targets[1].name = HOSTILE.to_owned();
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let dashboard =
            Dashboard::serve(any_port, &plan.title, Access::with_token("--dashboard", TOKEN)).unwrap();
        Self { dashboard, progress, now }
    }

    /// One event, two seconds after the one before.
    fn event(&mut self, event: &RunEvent) {
        self.now += Duration::from_secs(2);
        self.progress.take(event, self.now);
        self.dashboard.show(event, &self.progress, self.now);
    }

    fn step(&mut self, target: u32, repetition: u32, rate: u64) {
        let coordinates = Coordinates::new()
            .with(axis::TEST, AxisValue::text("read"))
            .with(axis::FILE_SIZE, AxisValue::Bytes(65_536))
            .with(axis::RECORD_SIZE, AxisValue::Bytes(4096));
        let started =
            RunEvent::StepStarted { index: 0, target, repetition, coordinates: coordinates.clone() };
        self.event(&started);
        let mut measure = Measure { busy_ns: 1_000_000_000, operations: 10, ..Measure::default() };
        measure.bytes.read = rate;
        self.event(&RunEvent::StepFinished(Box::new(StepResult {
            index: 0,
            target,
            repetition,
            coordinates,
            started_unix_ms: 0,
            unmeasured_ms: 0,
            measure,
            checks: Vec::new().into(),
        })));
    }

    fn get(&self, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        exchange(self.dashboard.listener.address(), &request)
    }

    /// The event stream from the step after `last` on.
    fn stream(&self, last: Option<u64>) -> EventReader {
        let mut stream = TcpStream::connect(self.dashboard.listener.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let last = last.map_or(String::new(), |last| format!("Last-Event-ID: {last}\r\n"));
        let request = format!("GET /{TOKEN}/events HTTP/1.0\r\nHost: localhost\r\n{last}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        EventReader(BufReader::new(stream))
    }
}

/// Reads server-sent events.
struct EventReader(BufReader<TcpStream>);

impl EventReader {
    /// The next event that has data: its name, its id and its JSON. None at the end of the stream.
    fn next(&mut self) -> Option<(String, String, Value)> {
        let mut name = String::new();
        let mut id = String::new();
        let mut data = Value::Null;
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("event", text)) => name = text.to_owned(),
                Some(("id", text)) => id = text.to_owned(),
                Some(("data", text)) => data = serde_json::from_str(text).unwrap(),
                _ if !name.is_empty() && line.trim_end().is_empty() => return Some((name, id, data)),
                _ => {}
            }
        }
    }

    /// The next event that fulfils a condition.
    fn until(&mut self, is_it: impl Fn(&str, &Value) -> bool) -> (String, String, Value) {
        loop {
            let found = self.next().unwrap();
            if is_it(&found.0, &found.2) {
                return found;
            }
        }
    }
}

#[test]
fn stream_has_the_state_each_finished_step_once_and_the_end() {
    let mut run = FixedRun::new();
    run.step(0, 0, 10_000_000);
    run.step(1, 0, 40_000_000);
    run.event(&RunEvent::Failure { index: 0, class: ErrorClass::Timeout, detail: HOSTILE.to_owned() });
    let mut stream = run.stream(None);
    let (name, id, data) = stream.next().unwrap();
    assert_eq!((name.as_str(), id.as_str()), ("state", "2"));
    let state = &data["state"];
    assert_eq!(state["steps"], "2 of 12 steps", "{state}");
    assert_eq!(state["spent_s"], 10.0);
    assert_eq!(state["failures"], serde_json::json!({"timeout": 1}));
    assert_eq!(state["now"]["step"], "read, 64KiB file, 4KiB records");
    assert_eq!(state["targets"][0]["bytes_per_s"], 10e6);
    assert_eq!(state["targets"][0]["name"], "smb");
    for text in [&state["targets"][1]["name"], &state["messages"][0]] {
        assert!(!text.as_str().unwrap().contains('\u{1b}'), "{text}");
    }
    let finished = data["finished"].as_array().unwrap();
    assert_eq!(finished.len(), 2);
    assert_eq!(finished[1]["number"], 1);
    assert_eq!(finished[1]["bytes_per_s"], 40e6);
    assert_eq!(finished[1]["test"], "read");
    assert_eq!(finished[1]["cell"], "64KiB file, 4KiB records");
    run.step(0, 1, 20_000_000);
    let (_, id, data) = stream.until(|_, data| data["finished"] != serde_json::json!([]));
    assert_eq!(id, "3");
    assert_eq!(data["finished"].as_array().unwrap().len(), 1, "earlier steps are not repeated: {data}");
    run.event(&RunEvent::Finished(RunOutcome::Complete));
    run.dashboard.end(None);
    let (_, _, data) = stream.until(|name, _| name == "end");
    assert_eq!(data, serde_json::json!({"report": false}));
    assert_eq!(stream.next(), None, "the stream ends");
    assert!(run.get(&format!("/{TOKEN}/")).contains("new EventSource"), "the page stays without a report");
}

#[test]
fn stream_continues_after_the_last_event_that_the_browser_received() {
    let mut run = FixedRun::new();
    for repetition in 0..3 {
        run.step(0, repetition, 1_000_000);
    }
    let numbers = |last: Option<u64>| -> Vec<u64> {
        let (_, _, data) = run.stream(last).next().unwrap();
        data["finished"].as_array().unwrap().iter().map(|step| step["number"].as_u64().unwrap()).collect()
    };
    assert_eq!(numbers(None), [0, 1, 2]);
    assert_eq!(numbers(Some(2)), [2]);
    assert_eq!(numbers(Some(3)), [0; 0]);
    assert_eq!(numbers(Some(4_000)), [0, 1, 2], "an id of another run");
}

#[test]
fn events_and_their_history_are_bounded() {
    let shared = Shared::new(String::new());
    for _ in 0..stream::MAX_STEPS + 100 {
        shared.add_step(|number| number.to_string());
    }
    let (text, next, has_more) = shared.event("null", 0);
    assert!(text.contains("\"finished\":[100,101,"), "the oldest steps are left out: {text:.60}");
    assert_eq!(next, 100 + stream::MAX_STEPS_PER_EVENT as u64);
    assert!(has_more);
}

#[test]
fn report_replaces_the_page_and_is_waited_for() {
    let mut run = FixedRun::new();
    run.step(0, 0, 1_000_000);
    let page = run.get(&format!("/{TOKEN}/"));
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("new EventSource('events')"), "{page:.200}");
    assert!(page.contains("connect-src 'self'"), "{page:.900}");
    let mut stream = run.stream(None);
    stream.next().unwrap();
    run.event(&RunEvent::Finished(RunOutcome::Complete));
    run.dashboard.end(Some(&sharebench_analysis::analyse(&[], &sharebench_analysis::Options::default())));
    assert_eq!(stream.until(|name, _| name == "end").2["report"], true);
    assert_eq!(run.dashboard.shared.unread_pages(), 1, "the open page has not loaded the report");
    let report = run.get(&format!("/{TOKEN}/"));
    assert!(report.contains("id=\"answer\"") && !report.contains("new EventSource"), "{report:.200}");
    drop(stream);
    // Returns at once, because the page has loaded the report.
    run.dashboard.wait_for_pages(|| false);
    assert_eq!(run.dashboard.shared.unread_pages(), 0);
}

#[test]
fn page_and_events_are_only_for_those_who_know_the_address() {
    let run = FixedRun::new();
    let status = |answer: &str| answer.split(' ').nth(1).unwrap_or_default().to_owned();
    for wrong in ["/", "/events", "/0123456789abcdef/events", "//events"] {
        let answer = run.get(wrong);
        assert_eq!(status(&answer), "403", "{wrong}");
        assert!(answer.contains("--dashboard") && !answer.contains(TOKEN), "{answer}");
    }
    assert_eq!(status(&run.get(&format!("/{TOKEN}"))), "303");
    assert_eq!(status(&run.get(&format!("/{TOKEN}/report"))), "404");
    let foreign = format!("GET /{TOKEN}/events HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert_eq!(status(&exchange(run.dashboard.listener.address(), &foreign)), "421");
    let post = format!("POST /{TOKEN}/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(status(&exchange(run.dashboard.listener.address(), &post)), "405");
    let taken =
        Dashboard::serve(run.dashboard.listener.address(), "x", Access::with_token("--dashboard", TOKEN));
    assert!(taken.unwrap_err().to_string().contains("--dashboard 127.0.0.1:"));
}

#[test]
fn page_that_does_not_read_delays_neither_the_run_nor_other_pages() {
    let mut run = FixedRun::new();
    let silent = run.stream(None);
    let mut half = TcpStream::connect(run.dashboard.listener.address()).unwrap();
    half.write_all(b"GET / HTTP/1.1\r\nX: ").unwrap();
    for repetition in 0..2_000 {
        run.step(0, repetition, 1_000_000);
    }
    let mut reader = run.stream(None);
    let (_, id, _) = reader.until(|_, data| {
        data["finished"].as_array().and_then(|steps| steps.last()).is_some_and(|step| step["number"] == 1_999)
    });
    assert_eq!(id, "2000");
    run.dashboard.end(None);
    assert_eq!(reader.until(|name, _| name == "end").0, "end");
    drop(run);
    let mut rest = Vec::new();
    // The dropped listener has closed the connection, with a reset if bytes were left.
    let _ = silent.0.into_inner().read_to_end(&mut rest);
}
