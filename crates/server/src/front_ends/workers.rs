//! Worker threads for a volume that blocks, so that one slow request does not delay the others.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

struct Queue<T> {
    tasks: VecDeque<T>,
    closed: bool,
}

/// The tasks that wait for a worker thread. Each connection limits the number of its tasks.
pub(crate) struct Workers<T> {
    queue: Mutex<Queue<T>>,
    arrived: Condvar,
}

/// The running threads of [`Workers`]. Dropping them ends them after their current tasks, and returns when they have
/// ended. Tasks that wait are dropped, except those that must be performed after the end of the connections.
pub(crate) struct WorkerThreads<T> {
    workers: Arc<Workers<T>>,
    must_run: fn(&T) -> bool,
    threads: Vec<JoinHandle<()>>,
}

impl<T> Workers<T> {
    fn queue(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a task to the next free thread.
    pub(crate) fn push(&self, task: T) {
        self.queue().tasks.push_back(task);
        self.arrived.notify_one();
    }

    fn next(&self) -> Option<T> {
        let mut queue = self.queue();
        loop {
            if let Some(task) = queue.tasks.pop_front() {
                return Some(task);
            }
            if queue.closed {
                return None;
            }
            queue = self.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<T: Send + 'static> WorkerThreads<T> {
    /// Starts `count` threads, at least one, which `run` each task.
    pub(crate) fn start(
        name: &str,
        count: usize,
        must_run: fn(&T) -> bool,
        run: impl Fn(T) + Clone + Send + 'static,
    ) -> io::Result<Self> {
        let queue = Mutex::new(Queue { tasks: VecDeque::new(), closed: false });
        let workers = Arc::new(Workers { queue, arrived: Condvar::new() });
        let mut started = Self { workers, must_run, threads: Vec::new() };
        for _ in 0..count.max(1) {
            let workers = started.workers();
            let run = run.clone();
            let work = move || {
                while let Some(task) = workers.next() {
                    run(task);
                }
            };
            started.threads.push(std::thread::Builder::new().name(name.to_owned()).spawn(work)?);
        }
        Ok(started)
    }
}

impl<T> WorkerThreads<T> {
    /// The queue of the threads.
    pub(crate) fn workers(&self) -> Arc<Workers<T>> {
        Arc::clone(&self.workers)
    }
}

impl<T> Drop for WorkerThreads<T> {
    fn drop(&mut self) {
        let mut queue = self.workers.queue();
        queue.closed = true;
        queue.tasks.retain(self.must_run);
        drop(queue);
        self.workers.arrived.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has ended as well.
            let _ = thread.join();
        }
    }
}
