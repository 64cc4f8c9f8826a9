//! A network namespace for one test: two connected interfaces, which end with the test.

use std::thread;

use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::program::{find_program, run};

/// Name of the interface of the server.
pub const SERVER_END: &str = "server0";
/// Name of the interface of the client.
pub const CLIENT_END: &str = "client0";

/// Runs a test on a thread with its own network namespace, which its programs and threads inherit.
///
/// # Panics
/// If the test panics, or if the namespace cannot be created; [`crate::Need::NetworkNamespace`] tests that.
pub fn in_own_network<T: Send>(test: impl FnOnce() -> T + Send) -> T {
    let inside = || {
        make().expect("a network of its own");
        test()
    };
    thread::scope(|scope| scope.spawn(inside).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Moves this thread to a new network namespace with both interfaces up.
fn make() -> std::io::Result<()> {
    // SAFETY: open files are not unshared, and nothing of this process points into its network.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
    run(&["ip", "link", "add", SERVER_END, "type", "veth", "peer", "name", CLIENT_END], &[])?;
    for end in [SERVER_END, CLIENT_END, "lo"] {
        run(&["ip", "link", "set", end, "up"], &[])?;
    }
    Ok(())
}

/// Returns why no network namespace can be created, or `None` if it can.
pub(crate) fn unmet() -> Option<String> {
    if find_program("ip").is_none() {
        return Some("ip is not installed".into());
    }
    let made = thread::spawn(make).join();
    let error = made.unwrap_or_else(|_| Err(std::io::Error::other("it cannot be tried"))).err()?;
    Some(format!("no network of its own: {error}"))
}
