//! The threads that serve the sockets of a server until it stops.

use std::io;
use std::thread::JoinHandle;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;

/// The serving threads of a server, each with a runtime of one thread. Dropping them ends their tasks, which closes
/// sockets and connections, and returns when the threads have ended.
pub(crate) struct ServingThreads {
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

impl ServingThreads {
    /// Starts `count` threads, at least one. `serve` spawns the first tasks on their runtimes.
    pub(crate) fn start(name: &str, count: usize, serve: impl FnOnce(Vec<Handle>)) -> io::Result<Self> {
        let runtimes: io::Result<Vec<Runtime>> =
            (0..count.max(1)).map(|_| Builder::new_current_thread().enable_all().build()).collect();
        let runtimes = runtimes?;
        serve(runtimes.iter().map(|runtime| runtime.handle().clone()).collect());
        let (stop, _) = watch::channel(false);
        let mut started = Self { stop, threads: Vec::new() };
        for runtime in runtimes {
            let mut stopped = started.stop.subscribe();
            let run = move || {
                // The sender outlives this thread; if it is dropped, the thread stops as well.
                let _ = runtime.block_on(stopped.wait_for(|stop| *stop));
            };
            started.threads.push(std::thread::Builder::new().name(name.to_owned()).spawn(run)?);
        }
        Ok(started)
    }

    /// Ends the tasks, and returns when the threads have ended.
    pub(crate) fn halt(&mut self) {
        self.stop.send_replace(true);
        for thread in self.threads.drain(..) {
            // A thread that panicked has ended as well.
            let _ = thread.join();
        }
    }
}

impl Drop for ServingThreads {
    fn drop(&mut self) {
        self.halt();
    }
}
