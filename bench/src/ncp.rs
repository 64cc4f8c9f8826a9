//! Our NCP server and client: compared with NFSv3 at equal request size, compared with a bare TCP echo, and with a thousand
//! connections.

use std::cell::RefCell;
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};

use sharebench_model::{DataOp, MetaOp, MetaYield, OpenHow, Slot};
use sharebench_target::{SessionSpec, call, reply_for};
use tokio::task::LocalSet;

use crate::Failure;
use crate::client;
use crate::ncp_server::{FILES, Served};
use crate::sample::Sample;
use crate::shape::Shape;
use crate::table::{Bar, Opponent, Run, Spread, Table};

/// Maximum buffer of an NCP request.
const BUFFER: u32 = 61_440;
/// Reads in flight in the comparison of connections with queue depth.
const DEPTH: u32 = 8;
/// Connections of one server process.
const CONNECTIONS: usize = 1000;

/// Measures all tables of NCP.
pub fn measure(table: &mut Table, time: Duration) -> Result<(), Failure> {
    let served = RefCell::new(Served::start()?);
    compare_with_nfs(table, &served.borrow(), time)?;
    compare_connections_with_depth(table, &served, time)?;
    compare_with_echo(table, &served, time)?;
    many(table, time)?;
    bursts()
}

/// Opens, reads or writes, and closes files of 1 MiB in requests of one size.
fn compare_with_nfs(table: &mut Table, served: &Served, time: Duration) -> Result<(), Failure> {
    Table::head("1 MiB files over NCP on TCP and NFSv3, requests of 60 KiB, depth 1, one server process");
    for write in [false, true] {
        let shape = Shape::sequential(BUFFER, 1, write, time);
        let files = |url: &str| client::own("files", &[url], &shape);
        let name = if write { "files written" } else { "files read" };
        let us: Run = Box::new(|| files(&served.ncp()));
        let nfs = Opponent {
            name: "our NFSv3 client and server",
            rate: Some(Bar::AtLeast(if write { 0.6 } else { 0.9 })),
            cpu: None,
            run: Box::new(|| files(&served.nfs())),
        };
        table.contest(name, &us, &[nfs])?;
    }
    Ok(())
}

/// Compares 4 KiB reads on 8 connections of NCP and at depth 8 on one connection of NFSv3, by the CPU time of client and
/// server. The bar is 0.8 times the operations per CPU time.
fn compare_connections_with_depth(
    table: &mut Table,
    served: &RefCell<Served>,
    time: Duration,
) -> Result<(), Failure> {
    // No warm-up: the CPU time of the server includes every operation.
    let shape = Shape::random_reads(4096, DEPTH, time).without_warm_up();
    let both_sides = |url: &str| -> Result<Sample, Failure> {
        let before = served.borrow_mut().usage()?.cpu_ns;
        let sample = client::own("ours", &[url], &shape)?;
        let server_ns = served.borrow_mut().usage()?.cpu_ns - before;
        Ok(Sample { cpu_ns: sample.cpu_ns + server_ns, ..sample })
    };
    Table::head("4 KiB reads over NCP on 8 connections and NFSv3 at depth 8, CPU of client and server");
    let ncp = served.borrow().ncp();
    let nfs = served.borrow().nfs();
    let us: Run = Box::new(|| both_sides(&ncp));
    let opponent = Opponent {
        name: "our NFSv3 client and server",
        rate: None,
        cpu: Some(Bar::AtMost(1.0 / 0.8)),
        run: Box::new(|| both_sides(&nfs)),
    };
    table.contest("4 KiB reads, 8 in flight", &us, &[opponent])
}

/// Measures a client of a kind at an address, with the CPU time of one side.
type Side<'a> = &'a dyn Fn(&str, &str) -> Result<Sample, Failure>;

