//! `--prometheus`: the run under way as text that Prometheus reads (exposition format 0.0.4).

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use sharebench_model::{RunEvent, StepResult, Verdict};

/// Longest time that a client may take to ask.
const PATIENCE: Duration = Duration::from_secs(2);
/// Most bytes of a request that are read.
const MAX_ASKED: u64 = 8 << 10;

/// `9100` or `0.0.0.0:9100`; a port alone is one of this machine's own.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.trim_start_matches(':').parse() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    text.parse().map_err(|_| format!("'{text}' is no address; write such as 9100 or 127.0.0.1:9100"))
}

/// What is known of the run so far.
#[derive(Debug, Default)]
struct State {
    targets: Vec<String>,
    /// Of the step under way.
    target: u32,
    coordinates: String,
    users: u64,
    /// Since the run began: steps that ended, and the one under way.
    ended: Sums,
    step: Sums,
    verdicts: [u64; 3],
    last: Option<Last>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    operations: u64,
    transactions: u64,
    bytes: u64,
    failures: u64,
}

/// The last step that ended.
#[derive(Debug)]
struct Last {
    target: u32,
    coordinates: String,
    bytes_per_s: f64,
    transactions_per_s: f64,
    response_s: [f64; 4],
    server_cpu: Option<f64>,
}

/// Serves the metrics of one run until it is dropped.
#[derive(Debug)]
pub struct Metrics {
    state: Arc<Mutex<State>>,
    at: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Metrics {
    /// Listens from now on.
    pub fn serve(at: SocketAddr, targets: Vec<String>) -> io::Result<Self> {
        let listener = TcpListener::bind(at)?;
        let (at, over) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let state = Arc::new(Mutex::new(State { targets, ..State::default() }));
        let (served, ended) = (Arc::clone(&state), Arc::clone(&over));
        let thread = std::thread::Builder::new().name("prometheus".into()).spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Acquire) {
                    return;
                }
                // Who goes away before the answer has none.
                let _ = stream.and_then(|stream| answer(stream, &served));
            }
        })?;
        Ok(Self { state, at, over, thread: Some(thread) })
    }

    /// Takes what an event says.
    pub fn show(&self, event: &RunEvent) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            RunEvent::StepStarted { target, coordinates, .. } => {
                (state.target, state.coordinates) = (*target, coordinates.to_string());
                (state.step, state.users) = (Sums::default(), 0);
            }
            RunEvent::Progress { operations, bytes, transactions, failures, users, .. } => {
                let (operations, transactions) = (*operations, *transactions);
                state.step = Sums { operations, transactions, bytes: *bytes, failures: *failures };
                state.users = *users;
            }
            RunEvent::StepFinished(step) => state.end(step),
            _ => {}
        }
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        // Wakes the thread, which waits for somebody to ask.
        let own = match self.at.ip() {
            any if any.is_unspecified() => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), self.at.port()),
            _ => self.at,
        };
        let woken = TcpStream::connect_timeout(&own, PATIENCE);
        if let (Ok(_), Some(thread)) = (woken, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

impl State {
    fn end(&mut self, step: &StepResult) {
        let measure = &step.measure;
        self.ended.operations += measure.operations;
        self.ended.transactions += measure.transactions;
        self.ended.bytes += measure.bytes.total();
        self.ended.failures += measure.error_count();
        (self.step, self.users) = (Sums::default(), 0);
        self.verdicts[match step.verdict() {
            Verdict::Warning => 1,
            Verdict::Invalid => 2,
            _ => 0,
        }] += 1;
        let quantile = |q| measure.response.quantile(q) as f64 / 1e9;
        self.last = Some(Last {
            target: step.target,
            coordinates: step.coordinates.to_string(),
            bytes_per_s: measure.throughput().unwrap_or(0.0),
            transactions_per_s: measure.transaction_rate().unwrap_or(0.0),
            response_s: [measure.response.mean() / 1e9, quantile(0.5), quantile(0.95), quantile(0.99)],
            server_cpu: measure.load.server.as_ref().map(|server| server.cpu),
        });
    }

    fn labels(&self, target: u32, coordinates: &str) -> String {
        let name = self.targets.get(target as usize).map_or("", String::as_str);
        format!("target=\"{}\",step=\"{}\"", quoted(name), quoted(coordinates))
    }

    /// The whole text.
    fn text(&self) -> String {
        let mut out = String::new();
        let mut metric = |name: &str, kind: &str, help: &str, values: &[(String, f64)]| {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "# HELP sharebench_{name} {help}\n# TYPE sharebench_{name} {kind}");
            for (labels, value) in values {
                let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
                let _ = writeln!(out, "sharebench_{name}{labels} {value}");
            }
        };
        let none = String::new;
        let total = |of: fn(&Sums) -> u64| vec![(none(), (of(&self.ended) + of(&self.step)) as f64)];
        let verdicts = ["valid", "warning", "invalid"].into_iter().zip(self.verdicts);
        let verdicts: Vec<_> = verdicts.map(|(name, n)| (format!("verdict=\"{name}\""), n as f64)).collect();
        metric("steps_total", "counter", "Steps that ended.", &verdicts);
        metric(
            "operations_total",
            "counter",
            "Operations that ended within windows.",
            &total(|s| s.operations),
        );
        metric(
            "transactions_total",
            "counter",
            "Transactions that ended within windows.",
            &total(|s| s.transactions),
        );
        metric("bytes_total", "counter", "Application bytes moved within windows.", &total(|s| s.bytes));
        metric("failures_total", "counter", "Failures.", &total(|s| s.failures));
        let now = self.labels(self.target, &self.coordinates);
        metric("users", "gauge", "Users of the step under way that are ready.", &[(now, self.users as f64)]);
        let Some(last) = &self.last else { return out };
        let at = self.labels(last.target, &last.coordinates);
        let rate = "Application bytes per second of the last step that ended.";
        metric("step_bytes_per_second", "gauge", rate, &[(at.clone(), last.bytes_per_s)]);
        let rate = "Transactions per second of the last step that ended.";
        metric("step_transactions_per_second", "gauge", rate, &[(at.clone(), last.transactions_per_s)]);
        let [mean, quantiles @ ..] = last.response_s;
        let of = |q: &str| format!("{at},quantile=\"{q}\"");
        let quantiles: Vec<_> = ["0.5", "0.95", "0.99"].map(of).into_iter().zip(quantiles).collect();
        let help = "Response times of the last step that ended.";
        metric("step_response_seconds", "gauge", help, &quantiles);
        let help = "Mean response time of the last step that ended.";
        metric("step_response_mean_seconds", "gauge", help, &[(at.clone(), mean)]);
        if let Some(cpu) = last.server_cpu {
            let help = "Share of the server's processors used in the last step that ended.";
            metric("step_server_cpu_ratio", "gauge", help, &[(at, cpu)]);
        }
        out
    }
}

