//! The yardstick: two bare sockets with a sleep between them, beside an experiment; what they are off by is the machine's.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use sharebench_engine::{Clock, precise_timers};
use sharebench_model::units::show_nanos;

use crate::prove::Row;
use crate::prove::rig::{mean_ns, median_ns};

/// Time the answering end takes: no multiple of an experiment's, so that the two do not keep step.
const SERVICE: Duration = Duration::from_micros(7_300);

/// What the asking end saw of one exchange, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Exchange {
    /// From asking to having the answer.
    asked_ns: u64,
    /// From having the question to answering, as the other end says.
    executed_ns: u64,
}

/// How far off bare sockets are, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Reach {
    /// Median of the sleep's lateness.
    pub late_p50: u64,
    /// Median of the way there and back.
    pub way_p50: u64,
    /// Its mean.
    pub way_mean: f64,
}

/// How far an experiment may be off, in nanoseconds; `MAX` where it does not depend on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tolerance {
    /// Median of a sleep's lateness.
    pub late_p50: u64,
    /// Median of the way there and back.
    pub way_p50: u64,
    /// Its mean.
    pub way_mean: f64,
    /// Median of a sleep's lateness and the way together.
    pub both_p50: u64,
}

impl Reach {
    fn of(exchanges: &[Exchange]) -> Option<Self> {
        let way = || exchanges.iter().map(|exchange| exchange.asked_ns.saturating_sub(exchange.executed_ns));
        let late =
            exchanges.iter().map(|exchange| exchange.executed_ns.saturating_sub(SERVICE.as_nanos() as u64));
        (!exchanges.is_empty()).then(|| Self {
            late_p50: median_ns(late),
            way_p50: median_ns(way()),
            way_mean: mean_ns(way()),
        })
    }

    /// Why a machine cannot show what is asked of it: bare sockets alone use up half of a tolerance.
    pub fn excuse(self, tolerance: Tolerance) -> Option<String> {
        let slow = self.late_p50 > tolerance.late_p50 / 2
            || self.way_p50 > tolerance.way_p50 / 2
            || self.way_mean > tolerance.way_mean / 2.0
            || self.late_p50 + self.way_p50 > tolerance.both_p50 / 2;
        slow.then(|| format!("off, but {}", self.told()))
    }

    /// For the reader, beside what the engine saw.
    pub fn row(self) -> Row {
        let measured = format!("p50 {}, mean {}", show_nanos(self.way_p50 as f64), show_nanos(self.way_mean));
        Row::new("bare sockets, there and back", "0", measured, "shown beside", true)
    }

    fn told(self) -> String {
        format!(
            "two bare sockets took {} there and back (mean {}) and slept {} too long",
            show_nanos(self.way_p50 as f64),
            show_nanos(self.way_mean),
            show_nanos(self.late_p50 as f64)
        )
    }
}

/// A pair of sockets at work until it is asked how it went.
pub(super) struct Yardstick {
    stop: Arc<AtomicBool>,
    asking: JoinHandle<std::io::Result<Vec<Exchange>>>,
    answering: JoinHandle<std::io::Result<()>>,
}

impl Yardstick {
    pub fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let mut client = TcpStream::connect(listener.local_addr()?)?;
        let (mut server, _) = listener.accept()?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (clock, stop) = (Clock::start(), Arc::new(AtomicBool::new(false)));
        let (their_clock, their_stop) = (clock.clone(), Arc::clone(&stop));
        let answering = std::thread::spawn(move || answer(&clock, &mut server));
        let asking = std::thread::spawn(move || ask(&their_clock, &their_stop, &mut client));
        Ok(Self { stop, asking, answering })
    }

    /// Stops it; none when there was nothing to learn.
    pub fn end(self) -> Option<Reach> {
        self.stop.store(true, Ordering::Relaxed);
        let exchanges = self.asking.join().ok()?.ok()?;
        self.answering.join().ok()?.ok()?;
        Reach::of(&exchanges)
    }
}

fn ask(clock: &Clock, stop: &AtomicBool, socket: &mut TcpStream) -> std::io::Result<Vec<Exchange>> {
    let mut exchanges = Vec::new();
    let mut executed = [0; 8];
    while !stop.load(Ordering::Relaxed) {
        let from = clock.now();
        socket.write_all(&[0])?;
        socket.read_exact(&mut executed)?;
        exchanges.push(Exchange { asked_ns: clock.now() - from, executed_ns: u64::from_le_bytes(executed) });
    }
    Ok(exchanges)
}

fn answer(clock: &Clock, socket: &mut TcpStream) -> std::io::Result<()> {
    precise_timers();
    loop {
        match socket.read_exact(&mut [0]) {
            // The other end has stopped.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        }
        let from = clock.now();
        sleep(SERVICE);
        socket.write_all(&(clock.now() - from).to_le_bytes())?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_off_by_its_medians_and_its_mean() {
        let service = SERVICE.as_nanos() as u64;
        let exchange = |late, way| Exchange { asked_ns: service + late + way, executed_ns: service + late };
        let reach = Reach::of(&[exchange(50, 100), exchange(70, 120), exchange(9_000, 9_080)]);
        assert_eq!(reach, Some(Reach { late_p50: 70, way_p50: 120, way_mean: 3_100.0 }));
        assert_eq!(Reach::of(&[]), None);
    }

    #[test]
    fn half_of_a_tolerance_is_the_machines() {
        let tolerance = Tolerance { late_p50: 150, way_p50: 150, way_mean: 200.0, both_p50: 300 };
        let reach = Reach { late_p50: 75, way_p50: 75, way_mean: 100.0 };
        assert_eq!(reach.excuse(tolerance), None);
        let slower = [
            Reach { late_p50: 76, ..reach },
            Reach { way_p50: 76, ..reach },
            Reach { way_mean: 101.0, ..reach },
        ];
        for slow in slower {
            assert!(slow.excuse(tolerance).is_some_and(|why| why.starts_with("off, but two bare sockets")));
        }
        assert!(
            reach.excuse(Tolerance { both_p50: 298, ..tolerance }).is_some(),
            "150 are more than half of it"
        );
    }

    #[test]
    fn a_pair_exchanges_until_it_is_stopped() {
        let pair = Yardstick::start().unwrap();
        sleep(SERVICE);
        let reach = pair.end().unwrap();
        assert!(reach.way_p50 > 0 && reach.way_mean > 0.0, "{reach:?}");
    }
}
