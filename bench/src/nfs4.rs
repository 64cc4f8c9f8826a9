//! NFSv4 next to version 3, to libnfs and `nfs-rs`, and with several connections per session.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use sharebench_model::{DataOp, MetaOp, OpenHow, Slot, Stability};
use sharebench_target::{SessionSpec, call, reply_for};
use sharebench_tests::{Disk, Ganesha, GaneshaOptions};

use crate::load_server::Served;
use crate::nfs::{Export, compile};
use crate::sample::Sample;
use crate::shape::{FILE_BYTES, Shape};
use crate::table::{Bar, Opponent, Run, Table};
use crate::{Failure, client, ours};

/// Bytes of one write that fills the file.
const BLOCK: u32 = 1 << 20;
/// Nanoseconds of a tick, in which the kernel counts the CPU time of processes (`USER_HZ`).
const TICK_NS: u64 = 10_000_000;

/// Measures the rows of the client, of the server, and of several connections.
pub fn measure(table: &mut Table, directory: &Path, time: Duration) -> Result<(), Failure> {
    on_canned(table, time)?;
    on_ganesha(table, directory, time)?;
    by_server(table, time)?;
    by_connections(table, time)
}

fn own<'a>(url: &'a str, shape: &'a Shape) -> Run<'a> {
    Box::new(move || client::own("ours", &[url], shape))
}

/// An opponent whose bars are of rate and of CPU time.
fn against<'a>(name: &'a str, rate: Option<Bar>, cpu: Option<Bar>, run: Run<'a>) -> Opponent<'a> {
    Opponent { name, rate, cpu, run }
}

fn on_canned(table: &mut Table, time: Duration) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::Builder::new()
        .name("canned-4".into())
        .spawn(move || sharebench_nfs::canned::serve(&listener))?;
    let v3 = format!("nfs://127.0.0.1:{port}/export?mountport={port}&uid=0&gid=0");
    let v41 = format!("nfs://127.0.0.1:{port}/export?vers=4.1&uid=0&gid=0");
    Table::head("NFSv4.1 next to NFSv3 at a canned responder (the client is the limit)");
    for depth in [1, 8, 32] {
        let shape = Shape::random_reads(4 << 10, depth, time);
        let bar = (depth == 32).then_some(Bar::AtMost(1.25));
        let opponents = [against("our NFSv3", None, bar, own(&v3, &shape))];
        table.contest(&shape.name(), &own(&v41, &shape), &opponents)?;
    }
    Ok(())
}

fn on_ganesha(table: &mut Table, directory: &Path, time: Duration) -> Result<(), Failure> {
    let libnfs = compile("libnfs", &["-lnfs"], directory)?;
    let disk = Some(Disk::Memory(4 * FILE_BYTES));
    let ganesha = Ganesha::start(&GaneshaOptions { disk, ..Default::default() })?;
    std::fs::write(ganesha.directory().join("data"), vec![7; FILE_BYTES as usize])?;
    let export = Export { port: ganesha.port(), mount_port: ganesha.mount_port(), path: ganesha.export() };
    let v3 = format!("{}&uid=0&gid=0", ganesha.url("", ""));
    let v41 = format!("{}&uid=0&gid=0", ganesha.url4("", "4.1"));
    let port = ganesha.port();
    let nfs_rs = format!("nfs://127.0.0.1/export?version=4.1&nfsport={port}&uid=0&gid=0&noresvport=true");
    Table::head("NFSv4.1 on nfs-ganesha (FSAL VFS on tmpfs)");
    for depth in [1, 8, 32] {
        let shape = Shape::random_reads(4 << 10, depth, time);
        let bar = (depth == 32).then_some(Bar::AtMost(0.5));
        let opponents = [
            against("our NFSv3", None, None, own(&v3, &shape)),
            against("libnfs 4.0", None, bar, Box::new(|| export.libnfs_4(&libnfs, &shape))),
            against("nfs-rs 4.1", None, bar, Box::new(|| client::own("nfs-rs", &[&nfs_rs], &shape))),
        ];
        table.contest(&shape.name(), &own(&v41, &shape), &opponents)?;
    }
    for depth in [1, 8] {
        let shape = Shape::sequential(1 << 20, depth, false, time);
        let opponents = [against(
            "libnfs 4.0",
            Some(Bar::AtLeast(1.0)),
            Some(Bar::AtMost(1.0)),
            Box::new(|| export.libnfs_4(&libnfs, &shape)),
        )];
        table.contest(&shape.name(), &own(&v41, &shape), &opponents)?;
    }
    Ok(())
}

