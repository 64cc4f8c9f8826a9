//! `--prometheus`: the metrics of a run in the text format of `OpenMetrics`.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::{Request, State as Shared};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use sharebench_model::{RunEvent, StepResult, Verdict};

use crate::http::{Hosts, Listener};

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Parses `9100`, `:9100` or `0.0.0.0:9100`. A port alone is on 127.0.0.1.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.trim_start_matches(':').parse() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    text.parse().map_err(|_| format!("'{text}' is not an address; expected 9100 or 127.0.0.1:9100"))
}

/// Metrics of the run so far.
#[derive(Debug, Default)]
struct State {
    targets: Vec<String>,
    /// Target of the current step.
    target: u32,
    /// Coordinates of the current step.
    coordinates: String,
    /// Users of the current step that are ready.
    users: u64,
    /// Sums of the finished steps.
    finished: Sums,
    /// Sums of the current step.
    current: Sums,
    verdicts: [u64; 3],
    last: Option<LastStep>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    operations: u64,
    transactions: u64,
    bytes: u64,
    failures: u64,
}

/// The last finished step.
#[derive(Debug)]
struct LastStep {
    target: u32,
    coordinates: String,
    bytes_per_s: f64,
    transactions_per_s: f64,
    response_mean_s: f64,
    /// p50, p95 and p99.
    response_quantiles_s: [f64; 3],
    server_cpu: Option<f64>,
}

/// Serves the metrics of one run until it is dropped.
///
/// The main thread passes it every event of the run; a scrape reads the state that the events left. Neither blocks the
/// engine, which only sends events.
#[derive(Debug)]
pub struct Metrics {
    state: Arc<Mutex<State>>,
    #[cfg_attr(not(test), expect(dead_code, reason = "serves until it is dropped"))]
    listener: Listener,
}

impl Metrics {
    /// Starts to serve the metrics of a run on these targets.
    pub fn serve(address: SocketAddr, targets: Vec<String>) -> io::Result<Self> {
        let state = Arc::new(Mutex::new(State { targets, ..State::default() }));
        let mut registry = Registry::with_prefix("sharebench");
        registry.register_collector(Box::new(RunCollector(Arc::clone(&state))));
        let registry = Arc::new(registry);
        let metrics = move || {
            let registry = Arc::clone(&registry);
            async move { exposition(&registry) }
        };
        let routes = Router::new()
            .route("/metrics", get(metrics.clone()))
            .route("/", get(metrics))
            .fallback(|| async { (StatusCode::NOT_FOUND, "the only page is /metrics\n") })
            .layer(from_fn_with_state(Arc::new(Hosts::from_address(address)), guard));
        Ok(Self { state, listener: Listener::start("prometheus", address, routes)? })
    }

    /// Updates the metrics with an event.
    pub fn show(&self, event: &RunEvent) {
        let mut state = locked(&self.state);
        match event {
            RunEvent::StepStarted { target, coordinates, .. } => {
                state.target = *target;
                state.coordinates = coordinates.to_string();
                state.current = Sums::default();
                state.users = 0;
            }
            RunEvent::Progress { operations, bytes, transactions, failures, users, .. } => {
                state.current = Sums {
                    operations: *operations,
                    transactions: *transactions,
                    bytes: *bytes,
                    failures: *failures,
                };
                state.users = *users;
            }
            RunEvent::StepFinished(step) => state.finish(step),
            _ => {}
        }
    }
}

