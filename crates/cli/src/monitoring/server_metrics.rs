//! `--server-metrics`: how busy the server's processors are, by a Prometheus exporter that runs there.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sharebench_model::ServerLoad;

/// Between two questions.
const EVERY: Duration = Duration::from_secs(1);
/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Largest answer that is read.
const MOST: u64 = 16 << 20;
/// Most answers that are kept: the last day's.
const KEPT: usize = 86_400;
/// Answers must cover this share of a window.
const COVERED: f64 = 0.5;

/// `http://host:port/path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExporterUrl {
    host: String,
    path: String,
}

impl FromStr for ExporterUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no URL of an exporter; write such as http://nas:9100/metrics");
        let rest = text.strip_prefix("http://").ok_or_else(wrong)?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, "metrics"));
        let plain = |text: &str| text.chars().all(|c| c.is_ascii_graphic());
        if host.is_empty() || host.contains('@') || !plain(host) || !plain(path) {
            return Err(wrong());
        }
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let host = if has_port { host.to_owned() } else { format!("{host}:80") };
        Ok(Self { host, path: format!("/{path}") })
    }
}

impl fmt::Display for ExporterUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.host, self.path)
    }
}

/// A metric that tells how busy processors are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Seconds that processors were idle, of each.
    Idle(&'static str),
    /// Seconds that one process used.
    Used(&'static str),
}

/// What one answer says.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reading {
    kind: Kind,
    seconds: f64,
    cores: u32,
}

/// Metrics in the order of preference: the whole machine before one process.
const IDLE: [(&str, [&str; 2]); 2] =
    [("node_cpu_seconds_total", ["idle", "iowait"]), ("windows_cpu_time_total", ["idle", "idle"])];
const USED: &str = "process_cpu_seconds_total";

/// Reads an exporter's text.
fn reading(text: &str) -> Option<Reading> {
    for (name, modes) in IDLE {
        let (mut seconds, mut cores) = (0.0, BTreeSet::new());
        for (labels, value) in samples(text, name) {
            let label = |name: &str| label(labels, name);
            let (core, mode) = (label("cpu").or(label("core")), label("mode").unwrap_or_default());
            if modes.contains(&mode) {
                seconds += value;
                cores.insert(core);
            }
        }
        if !cores.is_empty() {
            return Some(Reading { kind: Kind::Idle(name), seconds, cores: cores.len() as u32 });
        }
    }
    let (_, seconds) = samples(text, USED).next()?;
    Some(Reading { kind: Kind::Used(USED), seconds, cores: 1 })
}

/// Labels and values of a metric's lines.
fn samples<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = (&'t str, f64)> {
    text.lines().filter_map(move |line| {
        let rest = line.strip_prefix(name)?;
        let (labels, value) = match rest.strip_prefix('{') {
            Some(rest) => rest.rsplit_once('}')?,
            None => ("", rest),
        };
        let value = value.strip_prefix(' ')?.split(' ').next()?;
        Some((labels, value.parse().ok().filter(|value: &f64| value.is_finite())?))
    })
}

/// The value of one label; the labels of these metrics hold no quotes.
fn label<'t>(labels: &'t str, name: &str) -> Option<&'t str> {
    let mut rest = labels;
    while let Some((key, value)) = rest.split_once("=\"") {
        let (value, behind) = value.split_once('"')?;
        if key.trim_start_matches([',', ' ']) == name {
            return Some(value);
        }
        rest = behind;
    }
    None
}

/// Asks once.
fn ask(url: &ExporterUrl) -> Result<Reading, String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut addresses = url.host.to_socket_addrs().map_err(failed)?;
    let address = addresses.next().ok_or("the name has no address")?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
    let request = format!("GET {} HTTP/1.0\r\nHost: {}\r\nAccept: text/plain\r\n\r\n", url.path, url.host);
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let mut bytes = Vec::new();
    stream.take(MOST).read_to_end(&mut bytes).map_err(failed)?;
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").ok_or("it does not speak HTTP")?;
    let status = head.split_whitespace().nth(1).unwrap_or_default();
    if status != "200" {
        return Err(format!("it answers with status {status}"));
    }
    let known = format!("{}, {} and {USED}", IDLE[0].0, IDLE[1].0);
    reading(body).ok_or_else(|| format!("it tells nothing of processors: known are {known}"))
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

type Readings = Arc<Mutex<Vec<(u64, Reading)>>>;

/// Asks an exporter once a second until it is dropped.
#[derive(Debug)]
pub struct ServerMetrics {
    readings: Readings,
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ServerMetrics {
    /// Asks for the first time; what is wrong is told at once.
    pub fn open(url: &ExporterUrl) -> Result<Self, String> {
        let first = ask(url)?;
        let readings: Readings = Arc::new(Mutex::new(vec![(unix_ms(), first)]));
        let (over, ended) = mpsc::channel::<()>();
        let (url, kept) = (url.clone(), Arc::clone(&readings));
        let thread = std::thread::Builder::new().name("server-metrics".into()).spawn(move || {
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                // An answer that does not come is missing, and the next one counts the time since.
                let Ok(reading) = ask(&url) else { continue };
                let mut readings = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if readings.len() >= KEPT {
                    readings.drain(..KEPT / 2);
                }
                readings.push((unix_ms(), reading));
            }
        });
        Ok(Self { readings, over: Some(over), thread: Some(thread.map_err(|error| error.to_string())?) })
    }