/// Compares the CPU time per side of 4 KiB reads and of messages of the same sizes over blocking sockets.
fn compare_with_echo(table: &mut Table, served: &RefCell<Served>, time: Duration) -> Result<(), Failure> {
    // No warm-up: the CPU time of the server includes every operation.
    let shape = Shape::random_reads(4096, 1, time).without_warm_up();
    let ncp = served.borrow().ncp();
    let echo = served.borrow().echo();
    let client_side = |kind: &str, url: &str| client::own(kind, &[url], &shape);
    let server_side = |kind: &str, url: &str| -> Result<Sample, Failure> {
        let before = served.borrow_mut().usage()?.cpu_ns;
        let sample = client_side(kind, url)?;
        Ok(Sample { cpu_ns: served.borrow_mut().usage()?.cpu_ns - before, ..sample })
    };
    Table::head("4 KiB read over NCP on TCP and a bare TCP echo of the same sizes");
    let sides: [(&str, Side<'_>); 2] =
        [("the client's CPU", &client_side), ("the server's CPU", &server_side)];
    for (name, side) in sides {
        let us: Run = Box::new(|| side("ours", &ncp));
        let bare = Opponent {
            name: "bare TCP echo",
            rate: None,
            cpu: Some(Bar::AtMost(1.5)),
            run: Box::new(|| side("echo", &echo)),
        };
        table.contest(name, &us, &[bare])?;
    }
    Ok(())
}

/// Measures a thousand connections that read without think time.
fn many(table: &mut Table, time: Duration) -> Result<(), Failure> {
    crate::ncp_server::raise_files()?;
    println!("\n### {CONNECTIONS} connections on one server process\n");
    let mut memory = Vec::new();
    let mut unfair = Vec::new();
    for _ in 0..table.rounds() {
        let mut served = Served::start()?;
        let (kib, apart) = round(&mut served, time)?;
        memory.push(kib);
        unfair.push(apart);
    }
    let memory = Spread::new(memory);
    let unfair = Spread::new(unfair);
    let verdict = table.verdict("KiB per connection", memory.median, Some(Bar::AtMost(64.0)));
    println!("- KiB of the server's memory per connection: {} {verdict}", memory.shown());
    let verdict = table.verdict("fairness", unfair.median, Some(Bar::AtMost(0.2)));
    println!("- largest distance of a connection's reads from their mean: {} {verdict}", unfair.shown());
    Ok(())
}

/// Returns memory per connection in KiB, and the largest deviation of a connection's rate from the mean.
fn round(served: &mut Served, time: Duration) -> Result<(f64, f64), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let target = crate::ours::target(&served.ncp())?;
        let spec = SessionSpec { slot_bytes: 4096, ..SessionSpec::default() };
        let mut open = Vec::new();
        let mut before = 0;
        for number in 0..CONNECTIONS + 10 {
            let mut session = target.connect(&spec).await?;
            let MetaYield::Opened { file, .. } =
                call(&mut *session, MetaOp::open("data", OpenHow::Read)).await?
            else {
                return Err("opening yielded no file".into());
            };
            reply_for(&mut *session, Slot(0), DataOp::Read { file, offset: 0, len: 4096 }).await.result?;
            open.push((session, file));
            // Memory of the first connections includes the fixed memory of the process.
            if number == 9 {
                before = served.usage()?.rss_kib;
            }
        }
        let kib = served.usage()?.rss_kib.saturating_sub(before) as f64 / CONNECTIONS as f64;
        let until = Instant::now() + time;
        let counts = Rc::new(RefCell::new(Vec::new()));
        let mut tasks = Vec::new();
        for (mut session, file) in open {
            let counts = Rc::clone(&counts);
            tasks.push(tokio::task::spawn_local(async move {
                let mut count = 0u64;
                while Instant::now() < until {
                    let read = DataOp::Read { file, offset: count % 1000 * 4096, len: 4096 };
                    if reply_for(&mut *session, Slot(0), read).await.result != Ok(4096) {
                        return;
                    }
                    count += 1;
                }
                counts.borrow_mut().push(count);
                session.close().await;
            }));
        }
        for task in tasks {
            task.await?;
        }
        let counts = counts.borrow();
        if counts.len() != CONNECTIONS + 10 {
            return Err(format!("{} connections came to the end", counts.len()).into());
        }
        let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        let apart = counts.iter().map(|count| (*count as f64 - mean).abs() / mean);
        Ok((kib, apart.fold(0.0, f64::max)))
    })
}

/// Prints the figures of the simulated link, which a test of `crates/ncp` measures.
fn bursts() -> Result<(), Failure> {
    println!("\n### Packet burst over a simulated link of 10 Mbit/s with 2 ms each way\n");
    let output = Command::new("cargo")
        .args(["test", "--quiet", "--locked", "-p", "sharebench-ncp", "--lib", "--", "--nocapture"])
        .args(["burst_tests::bursts_fill_a_slow_link", "burst_tests::adaptive_bursts_fill_a_link"])
        .current_dir(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .output()?;
    if !output.status.success() {
        return Err(format!("the simulation: {}", String::from_utf8_lossy(&output.stderr).trim()).into());
    }
    let printed = String::from_utf8(output.stdout)?;
    let lines: Vec<_> = printed.lines().filter(|line| line.contains("of the link's payload")).collect();
    if lines.is_empty() {
        return Err("the simulation printed no figures".into());
    }
    for line in lines {
        println!("- {line}");
    }
    Ok(())
}

/// Client program: opens, reads or writes, and closes files of 1 MiB; an operation is a file.
pub fn files(url: &str, shape: &Shape) -> Result<Sample, Failure> {
    let target = crate::ours::target(url)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let spec = SessionSpec { slot_bytes: shape.record, ..SessionSpec::default() };
        let mut session = target.connect(&spec).await?;
        let how = if shape.write { OpenHow::ReadWrite } else { OpenHow::Read };
        let mut meter = crate::sample::Meter::start(shape);
        for number in (0..FILES).cycle() {
            let open = MetaOp::open(format!("file{number}"), how);
            let MetaYield::Opened { file, .. } = call(&mut *session, open).await? else {
                return Err("opening yielded no file".into());
            };
            for offset in (0..1 << 20).step_by(shape.record as usize) {
                let len = shape.record.min((1 << 20) - offset as u32);
                let stability = sharebench_model::Stability::Unstable;
                let op = if shape.write {
                    DataOp::Write { file, offset, len, stability }
                } else {
                    DataOp::Read { file, offset, len }
                };
                if reply_for(&mut *session, Slot(0), op).await.result? != len {
                    return Err("short transfer".into());
                }
            }
            call(&mut *session, MetaOp::Close { file }).await?;
            meter.completed(Instant::now());
            if meter.is_over() {
                break;
            }
        }
        session.close().await;
        meter.sample()
    })
}
