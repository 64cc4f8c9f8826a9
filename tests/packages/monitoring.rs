//! A real Prometheus scrapes a real run: every expression of the dashboard and of the rules has data.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;
use sharebench_tests::program::{PATIENCE, free_port, poll, run};
use sharebench_tests::{Need, Program, Sharebench, Signal, needs};

use crate::file;

const RULES: &str = "packaging/prometheus/sharebench.rules.yml";

/// The expressions of the dashboard, with the variables of Grafana replaced.
fn dashboard_expressions() -> Vec<String> {
    let text = fs::read_to_string(file("packaging/grafana/sharebench.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let mut expressions: Vec<String> =
        targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect();
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        if let Some(query) = variable["query"]["query"].as_str() {
            let inside = query.strip_prefix("label_values(").and_then(|rest| rest.strip_suffix(')')).unwrap();
            let (metric, label) = inside.split_once(", ").unwrap();
            expressions.push(format!("group by ({label}) ({metric})"));
        }
    }
    let replaced =
        |expression: String| expression.replace("$__rate_interval", "10s").replace("$instance", ".*");
    expressions.into_iter().map(replaced).collect()
}

/// The series that the rules record.
fn recorded_series() -> Vec<String> {
    let rules = fs::read_to_string(file(RULES)).unwrap();
    let names = rules.lines().filter_map(|line| line.trim().strip_prefix("- record: "));
    names.map(str::to_owned).collect()
}

/// The body of an answer, or nothing while the server does not answer.
fn get(port: u16, path: &str) -> String {
    let mut text = String::new();
    if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
        let sent = write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
        let _ = sent.and_then(|()| stream.read_to_string(&mut text).map(drop));
    }
    text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()
}

/// Returns true if an expression has at least one sample now.
fn has_data(port: u16, expression: &str) -> bool {
    let bytes: Vec<String> = expression.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let encoded = bytes.concat();
    let answer = get(port, &format!("/api/v1/query?query={encoded}"));
    let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
    assert!(answer["status"] != "error", "{expression}: {answer}");
    answer["data"]["result"].as_array().is_some_and(|samples| !samples.is_empty())
}

#[test]
fn rules_pass_their_tests() {
    needs!([Need::Program("promtool")]);
    let rules = file(RULES).display().to_string();
    let said = run(&["promtool", "check", "rules", &rules], &[]).unwrap();
    assert!(said.contains("SUCCESS: 6 rules found"), "{said}");
    let tests = file("packaging/prometheus/sharebench.test.yml").display().to_string();
    let said = run(&["promtool", "test", "rules", &tests], &[]).unwrap();
    assert!(said.contains("SUCCESS"), "{said}");
}

#[test]
fn every_expression_of_dashboard_and_rules_has_data_of_a_run() {
    const EXPORTER: &str = "prometheus-node-exporter";
    needs!([Need::Program("prometheus"), Need::Program(EXPORTER)]);
    let sharebench = Sharebench::new().unwrap();
    let home = sharebench.home();
    fs::create_dir(home.join("local")).unwrap();
    let exporter_port = free_port().unwrap();
    let listen = format!("--web.listen-address=127.0.0.1:{exporter_port}");
    let line = [EXPORTER, &listen, "--collector.disable-defaults", "--collector.cpu"];
    let mut exporter = Program::start(&line, &[], &home.join("exporter.log")).unwrap();
    exporter.wait_for_port(exporter_port, PATIENCE).unwrap();

    let metrics = free_port().unwrap();
    let rules = fs::canonicalize(file(RULES)).unwrap();
    let config = format!(
        "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\nrule_files: ['{}']\nscrape_configs:\n\
         - {{ job_name: sharebench, static_configs: [{{ targets: ['127.0.0.1:{metrics}'] }}] }}\n",
        rules.display()
    );
    sharebench.write("prometheus.yml", &config).unwrap();
    let port = free_port().unwrap();
    let line = [
        "prometheus",
        &format!("--config.file={}", home.join("prometheus.yml").display()),
        &format!("--storage.tsdb.path={}", home.join("samples").display()),
        &format!("--web.listen-address=127.0.0.1:{port}"),
    ];
    let mut prometheus = Program::start(&line, &[], &home.join("prometheus.log")).unwrap();
    prometheus.wait_for_port(port, PATIENCE).unwrap();

    let served = metrics.to_string();
    let server = format!("http://127.0.0.1:{exporter_port}/metrics");
    let load = ["load", "local", "--preset", "single", "--users", "2,3,4,5,6", "--think", "exp:5ms"];
    let times = ["--scale", "64KiB", "--warm-up", "0s", "--measure", "10s"];
    let monitored = ["--prometheus", &served, "--server-metrics", &server];
    let line = [&load[..], &times, &monitored].concat();
    let mut running = sharebench.start(&line, "run.log").unwrap();
    let mut missing = [dashboard_expressions(), recorded_series()].concat();
    assert!(missing.len() > 15, "{missing:?}");
    let complete = poll(PATIENCE, || {
        missing.retain(|expression| !has_data(port, expression));
        missing.is_empty()
    });
    assert!(complete, "no data: {missing:#?}\n{}\n{}", running.output(), prometheus.output());
    assert_dashboard_shows_all(&get(metrics, "/metrics"));
    running.signal(Signal::INT);
    running.wait(PATIENCE).unwrap();
}

/// Every metric that the run serves is part of the dashboard.
fn assert_dashboard_shows_all(served: &str) {
    let dashboard = fs::read_to_string(file("packaging/grafana/sharebench.json")).unwrap();
    let names = served.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = names.filter_map(|line| line.split(['{', ' ']).next()).collect();
    assert!(names.len() > 10, "{served}");
    for name in names {
        assert!(dashboard.contains(name), "the dashboard does not show {name}");
    }
}