    /// How busy the server was between two instants; none where too few answers came.
    pub fn busy(&self, from_ms: u64, to_ms: u64) -> Option<ServerLoad> {
        busy(&self.readings.lock().unwrap_or_else(PoisonError::into_inner), from_ms, to_ms)
    }
}

impl Drop for ServerMetrics {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn busy(readings: &[(u64, Reading)], from_ms: u64, to_ms: u64) -> Option<ServerLoad> {
    let inside = |(at, _): &&(u64, Reading)| (from_ms..=to_ms).contains(at);
    let (first_ms, first) = readings.iter().find(inside)?;
    let (last_ms, last) = readings.iter().rfind(inside)?;
    let seconds = (last_ms - first_ms) as f64 / 1e3;
    if seconds * 1e3 < (to_ms - from_ms) as f64 * COVERED || seconds <= 0.0 || first.kind != last.kind {
        return None;
    }
    let counted = last.seconds - first.seconds;
    // A counter that went back was begun anew.
    if counted < 0.0 {
        return None;
    }
    let (cpu, cores, source) = match first.kind {
        Kind::Idle(source) => {
            let idle = counted / (seconds * f64::from(first.cores));
            ((1.0 - idle).clamp(0.0, 1.0), Some(first.cores), source)
        }
        Kind::Used(source) => (counted / seconds, None, source),
    };
    Some(ServerLoad { cpu, cores, source: source.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: &str = "# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 100.5
node_cpu_seconds_total{cpu=\"0\",mode=\"iowait\"} 2
node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 7
node_cpu_seconds_total{cpu=\"1\",mode=\"idle\"} 1.1e+02
process_cpu_seconds_total 3
";

    #[test]
    fn the_machine_counts_before_the_process_and_both_systems_are_known() {
        let node = reading(NODE).unwrap();
        assert_eq!((node.kind, node.seconds, node.cores), (Kind::Idle("node_cpu_seconds_total"), 212.5, 2));
        let windows = "windows_cpu_time_total{core=\"0,0\",mode=\"idle\"} 10\n\
                       windows_cpu_time_total{core=\"0,1\",mode=\"idle\"} 30 1700000000000\n\
                       windows_cpu_time_total{core=\"0,1\",mode=\"user\"} 9\n";
        let windows = reading(windows).unwrap();
        assert_eq!((windows.seconds, windows.cores), (40.0, 2));
        assert_eq!(reading("process_cpu_seconds_total 3\n").unwrap().kind, Kind::Used(USED));
        for nothing in ["", "node_cpu_seconds_total NaN\n", "node_cpu_seconds_total_x 5\n", "<html>"] {
            assert_eq!(reading(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_window_is_as_busy_as_its_processors_were_not_idle() {
        let at = |seconds| Reading { kind: Kind::Idle("node"), seconds, cores: 4 };
        let readings: Vec<_> = (0..=20).map(|s| (s * 1_000, at(f64::from(s as u32) * 3.0))).collect();
        let found = busy(&readings, 4_500, 14_500).unwrap();
        assert_eq!((found.cpu, found.cores), (0.25, Some(4)));
        assert!(busy(&readings, 18_000, 40_000).is_none(), "answers for a tenth of it");
        assert!(busy(&readings, 5_100, 5_900).is_none() && busy(&[], 0, 1).is_none());
        let again: Vec<_> = [(0, at(50.0)), (9_000, at(1.0))].into();
        assert!(busy(&again, 0, 10_000).is_none(), "it was started anew");
        let used = |seconds| Reading { kind: Kind::Used(USED), seconds, cores: 1 };
        let process: Vec<_> = [(0, used(1.0)), (10_000, used(16.0))].into();
        let cpu = busy(&process, 0, 10_000).unwrap().cpu;
        assert!((cpu - 1.5).abs() < 1e-9, "of one processor: {cpu}");
    }

    #[test]
    fn only_urls_that_can_be_asked_are_taken() {
        let url: ExporterUrl = "http://nas:9100/metrics".parse().unwrap();
        assert_eq!(url.to_string(), "http://nas:9100/metrics");
        assert_eq!("http://nas".parse::<ExporterUrl>().unwrap().to_string(), "http://nas:80/metrics");
        for wrong in ["nas:9100", "https://nas/metrics", "http://", "http://a b/", "http://me@nas/metrics"] {
            assert!(wrong.parse::<ExporterUrl>().unwrap_err().contains("http://nas:9100"), "{wrong}");
        }
    }
}
