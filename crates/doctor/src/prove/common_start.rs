//! Known answer K19 (docs/measure/measurement-rules.md K19): hosts whose clocks are off by seconds start within
//! milliseconds of each other.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use sharebench_engine::Clock;
use sharebench_model::Random;
use sharebench_model::units::show_nanos;
use sharebench_stats::{ClockOffset, Exchange, clock_offset, start_delay_ns, start_skew_ns};

use crate::prove::{Attempt, Conditions, ProveError, Row};

/// Offsets of the three clocks.
const OFFSETS_NS: [i64; 3] = [-5_000_000_000, 0, 5_000_000_000];
/// Exchanges per host.
const EXCHANGES: usize = 32;
/// Maximum delay of a message.
const MAX_JITTER_NS: u64 = 2_000_000;
/// Maximum error of the start.
const TOLERANCE_NS: u64 = 2_000_000;

/// K19: offsets are recovered through jitter, and the hosts start together.
pub(super) fn start(_: Conditions) -> Result<Attempt, ProveError> {
    let clock = Clock::start();
    let mut hosts = Vec::new();
    for (number, offset) in OFFSETS_NS.into_iter().enumerate() {
        hosts.push(Host::start(&clock, offset, number as u64)?);
    }
    let mut offsets = Vec::new();
    for host in &mut hosts {
        offsets.push(host.offset(&clock)?);
    }
    let round_trip = offsets.iter().map(|offset| offset.error_ns * 2).max().unwrap_or(0);
    let start = now(&clock) + start_delay_ns(round_trip).cast_signed();
    for (host, offset) in hosts.iter_mut().zip(&offsets) {
        host.send(start + offset.offset_ns)?;
    }
    let mut recovered = Vec::new();
    let mut truth = Vec::new();
    for (host, offset) in hosts.iter_mut().zip(&offsets) {
        recovered.push(host.receive()? - offset.offset_ns);
    }
    for host in hosts {
        truth.push(host.thread.join().map_err(|_| ProveError::Run("a host panicked".into()))??);
    }
    Ok(rows(&offsets, &recovered, &truth).into())
}

fn rows(offsets: &[ClockOffset], recovered: &[i64], truth: &[i64]) -> Vec<Row> {
    let shown = |ns: u64| show_nanos(ns as f64);
    let mut rows: Vec<Row> = offsets
        .iter()
        .zip(OFFSETS_NS)
        .map(|(found, offset)| {
            let off = found.offset_ns.abs_diff(offset);
            let quantity = format!("offset of {:+} s", offset / 1_000_000_000);
            let truth = format!("{offset} ns");
            let tolerance = format!("half a round trip: {}", shown(found.error_ns));
            Row::new(quantity, truth, format!("off by {}", shown(off)), tolerance, off <= found.error_ns)
        })
        .collect();
    let skew = start_skew_ns(truth);
    let seen = start_skew_ns(recovered);
    rows.push(Row::new("start skew", "0", shown(skew), "2 ms", skew <= TOLERANCE_NS));
    let holds = seen.abs_diff(skew) <= TOLERANCE_NS;
    rows.push(Row::new("start skew as recovered", shown(skew), shown(seen), "2 ms", holds));
    rows
}

/// Returns a signed instant, because the clock of a host may be slow.
fn now(clock: &Clock) -> i64 {
    clock.now().cast_signed()
}

/// The coordinator's end of a host, which is a thread with a socket on loopback.
struct Host {
    socket: TcpStream,
    /// Returns the true instant of its start.
    thread: JoinHandle<std::io::Result<i64>>,
}

impl Host {
    fn start(clock: &Clock, offset: i64, number: u64) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let clock = clock.clone();
        let serve = move || serve(listener.accept()?.0, &clock, offset, Random::new(19, number));
        let thread = std::thread::Builder::new().name("host".into()).spawn(serve)?;
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Self { socket, thread })
    }

    fn send(&mut self, number: i64) -> std::io::Result<()> {
        self.socket.write_all(&number.to_be_bytes())
    }

    fn receive(&mut self) -> std::io::Result<i64> {
        receive(&mut self.socket)
    }

    fn offset(&mut self, clock: &Clock) -> Result<ClockOffset, ProveError> {
        let mut exchanges = Vec::with_capacity(EXCHANGES);
        for _ in 0..EXCHANGES {
            let asked = now(clock);
            self.send(asked)?;
            let received = self.receive()?;
            let answered = self.receive()?;
            exchanges.push(Exchange { asked, received, answered, returned: now(clock) });
        }
        clock_offset(&exchanges).ok_or_else(|| ProveError::Run("no exchange with a host".into()))
    }
}

/// Runs a host: answers with its own clock, then starts at the announced instant of that clock.
fn serve(mut socket: TcpStream, clock: &Clock, offset: i64, mut random: Random) -> std::io::Result<i64> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(Duration::from_secs(30)))?;
    let own = || now(clock) + offset;
    let mut delay = || std::thread::sleep(Duration::from_nanos(random.below(MAX_JITTER_NS)));
    for _ in 0..EXCHANGES {
        receive(&mut socket)?;
        // Delays request and answer, each by a random time.
        delay();
        let mut answer = own().to_be_bytes().to_vec();
        answer.extend(own().to_be_bytes());
        delay();
        socket.write_all(&answer)?;
    }
    let start = receive(&mut socket)?;
    loop {
        let left = start - own();
        if left <= 0 {
            break;
        }
        std::thread::sleep(Duration::from_nanos(left.unsigned_abs()));
    }
    let started = now(clock);
    socket.write_all(&(started + offset).to_be_bytes())?;
    Ok(started)
}

fn receive(socket: &mut TcpStream) -> std::io::Result<i64> {
    let mut bytes = [0; 8];
    socket.read_exact(&mut bytes)?;
    Ok(i64::from_be_bytes(bytes))
}
