//! Local reads of a cached file against fio's engines: operations per second and CPU time per operation,
//! interleaved, medians of five.
//!
//! `cargo bench -p sharebench-posix` prints the table; arguments: a directory (default `/tmp`), seconds
//! per run, a part of the names of the rows wanted.
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use sharebench_model::{DataOp, FileRef, MetaOp, MetaYield, OpenHow, Slot};
use sharebench_posix::PosixTarget;
use sharebench_target::{Session, SessionSpec, Target, call};

const FILE_BYTES: u64 = 64 << 20;

#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    engine: &'static str,
    record: u32,
    depth: u32,
    random: bool,
}

const CASES: [Case; 4] = [
    Case { name: "4KiB random, depth 1", engine: "psync", record: 4 << 10, depth: 1, random: true },
    Case { name: "4KiB random, depth 32", engine: "io_uring", record: 4 << 10, depth: 32, random: true },
    Case { name: "1MiB sequential, depth 1", engine: "psync", record: 1 << 20, depth: 1, random: false },
    Case { name: "1MiB sequential, depth 32", engine: "io_uring", record: 1 << 20, depth: 32, random: false },
];

/// Operations per second of wall time, and nanoseconds of CPU time per operation.
type Speed = (f64, f64);

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    let dir = words.next().unwrap_or_else(|| "/tmp".into());
    let seconds: f64 = words.next().map_or(Ok(1.0), |word| word.parse())?;
    let wanted = words.next().unwrap_or_default();
    let dir = Path::new(&dir).join(format!("sharebench-bench-{}", std::process::id()));
    std::fs::create_dir(&dir)?;
    let outcome = table(&dir, seconds, &wanted);
    std::fs::remove_dir_all(&dir)?;
    outcome
}

fn table(dir: &Path, seconds: f64, wanted: &str) -> Result<(), Box<dyn Error>> {
    let content: Vec<u8> = (0..FILE_BYTES).map(|at| (at.wrapping_mul(0x9E37_79B9) >> 13) as u8).collect();
    std::fs::write(dir.join("data"), content)?;
    println!(
        "{:<26} {:>12} {:>12} {:>7} {:>9} {:>9} {:>7}",
        "", "ours op/s", "fio op/s", "ratio", "ours ns", "fio ns", "ratio"
    );
    for case in CASES.into_iter().filter(|case| case.name.contains(wanted)) {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            ours.push(block_on(measure(dir, case, seconds))?);
            theirs.push(fio(dir, case, seconds)?);
        }
        let (ours, theirs) = (median(ours), median(theirs));
        println!(
            "{:<26} {:>12.0} {:>12.0} {:>7.2} {:>9.0} {:>9.0} {:>7.2}",
            case.name,
            ours.0,
            theirs.0,
            ours.0 / theirs.0,
            ours.1,
            theirs.1,
            ours.1 / theirs.1
        );
    }
    Ok(())
}

fn median(mut speeds: Vec<Speed>) -> Speed {
    let mut middle = |of: fn(&Speed) -> f64| {
        speeds.sort_by(|a, b| of(a).total_cmp(&of(b)));
        speeds.get(speeds.len() / 2).map_or(0.0, of)
    };
    (middle(|speed| speed.0), middle(|speed| speed.1))
}

/// Sessions on local paths are always ready, so one poll at a time suffices.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    loop {
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
    }
}

fn cpu() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the structure it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

/// Where the next record is read.
struct Offsets {
    case: Case,
    state: u64,
}

impl Offsets {
    fn next(&mut self) -> u64 {
        let records = FILE_BYTES / u64::from(self.case.record);
        if self.case.random {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
        } else {
            self.state += 1;
        }
        self.state % records * u64::from(self.case.record)
    }
}

async fn measure(dir: &Path, case: Case, seconds: f64) -> Result<Speed, Box<dyn Error>> {
    let spec = SessionSpec { slots: case.depth, slot_bytes: case.record, ..SessionSpec::default() };
    let mut session = PosixTarget::new(dir).connect(&spec).await?;
    let open = MetaOp::Open { path: "data".into(), how: OpenHow::Read };
    let MetaYield::Opened { file, .. } = call(&mut *session, open).await? else { return Err("open".into()) };
    let speed = read_for(&mut *session, file, case, seconds)?;
    session.close().await;
    Ok(speed)
}

