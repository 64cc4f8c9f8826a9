//! Names on the embedded servers: what a directory of many files costs, and how fast it is listed.

use std::time::{Duration, Instant};

use sharebench_model::{MetaOp, MetaYield, OpenHow};
use sharebench_target::{Session, SessionSpec, call};

use crate::Failure;
use crate::client;
use crate::load_server::{FULL, SPARSE, Served};
use crate::ours;
use crate::sample::{self, Sample};
use crate::shape::Shape;
use crate::table::{Bar, Spread, Table};

/// Files of the large directory, and the largest ratio of the time of an operation there to that in a directory with one file.
const FILES: usize = 100_000;
const LARGE_TO_SMALL: f64 = 1.2;
/// Files of the directory that is listed.
const LISTED: usize = 1_000_000;
/// Least entries per second of a listing.
const LISTING_RATES: [(&str, Option<f64>); 3] =
    [("nfs", Some(500_000.0)), ("smb", Some(200_000.0)), ("ncp", None)];
/// Most memory in MiB that a listing may add to a process, whatever the number of entries.
const LISTING_MIB: f64 = 32.0;

/// Prints the tables.
pub fn measure(table: &mut Table, time: Duration) -> Result<(), Failure> {
    println!("\n### Time of an operation with {FILES} files in the directory, and with one\n");
    println!("| protocol | operation | us, {FILES} files | us, one file | ratio (range) | bar |");
    println!("|---|---|---:|---:|---|---|");
    let shape = Shape::random_reads(1, 1, time);
    for protocol in ["nfs", "smb", "ncp"] {
        let served = Served::with_files(protocol, FILES)?;
        for work in ["create", "lookup"] {
            compare(table, (protocol, work), &served, &shape)?;
        }
    }
    println!("\n### Listing a directory of {LISTED} files\n");
    println!("| protocol | entries/s (range) | bar | client adds MiB | bar | server adds MiB | bar |");
    println!("|---|---:|---|---:|---|---:|---|");
    for (protocol, rate) in LISTING_RATES {
        list(table, (protocol, rate), &shape)?;
    }
    Ok(())
}

/// Measures an operation in both directories alternately.
fn compare(
    table: &mut Table,
    (protocol, work): (&str, &str),
    served: &Served,
    shape: &Shape,
) -> Result<(), Failure> {
    let micros = |directory: &str| -> Result<f64, Failure> {
        Ok(1e6 / client::own("names", &[&served.url(), work, directory], shape)?.rate())
    };
    let rounds = (0..table.rounds()).map(|_| Ok((micros(FULL)?, micros(SPARSE)?)));
    let rounds = rounds.collect::<Result<Vec<_>, Failure>>()?;
    let large = Spread::new(rounds.iter().map(|round| round.0).collect());
    let small = Spread::new(rounds.iter().map(|round| round.1).collect());
    let ratio = Spread::new(rounds.iter().map(|(large, small)| large / small).collect());
    let what = format!("{work} over {protocol}");
    let verdict = table.verdict(&what, ratio.median, Some(Bar::AtMost(LARGE_TO_SMALL)));
    println!(
        "| {protocol} | {work} | {:.1} | {:.1} | {} | {verdict} |",
        large.median,
        small.median,
        ratio.shown()
    );
    Ok(())
}

/// Measures whole listings.
fn list(table: &mut Table, (protocol, rate): (&str, Option<f64>), shape: &Shape) -> Result<(), Failure> {
    let served = Served::with_files(protocol, LISTED)?;
    let status = format!("/proc/{}/status", served.pid());
    let before = sample::resident_kib(&status);
    let samples = (0..table.rounds()).map(|_| client::own("names", &[&served.url(), "list", FULL], shape));
    let samples = samples.collect::<Result<Vec<_>, _>>()?;
    let rates = Spread::new(samples.iter().map(Sample::rate).collect());
    let mib = |kib: u64| kib as f64 / 1024.0;
    let client = samples.iter().map(|sample| mib(sample.peak_kib)).fold(0.0, f64::max);
    let server = mib(sample::peak_resident_kib(&status).saturating_sub(before));
    let mut verdict = |what: &str, figure: f64, bar| {
        table.verdict(&format!("{what} of a listing over {protocol}"), figure, bar)
    };
    println!(
        "| {protocol} | {} | {} | {client:.1} | {} | {server:.1} | {} |",
        rates.shown(),
        verdict("entries/s", rates.median, rate.map(Bar::AtLeast)),
        verdict("MiB of the client", client, Some(Bar::AtMost(LISTING_MIB))),
        verdict("MiB of the server", server, Some(Bar::AtMost(LISTING_MIB))),
    );
    Ok(())
}

/// Main function of the client: repeats one operation in a directory of the server.
pub fn client(url: &str, work: &str, directory: &str, shape: &Shape) -> Result<Sample, Failure> {
    let target = ours::target(url)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut session = target.connect(&SessionSpec::default()).await?;
        let before = sample::peak_kib();
        let mut done = Sample { operations: 0, wall_ns: 0, cpu_ns: 0, peak_kib: 0 };
        let started = Instant::now();
        while started.elapsed() < shape.warm_up + shape.measure {
            let is_warm = started.elapsed() >= shape.warm_up || work == "list";
            let begin = Instant::now();
            let operations = match work {
                "create" => create(&mut *session, directory).await?,
                "lookup" => look_up(&mut *session, directory, done.operations).await?,
                "list" => list_once(&mut *session, directory).await?,
                other => return Err(format!("unknown operation {other}").into()),
            };
            if is_warm {
                done.operations += operations;
                done.wall_ns += begin.elapsed().as_nanos() as u64;
            }
            if work == "create" {
                call(&mut *session, MetaOp::Remove { path: format!("{directory}/new") }).await?;
            }
        }
        session.close().await;
        Ok(Sample { peak_kib: sample::peak_kib() - before, ..done })
    })
}

async fn create(session: &mut dyn Session, directory: &str) -> Result<u64, Failure> {
    let open = MetaOp::open(format!("{directory}/new"), OpenHow::CreateNew);
    let (file, _) = call(session, open).await?.into_opened()?;
    call(session, MetaOp::Close { file }).await?;
    Ok(1)
}

/// Reads the attributes of files in an order without pattern.
async fn look_up(session: &mut dyn Session, directory: &str, nth: u64) -> Result<u64, Failure> {
    let files = if directory == FULL { FILES as u64 } else { 1 };
    // Coprime with the number of files: every file has its turn.
    let file = nth.wrapping_mul(61_803) % files;
    call(session, MetaOp::Stat { path: format!("{directory}/file-{file}") }).await?;
    Ok(1)
}

/// Reads all entries and keeps none.
async fn list_once(session: &mut dyn Session, directory: &str) -> Result<u64, Failure> {
    let mut entries = 0;
    let mut restart = true;
    loop {
        let page = MetaOp::ListPage { path: directory.to_owned(), restart };
        let MetaYield::Page(page) = call(session, page).await? else {
            return Err("the reply to a listing has no page".into());
        };
        entries += page.entries.len() as u64;
        restart = false;
        if page.end {
            break;
        }
    }
    if entries != LISTED as u64 {
        return Err(format!("{entries} entries were listed instead of {LISTED}").into());
    }
    Ok(entries)
}