/// An embedded server with the file `data`.
fn served() -> Result<(Served, String), Failure> {
    let server = Served::start("nfs")?;
    let url = server.url();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let spec = SessionSpec { slots: 1, slot_bytes: BLOCK, ..SessionSpec::default() };
        let mut session = ours::target(&url)?.connect(&spec).await?;
        let (file, _) = call(&mut *session, MetaOp::open("data", OpenHow::CreateNew)).await?.into_opened()?;
        for offset in (0..FILE_BYTES).step_by(BLOCK as usize) {
            let op = DataOp::Write { file, offset, len: BLOCK, stability: Stability::Unstable };
            reply_for(&mut *session, Slot(0), op).await.result?;
        }
        session.close().await;
        Ok::<(), Failure>(())
    })?;
    let (base, _) = url.split_once('?').ok_or("a URL without options")?;
    let base = base.to_owned();
    Ok((server, base))
}

/// CPU time of a process, user and kernel, in nanoseconds.
fn cpu_of(pid: u32) -> Result<u64, Failure> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The fields after the name, which may contain blanks, begin with the third.
    let (_, rest) = line.rsplit_once(") ").ok_or("no name in stat")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let ticks =
        |field: usize| -> Result<u64, Failure> { Ok(fields.get(field - 3).ok_or("a short stat")?.parse()?) };
    Ok((ticks(14)? + ticks(15)?) * TICK_NS)
}

/// A measurement of the client with the CPU time of the server.
fn server_cpu(server: &Served, url: &str, shape: &Shape) -> Result<Sample, Failure> {
    let before = cpu_of(server.pid())?;
    let sample = client::own("ours", &[url], shape)?;
    let cpu_ns = cpu_of(server.pid())?.saturating_sub(before).max(TICK_NS);
    Ok(Sample { cpu_ns, ..sample })
}

fn by_server(table: &mut Table, time: Duration) -> Result<(), Failure> {
    let (server, base) = served()?;
    let v3 = server.url();
    let v41 = format!("{base}?vers=4.1");
    // Without warm-up, because the CPU time of the server includes it.
    let shape = Shape::random_reads(4 << 10, 32, 4 * time).without_warm_up();
    Table::head("Our server: CPU time of the server per read over NFSv4.1 and NFSv3");
    let us: Run = Box::new(|| server_cpu(&server, &v41, &shape));
    let other: Run = Box::new(|| server_cpu(&server, &v3, &shape));
    let opponents = [against("our server over NFSv3", None, Some(Bar::AtMost(1.3)), other)];
    table.contest(&shape.name(), &us, &opponents)
}

fn by_connections(table: &mut Table, time: Duration) -> Result<(), Failure> {
    let (_server, base) = served()?;
    Table::head("Four connections per session and one, over NFSv4.1 to our server");
    // A relay limits each connection to 50 MB/s; without one, further connections may cost at most 3 %.
    for (far, bar) in [("&far=0/400Mbit", 3.8), ("", 0.97)] {
        let one = format!("{base}?vers=4.1&nconnect=1{far}");
        let four = format!("{base}?vers=4.1&nconnect=4{far}");
        let shape = Shape::sequential(1 << 20, 16, false, 4 * time);
        let name = if far.is_empty() { "one connection" } else { "one connection of 50 MB/s" };
        let opponents = [against(name, Some(Bar::AtLeast(bar)), None, own(&one, &shape))];
        table.contest(&shape.name(), &own(&four, &shape), &opponents)?;
    }
    Ok(())
}
