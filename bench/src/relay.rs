//! The simulated distance: errors of delay and rate, and requests in flight together.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use sharebench_relay::{Distance, Greeting, Relay};
use sharebench_server::{DirectoryOptions, DirectoryVolume, EmbeddedServers, ServeOptions, Volume};

use crate::shape::{FILE_BYTES, Shape};
use crate::table::{Bar, Table};
use crate::{Failure, ours};

/// Round trips of one distance.
const ROUND_TRIPS: usize = 1_000;
/// Largest error of the delay at the 99th percentile.
const DELAY_BAR_US: f64 = 200.0;
/// Largest relative error of the rate.
const RATE_BAR: f64 = 0.02;
/// Least part of the gain that requests in flight together must reach.
const DEPTH_BAR: f64 = 0.97;
/// Largest relative error of a time that is predicted from round trips.
const PREDICTION_BAR: f64 = 0.1;

/// Prints the tables.
pub fn measure(table: &mut Table, scratch: &Path) -> Result<(), Failure> {
    println!("\n### Delay: {ROUND_TRIPS} round trips of 64 bytes\n");
    println!("| round trip | p50 error us | p99 error us | bar |\n|---|---:|---:|---|");
    for far in ["1ms", "5ms", "20ms"] {
        delay(table, far)?;
    }
    println!("\n### Rate of one connection\n");
    println!("| rate | measured Mbit/s | error % | bar |\n|---|---:|---:|---|");
    for (rate, bytes) in [("10Mbit", 4 << 20), ("100Mbit", 24 << 20), ("1Gbit", 192 << 20)] {
        self::rate(table, rate, bytes)?;
    }
    depth(table, scratch)
}

/// A relay over a distance in front of a new listener.
fn relayed(far: &str) -> Result<(Relay, TcpListener), Failure> {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = TcpListener::bind(any)?;
    let distance: Distance = far.parse()?;
    let relay = Relay::start(any, listener.local_addr()?, distance, Greeting::None)?;
    Ok((relay, listener))
}

/// Sorted round-trip times in microseconds over a distance.
fn round_trips(far: &str, count: usize) -> Result<Vec<f64>, Failure> {
    let (relay, listener) = relayed(far)?;
    let mut client = TcpStream::connect(relay.address())?;
    client.set_nodelay(true)?;
    let (mut server, _) = listener.accept()?;
    server.set_nodelay(true)?;
    let echo = thread::spawn(move || {
        let mut message = [0; 64];
        while server.read_exact(&mut message).is_ok() && server.write_all(&message).is_ok() {}
    });
    let mut message = [7; 64];
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        client.write_all(&message)?;
        client.read_exact(&mut message)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    drop(client);
    echo.join().map_err(|_| "the echo panicked")?;
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// The error is what a round trip takes in addition to its distance and to the same path without one.
fn delay(table: &mut Table, far: &str) -> Result<(), Failure> {
    let near = round_trips("0", ROUND_TRIPS)?[ROUND_TRIPS / 2];
    let distance: Distance = far.parse()?;
    let times = round_trips(far, ROUND_TRIPS)?;
    let error = |at: usize| times[at] - near - distance.round_trip.as_secs_f64() * 1e6;
    let p99 = error(ROUND_TRIPS * 99 / 100);
    let verdict =
        table.verdict(&format!("delay error at {far}: p99 us"), p99, Some(Bar::AtMost(DELAY_BAR_US)));
    println!("| {far} | {:.1} | {p99:.1} | {verdict} |", error(ROUND_TRIPS / 2));
    Ok(())
}

fn rate(table: &mut Table, rate: &str, bytes: usize) -> Result<(), Failure> {
    let far = format!("5ms,{rate}");
    let (relay, listener) = relayed(&far)?;
    let mut client = TcpStream::connect(relay.address())?;
    let (mut server, _) = listener.accept()?;
    let sender = thread::spawn(move || client.write_all(&vec![7; bytes]));
    let mut buffer = vec![0; 1 << 20];
    let first = server.read(&mut buffer)?;
    let start = Instant::now();
    let mut received = 0;
    while first + received < bytes {
        let count = server.read(&mut buffer)?;
        if count == 0 {
            return Err("the sender ended early".into());
        }
        received += count;
    }
    let measured = received as f64 * 8.0 / start.elapsed().as_secs_f64();
    sender.join().map_err(|_| "the sender panicked")??;
    let nominal = far.parse::<Distance>()?.rate.ok_or("no rate")?.0 as f64;
    let error = (measured / nominal - 1.0).abs();
    let verdict = table.verdict(&format!("rate error at {rate}"), error, Some(Bar::AtMost(RATE_BAR)));
    println!("| {rate} | {:.2} | {:.2} | {verdict} |", measured / 1e6, error * 100.0);
    Ok(())
}

/// 4 KiB reads over NFS from our own server: the gain of depth, and the time at a distance that was not measured.
fn depth(table: &mut Table, scratch: &Path) -> Result<(), Failure> {
    let directory = scratch.join("far");
    fs::create_dir(&directory)?;
    fs::write(directory.join("data"), vec![7; FILE_BYTES as usize])?;
    let volume: Arc<dyn Volume> = Arc::new(DirectoryVolume::open(&directory, &DirectoryOptions::default())?);
    let any = Some((Ipv4Addr::LOCALHOST, 0).into());
    let servers = EmbeddedServers::start(&volume, &ServeOptions { nfs: any, ..ServeOptions::default() })?;
    let port = servers.addr("nfs").ok_or("no NFS")?.port();
    let rate = |far: &str, depth: u32| -> Result<f64, Failure> {
        let url = format!("nfs://127.0.0.1:{port}/share?mountport={port}&far={far}");
        Ok(ours::measure(&url, &Shape::random_reads(4 << 10, depth, Duration::from_secs(4)))?.rate())
    };
    println!("\n### 4 KiB reads over NFS\n\n| case | reads/s | result | bar |\n|---|---:|---|---|");
    let near = rate("0", 1)?;
    println!("| near, depth 1 | {near:.0} | | |");
    for far in ["5ms", "20ms", "80ms"] {
        let measured = rate(far, 1)?;
        let seconds = far.parse::<Distance>()?.round_trip.as_secs_f64();
        let error = (measured * (1.0 / near + seconds) - 1.0).abs();
        let what = format!("prediction at {far}");
        let verdict = table.verdict(&what, error, Some(Bar::AtMost(PREDICTION_BAR)));
        println!(
            "| {far}, depth 1 | {measured:.1} | predicted from near within {:.1} % | {verdict} |",
            error * 100.0
        );
    }
    let one = rate("20ms", 1)?;
    let many = rate("20ms", 32)?;
    let gain = many / one;
    let verdict = table.verdict("depth 32 at 20ms: share of 32x", gain / 32.0, Some(Bar::AtLeast(DEPTH_BAR)));
    println!("| 20ms, depth 32 | {many:.0} | {gain:.1} times depth 1 | {verdict} |");
    Ok(())
}
