//! The meter of a pass: window, wire and CPU time between two instants.

use sharebench_model::{CpuTime, TcpReading, WireCount};
use sharebench_target::Session;

use crate::record::tally::Tally;
use crate::time::clock::Clock;

/// What a pass of any kind is charged with: its window, the wire, and this thread's CPU time.
pub(crate) struct Meter {
    cpu: CpuTime,
    threads: CpuTime,
    wire: WireCount,
    mount: Option<WireCount>,
    tcp: Option<TcpReading>,
    begin: u64,
}

impl Meter {
    /// Reads clock, CPU time and wire counts at the start of a pass.
    pub fn start(clock: &Clock, session: &dyn Session) -> Self {
        // The count comes from files of the system, and reading them takes time: so it is read first here, and last at the end.
        let mount = session.mount_wire();
        let tcp = session.tcp();
        let threads = session.threads_cpu();
        Self { mount, tcp, threads, cpu: clock.thread_cpu(), wire: session.wire(), begin: clock.now() }
    }

    /// Ends now. Filling and verifying are within the CPU time until [`Tally::operations_cpu`] takes them off.
    pub fn stop(self, clock: &Clock, session: &dyn Session, tally: &mut Tally) {
        let end = clock.now();
        tally.window_ns += end - self.begin;
        tally.spans(self.begin, end);
        tally.wire += session.wire().since(self.wire);
        let spent = clock.thread_cpu();
        tally.cpu.user_ns += spent.user_ns - self.cpu.user_ns;
        tally.cpu.kernel_ns += spent.kernel_ns - self.cpu.kernel_ns;
        let threads = session.threads_cpu();
        tally.threads_cpu.user_ns += threads.user_ns - self.threads.user_ns;
        tally.threads_cpu.kernel_ns += threads.kernel_ns - self.threads.kernel_ns;
        tally.add_tcp(self.tcp, session.tcp());
        tally.mount_wire.add(self.mount, session);
    }
}
