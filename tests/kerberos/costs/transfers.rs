//! Rates and CPU time of transfers at each level.

use serde_json::Value;

use super::cpu::spent_ns;
use super::peers::Peers;
use super::{ROUNDS, digits, median};
use crate::stored::Stored;

pub const MIB: f64 = (1 << 20) as f64;

/// A server, with the levels of its protocol.
struct Case {
    server: &'static str,
    url: String,
    /// Processes of the server.
    pids: Vec<u32>,
    levels: &'static [&'static str],
    /// Flags of the login.
    login: String,
}

/// One test at one record size.
struct Shape {
    name: &'static str,
    flags: &'static str,
}

const SMALL: Shape =
    Shape { name: "4 KiB reads", flags: "--tests random-read --file-sizes 4MiB --record-sizes 4KiB" };
const LARGE: Shape =
    Shape { name: "1 MiB reads", flags: "--tests random-read --file-sizes 64MiB --record-sizes 1MiB" };
/// A request of NCP carries at most 60 KiB.
const LARGE_NCP: Shape =
    Shape { name: "32 KiB reads", flags: "--tests random-read --file-sizes 64MiB --record-sizes 32KiB" };

const SMB: &[&str] = &[
    "none",
    "sign:hmac-sha256",
    "sign:aes-cmac",
    "sign:aes-gmac",
    "encrypt:aes-128-ccm",
    "encrypt:aes-128-gcm",
    "encrypt:aes-256-gcm",
];
const FLAVORS: &[&str] = &["sys", "krb5", "krb5i", "krb5p"];
const TICKETS: &[&str] = &["krb5", "krb5i", "krb5p"];
const SIGNATURES: &[&str] = &["0", "1", "2", "3"];

fn cases(peers: &Peers) -> Vec<Case> {
    let case = |server, url, pids, levels| Case { server, url, pids, levels, login: String::new() };
    let smbd = peers.smbd.url("", "");
    let ganesha = peers.ganesha.url4("", "4.1").replace("127.0.0.1", "localhost");
    let mut cases = vec![
        case("smbd", smbd, vec![peers.smbd.pid()], SMB),
        case("our SMB", format!("smb://lab@127.0.0.1:{}/share", peers.smb_port), vec![peers.ours.pid()], SMB),
        case("ganesha, NFSv4.1", ganesha, vec![peers.ganesha.pid()], FLAVORS),
        case(
            "our NFSv4.1",
            format!("nfs://localhost:{}/share?vers=4.1", peers.kerberos_nfs_port),
            vec![peers.kerberos.pid()],
            TICKETS,
        ),
        case(
            "our NCP",
            format!("ncp://lab@127.0.0.1:{}/SHARE", peers.ncp_port),
            vec![peers.ours.pid()],
            SIGNATURES,
        ),
    ];
    for case in &mut cases[2..4] {
        case.login = peers.tickets();
    }
    cases
}

/// The figures of one level.
#[derive(Default)]
struct Figures {
    /// Rate next to that of the first level, in each round.
    ratios: Vec<f64>,
    client_us: Vec<f64>,
    server_us: Vec<f64>,
}

/// The table of all servers.
pub fn table(peers: &Peers) -> String {
    let mut table = String::from(
        "| server | test | level | rate next to the first level [range] | client us/MiB | server us/MiB |\n|---|---|---|---|---|---|\n",
    );
    let mut runs = 0;
    // One server alone: part of its name.
    let chosen = std::env::var("SHAREBENCH_COSTS_OF").unwrap_or_default();
    for case in cases(peers).into_iter().filter(|case| case.server.contains(&chosen)) {
        let large = if case.levels == SIGNATURES { LARGE_NCP } else { LARGE };
        for shape in &[large, SMALL] {
            for (level, figures) in case.levels.iter().zip(measure(peers, &case, shape, &mut runs)) {
                let ratio = percent(&figures.ratios);
                let client = digits(median(figures.client_us));
                let server = digits(median(figures.server_us));
                let row = format!(
                    "| {} | {} | {level} | {ratio} | {client} | {server} |\n",
                    case.server, shape.name
                );
                print!("{row}");
                table += &row;
            }
        }
    }
    table
}

