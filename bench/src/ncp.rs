//! NCP on TCP: beside our own NFS client, beside bare sockets of the same sizes, and a thousand connections at once.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use sharebench_model::{DataOp, MetaOp, MetaYield, OpenHow, Slot};
use sharebench_ncp_target::NcpTarget;
use sharebench_target::{Secret, SessionSpec, Target, TargetUrl, call};
use tokio::sync::Notify;

use crate::Failure;
use crate::bystander::Bystander;
use crate::client;
use crate::sample::{Meter, Sample};
use crate::shape::{Offsets, Shape};
use crate::table::{Bar, Opponent, Run, Spread, Table};

/// Data bytes of the largest request.
const LARGEST: u32 = 61_440;
/// Bytes on TCP of a read of an even offset: 16 of framing, 7 of header, 22 of the call (ncp.md 1.5, 3.5); what an
/// open session sends is counted in the interop tests.
const READ_REQUEST: usize = 38;
/// Of the reply without its data: 8 of framing, 8 of header, 2 of length.
const READ_REPLY: usize = 18;
const CONNECTIONS: u32 = 1000;

/// Our adapter for a URL.
pub fn our_target(url: TargetUrl) -> Result<Box<dyn Target>, Failure> {
    Ok(Box::new(NcpTarget::from_url(url, Secret::new(String::new()))?))
}

/// Measures all of it.
pub fn measure(table: &mut Table, time: Duration) -> Result<(), Failure> {
    let files = Bystander::files()?;
    beside_nfs(table, &files, time)?;
    beside_sockets(table, &files, time)?;
    thousand(table, time)
}

fn beside_nfs(table: &mut Table, files: &Bystander, time: Duration) -> Result<(), Failure> {
    Table::head("NCP on TCP beside our NFSv3 client, one embedded volume in memory");
    for record in [LARGEST, 32 << 10] {
        for write in [false, true] {
            let shape = Shape::sequential(record, 1, write, time);
            let us: Run = Box::new(|| client::own("ours", &[&files.ncp("")], &shape));
            let nfs = Opponent {
                name: "our NFSv3 client",
                rate: (record == LARGEST).then_some(Bar::AtLeast(0.6)),
                cpu: None,
                run: Box::new(|| client::own("ours", &[&files.nfs()], &shape)),
            };
            table.contest(&shape.name(), &us, &[nfs])?;
        }
    }
    Ok(())
}

/// Each side's CPU time beside that of two programs that only exchange as many bytes.
fn beside_sockets(table: &mut Table, files: &Bystander, time: Duration) -> Result<(), Failure> {
    let record = 4 << 10;
    // From the first operation on, so that the server's time and the client's count are of the same ones.
    let shape = Shape::random_reads(record, 1, time).without_warm_up();
    let echo = Bystander::echo(READ_REQUEST, READ_REPLY + record as usize)?;
    let port = echo.echo_port().to_string();
    let sizes = [READ_REQUEST, READ_REPLY + record as usize].map(|size| size.to_string());
    let ours = || client::own("ours", &[&files.ncp("")], &shape);
    let bare = || client::own("bare", &[&port, &sizes[0], &sizes[1]], &shape);
    let opponent = |run| Opponent { name: "bare sockets", rate: None, cpu: Some(Bar::AtMost(1.5)), run };
    Table::head("NCP on TCP beside bare sockets of the same sizes: CPU of the client");
    let us: Run = Box::new(ours);
    table.contest(&shape.name(), &us, &[opponent(Box::new(bare) as Run)])?;
    Table::head("NCP on TCP beside bare sockets of the same sizes: CPU of the server");
    let us: Run = Box::new(|| of_server(files, &ours));
    table.contest(&shape.name(), &us, &[opponent(Box::new(|| of_server(&echo, &bare)) as Run)])
}

/// A client's measurement with the CPU time of its server instead of its own.
fn of_server(server: &Bystander, run: &dyn Fn() -> Result<Sample, Failure>) -> Result<Sample, Failure> {
    let before = server.cpu_ns()?;
    let sample = run()?;
    Ok(Sample { cpu_ns: server.cpu_ns()? - before, ..sample })
}

/// Memory and fairness of many connections to one server process.
fn thousand(table: &mut Table, time: Duration) -> Result<(), Failure> {
    println!("\n### {CONNECTIONS} connections to one server, each reading 4 KiB after 4 KiB\n");
    println!("| {:<48} | {:<24} | {:<12} |\n|---|---|---|", "what", "figure (range)", "bar");
    let (mut memory, mut least, mut most) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..table.rounds() {
        let round = round_of_many(time)?;
        memory.push(round.0);
        least.push(round.1);
        most.push(round.2);
    }
    let mut row = |what: &str, figures: Vec<f64>, bar| {
        let spread = Spread::new(figures);
        println!("| {what:<48} | {:<24} | {:<12} |", spread.shown(), table.verdict(what, spread.median, bar));
    };
    row("KiB of the server's memory per connection", memory, Some(Bar::AtMost(64.0)));
    row("operations of the least served in the mean's", least, Some(Bar::AtLeast(0.8)));
    row("operations of the most served in the mean's", most, Some(Bar::AtMost(1.2)));
    Ok(())
}