/// The engine's work around a session: two clock readings per operation and one batch per poll.
fn read_for(
    session: &mut dyn Session,
    file: FileRef,
    case: Case,
    seconds: f64,
) -> Result<Speed, Box<dyn Error>> {
    let mut offsets = Offsets { case, state: 0x2545_F491_4F6C_DD1D };
    let mut context = Context::from_waker(Waker::noop());
    let mut replies = Vec::with_capacity(case.depth as usize);
    let mut started_at = vec![Instant::now(); case.depth as usize];
    let (started, cpu_before) = (Instant::now(), cpu());
    let (mut done, mut flying, mut service) = (0_u64, 0, Duration::ZERO);
    let mut start = |session: &mut dyn Session, slot: Slot, at: &mut Instant| {
        *at = Instant::now();
        session.submit(slot, DataOp::Read { file, offset: offsets.next(), len: case.record });
    };
    for (slot, at) in started_at.iter_mut().enumerate() {
        start(session, Slot(slot as u32), at);
        flying += 1;
    }
    let mut over = false;
    while flying > 0 {
        if session.poll_replies(&mut context, &mut replies).is_pending() {
            continue;
        }
        for reply in replies.drain(..) {
            let now = Instant::now();
            let at = started_at.get_mut(reply.slot.0 as usize).ok_or("unknown slot")?;
            service += now - *at;
            if reply.result? != case.record {
                return Err("short read".into());
            }
            done += 1;
            over |= (now - started).as_secs_f64() >= seconds;
            if over {
                flying -= 1;
            } else {
                start(session, reply.slot, at);
            }
        }
    }
    std::hint::black_box(service);
    let cpu = cpu().saturating_sub(cpu_before).as_nanos() as f64;
    Ok((done as f64 / started.elapsed().as_secs_f64(), cpu / done as f64))
}

/// The same by fio, on the same file and with page-aligned buffers as ours: into its default, unaligned ones
/// the system copies up to five times slower on some processors, which says nothing about either program.
/// A terse line (version 3) has read IOPS in field 8, I/O in KiB in
/// field 6 and CPU shares in fields 88 and 89.
fn fio(dir: &Path, case: Case, seconds: f64) -> Result<Speed, Box<dyn Error>> {
    let output = Command::new("fio")
        .args([
            "--name=x",
            "--thread",
            "--invalidate=0",
            "--norandommap",
            "--time_based",
            "--output-format=terse",
        ])
        .args([
            "--terse-version=3",
            "--random_generator=tausworthe64",
            "--allow_file_create=0",
            "--iomem_align=4096",
        ])
        .arg(format!("--filename={}", dir.join("data").display()))
        .arg(format!("--rw={}", if case.random { "randread" } else { "read" }))
        .arg(format!("--ioengine={}", case.engine))
        .arg(format!("--bs={}", case.record))
        .arg(format!("--iodepth={}", case.depth))
        .arg(format!("--size={FILE_BYTES}"))
        .arg(format!("--runtime={}ms", (seconds * 1000.0) as u64))
        .output()?;
    let line = String::from_utf8(output.stdout)?;
    let fields: Vec<_> = line.trim().split(';').collect();
    let field = |at: usize| fields.get(at).and_then(|field| field.trim_end_matches('%').parse::<f64>().ok());
    let (Some(kib), Some(ms), Some(iops)) = (field(5), field(8), field(7)) else {
        return Err(format!("fio: {line}{}", String::from_utf8_lossy(&output.stderr)).into());
    };
    let operations = kib * 1024.0 / f64::from(case.record);
    let busy = (field(87).unwrap_or(0.0) + field(88).unwrap_or(0.0)) / 100.0 * ms * 1e6;
    Ok((iops, busy / operations))
}
