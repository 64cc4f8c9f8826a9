//! `learn` on large captures, compared with the time that tshark needs for the same files.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use sharebench_tests::program::{PATIENCE, free_ports};
use sharebench_tests::{Capture, Captured, Program};

use crate::table::{Bar, Spread, Table};
use crate::usage::Usage;
use crate::{Failure, live, round_trip};

/// tshark needs at least this many times as long.
const FASTER: f64 = 20.0;
/// Most seconds for a gigabyte, and most memory, bytes.
const SECONDS_PER_GIGABYTE: f64 = 15.0;
const MEMORY: f64 = 200e6;
/// Both programs get one processor.
const ONE_CPU: [&str; 3] = ["taskset", "--cpu-list", "1"];
const PASSWORD: [(&str, &str); 1] = [("SHAREBENCH_PASSWORD", "laboratory")];
/// What is captured: half a gigabyte and more.
const LOAD: &str = "load --preset office --users 16 --think exp:4ms --scale 4MB --warm-up 100ms --measure 20s --seed 1 --quiet";

/// Prints the table.
pub fn measure(table: &mut Table, scratch: &Path) -> Result<(), Failure> {
    println!("\n### `learn --json` and `tshark -q -z rpc,srt` or `smb2,srt` on one processor\n");
    if let Some(missing) = Capture::NEEDS.into_iter().find_map(sharebench_tests::Need::unmet) {
        println!("Not measured: {missing}.");
        return Ok(());
    }
    println!(
        "| capture | MB | our s per GB | bar | tshark's s | ratio (range) | bar | our memory, MB | bar |"
    );
    println!("|---|---:|---:|---|---:|---|---|---:|---|");
    let program = live::program()?;
    // Response times by operation: without a statistic, tshark does not decode the packets.
    for (protocol, statistic) in [("nfs", "rpc,srt,100003,3"), ("smb", "smb2,srt")] {
        let captured = capture(&program, scratch, protocol)?;
        let file = captured.path();
        let gigabytes = fs::metadata(&file)?.len() as f64 / 1e9;
        let run = |words: &[&str]| {
            let line = [&ONE_CPU[..], words, &[&file]].concat();
            Usage::from_command(Command::new(line[0]).args(&line[1..]).env("HOME", scratch))
        };
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        for _ in 0..table.rounds() {
            ours.push(run(&[&program.display().to_string(), "learn", "--json"])?);
            theirs.push(run(&["tshark", "-q", "-z", statistic, "-r"])?);
        }
        let seconds = Spread::new(ours.iter().map(|usage| usage.wall_s / gigabytes).collect());
        let ratio = Spread::new(ours.iter().zip(&theirs).map(|(our, its)| its.wall_s / our.wall_s).collect());
        let memory = Spread::new(ours.iter().map(|usage| usage.peak_bytes).collect());
        let tshark = Spread::new(theirs.iter().map(|usage| usage.wall_s).collect());
        let what = format!("learn, {protocol}");
        let bars = [
            table.verdict(
                &format!("{what}: s per GB"),
                seconds.median,
                Some(Bar::AtMost(SECONDS_PER_GIGABYTE)),
            ),
            table.verdict(
                &format!("{what}: times as fast as tshark"),
                ratio.median,
                Some(Bar::AtLeast(FASTER)),
            ),
            table.verdict(&format!("{what}: bytes of memory"), memory.median, Some(Bar::AtMost(MEMORY))),
        ];
        println!(
            "| {protocol} | {:.0} | {:.2} | {} | {:.1} | {} | {} | {:.0} | {} |",
            gigabytes * 1e3,
            seconds.median,
            bars[0],
            tshark.median,
            ratio.shown(),
            bars[1],
            memory.median / 1e6,
            bars[2]
        );
    }
    round_trip::measure(table, &program, scratch)
}

/// Captures a load on a server over memory.
fn capture(program: &Path, scratch: &Path, protocol: &str) -> Result<Captured, Failure> {
    let [port] = free_ports()?;
    let program = program.display().to_string();
    let address = format!("--{protocol}=127.0.0.1:{port}");
    let serve = [&program, "serve", "--memory=1GiB", "--account=lab", &address];
    let mut server = Program::start(&serve, &PASSWORD, &scratch.join("serve.log"))?;
    server.wait_for_output("serving", PATIENCE)?;
    let url = match protocol {
        "smb" => format!("smb://lab@127.0.0.1:{port}/share/"),
        _ => format!("nfs://127.0.0.1:{port}/share/?mountport={port}"),
    };
    let capture = Capture::start(port)?;
    let database = scratch.join("learn.db");
    let done = Command::new(&program)
        .args(LOAD.split(' '))
        .arg(url)
        .arg("--db")
        .arg(&database)
        .envs(PASSWORD)
        .stdout(Stdio::null())
        .status()?;
    if !done.success() {
        return Err(format!("{LOAD}: {done}").into());
    }
    fs::remove_file(database)?;
    Ok(capture.stop()?)
}
