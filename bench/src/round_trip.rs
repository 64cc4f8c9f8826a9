//! A known workload, captured, learned and loaded again on the same server: the second capture next to the first one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use sharebench_tests::program::{PATIENCE, free_ports};
use sharebench_tests::{Capture, Captured, Ganesha, GaneshaOptions, KernelGuest, Program, Smbd, SmbdOptions};

use crate::Failure;
use crate::table::{Bar, Table};

/// The workload. Its data set is prepared within the first seconds, and the capture begins after them.
const LOAD: &str =
    "--preset office --users 8 --think exp:100ms --scale 4MB --warm-up 10s --measure 40s --seed 1";
/// The learned one has its own users and think time.
const AGAIN: &str = "--warm-up 10s --measure 40s --seed 2";
const BEFORE_CAPTURE: Duration = Duration::from_secs(8);
/// A guest boots and mounts first.
const BEFORE_CAPTURE_OF_MOUNT: Duration = Duration::from_secs(17);
const CAPTURED_FOR: Duration = Duration::from_secs(36);
/// Largest difference of an operation's share, points.
const MIX: f64 = 2.0;
/// Largest differences, as shares.
const THINK: f64 = 0.10;
const THROUGHPUT: f64 = 0.05;
const P95: f64 = 0.15;
const SIZES: f64 = 0.10;
/// The sizes of kinds with fewer of all requests are not compared, percent.
const RARE: f64 = 2.0;
/// The account of the embedded server; its password is that of the tests' smbd.
const USER: &str = "lab";

/// Where the workload runs.
struct MeasuredServer<'a> {
    name: &'a str,
    url: String,
    port: u16,
    /// The first load goes through a mount of the kernel guest, by the command up to the mount point.
    mount: Option<String>,
}

impl MeasuredServer<'_> {
    fn direct(name: &str, url: String, port: u16) -> MeasuredServer<'_> {
        MeasuredServer { name, url, port, mount: None }
    }
}

/// What is compared of a capture.
struct Figures {
    /// Requests of each kind.
    kinds: BTreeMap<String, f64>,
    /// Operations of each kind, as plans count them.
    operations: BTreeMap<String, f64>,
    /// Nanoseconds.
    think: f64,
    seconds: f64,
    /// 95th percentile of the response times of each kind, nanoseconds.
    p95: BTreeMap<String, f64>,
    /// Bytes of one request of each kind with data, by percentile.
    sizes: BTreeMap<String, Vec<f64>>,
}

/// Prints the table.
pub fn measure(table: &mut Table, program: &Path, scratch: &Path) -> Result<(), Failure> {
    println!("\n### Round trip of the preset `office`: second capture next to the first one\n");
    println!(
        "| server | operations | largest difference of a share, points | bar | largest difference of a size percentile | bar | mean think time | bar | throughput | bar | p95, weighted | bar |"
    );
    println!("|---|---:|---:|---|---:|---|---:|---|---:|---|---:|---|");
    let [smb, nfs] = free_ports()?;
    let own = program.display().to_string();
    let addresses = [format!("--smb=127.0.0.1:{smb}"), format!("--nfs=127.0.0.1:{nfs}")];
    let serve = [&own, "serve", "--memory=1GiB", "--account=lab", &addresses[0], &addresses[1]];
    let mut server =
        Program::start(&serve, &[("SHAREBENCH_PASSWORD", Smbd::PASSWORD)], &scratch.join("serve.log"))?;
    server.wait_for_output("serving", PATIENCE)?;
    let smbd = Smbd::start(&SmbdOptions::default())?;
    let ganesha = Ganesha::start(&GaneshaOptions::default())?;
    let embedded3 = format!("nfs://127.0.0.1:{nfs}/share/?mountport={nfs}");
    let embedded4 = format!("nfs://127.0.0.1:{nfs}/share/?vers=4.1");
    let ganesha3 = ganesha.url("", "uid=0&gid=0");
    let ganesha4 = format!("{}&uid=0&gid=0", ganesha.url4("", "4.1"));
    let mut places = vec![
        MeasuredServer::direct("embedded, SMB", format!("smb://{USER}@127.0.0.1:{smb}/share/"), smb),
        MeasuredServer::direct("embedded, NFSv3", embedded3, nfs),
        MeasuredServer::direct("embedded, NFSv4.1", embedded4.clone(), nfs),
        MeasuredServer::direct("smbd", smbd.url("", ""), smbd.port()),
        MeasuredServer::direct("ganesha, NFSv3", ganesha3, ganesha.port()),
        MeasuredServer::direct("ganesha, NFSv4.1", ganesha4, ganesha.port()),
    ];
    if KernelGuest::NEEDS.into_iter().all(|need| need.unmet().is_none()) {
        let machine = KernelGuest::MACHINE;
        let cifs = format!(
            "PASSWD='{}' mount -t cifs //{machine}/share -o vers=3.1.1,username={},port={}",
            Smbd::PASSWORD,
            smbd.user(),
            smbd.port()
        );
        let mount4 = format!("mount -t nfs -o vers=4.2,port={nfs} {machine}:/share");
        let mounted = [("cifs mount of smbd", smbd.url("", ""), smbd.port(), cifs)];
        let mounted = mounted.into_iter().chain([("nfs 4.2 mount of embedded", embedded4, nfs, mount4)]);
        places.extend(mounted.map(|(name, url, port, mount)| MeasuredServer {
            name,
            url,
            port,
            mount: Some(mount),
        }));
    } else {
        println!("Not measured: mounts, because the kernel guest cannot run.");
    }
    for place in &places {
        row(table, program, scratch, place)?;
    }
    Ok(())
}