/// Rejects requests for other hosts, which a web page elsewhere may have caused.
async fn guard(Shared(hosts): Shared<Arc<Hosts>>, request: Request, next: Next) -> Response {
    if hosts.accept(request.headers()) {
        next.run(request).await
    } else {
        let sentence = "use the address of this machine: its host name is unknown here\n";
        (StatusCode::MISDIRECTED_REQUEST, sentence).into_response()
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn exposition(registry: &Registry) -> Response {
    let mut text = String::new();
    match text::encode(&mut text, registry) {
        Ok(()) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

impl State {
    fn finish(&mut self, step: &StepResult) {
        let measure = &step.measure;
        self.finished.operations += measure.operations;
        self.finished.transactions += measure.transactions;
        self.finished.bytes += measure.bytes.total();
        self.finished.failures += measure.error_count();
        self.current = Sums::default();
        self.users = 0;
        self.verdicts[match step.verdict() {
            Verdict::Warning => 1,
            Verdict::Invalid => 2,
            _ => 0,
        }] += 1;
        let quantile = |q| measure.response.quantile(q) as f64 / 1e9;
        self.last = Some(LastStep {
            target: step.target,
            coordinates: step.coordinates.to_string(),
            bytes_per_s: measure.throughput().unwrap_or(0.0),
            transactions_per_s: measure.transaction_rate().unwrap_or(0.0),
            response_mean_s: measure.response.mean() / 1e9,
            response_quantiles_s: [quantile(0.5), quantile(0.95), quantile(0.99)],
            server_cpu: measure.load.server.as_ref().map(|server| server.cpu),
        });
    }

    fn labels(&self, target: u32, coordinates: &str) -> [(&'static str, String); 2] {
        let name = self.targets.get(target as usize).cloned().unwrap_or_default();
        [("target", name), ("step", coordinates.to_owned())]
    }
}

/// Encodes the state of a run on each scrape.
#[derive(Debug)]
struct RunCollector(Arc<Mutex<State>>);

impl Collector for RunCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let state = locked(&self.0);
        let mut steps =
            encoder.encode_descriptor("steps", "Finished steps by verdict.", None, MetricType::Counter)?;
        for (verdict, count) in ["valid", "warning", "invalid"].into_iter().zip(state.verdicts) {
            ConstCounter::new(count).encode(steps.encode_family(&[("verdict", verdict)])?)?;
        }
        let sum = |of: fn(&Sums) -> u64| of(&state.finished) + of(&state.current);
        let sums = [
            ("operations", "Operations that ended within windows.", sum(|sums| sums.operations)),
            ("transactions", "Transactions that ended within windows.", sum(|sums| sums.transactions)),
            ("bytes", "Application bytes transferred within windows.", sum(|sums| sums.bytes)),
            ("failures", "Failed operations.", sum(|sums| sums.failures)),
        ];
        for (name, help, sum) in sums {
            let counter = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(sum).encode(counter)?;
        }
        let labels = state.labels(state.target, &state.coordinates);
        let users = i64::try_from(state.users).unwrap_or(i64::MAX);
        let mut family = encoder.encode_descriptor(
            "users",
            "Users of the current step that are ready.",
            None,
            MetricType::Gauge,
        )?;
        ConstGauge::new(users).encode(family.encode_family(&labels)?)?;
        match &state.last {
            Some(last) => encode_step(&mut encoder, last, &state.labels(last.target, &last.coordinates)),
            None => Ok(()),
        }
    }
}

/// Encodes the results of the last finished step.
fn encode_step(
    encoder: &mut DescriptorEncoder<'_>,
    last: &LastStep,
    labels: &[(&'static str, String); 2],
) -> fmt::Result {
    let bytes = "Application bytes per second of the last finished step.";
    gauge(encoder, "step_bytes_per_second", bytes, &[(labels.to_vec(), last.bytes_per_s)])?;
    let transactions = "Transactions per second of the last finished step.";
    let values = [(labels.to_vec(), last.transactions_per_s)];
    gauge(encoder, "step_transactions_per_second", transactions, &values)?;
    let quantiles = ["0.5", "0.95", "0.99"].into_iter().zip(last.response_quantiles_s);
    let quantiles: Vec<_> = quantiles
        .map(|(quantile, seconds)| ([labels, &[("quantile", quantile.to_owned())][..]].concat(), seconds))
        .collect();
    gauge(encoder, "step_response_seconds", "Response times of the last finished step.", &quantiles)?;
    let mean = "Mean response time of the last finished step.";
    gauge(encoder, "step_response_mean_seconds", mean, &[(labels.to_vec(), last.response_mean_s)])?;
    match last.server_cpu {
        Some(cpu) => {
            let help = "Share of the server's processors in use during the last finished step.";
            gauge(encoder, "step_server_cpu_ratio", help, &[(labels.to_vec(), cpu)])
        }
        None => Ok(()),
    }
}

fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: &[(Vec<(&'static str, String)>, f64)],
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in values {
        ConstGauge::new(*value).encode(family.encode_family(labels)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::tests::exchange;
    use sharebench_model::{Coordinates, IoBytes, Measure, Value, axis};

    fn ask(at: SocketAddr, line: &str) -> String {
        exchange(at, &format!("{line}\r\nHost: localhost\r\n\r\n"))
    }

    #[test]
    fn port_without_address_is_on_loopback() {
        assert_eq!(address("9100").unwrap().to_string(), "127.0.0.1:9100");
        assert_eq!(address(":9100").unwrap().to_string(), "127.0.0.1:9100");
        assert_eq!(address("0.0.0.0:9100").unwrap().to_string(), "0.0.0.0:9100");
        assert!(address("nas").unwrap_err().contains("127.0.0.1:9100"));
    }

    #[test]
    fn metrics_of_a_run_are_served_as_openmetrics_text() {
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
        let text = ask(metrics.listener.address(), "GET /metrics HTTP/1.1");
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
            unmeasured_ms: 0,
            measure,
            checks: Vec::new().into(),
        })));
        let text = ask(metrics.listener.address(), "GET / HTTP/1.0");
        assert!(
            text.contains("\nsharebench_transactions_total 30\n"),
            "the count of the finished step: {text}"
        );
        assert!(text.contains("\nsharebench_steps_total{verdict=\"valid\"} 1\n"), "{text}");
        let body = text.split("\r\n\r\n").nth(1).unwrap();
        assert!(text.contains(&format!("content-length: {}\r\n", body.len())), "{text}");
        assert!(body.ends_with("# EOF\n"), "{text}");
        assert!(ask(metrics.listener.address(), "GET /other HTTP/1.1").starts_with("HTTP/1.1 404"));
        assert!(ask(metrics.listener.address(), "POST /metrics HTTP/1.1").starts_with("HTTP/1.1 405"));
        let rebound = "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n";
        assert!(exchange(metrics.listener.address(), rebound).starts_with("HTTP/1.1 421"));
    }
}
