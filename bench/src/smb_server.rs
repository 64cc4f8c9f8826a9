//! The embedded SMB server compared with smbd: CPU time per operation of the server, with our client at both.

use std::time::Duration;

use sharebench_target::SessionSpec;
use sharebench_tests::{Disk, Smbd, SmbdOptions};

use crate::Failure;
use crate::client;
use crate::load_server::Served;
use crate::ours;
use crate::sample::Sample;
use crate::server_cpu::of_server;
use crate::shape::{FILE_BYTES, Shape};
use crate::table::{Bar, Opponent, Run, Spread, Table};

/// Options of the URL, and what the table calls them.
const PROTECTIONS: [(&str, &str); 3] =
    [("unsigned", "sign=off"), ("signed", "sign=required"), ("encrypted", "encrypt=required")];
/// A device that serves several requests at the same time.
const SERVICE: Duration = Duration::from_millis(1);
const SERVERS: u32 = 8;
/// Sessions of the memory row, and the memory of each in KiB.
const SESSIONS: usize = 10_000;
const MAX_SESSION_KIB: f64 = 16.0;

/// Prints the rows.
pub fn measure(table: &mut Table, time: Duration) -> Result<(), Failure> {
    let disk = Some(Disk::Memory(4 * FILE_BYTES));
    let smbd = Smbd::start(&SmbdOptions { disk, ..SmbdOptions::default() })?;
    std::fs::write(smbd.share().join("data"), vec![7; FILE_BYTES as usize])?;
    let served = Served::start("smb")?;
    ours::create_data(&served.url())?;
    println!("\nCPU columns are those of the servers, logins included.");
    for (name, options) in PROTECTIONS {
        Table::head(&format!("SMB 3.1.1, {name}: the embedded server and smbd (share on tmpfs)"));
        let sealed = name == "encrypted";
        let small = Shape::random_reads(4 << 10, 32, time).without_warm_up();
        contest(table, (&served, &smbd), ("ours", options), &small, (!sealed).then_some(Bar::AtMost(0.35)))?;
        for depth in [1, 8] {
            let large = Shape::sequential(1 << 20, depth, false, time).without_warm_up();
            contest(table, (&served, &smbd), ("ours", options), &large, Some(Bar::AtMost(0.6)))?;
        }
    }
    Table::head("Logins (NTLMv2): the embedded server and smbd");
    let login = Shape::random_reads(4 << 10, 1, time).without_warm_up();
    contest(table, (&served, &smbd), ("logins", ""), &login, Some(Bar::AtMost(0.2)))?;
    client_cpu(table, &served, time)?;
    drop(served);
    queue_depth(table, time)?;
    memory(table)
}

/// Runs the same client at both servers.
fn contest(
    table: &mut Table,
    (served, smbd): (&Served, &Smbd),
    (kind, options): (&str, &str),
    shape: &Shape,
    bar: Option<Bar>,
) -> Result<(), Failure> {
    let own = format!("{}?{options}", served.url());
    let other = smbd.url("", options);
    let us: Run = Box::new(|| of_server(served.pid(), || client::own(kind, &[&own], shape)));
    let its: Run = Box::new(|| of_server(smbd.pid(), || client::own(kind, &[&other], shape)));
    let opponents = [Opponent { name: "smbd", rate: None, cpu: bar, run: its }];
    let name = if kind == "logins" { "login".to_owned() } else { shape.name() };
    table.contest(&name, &us, &opponents)
}

/// CPU time of our client at our own server.
fn client_cpu(table: &mut Table, served: &Served, time: Duration) -> Result<(), Failure> {
    println!("\n### CPU of the client at the embedded server, 4 KiB random read, depth 32\n");
    println!("| protection | us per operation | bar |\n|---|---:|---|");
    let shape = Shape::random_reads(4 << 10, 32, time);
    for ((name, options), bar) in PROTECTIONS.iter().zip([1.6, 2.2]) {
        let url = format!("{}?{options}", served.url());
        let samples = (0..table.rounds()).map(|_| client::own("ours", &[&url], &shape));
        let figures = samples.map(|sample| sample.map(|sample| sample.cpu_us()));
        let spread = Spread::new(figures.collect::<Result<_, _>>()?);
        let what = format!("client CPU, {name}");
        let verdict = table.verdict(&what, spread.median, Some(Bar::AtMost(bar)));
        println!("| {name} | {} | {verdict} |", spread.shown());
    }
    Ok(())
}

/// Throughput at a queue depth that the device serves at the same time, compared with one request in flight.
fn queue_depth(table: &mut Table, time: Duration) -> Result<(), Failure> {
    Table::head("A device of 1 ms with 8 servers: depth 8 and depth 1 at the embedded server");
    let served = Served::with_service_time("smb", SERVICE, SERVERS as usize)?;
    let url = served.url();
    ours::create_data(&url)?;
    let run = |depth: u32| -> Result<Sample, Failure> {
        client::own("ours", &[&url], &Shape::random_reads(4 << 10, depth, time))
    };
    let us: Run = Box::new(|| run(SERVERS));
    let one: Run = Box::new(|| run(1));
    let opponents = [Opponent { name: "depth 1", rate: Some(Bar::AtLeast(7.8)), cpu: None, run: one }];
    table.contest("4 KiB random read, depth 8", &us, &opponents)
}

/// Memory of the server with many sessions.
fn memory(table: &mut Table) -> Result<(), Failure> {
    crate::ncp_server::raise_files()?;
    let served = Served::start("smb")?;
    let target = ours::target(&served.url())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let resident = |pid: u32| crate::sample::resident_kib(&format!("/proc/{pid}/status"));
    runtime.block_on(async {
        let spec = SessionSpec { slots: 1, slot_bytes: 4096, ..SessionSpec::default() };
        // The first session makes what all share.
        let mut sessions = vec![target.connect(&spec).await?];
        let before = resident(served.pid());
        for _ in 0..SESSIONS {
            sessions.push(target.connect(&spec).await?);
        }
        let grown = resident(served.pid()).saturating_sub(before) as f64 / SESSIONS as f64;
        let verdict = table.verdict("KiB per session", grown, Some(Bar::AtMost(MAX_SESSION_KIB)));
        println!("\n{SESSIONS} sessions: {grown:.1} KiB of the server each; {verdict}");
        Ok(())
    })
}