fn round_of_many(time: Duration) -> Result<(f64, f64, f64), Failure> {
    let server = Bystander::files()?;
    let before = server.resident_kib()?;
    let millis = time.as_millis().max(1000).to_string();
    let mut clients = Command::new(std::env::current_exe()?)
        .args(["client", "many", &server.ncp(""), &CONNECTIONS.to_string(), &millis])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut said = BufReader::new(clients.stdout.take().ok_or("no output")?);
    let mut line = String::new();
    said.read_line(&mut line)?;
    // All are connected, and have read once; what they took stays while they read.
    let held = server.resident_kib()?.saturating_sub(before);
    drop(clients.stdin.take());
    line.clear();
    said.read_line(&mut line)?;
    clients.wait()?;
    let numbers: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
    match numbers?.as_slice() {
        [least, mean, most] => Ok((held as f64 / f64::from(CONNECTIONS), least / mean, most / mean)),
        _ => Err(format!("the clients printed '{}'", line.trim()).into()),
    }
}

/// The client program of bare sockets.
pub fn bare(words: &[String], shape: &Shape) -> Result<Sample, Failure> {
    let [port, request, reply] = words else { return Err("bare wants: port request reply".into()) };
    let mut stream = TcpStream::connect(("127.0.0.1", port.parse()?))?;
    stream.set_nodelay(true)?;
    let (request, mut reply) = (vec![1; request.parse()?], vec![0; reply.parse()?]);
    let mut meter = Meter::start(shape);
    while !meter.is_over() {
        stream.write_all(&request)?;
        stream.read_exact(&mut reply)?;
        meter.completed(Instant::now());
    }
    meter.sample()
}

/// The client program of many connections: says when all are connected, reads when its input ends, and prints the
/// operations of the least served, of all in the mean, and of the most served.
pub fn many(words: &[String]) -> Result<(), Failure> {
    let [url, connections, millis] = words else { return Err("many wants: url connections ms".into()) };
    let (connections, measure): (u32, _) = (connections.parse()?, Duration::from_millis(millis.parse()?));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let counts = tokio::task::LocalSet::new().block_on(&runtime, async {
        let start = Rc::new(Start::default());
        let mut readers = Vec::new();
        let mut connected = Vec::new();
        for number in 0..connections {
            let target = our_target(TargetUrl::parse(url)?)?;
            let (ready, is_ready) = tokio::sync::oneshot::channel();
            let start = Rc::clone(&start);
            readers.push(tokio::task::spawn_local(async move {
                reader(&*target, number, ready, &start).await.map_err(|error| error.to_string())
            }));
            connected.push(is_ready);
        }
        for ready in connected {
            ready.await?;
        }
        println!("connected");
        std::io::stdin().read_to_end(&mut Vec::new())?;
        start.end.set(Some(Instant::now() + measure));
        start.signal.notify_waiters();
        let mut counts = Vec::new();
        for reader in readers {
            counts.push(reader.await??);
        }
        Ok::<_, Failure>(counts)
    })?;
    let least = counts.iter().min().copied().unwrap_or(0);
    let most = counts.iter().max().copied().unwrap_or(0);
    let mean = counts.iter().sum::<u64>() as f64 / counts.len().max(1) as f64;
    println!("{least} {mean} {most}");
    Ok(())
}

/// When all connections read: the same end for all, or the last ones would have the server to themselves.
#[derive(Default)]
struct Start {
    signal: Notify,
    end: Cell<Option<Instant>>,
}

/// One connection: reads once, waits for the start, and counts its reads in the measured time.
async fn reader(
    target: &dyn Target,
    number: u32,
    ready: tokio::sync::oneshot::Sender<()>,
    start: &Start,
) -> Result<u64, Failure> {
    let spec = SessionSpec { slots: 1, slot_bytes: 4 << 10, ..SessionSpec::default() };
    let mut session = target.connect(&spec).await?;
    let MetaYield::Opened { file, .. } = call(&mut *session, MetaOp::open("data", OpenHow::Read)).await?
    else {
        return Err("opening yielded no file".into());
    };
    let mut offsets = Offsets::new(&Shape::random_reads(4 << 10, 1, Duration::ZERO));
    for _ in 0..number {
        offsets.next();
    }
    let started = start.signal.notified();
    tokio::pin!(started);
    started.as_mut().enable();
    let (mut replies, mut count, mut ready, mut end) = (Vec::new(), 0, Some(ready), None);
    while end.is_none_or(|end| Instant::now() < end) {
        session.submit(Slot(0), DataOp::Read { file, offset: offsets.next(), len: 4 << 10 });
        std::future::poll_fn(|context| session.poll_replies(context, &mut replies)).await;
        for reply in replies.drain(..) {
            reply.result?;
        }
        if let Some(ready) = ready.take() {
            let _ = ready.send(());
            started.as_mut().await;
            end = start.end.get();
        } else {
            count += 1;
        }
    }
    session.close().await;
    Ok(count)
}