fn row(table: &mut Table, program: &Path, scratch: &Path, place: &MeasuredServer<'_>) -> Result<(), Failure> {
    let preset = scratch.join("mine.toml").display().to_string();
    let first = match &place.mount {
        None => captured(program, scratch, place, LOAD, &["-o", &preset])?,
        Some(mount) => captured_mount(program, place, mount, &["-o", &preset])?,
    };
    let line = format!("--preset {preset} {AGAIN}");
    let second = captured(program, scratch, place, &line, &[])?;
    std::fs::remove_file(&preset)?;
    let share = |figures: &Figures, kind: &str| share_of(&figures.kinds, kind);
    // The kernel's client has requests of its own for what a program does: there, its operations are compared.
    let [before, after] = match place.mount {
        None => [&first.kinds, &second.kinds],
        Some(_) => [&first.operations, &second.operations],
    };
    let kinds: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mix = kinds.iter().map(|kind| (share_of(after, kind) - share_of(before, kind)).abs());
    let mix = mix.fold(0.0, f64::max);
    let think = second.think / first.think;
    let sum = |operations: &BTreeMap<String, f64>| operations.values().sum::<f64>();
    let rate = sum(after) / sum(before) * first.seconds / second.seconds;
    // Kinds by their share of the first capture, as a geometric mean of ratios.
    let shared =
        first.p95.iter().filter_map(|(kind, p95)| Some((share(&first, kind), second.p95.get(kind)? / p95)));
    let (weights, logs) = shared
        .fold((0.0, 0.0), |(weights, logs), (weight, ratio)| (weights + weight, logs + weight * ratio.ln()));
    let p95 = (logs / weights).exp();
    let sized = first.sizes.iter().filter(|(kind, _)| share(&first, kind) >= RARE);
    let compared = sized.filter_map(|(kind, sizes)| Some(sizes.iter().zip(second.sizes.get(kind)?)));
    let differences = compared.flatten().map(|(before, after)| (after / before - 1.0).abs());
    let sizes = differences.fold(0.0, f64::max);
    let bar = |limit| Some(Bar::AtMost(limit));
    let off = |ratio: f64| (ratio - 1.0).abs();
    let name = place.name;
    println!(
        "| {name} | {:.0} | {mix:.1} | {} | {:.0} % | {} | {think:.3} | {} | {rate:.3} | {} | {p95:.2} | {} |",
        first.kinds.values().sum::<f64>(),
        table.verdict(&format!("round trip, {name}: share of an operation, points"), mix, bar(MIX)),
        sizes * 100.0,
        table.verdict(&format!("round trip, {name}: size percentiles, distance from 1"), sizes, bar(SIZES)),
        table.verdict(&format!("round trip, {name}: think time, distance from 1"), off(think), bar(THINK)),
        table.verdict(
            &format!("round trip, {name}: throughput, distance from 1"),
            off(rate),
            bar(THROUGHPUT)
        ),
        table.verdict(&format!("round trip, {name}: p95, distance from 1"), off(p95), bar(P95)),
    );
    Ok(())
}