/// The text of a label's value.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Answers one request; nothing that it says but its first line matters.
fn answer(stream: TcpStream, state: &Mutex<State>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.take(MAX_ASKED));
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 && !line.trim().is_empty() {
        line.clear();
    }
    let mut words = first.split_whitespace();
    let (status, text) = match (words.next(), words.next()) {
        (Some("GET"), Some("/metrics" | "/")) => {
            ("200 OK", state.lock().unwrap_or_else(PoisonError::into_inner).text())
        }
        (Some("GET"), _) => ("404 Not Found", "only /metrics is here\n".to_owned()),
        _ => ("405 Method Not Allowed", "only GET is understood\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    let mut stream = reader.into_inner().into_inner();
    stream.write_all(head.as_bytes())?;
    stream.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sharebench_model::{Coordinates, IoBytes, Measure, Value, axis};

    fn ask(at: SocketAddr, line: &str) -> String {
        let mut stream = TcpStream::connect(at).unwrap();
        stream.write_all(format!("{line}\r\nHost: lab\r\n\r\n").as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_port_alone_is_this_machines_own() {
        assert_eq!(address("9100").unwrap().to_string(), "127.0.0.1:9100");
        assert_eq!(address(":9100").unwrap().to_string(), "127.0.0.1:9100");
        assert_eq!(address("0.0.0.0:9100").unwrap().to_string(), "0.0.0.0:9100");
        assert!(address("nas").unwrap_err().contains("127.0.0.1:9100"));
    }

    #[test]
    fn a_run_under_way_is_told_in_the_text_format() {
        let metrics = Metrics::serve(address("0").unwrap(), vec!["the \"nas\"".into()]).unwrap();
        let coordinates = Coordinates::new().with(axis::USERS, Value::Count(5));
        let started =
            RunEvent::StepStarted { index: 0, target: 0, repetition: 0, coordinates: coordinates.clone() };
        metrics.show(&started);
        metrics.show(&RunEvent::Progress {
            index: 0,
            operations: 40,
            bytes: 4096,
            transactions: 10,
            failures: 1,
            users: 5,
        });
        let text = ask(metrics.at, "GET /metrics HTTP/1.1");
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        assert!(text.contains("\nsharebench_transactions_total 10\n"), "{text}");
        assert!(text.contains("sharebench_users{target=\"the \\\"nas\\\"\",step=\"users=5\"} 5\n"), "{text}");
        let bytes = IoBytes { read: 1_000, written: 0 };
        let measure = Measure { transactions: 30, bytes, window_ns: 1_000_000_000, ..Measure::default() };
        metrics.show(&RunEvent::StepFinished(Box::new(StepResult {
            index: 0,
            target: 0,
            repetition: 0,
            coordinates,
            started_unix_ms: 0,
            measure,
            checks: Vec::new(),
        })));
        let text = ask(metrics.at, "GET / HTTP/1.0");
        assert!(text.contains("\nsharebench_transactions_total 30\n"), "the step's own count: {text}");
        assert!(text.contains("\nsharebench_steps_total{verdict=\"valid\"} 1\n"), "{text}");
        let body = text.split("\r\n\r\n").nth(1).unwrap();
        assert!(text.contains(&format!("Content-Length: {}\r\n", body.len())), "{text}");
        assert!(ask(metrics.at, "GET /other HTTP/1.1").starts_with("HTTP/1.1 404"));
        assert!(ask(metrics.at, "POST /metrics HTTP/1.1").starts_with("HTTP/1.1 405"));
    }
}
