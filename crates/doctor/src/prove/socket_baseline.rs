//! The socket baseline: two bare sockets with a sleep between them, which run during an experiment. Their errors are
//! those of the machine.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use sharebench_engine::{Clock, precise_timers};
use sharebench_model::units::show_nanos;

use crate::prove::Row;
use crate::prove::fixture::{mean_ns, median_ns};

/// Service time of the server. It is no multiple of an experiment's service time, so that the two do not synchronise.
const SERVICE: Duration = Duration::from_micros(7_300);

/// Times of one exchange in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Exchange {
    /// From request to reply, measured by the client.
    response_ns: u64,
    /// From request to reply, measured by the server.
    executed_ns: u64,
}

/// Errors of bare sockets on this machine, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SocketBaseline {
    /// Median lateness of the sleep.
    pub late_p50: u64,
    /// Median time on the network path, both directions.
    pub path_p50: u64,
    /// Mean time on the network path.
    pub path_mean: f64,
}

/// Tolerances of an experiment in nanoseconds; `MAX` where it does not depend on the quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tolerance {
    /// Median lateness of a sleep.
    pub late_p50: u64,
    /// Median time on the network path, both directions.
    pub path_p50: u64,
    /// Mean time on the network path.
    pub path_mean: f64,
    /// Median lateness of a sleep plus the network path.
    pub both_p50: u64,
}

impl SocketBaseline {
    fn from_exchanges(exchanges: &[Exchange]) -> Option<Self> {
        let path =
            || exchanges.iter().map(|exchange| exchange.response_ns.saturating_sub(exchange.executed_ns));
        let late =
            exchanges.iter().map(|exchange| exchange.executed_ns.saturating_sub(SERVICE.as_nanos() as u64));
        (!exchanges.is_empty()).then(|| Self {
            late_p50: median_ns(late),
            path_p50: median_ns(path()),
            path_mean: mean_ns(path()),
        })
    }

    /// Returns the reason why this machine cannot meet a tolerance, if bare sockets alone use half of it.
    pub fn excuse(self, tolerance: Tolerance) -> Option<String> {
        let slow = self.late_p50 > tolerance.late_p50 / 2
            || self.path_p50 > tolerance.path_p50 / 2
            || self.path_mean > tolerance.path_mean / 2.0
            || self.late_p50 + self.path_p50 > tolerance.both_p50 / 2;
        slow.then(|| format!("outside the tolerance, but {}", self.summary()))
    }

    /// Returns an informative row.
    pub fn row(self) -> Row {
        let measured =
            format!("p50 {}, mean {}", show_nanos(self.path_p50 as f64), show_nanos(self.path_mean));
        Row::new("bare sockets, round trip", "0", measured, "informative", true)
    }

    fn summary(self) -> String {
        format!(
            "two bare sockets took {} for the round trip (mean {}) and slept {} too long",
            show_nanos(self.path_p50 as f64),
            show_nanos(self.path_mean),
            show_nanos(self.late_p50 as f64)
        )
    }
}

/// A client and a server thread that exchange bytes until they are stopped.
pub(super) struct SocketPair {
    stop: Arc<AtomicBool>,
    client: JoinHandle<std::io::Result<Vec<Exchange>>>,
    server: JoinHandle<std::io::Result<()>>,
}

impl SocketPair {
    pub fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let mut client_socket = TcpStream::connect(listener.local_addr()?)?;
        let (mut server_socket, _) = listener.accept()?;
        client_socket.set_nodelay(true)?;
        server_socket.set_nodelay(true)?;
        let clock = Clock::start();
        let stop = Arc::new(AtomicBool::new(false));
        let client_clock = clock.clone();
        let client_stop = Arc::clone(&stop);
        let server = std::thread::spawn(move || serve(&clock, &mut server_socket));
        let client = std::thread::spawn(move || request(&client_clock, &client_stop, &mut client_socket));
        Ok(Self { stop, client, server })
    }

    /// Stops after at least one exchange, and returns the errors; none if the sockets failed.
    pub fn stop(self) -> Option<SocketBaseline> {
        self.stop.store(true, Ordering::Relaxed);
        let exchanges = self.client.join().ok()?.ok()?;
        self.server.join().ok()?.ok()?;
        SocketBaseline::from_exchanges(&exchanges)
    }
}

fn request(clock: &Clock, stop: &AtomicBool, socket: &mut TcpStream) -> std::io::Result<Vec<Exchange>> {
    let mut exchanges = Vec::new();
    let mut executed = [0; 8];
    // At least one exchange, also where this thread begins after it was stopped.
    loop {
        let from = clock.now();
        socket.write_all(&[0])?;
        socket.read_exact(&mut executed)?;
        exchanges
            .push(Exchange { response_ns: clock.now() - from, executed_ns: u64::from_le_bytes(executed) });
        if stop.load(Ordering::Relaxed) {
            return Ok(exchanges);
        }
    }
}

fn serve(clock: &Clock, socket: &mut TcpStream) -> std::io::Result<()> {
    precise_timers();
    loop {
        match socket.read_exact(&mut [0]) {
            // The client has stopped.
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
    fn baseline_contains_medians_and_mean() {
        let service = SERVICE.as_nanos() as u64;
        let exchange =
            |late, path| Exchange { response_ns: service + late + path, executed_ns: service + late };
        let baseline =
            SocketBaseline::from_exchanges(&[exchange(50, 100), exchange(70, 120), exchange(9_000, 9_080)]);
        assert_eq!(baseline, Some(SocketBaseline { late_p50: 70, path_p50: 120, path_mean: 3_100.0 }));
        assert_eq!(SocketBaseline::from_exchanges(&[]), None);
    }

    #[test]
    fn machine_that_uses_half_of_the_tolerance_is_excused() {
        let tolerance = Tolerance { late_p50: 150, path_p50: 150, path_mean: 200.0, both_p50: 300 };
        let baseline = SocketBaseline { late_p50: 75, path_p50: 75, path_mean: 100.0 };
        assert_eq!(baseline.excuse(tolerance), None);
        let slower = [
            SocketBaseline { late_p50: 76, ..baseline },
            SocketBaseline { path_p50: 76, ..baseline },
            SocketBaseline { path_mean: 101.0, ..baseline },
        ];
        for slow in slower {
            assert!(
                slow.excuse(tolerance)
                    .is_some_and(|why| why.starts_with("outside the tolerance, but two bare sockets"))
            );
        }
        assert!(baseline.excuse(Tolerance { both_p50: 298, ..tolerance }).is_some(), "150 is more than half");
    }

    #[test]
    fn sockets_exchange_until_they_are_stopped() {
        let pair = SocketPair::start().unwrap();
        sleep(SERVICE);
        let baseline = pair.stop().unwrap();
        assert!(baseline.path_p50 > 0 && baseline.path_mean > 0.0, "{baseline:?}");
    }
}