/// The median and the range of ratios, as changes in percent.
fn percent(ratios: &[f64]) -> String {
    let change = |ratio: f64| format!("{:+.0} %", (ratio - 1.0) * 100.0);
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{} [{}, {}]", change(median(ratios.to_vec())), change(least), change(most))
}

/// The URL with the options of a level.
fn at_level(url: &str, level: &str) -> String {
    let (base, algorithm) = level.split_once(':').unwrap_or((level, ""));
    let options = match base {
        "none" => "sign=off&encrypt=off".to_owned(),
        "sign" => format!("sign=required&encrypt=off&signing={algorithm}"),
        "encrypt" => format!("encrypt=required&cipher={algorithm}"),
        "0" | "1" | "2" | "3" => format!("sign={base}"),
        flavor => format!("sec={flavor}"),
    };
    format!("{url}{}{options}", if url.contains('?') { '&' } else { '?' })
}

fn measure(peers: &Peers, case: &Case, shape: &Shape, runs: &mut u32) -> Vec<Figures> {
    let Case { url, levels, login, .. } = case;
    let flags = shape.flags;
    let mut figures: Vec<Figures> = levels.iter().map(|_| Figures::default()).collect();
    let targets: Vec<String> = levels.iter().map(|level| at_level(url, level)).collect();
    let targets = targets.join(" ");
    peers.run(&format!("sweep {targets} {flags} --verify off --repetitions {ROUNDS} {login}"));
    *runs += 1;
    let stored = Stored::read(&peers.sharebench, *runs);
    for round in 0..ROUNDS {
        let rates: Vec<f64> = (0..levels.len())
            .map(|target| {
                let step =
                    stored.steps.iter().find(|step| step["target"] == target && step["repetition"] == round);
                let step = step.unwrap();
                figures[target].client_us.push(client_ns(step) / 1e3 / (bytes(step) / MIB));
                bytes(step) / step["busy_ns"].as_f64().unwrap()
            })
            .collect();
        for (figures, rate) in figures.iter_mut().zip(&rates) {
            figures.ratios.push(rate / rates[0]);
        }
    }
    for _ in 0..ROUNDS {
        for (level, figures) in levels.iter().zip(&mut figures) {
            figures.server_us.push(server_us(peers, case, shape, level, runs));
        }
    }
    figures
}

/// What the server consumes per MiB: the difference of two runs, one of which transfers more. Logins, the layout of the file
/// and the end of the session are the same in both.
fn server_us(peers: &Peers, case: &Case, shape: &Shape, level: &str, runs: &mut u32) -> f64 {
    let [short, long] = [100, 1100].map(|milliseconds| {
        let before: f64 = case.pids.iter().map(|pid| spent_ns(*pid)).sum();
        let Case { url, login, .. } = case;
        // Without Kerberos there is nobody to log in.
        let login = if level == "sys" { "" } else { login };
        let flags = shape.flags;
        let url = at_level(url, level);
        peers.run(&format!(
            "sweep {url} {flags} --verify off --repetitions 1 plan:min_sample_time={milliseconds}ms {login}"
        ));
        *runs += 1;
        let spent = case.pids.iter().map(|pid| spent_ns(*pid)).sum::<f64>() - before;
        let steps = Stored::read(&peers.sharebench, *runs).steps;
        (spent, steps.iter().map(bytes).sum::<f64>())
    });
    (long.0 - short.0) / 1e3 / ((long.1 - short.1) / MIB)
}

pub fn bytes(step: &Value) -> f64 {
    step["bytes"]["read"].as_f64().unwrap()
}

pub fn client_ns(step: &Value) -> f64 {
    let cpu = &step["client_cpu"];
    cpu["user_ns"].as_f64().unwrap() + cpu["kernel_ns"].as_f64().unwrap()
}
