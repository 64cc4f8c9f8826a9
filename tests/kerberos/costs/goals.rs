//! Figures that have a goal: transfers after each login, protection next to that of SMB, and the rate of logins.

use std::fmt::Write as _;

use serde_json::Value;

use super::peers::Peers;
use super::transfers::{MIB, bytes, client_ns};
use super::{ROUNDS, digits, logins, median};
use crate::stored::Stored;

/// Targets of one run, which take turns within each cell.
const READS: &str = "--tests random-read --file-sizes 64MiB --record-sizes 1MiB --verify off";
/// Least logins per second of CPU time.
const LOGIN_RATE: f64 = 300.0;

/// What one target of a run did in each repetition: bytes per nanosecond, and microseconds of the client's CPU per MiB.
pub struct Measured {
    rates: Vec<f64>,
    pub client_us: Vec<f64>,
}

/// The table of all figures.
pub fn table(peers: &Peers, logins: &[logins::Row]) -> String {
    let mut table = String::from("| figure | median of the ratios [range] | goal |\n|---|---|---|\n");
    let mut runs = 0;
    for row in transfers_by_login(peers, &mut runs).into_iter().chain(protection(peers, &mut runs)) {
        print!("{row}");
        table += &row;
    }
    for login in logins {
        let _ = writeln!(
            table,
            "| {}: logins per second of CPU, both sides | {:.0} | at least {LOGIN_RATE:.0} |",
            login.name, login.per_cpu_second
        );
    }
    table
}

/// Encrypted reads after a login with Kerberos next to those after one with NTLM.
fn transfers_by_login(peers: &Peers, runs: &mut u32) -> Vec<String> {
    // The realm has the password of the account, so that both mechanisms log in as the same user.
    let user = peers.smbd.user();
    let url = |auth: &str| {
        format!("smb://{user}@localhost:{}/share?encrypt=required&auth={auth}", peers.smbd.port())
    };
    let [ntlm, kerberos] = measure(peers, &[url("ntlm"), url("kerberos")], "", runs);
    let rates = ratios(&kerberos.rates, &ntlm.rates);
    let cpu = ratios(&kerberos.client_us, &ntlm.client_us);
    vec![
        row("smbd, encrypted 1 MiB reads: rate after Kerberos next to NTLM", &rates, "0.97 to 1.03"),
        row("smbd, encrypted 1 MiB reads: client CPU after Kerberos next to NTLM", &cpu, "0.97 to 1.03"),
    ]
}

/// The client's CPU time of protected NFS next to that of protected SMB: by default, and with algorithms of the same kind,
/// because `RPCSEC_GSS` has none that signs and encrypts at once.
fn protection(peers: &Peers, runs: &mut u32) -> Vec<String> {
    let smb =
        |options: &str| format!("smb://localhost:{}/share?auth=kerberos&{options}", peers.kerberos_smb_port);
    let nfs = |flavor: &str| {
        let port = peers.kerberos_nfs_port;
        format!("nfs://localhost:{port}/share?mountport={port}&sec={flavor}")
    };
    let urls = [
        nfs("krb5i"),
        nfs("krb5p"),
        smb("sign=required&encrypt=off"),
        smb("sign=required&encrypt=off&signing=hmac-sha256"),
        smb("encrypt=required"),
        smb("encrypt=required&cipher=aes-256-ccm"),
    ];
    let [krb5i, krb5p, sign, hmac, encrypt, ccm] = measure(peers, &urls, &peers.tickets(), runs);
    let compared = |flavor: &str, ours: &Measured, smb: &str, other: &Measured| {
        let name = format!("our servers, 1 MiB reads: client CPU of {flavor} next to SMB {smb}");
        row(&name, &ratios(&ours.client_us, &other.client_us), "at most 1.3")
    };
    vec![
        compared("krb5i", &krb5i, "signing (default, AES-GMAC)", &sign),
        compared("krb5i", &krb5i, "signing (HMAC-SHA256)", &hmac),
        compared("krb5p", &krb5p, "encryption (default, AES-128-GCM)", &encrypt),
        compared("krb5p", &krb5p, "encryption (AES-256-CCM)", &ccm),
    ]
}

/// Measures all targets in one run, so that their slices are paired.
pub fn measure<const N: usize>(
    peers: &Peers,
    urls: &[String; N],
    login: &str,
    runs: &mut u32,
) -> [Measured; N] {
    let list = urls.join(" ");
    peers.run(&format!("sweep {list} {READS} --repetitions {ROUNDS} {login}"));
    *runs += 1;
    let stored = Stored::read(&peers.sharebench, *runs);
    std::array::from_fn(|target| {
        let of_round = |round: usize| -> &Value {
            let here = |step: &&Value| step["target"] == target && step["repetition"] == round;
            stored
                .steps
                .iter()
                .find(here)
                .unwrap_or_else(|| panic!("no step of target {target} in round {round}"))
        };
        let steps: Vec<&Value> = (0..ROUNDS).map(of_round).collect();
        Measured {
            rates: steps.iter().map(|step| bytes(step) / step["busy_ns"].as_f64().unwrap()).collect(),
            client_us: steps.iter().map(|step| client_ns(step) / 1e3 / (bytes(step) / MIB)).collect(),
        }
    })
}

pub fn ratios(figures: &[f64], base: &[f64]) -> Vec<f64> {
    figures.iter().zip(base).map(|(figure, base)| figure / base).collect()
}

pub fn row(name: &str, ratios: &[f64], goal: &str) -> String {
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let median = digits(median(ratios.to_vec()));
    format!("| {name} | {median} [{}, {}] | {goal} |\n", digits(least), digits(most))
}
