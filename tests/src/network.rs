//! A network of a test's own: two interfaces with a cable between them, gone with the test.

use std::thread;

use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::program::{find_program, run};

/// The server's end of the cable.
pub const SERVER_END: &str = "server0";
/// The client's end.
pub const CLIENT_END: &str = "client0";

/// Runs a test on a thread whose network is its own, loopback included; programs and threads that it starts are there too.
///
/// # Panics
/// When the test does, or the network cannot be made: [`crate::Need::NetworkNamespace`] says whether it can.
pub fn in_own_network<T: Send>(test: impl FnOnce() -> T + Send) -> T {
    let inside = || {
        make().expect("a network of its own");
        test()
    };
    thread::scope(|scope| scope.spawn(inside).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Gives this thread a network with the two ends up.
fn make() -> std::io::Result<()> {
    // SAFETY: open files are not unshared, and nothing of this process points into its network.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
    run(&["ip", "link", "add", SERVER_END, "type", "veth", "peer", "name", CLIENT_END], &[])?;
    for end in [SERVER_END, CLIENT_END, "lo"] {
        run(&["ip", "link", "set", end, "up"], &[])?;
    }
    Ok(())
}

/// Why no such network can be made; none when it can.
pub(crate) fn unmet() -> Option<String> {
    if find_program("ip").is_none() {
        return Some("ip is not installed".into());
    }
    let made = thread::spawn(make).join();
    let error = made.unwrap_or_else(|_| Err(std::io::Error::other("it cannot be tried"))).err()?;
    Some(format!("no network of its own: {error}"))
}
