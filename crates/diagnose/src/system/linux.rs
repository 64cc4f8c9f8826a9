//! Linux.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::net::sockopt::{set_tcp_nodelay, set_tcp_quickack};
use rustix::time::{ClockId, clock_gettime};
use tokio::net::TcpStream;

/// Reads the times of the calling thread.
pub(crate) struct ThreadTime {
    /// Scheduling statistics of this thread (proc(5), `/proc/[pid]/schedstat`); none where the kernel has none.
    schedule: Option<File>,
}

impl ThreadTime {
    /// For the calling thread.
    pub(crate) fn open() -> Self {
        Self { schedule: File::open("/proc/thread-self/schedstat").ok() }
    }

    #[expect(clippy::unused_self, reason = "the clock belongs to the thread for which this was opened")]
    pub(crate) fn cpu_ns(&self) -> f64 {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    }

    /// Time for which the thread could run but had no CPU; 0 where the kernel does not report it.
    pub(crate) fn starved_ns(&self) -> f64 {
        let mut text = [0; 64];
        let read = self.schedule.as_ref().and_then(|file| file.read_at(&mut text, 0).ok());
        let text = read.and_then(|len| std::str::from_utf8(&text[..len]).ok());
        text.and_then(|text| text.split(' ').nth(1)?.parse().ok()).unwrap_or(0.0)
    }
}

/// Options of the socket of a connection, which may be in use meanwhile.
///
/// They concern speed alone. Where one cannot be set, a comparison shows no difference, so that errors are no results.
pub(crate) struct SocketOptions(OwnedFd);

impl SocketOptions {
    /// Of this connection; none without a free descriptor.
    pub(crate) fn from_stream(stream: &TcpStream) -> Option<Self> {
        stream.as_fd().try_clone_to_owned().ok().map(Self)
    }

    /// Sends small requests at once, or after what was sent before is acknowledged (`TCP_NODELAY`).
    pub(crate) fn send_at_once(&self, is_on: bool) {
        let _ = set_tcp_nodelay(&self.0, is_on);
    }

    /// Sends an acknowledgement that is due (`TCP_QUICKACK`, tcp(7)). The kernel leaves this mode by itself.
    pub(crate) fn acknowledge(&self) {
        let _ = set_tcp_quickack(&self.0, true);
    }
}

/// The user of this process.
pub(crate) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// CPUs that the calling thread may use; 0 if unknown. A quota of time does not change their number.
pub(crate) fn cpus() -> usize {
    rustix::thread::sched_getaffinity(None).map_or(0, |set| set.count() as usize)
}