/// Loads, captures a part of it, and returns what `learn` reports.
fn captured(
    program: &Path,
    scratch: &Path,
    place: &MeasuredServer<'_>,
    load: &str,
    learn: &[&str],
) -> Result<Figures, Failure> {
    let database = scratch.join("round-trip.db");
    let mut load = Command::new(program)
        .args(["load", &place.url, "--quiet", "--db"])
        .arg(&database)
        .args(load.split(' '))
        .env("SHAREBENCH_PASSWORD", Smbd::PASSWORD)
        .stdout(Stdio::null())
        .spawn()?;
    let captured = capture_after(BEFORE_CAPTURE, place)?;
    finish(&mut load, place)?;
    std::fs::remove_file(database)?;
    learned(program, &captured, learn)
}

/// The same, with the load in the kernel guest.
fn captured_mount(
    program: &Path,
    place: &MeasuredServer<'_>,
    mount: &str,
    learn: &[&str],
) -> Result<Figures, Failure> {
    let guest = KernelGuest::prepare(&[place.port])?;
    let script = include_str!("../../tests/kernel-guest/load-mount");
    let program_path = program.canonicalize()?.display().to_string();
    let env = [("SHAREBENCH", program_path.as_str()), ("MOUNT", mount), ("LOAD", LOAD)];
    let captured = std::thread::scope(|scope| {
        let load = scope.spawn(|| guest.run(script, &env, KernelGuest::LONG));
        let captured = capture_after(BEFORE_CAPTURE_OF_MOUNT, place);
        load.join().map_err(|_| Failure::from("the guest's thread"))??;
        captured
    })?;
    learned(program, &captured, learn)
}

fn capture_after(before: Duration, place: &MeasuredServer<'_>) -> Result<Captured, Failure> {
    std::thread::sleep(before);
    let capture = Capture::start(place.port)?;
    std::thread::sleep(CAPTURED_FOR);
    // The load continues: what it removes at its end is no part of the workload.
    Ok(capture.interrupt()?)
}

fn learned(program: &Path, captured: &Captured, learn: &[&str]) -> Result<Figures, Failure> {
    let output = Command::new(program).args(["learn", &captured.path(), "--json"]).args(learn).output()?;
    if !output.status.success() {
        return Err(format!("learn: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    figures(&serde_json::from_slice(&output.stdout)?)
}

fn finish(load: &mut Child, place: &MeasuredServer<'_>) -> Result<(), Failure> {
    let status = load.wait()?;
    if status.success() { Ok(()) } else { Err(format!("load {}: {status}", place.url).into()) }
}

fn figures(learned: &Value) -> Result<Figures, Failure> {
    let number = |value: &Value| value.as_f64().ok_or("a figure is missing");
    let mut kinds = BTreeMap::new();
    let mut p95 = BTreeMap::new();
    let mut sizes = BTreeMap::new();
    for kind in learned["server"]["kinds"].as_array().ok_or("no kinds")? {
        let name = kind["operation"].as_str().unwrap_or_default();
        if !kind["size_class"].is_null() || name == "connect" {
            continue;
        }
        kinds.insert(name.to_owned(), number(&kind["count"])?);
        let responses = kind["response"].as_array().into_iter().flatten();
        if let Some(response) = responses.into_iter().find(|response| response["p"] == 0.95) {
            p95.insert(name.to_owned(), number(&response["ns"])?);
        }
        let percentiles = kind["sizes"].as_array().into_iter().flatten();
        let percentiles: Vec<f64> = percentiles.filter_map(|size| size["bytes"].as_f64()).collect();
        if !percentiles.is_empty() {
            sizes.insert(name.to_owned(), percentiles);
        }
    }
    let mut operations = BTreeMap::new();
    for row in learned["workload"]["mix"].as_array().ok_or("no mix")? {
        let name = row["operation"].as_str().unwrap_or_default();
        operations.insert(name.to_owned(), number(&row["captured"])?);
    }
    let seconds = number(&learned["duration_ns"])? / 1e9;
    let think = number(&learned["workload"]["think"]["mean_ns"])?;
    Ok(Figures { kinds, operations, think, seconds, p95, sizes })
}

/// The share of a kind, in percent.
fn share_of(counts: &BTreeMap<String, f64>, kind: &str) -> f64 {
    counts.get(kind).unwrap_or(&0.0) * 100.0 / counts.values().sum::<f64>()
}
