//! What a login costs by each method: time, round trips, CPU time of both sides.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sharebench_gss::{Identity, SharedCredential};
use sharebench_nfs::NfsTarget;
use sharebench_smb::SmbTarget;
use sharebench_target::{Secret, SessionSpec, Target};
use sharebench_tests::{Realm, Smbd};

use super::cpu::spent_ns;
use super::peers::Peers;
use super::{ROUNDS, digits, median};
use crate::adapters::{block_on, url};
use crate::tampering::count_messages;

/// Logins of one method in one round, one after the other: enough for counters of CPU time in ticks of 10 ms.
const LOGINS: usize = 100;

struct Method {
    name: &'static str,
    url: String,
    port: u16,
    pid: u32,
    /// Each login has a ticket of its own from the KDC, as that of another user has.
    fresh: bool,
}

fn methods(peers: &Peers) -> Vec<Method> {
    let user = peers.smbd.user();
    let smbd = peers.smbd.port();
    let with_keys = peers.kerberos.pid();
    let smb = peers.kerberos_smb_port;
    let nfs = peers.kerberos_nfs_port;
    let method = |name, url: &str, port, pid| Method { name, url: url.to_owned(), port, pid, fresh: false };
    let mut methods = vec![
        method("smbd, NTLM", &format!("smb://{user}@localhost:PORT/share?auth=ntlm"), smbd, peers.smbd.pid()),
        method("smbd, Kerberos", "smb://localhost:PORT/share?auth=kerberos", smbd, peers.smbd.pid()),
        method("our SMB, NTLM", "smb://lab@localhost:PORT/share?auth=ntlm", peers.smb_port, peers.ours.pid()),
        method("our SMB, Kerberos", "smb://localhost:PORT/share?auth=kerberos", smb, with_keys),
        method(
            "our SMB, Kerberos with new tickets",
            "smb://localhost:PORT/share?auth=kerberos",
            smb,
            with_keys,
        ),
        method("our NFSv4.1, sys", "nfs://localhost:PORT/share?vers=4.1", peers.open_port, peers.open.pid()),
        method("our NFSv4.1, krb5", "nfs://localhost:PORT/share?vers=4.1&sec=krb5", nfs, with_keys),
        method("our NFSv4.1, krb5p", "nfs://localhost:PORT/share?vers=4.1&sec=krb5p", nfs, with_keys),
    ];
    methods[4].fresh = true;
    methods
}

/// The figures of one method.
pub struct Row {
    pub name: &'static str,
    /// Requests until a session is open.
    round_trips: u64,
    ms: f64,
    client_us: f64,
    server_us: f64,
    /// Logins per second of CPU time of both sides.
    pub per_cpu_second: f64,
}

/// The logins of one method in one round.
struct Round {
    ms: f64,
    client_us: f64,
    server_us: f64,
}

/// The table of all methods.
pub fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| login | ms | round trips | client us | server us | logins per second of CPU |\n|---|---|---|---|---|---|\n",
    );
    for Row { name, round_trips, ms, client_us, server_us, per_cpu_second } in rows {
        let [ms, client_us, server_us] = [*ms, *client_us, *server_us].map(digits);
        let figures = format!("{ms} | {round_trips} | {client_us} | {server_us} | {per_cpu_second:.0}");
        let _ = writeln!(table, "| {name} | {figures} |");
    }
    table
}

/// Measures all methods in turn, in several rounds; each figure is the median of the rounds.
pub fn rows(realm: &Realm, peers: &Peers) -> Vec<Row> {
    let methods = methods(peers);
    let shared: Vec<SharedCredential> = methods
        .iter()
        .map(|_| SharedCredential::new(Identity::keytab(&realm.user_keytab(), &peers.principal)))
        .collect();
    let at = |number: usize, port: u16| {
        let method = &methods[number];
        target(&method.url.replace("PORT", &port.to_string()), realm, peers, method, &shared[number])
    };
    let round_trips: Vec<u64> = methods
        .iter()
        .enumerate()
        .map(|(number, method)| {
            // The first login requests the ticket.
            log_in(&*at(number, method.port), || ());
            let messages = Arc::new(AtomicU64::new(0));
            let counting = count_messages(method.port, &messages).unwrap();
            let mut round_trips = 0;
            log_in(&*at(number, counting), || round_trips = messages.load(Ordering::SeqCst));
            round_trips
        })
        .collect();
    let mut rounds: Vec<Vec<Round>> = methods.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (number, method) in methods.iter().enumerate() {
            rounds[number].push(round(method, &|| at(number, method.port)));
        }
    }
    let row = |((method, rounds), round_trips): ((&Method, Vec<Round>), u64)| {
        let of = |figure: fn(&Round) -> f64| median(rounds.iter().map(figure).collect());
        let row = Row {
            name: method.name,
            round_trips,
            ms: of(|round| round.ms),
            client_us: of(|round| round.client_us),
            server_us: of(|round| round.server_us),
            per_cpu_second: of(|round| 1e6 / (round.client_us + round.server_us)),
        };
        print!("{}", table(std::slice::from_ref(&row)).lines().last().unwrap_or_default());
        println!();
        row
    };
    methods.iter().zip(rounds).zip(round_trips).map(row).collect()
}

/// Logs in with one method, one login after the other.
fn round(method: &Method, target: &dyn Fn() -> Box<dyn Target>) -> Round {
    let own = std::process::id();
    let before = (spent_ns(own), spent_ns(method.pid));
    let times = (0..LOGINS).map(|_| log_in(&*target(), || ())).collect();
    let per_login = |spent: f64| spent / 1e3 / LOGINS as f64;
    Round {
        ms: median(times),
        client_us: per_login(spent_ns(own) - before.0),
        server_us: per_login(spent_ns(method.pid) - before.1),
    }
}

fn target(
    url_text: &str,
    realm: &Realm,
    peers: &Peers,
    method: &Method,
    shared: &SharedCredential,
) -> Box<dyn Target> {
    let tickets = if method.fresh {
        SharedCredential::new(Identity::keytab(&realm.user_keytab(), &peers.principal))
    } else {
        shared.clone()
    };
    let parsed = url(url_text);
    if parsed.scheme == "nfs" {
        return Box::new(NfsTarget::from_url(parsed).unwrap().with_tickets(tickets));
    }
    let target = SmbTarget::from_url(parsed, Secret::new(Smbd::PASSWORD)).unwrap();
    if url_text.contains("auth=kerberos") { Box::new(target.with_tickets(tickets)) } else { Box::new(target) }
}

/// Opens a session and closes it; the milliseconds until it is open. `when_open` is called between the two.
fn log_in(target: &dyn Target, when_open: impl FnOnce()) -> f64 {
    let spec = SessionSpec { connect_timeout: Duration::from_secs(60), ..SessionSpec::default() };
    block_on(async {
        let begun = Instant::now();
        let session = target.connect(&spec).await.unwrap();
        let opened = begun.elapsed();
        when_open();
        session.close().await;
        opened.as_secs_f64() * 1e3
    })
}
