//! `--server-metrics`: the CPU load of a server, from a Prometheus exporter on it.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sharebench_model::{ServerLoad, without_secrets};

/// Interval between two requests.
const REQUEST_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout of one request as a whole: an exporter that sends a byte now and then must not extend it.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest response that is read.
const MAX_RESPONSE_BYTES: usize = 16 << 20;
/// Largest number of readings, those of one day.
const MAX_READINGS: usize = 86_400;
/// The readings must cover this share of a window.
const MIN_COVERAGE: f64 = 0.5;

/// `http://host:port/path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExporterUrl {
    host: String,
    path: String,
}

impl FromStr for ExporterUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "'{}' is not the URL of an exporter; expected for example http://nas:9100/metrics",
                without_secrets(text)
            )
        };
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
        f.write_str(&without_secrets(&format!("http://{}{}", self.host, self.path)))
    }
}

/// A metric of CPU time, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CpuMetric {
    /// Idle seconds of each processor.
    Idle(&'static str),
    /// CPU seconds of one process.
    Used(&'static str),
}

/// The CPU time in one response.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reading {
    metric: CpuMetric,
    seconds: f64,
    cores: u32,
}

/// Metrics in the order of preference: first those of the whole machine, then those of one process.
const IDLE: [(&str, [&str; 2]); 2] =
    [("node_cpu_seconds_total", ["idle", "iowait"]), ("windows_cpu_time_total", ["idle", "idle"])];
const USED: &str = "process_cpu_seconds_total";

/// The CPU time in the text of an exporter.
fn reading(text: &str) -> Option<Reading> {
    for (name, modes) in IDLE {
        let mut seconds = 0.0;
        let mut cores = BTreeSet::new();
        for (labels, value) in samples(text, name) {
            let label = |name: &str| label(labels, name);
            let core = label("cpu").or(label("core"));
            let mode = label("mode").unwrap_or_default();
            if modes.contains(&mode) {
                seconds += value;
                cores.insert(core);
            }
        }
        if !cores.is_empty() {
            return Some(Reading { metric: CpuMetric::Idle(name), seconds, cores: cores.len() as u32 });
        }
    }
    let (_, seconds) = samples(text, USED).next()?;
    Some(Reading { metric: CpuMetric::Used(USED), seconds, cores: 1 })
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
        let (value, after) = value.split_once('"')?;
        if key.trim_start_matches([',', ' ']) == name {
            return Some(value);
        }
        rest = after;
    }
    None
}

/// Reads an exporter once.
fn request(url: &ExporterUrl) -> Result<Reading, String> {
    let end = Instant::now() + REQUEST_TIMEOUT;
    let address = resolve(&url.host, end)?;
    let bytes = exchange(address, url, end).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => too_slow(),
        _ => error.to_string(),
    })?;
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").ok_or("the response is not HTTP")?;
    let status = head.split_whitespace().nth(1).unwrap_or_default();
    if status != "200" {
        // What the exporter sent is for a terminal: at most a number.
        let status: String = status.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
        return Err(format!("the exporter answered with status {status}"));
    }
    let known = format!("{}, {} and {USED}", IDLE[0].0, IDLE[1].0);
    reading(body).ok_or_else(|| format!("the response contains none of {known}"))
}

fn too_slow() -> String {
    format!("no complete response within {REQUEST_TIMEOUT:?}")
}

/// The address of a host, looked up on a thread of its own because the system's resolver has no deadline.
fn resolve(host: &str, end: Instant) -> Result<SocketAddr, String> {
    if let Ok(address) = host.parse() {
        return Ok(address);
    }
    let (sender, found) = mpsc::channel();
    let host = host.to_owned();
    let resolver = move || {
        let found = host.to_socket_addrs().map(|mut addresses| addresses.next());
        let _ = sender.send(found.map_err(|error| error.to_string()));
    };
    let named = std::thread::Builder::new().name("resolver".into());
    named.spawn(resolver).map_err(|error| error.to_string())?;
    let found = found.recv_timeout(end.saturating_duration_since(Instant::now()));
    found.map_err(|_| too_slow())??.ok_or_else(|| "the name has no address".to_owned())
}

