//! Rates of byte-range locks on smbd, next to the lock benchmark of smbtorture.

use std::process::Command;
use std::time::{Duration, Instant};

use sharebench_model::{MetaOp, OpenHow, SessionOp};
use sharebench_target::{SessionSpec, call};
use sharebench_tests::{Smbd, SmbdOptions};

use crate::Failure;
use crate::client;
use crate::ours;
use crate::sample::{self, Meter, Sample};
use crate::shape::Shape;
use crate::table::{Bar, Opponent, Run, Table};

/// Least rate relative to smbtorture's.
const LEAST: f64 = 0.9;
/// The file that is locked.
const FILE: &str = "locked";

/// Prints the rows. An operation is one request: a lock or an unlock.
pub fn measure(table: &mut Table, time: Duration) -> Result<(), Failure> {
    let options = SmbdOptions { dialects: Some(("NT1", "SMB3_11")), ..SmbdOptions::default() };
    let smbd = Smbd::start(&options)?;
    let shape = Shape::random_reads(1, 1, time);
    Table::head("Locks and unlocks on smbd, and smbtorture's raw.ping-pong over SMB1");
    // smbtorture does not sign here.
    for (name, url) in [("SMB1", "dialect=nt1&sign=off"), ("SMB 3.1.1", "sign=off")] {
        let url = smbd.url("", url);
        let us: Run = Box::new(|| client::own("locks", &[&url], &shape));
        let its: Run = Box::new(|| ping_pong(&smbd, time));
        let opponents =
            [Opponent { name: "smbtorture", rate: Some(Bar::AtLeast(LEAST)), cpu: None, run: its }];
        table.contest(name, &us, &opponents)?;
    }
    Ok(())
}

/// Main function of the client: locks and unlocks a range again and again.
pub fn client(url: &str, shape: &Shape) -> Result<Sample, Failure> {
    let target = ours::target(url)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut session = target.connect(&SessionSpec::default()).await?;
        let open = MetaOp::open(FILE, OpenHow::CreateNew);
        let (file, _) = call(&mut *session, open).await?.into_opened()?;
        let mut meter = Meter::start(shape);
        while !meter.is_over() {
            for op in [
                SessionOp::Lock { file, offset: 0, bytes: 1, wait: true },
                SessionOp::Unlock { file, offset: 0, bytes: 1 },
            ] {
                call(&mut *session, op).await?;
                meter.completed(Instant::now());
            }
        }
        call(&mut *session, MetaOp::Close { file }).await?;
        call(&mut *session, MetaOp::Remove { path: FILE.to_owned() }).await?;
        session.close().await;
        meter.sample()
    })
}

/// Runs `raw.ping-pong` with one client. It prints once a second how many requests it had answered.
fn ping_pong(smbd: &Smbd, time: Duration) -> Result<Sample, Failure> {
    // The first second is the warm-up.
    let seconds = time.as_secs().max(1) + 1;
    let cpu = sample::cpu_of_children();
    let output = Command::new("timeout")
        .arg((seconds + 1).to_string())
        .args(["smbtorture", "//127.0.0.1/share", "-p", &smbd.port().to_string()])
        .arg(format!("-U{}%{}", smbd.user(), Smbd::PASSWORD))
        .args(["--option=client min protocol=NT1", "--option=client max protocol=NT1"])
        .args(["--option=torture:num_locks=2", "--option=torture:filename=ping-pong"])
        .args(["--option=torture:lock_timeout=3600", "raw.ping-pong.ping-pong"])
        .output()?;
    let cpu = sample::cpu_of_children().saturating_sub(cpu);
    let printed = String::from_utf8_lossy(&output.stdout);
    let rates = printed.split(['\r', '\n']).filter_map(|line| line.trim().strip_suffix(" locks/sec"));
    let rates = rates.map(|rate| rate.trim().parse()).collect::<Result<Vec<f64>, _>>()?;
    let [_, measured @ ..] = rates.as_slice() else {
        return Err(format!("smbtorture printed no rates: {printed}").into());
    };
    let operations: f64 = measured.iter().sum();
    let all: f64 = rates.iter().sum();
    Ok(Sample {
        operations: operations as u64,
        wall_ns: measured.len() as u64 * 1_000_000_000,
        cpu_ns: (cpu.as_nanos() as f64 * operations / all) as u64,
        peak_kib: 0,
    })
}
