//! Thirty nights of a gate while another program keeps a processor busy: six minutes with `SHAREBENCH_LONG`.
//!
//!     SHAREBENCH_LONG=1 cargo test -p sharebench-tests --test end_to_end gate_on_a_busy_machine -- --nocapture
//!
//! The device of the server decides, not the processor: each request takes 0.4 s there, in this process.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sharebench_server::{
    DeviceOptions, DeviceVolume, EmbeddedServers, MemoryVolume, ServeOptions, ServiceTime, Volume,
};
use sharebench_tests::Sharebench;

/// Number of nights, and the first one with the slower device.
const NIGHTS: usize = 30;
const SLOWER_FROM: usize = 15;
/// Nights within which the gate must find it.
const WITHIN: usize = 4;
/// Service time of a request, and the one that makes the rate 10 % lower.
const SERVICE: Duration = Duration::from_millis(400);
const SLOWER_SERVICE: Duration = Duration::from_millis(444);

/// Serves a new volume on this port of loopback, or on any.
fn serve(service: Duration, port: u16) -> EmbeddedServers {
    let options =
        DeviceOptions { service: ServiceTime::Fixed(service), log_capacity: 0, ..DeviceOptions::default() };
    let volume: Arc<dyn Volume> = Arc::new(DeviceVolume::new(MemoryVolume::new(64 << 20), options));
    let nfs = Some(SocketAddr::from(([127, 0, 0, 1], port)));
    EmbeddedServers::start(&volume, &ServeOptions { nfs, ..ServeOptions::default() }).unwrap()
}

/// Keeps a processor busy until it is dropped.
struct BusyLoop(Arc<AtomicBool>);

impl BusyLoop {
    fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        std::thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        Self(is_over)
    }
}

impl Drop for BusyLoop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_fall_of_a_tenth_is_found_within_four_nights_without_a_false_alarm() {
    if std::env::var_os("SHAREBENCH_LONG").is_none() {
        println!("runs with SHAREBENCH_LONG only");
        return;
    }
    let sharebench = Sharebench::new().unwrap();
    let mut server = serve(SERVICE, 0);
    let port = server.addr("nfs").unwrap().port();
    let plan = format!(
        "title = 'nightly'\nrepetitions = 8\nmin_sample_time = '50ms'\n[[target]]\nname = 'nas'\n\
         url = 'nfs://127.0.0.1:{port}/share?mountport={port}'\n[sweep]\nfile_sizes = ['64KiB']\n\
         record_sizes = ['64KiB']\ntests = ['write', 'read']\n"
    );
    sharebench.write("nightly.toml", &plan).unwrap();
    let _busy = BusyLoop::start();
    let mut codes = Vec::new();
    for night in 1..=NIGHTS {
        if night == SLOWER_FROM {
            server.stop();
            server = serve(SLOWER_SERVICE, port);
        }
        let gate = sharebench.run(&["gate", "nightly.toml", "--quiet"]).unwrap();
        println!("night {night}: {:?} {}", gate.code, gate.stdout.lines().next().unwrap_or_default());
        codes.push(gate.code);
    }
    server.stop();
    let alarms = |from: usize, to: usize| (from..to).find(|night| codes[night - 1] != Some(0));
    assert_eq!(alarms(1, SLOWER_FROM), None, "a false alarm: {codes:?}");
    let found = (SLOWER_FROM..=NIGHTS).find(|night| codes[night - 1] == Some(8));
    assert!(found.is_some_and(|night| night < SLOWER_FROM + WITHIN), "found in night {found:?}: {codes:?}");
}