/// Sends a request and reads the response until the deadline.
fn exchange(address: SocketAddr, url: &ExporterUrl, end: Instant) -> std::io::Result<Vec<u8>> {
    // A timeout of zero would mean none.
    let left = || match end.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(std::io::Error::from(ErrorKind::TimedOut)),
        left => Ok(left),
    };
    let mut stream = TcpStream::connect_timeout(&address, left()?)?;
    stream.set_write_timeout(Some(left()?))?;
    let request = format!("GET {} HTTP/1.0\r\nHost: {}\r\nAccept: text/plain\r\n\r\n", url.path, url.host);
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    while bytes.len() < MAX_RESPONSE_BYTES {
        stream.set_read_timeout(Some(left()?))?;
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            // Linux does not restart the read of a socket with a timeout after a signal, which has a thread of its own.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

type Readings = Arc<Mutex<Vec<(u64, Reading)>>>;

/// Reads an exporter once per second on its own thread until it is dropped. Nothing waits for the end of the thread: it
/// ends when its request in flight has ended, or with the process.
#[derive(Debug)]
pub struct ServerMetrics {
    readings: Readings,
    /// Dropping it ends the thread.
    #[expect(dead_code, reason = "its end is the message")]
    over: Sender<()>,
}

impl ServerMetrics {
    /// Reads the exporter once, and then starts the thread.
    pub fn open(url: &ExporterUrl) -> Result<Self, String> {
        let first = request(url)?;
        let readings: Readings = Arc::new(Mutex::new(vec![(unix_ms(), first)]));
        let (over, ended) = mpsc::channel::<()>();
        let url = url.clone();
        let kept = Arc::clone(&readings);
        let thread = std::thread::Builder::new().name("server-metrics".into()).spawn(move || {
            while ended.recv_timeout(REQUEST_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                // A missing reading is harmless, because the next one covers its time as well.
                let Ok(reading) = request(&url) else { continue };
                let mut readings = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if readings.len() >= MAX_READINGS {
                    readings.drain(..MAX_READINGS / 2);
                }
                readings.push((unix_ms(), reading));
            }
        });
        thread.map_err(|error| error.to_string())?;
        Ok(Self { readings, over })
    }

    /// CPU load of the server between two instants, or none if there are too few readings.
    pub fn busy(&self, from_ms: u64, to_ms: u64) -> Option<ServerLoad> {
        busy(&self.readings.lock().unwrap_or_else(PoisonError::into_inner), from_ms, to_ms)
    }
}

fn busy(readings: &[(u64, Reading)], from_ms: u64, to_ms: u64) -> Option<ServerLoad> {
    let inside = |(at, _): &&(u64, Reading)| (from_ms..=to_ms).contains(at);
    let (first_ms, first) = readings.iter().find(inside)?;
    let (last_ms, last) = readings.iter().rfind(inside)?;
    let seconds = (last_ms - first_ms) as f64 / 1e3;
    if seconds * 1e3 < (to_ms - from_ms) as f64 * MIN_COVERAGE
        || seconds <= 0.0
        || first.metric != last.metric
    {
        return None;
    }
    let counted = last.seconds - first.seconds;
    // A counter that decreased was reset.
    if counted < 0.0 {
        return None;
    }
    let (cpu, cores, source) = match first.metric {
        CpuMetric::Idle(source) => {
            let idle = counted / (seconds * f64::from(first.cores));
            ((1.0 - idle).clamp(0.0, 1.0), Some(first.cores), source)
        }
        CpuMetric::Used(source) => (counted / seconds, None, source),
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
    fn metrics_of_the_machine_are_preferred_on_linux_and_windows() {
        let node = reading(NODE).unwrap();
        assert_eq!(
            (node.metric, node.seconds, node.cores),
            (CpuMetric::Idle("node_cpu_seconds_total"), 212.5, 2)
        );
        let windows = "windows_cpu_time_total{core=\"0,0\",mode=\"idle\"} 10\n\
                       windows_cpu_time_total{core=\"0,1\",mode=\"idle\"} 30 1700000000000\n\
                       windows_cpu_time_total{core=\"0,1\",mode=\"user\"} 9\n";
        let windows = reading(windows).unwrap();
        assert_eq!((windows.seconds, windows.cores), (40.0, 2));
        assert_eq!(reading("process_cpu_seconds_total 3\n").unwrap().metric, CpuMetric::Used(USED));
        for nothing in ["", "node_cpu_seconds_total NaN\n", "node_cpu_seconds_total_x 5\n", "<html>"] {
            assert_eq!(reading(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn cpu_load_is_the_share_of_time_that_processors_were_not_idle() {
        let at = |seconds| Reading { metric: CpuMetric::Idle("node"), seconds, cores: 4 };
        let readings: Vec<_> = (0..=20).map(|s| (s * 1_000, at(f64::from(s as u32) * 3.0))).collect();
        let found = busy(&readings, 4_500, 14_500).unwrap();
        assert_eq!((found.cpu, found.cores), (0.25, Some(4)));
        assert!(busy(&readings, 18_000, 40_000).is_none(), "readings for a tenth of it");
        assert!(busy(&readings, 5_100, 5_900).is_none() && busy(&[], 0, 1).is_none());
        let again: Vec<_> = [(0, at(50.0)), (9_000, at(1.0))].into();
        assert!(busy(&again, 0, 10_000).is_none(), "the counter was reset");
        let used = |seconds| Reading { metric: CpuMetric::Used(USED), seconds, cores: 1 };
        let process: Vec<_> = [(0, used(1.0)), (10_000, used(16.0))].into();
        let cpu = busy(&process, 0, 10_000).unwrap().cpu;
        assert!((cpu - 1.5).abs() < 1e-9, "of one processor: {cpu}");
    }

    #[test]
    fn only_http_urls_without_account_are_valid() {
        let url: ExporterUrl = "http://nas:9100/metrics".parse().unwrap();
        assert_eq!(url.to_string(), "http://nas:9100/metrics");
        assert_eq!("http://nas".parse::<ExporterUrl>().unwrap().to_string(), "http://nas:80/metrics");
        for wrong in
            ["nas:9100", "https://nas/metrics", "http://", "http://a b/", "http://me:hunter2@nas/metrics"]
        {
            let error = wrong.parse::<ExporterUrl>().unwrap_err();
            assert!(error.contains("http://nas:9100") && !error.contains("hunter2"), "{wrong}: {error}");
        }
    }
}
