//! Which connections a server accepts and keeps.

use std::collections::HashMap;
use std::io;
use std::net::{self, IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::Interval;

use crate::front_ends::refusal_log::RefusalLog;

/// Pause after a failure to accept, so that a server without descriptors does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Age from which a connection that is not established may be closed in favour of another. A client that has just
/// connected is about to log in.
const MIN_AGE: Duration = Duration::from_secs(1);
/// One in this many connections may belong to one address without being established.
const SHARE_OF_ADDRESS: usize = 4;

/// Limits of the connections of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AdmissionLimits {
    /// Maximum number of connections.
    pub(crate) connections: usize,
    /// Longest time from accepting a connection until it is established.
    pub(crate) establish: Duration,
    /// Longest time without a request.
    pub(crate) idle: Duration,
}

/// The open connections of a server, and the decision which of them stay.
///
/// A connection is established once its client has logged in, or has sent a complete call where there are no logins. A
/// server at its limit closes the oldest connection that is not established, of the address that has the most of them,
/// so that silent clients cannot keep others out. Established connections are closed only when they are idle for too
/// long. No address has more than a quarter of the limit in connections that are not established and older than a
/// second.
#[derive(Debug)]
pub(crate) struct Admissions {
    limits: AdmissionLimits,
    refusals: Arc<RefusalLog>,
    start: Instant,
    /// Number of connections that arrived.
    accepted: AtomicU64,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    connections: HashMap<u64, Entry>,
    /// Connections of each address that are not established.
    new: HashMap<IpAddr, usize>,
}

#[derive(Debug)]
struct Entry {
    address: IpAddr,
    accepted: Duration,
    activity: Arc<Activity>,
    task: Option<AbortHandle>,
}

#[derive(Debug, Default)]
struct Activity {
    established: AtomicBool,
    /// Milliseconds since the start of the server.
    last_ms: AtomicU64,
}

/// The place of one connection. Dropping it makes room for another connection.
#[derive(Debug)]
pub(crate) struct Admission {
    admissions: Arc<Admissions>,
    number: u64,
    address: IpAddr,
    activity: Arc<Activity>,
}

impl Admissions {
    /// Interval at which a server looks for connections to close.
    const LOOK: Duration = Duration::from_secs(5);

    /// Accepts connections, and assigns them to the threads in turn. Each is served by a task, which is aborted when the
    /// connection has to be closed.
    pub(crate) async fn accept<S: Future<Output = ()> + Send + 'static>(
        self: Arc<Self>,
        listener: net::TcpListener,
        threads: Vec<Handle>,
        serve: impl Fn(TcpStream, Admission) -> S + Clone + Send + 'static,
    ) -> io::Result<()> {
        let listener = TcpListener::from_std(listener)?;
        let mut looks = tokio::time::interval(Self::LOOK);
        for thread in threads.iter().cycle() {
            let (stream, client) = self.next(&listener, &mut looks).await;
            let Some(admission) = self.admit(client.ip()) else { continue };
            let number = admission.number();
            // A socket belongs to the runtime that registered it, so it is taken out of the accepting one.
            let Ok(stream) = stream.into_std() else { continue };
            let serve = serve.clone();
            let task = thread.spawn(async move {
                // Registers the socket with the thread that serves it.
                if let Ok(stream) = TcpStream::from_std(stream) {
                    serve(stream, admission).await;
                }
            });
            self.set_task(number, task.abort_handle());
        }
        Ok(())
    }

    /// Number of connections that arrived.
    pub(crate) fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Waits for the next connection, and meanwhile closes at each of `looks` the connections that are due. A failure to
    /// accept (no descriptor is free) is retried after a pause.
    async fn next(&self, listener: &TcpListener, looks: &mut Interval) -> (TcpStream, SocketAddr) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = looks.tick() => {
                    self.close_late();
                    self.refusals.flush();
                    continue;
                }
            };
            match accepted {
                Ok(accepted) => {
                    self.accepted.fetch_add(1, Ordering::Relaxed);
                    return accepted;
                }
                Err(error) => {
                    tracing::warn!(%error, "{} accept failed", self.refusals.protocol());
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Reports connections that are refused to `refusals`.
    pub(crate) fn new(limits: AdmissionLimits, refusals: Arc<RefusalLog>) -> Arc<Self> {
        Arc::new(Self {
            limits,
            refusals,
            start: Instant::now(),
            accepted: AtomicU64::new(0),
            table: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// A place for a connection; none if there is no other connection to close for it.
    pub(crate) fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Admission> {
        let admitted = self.admit_at(address.to_canonical(), self.now());
        if admitted.is_none() {
            self.refusals.note();
        }
        admitted
    }

    fn admit_at(self: &Arc<Self>, address: IpAddr, now: Duration) -> Option<Admission> {
        let mut table = self.lock();
        let of_address = table.new.get(&address).copied().unwrap_or(0);
        if table.connections.len() >= self.limits.connections {
            let most = table.new.iter().max_by_key(|(_, count)| **count).map(|(address, _)| *address);
            if !most.is_some_and(|most| table.close_oldest(most, now)) {
                return None;
            }
        } else if of_address >= (self.limits.connections / SHARE_OF_ADDRESS).max(1) {
            // If all of them are young, this is a burst of clients and not a hoard of silent connections.
            table.close_oldest(address, now);
        }
        table.next += 1;
        let number = table.next;
        let activity = Arc::new(Activity::default());
        activity.last_ms.store(now.as_millis() as u64, Ordering::Relaxed);
        let entry = Entry { address, accepted: now, activity: Arc::clone(&activity), task: None };
        table.connections.insert(number, entry);
        *table.new.entry(address).or_default() += 1;
        Some(Admission { admissions: Arc::clone(self), number, address, activity })
    }

    /// Sets the task that serves a connection.
    fn set_task(&self, number: u64, task: AbortHandle) {
        if let Some(entry) = self.lock().connections.get_mut(&number) {
            entry.task = Some(task);
        } else {
            // It was closed before it was served, or its task has already ended.
            task.abort();
        }
    }

    /// Closes the connections whose time is over.
    fn close_late(&self) {
        self.close_late_at(self.now());
    }

    fn close_late_at(&self, now: Duration) {
        let table = self.lock();
        for entry in table.connections.values() {
            let silent =
                now.saturating_sub(Duration::from_millis(entry.activity.last_ms.load(Ordering::Relaxed)));
            let late = if entry.activity.established.load(Ordering::Relaxed) {
                silent > self.limits.idle
            } else {
                now.saturating_sub(entry.accepted) > self.limits.establish
            };
            if late && let Some(task) = &entry.task {
                task.abort();
            }
        }
    }
}

impl Table {
    /// Closes the oldest connection of an address that is not established; false if all of them are young.
    fn close_oldest(&mut self, address: IpAddr, now: Duration) -> bool {
        let old = self.connections.iter().filter(|(_, entry)| {
            entry.address == address
                && !entry.activity.established.load(Ordering::Relaxed)
                && now.saturating_sub(entry.accepted) >= MIN_AGE
        });
        let Some(number) = old.min_by_key(|(_, entry)| entry.accepted).map(|(number, _)| *number) else {
            return false;
        };
        if let Some(entry) = self.remove(number)
            && let Some(task) = entry.task
        {
            task.abort();
        }
        true
    }

    fn remove(&mut self, number: u64) -> Option<Entry> {
        let entry = self.connections.remove(&number)?;
        if !entry.activity.established.load(Ordering::Relaxed) {
            self.one_less(entry.address);
        }
        Some(entry)
    }

    fn one_less(&mut self, address: IpAddr) {
        if let Some(count) = self.new.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.new.remove(&address);
            }
        }
    }
}

impl Admission {
    /// The number of the connection.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The address of the client, that of IPv4 if it is mapped.
    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    /// True once the client has logged in or made a call.
    pub(crate) fn is_established(&self) -> bool {
        self.activity.established.load(Ordering::Relaxed)
    }

    /// Notes that the client has logged in or made a call.
    pub(crate) fn establish(&self) {
        let mut table = self.admissions.lock();
        if !self.activity.established.swap(true, Ordering::Relaxed)
            && table.connections.contains_key(&self.number)
        {
            table.one_less(self.address);
        }
    }

    /// Notes a request.
    pub(crate) fn note_request(&self) {
        let now_ms = self.admissions.now().as_millis() as u64;
        self.activity.last_ms.store(now_ms, Ordering::Relaxed);
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.admissions.lock().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: AdmissionLimits = AdmissionLimits {
        connections: 8,
        establish: Duration::from_secs(30),
        idle: Duration::from_secs(900),
    };

    fn admissions() -> Arc<Admissions> {
        let refusals = RefusalLog::new("test", "8 connections".to_owned(), crate::EventLog::default());
        Admissions::new(LIMITS, Arc::new(refusals))
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn silent_connections_give_way_to_others_and_established_ones_stay() {
        let admissions = admissions();
        let user = admissions.admit_at(address(1), at(0)).unwrap();
        user.establish();
        let silent: Vec<_> =
            (0..7).map(|second| admissions.admit_at(address(2), at(second)).unwrap()).collect();
        // From the third on, the oldest connection of this address was closed for the next one.
        assert!(admissions.lock().connections.len() <= 3);
        let others: Vec<_> = (3..9).filter_map(|last| admissions.admit_at(address(last), at(20))).collect();
        assert_eq!(admissions.lock().connections.len(), 8);
        // The table is full: an old connection of the address with the most is closed.
        let next = admissions.admit_at(address(99), at(21)).unwrap();
        assert_eq!(admissions.lock().connections.len(), 8);
        assert!(admissions.lock().connections.contains_key(&user.number()));
        for established in others.iter().chain(&silent).chain([&next]) {
            established.establish();
        }
        assert_eq!(admissions.lock().new.len(), 0);
        drop((others, silent, next, user));
        assert!(admissions.lock().connections.is_empty());
    }

    #[test]
    fn a_burst_of_new_clients_of_one_address_is_accepted_up_to_the_limit() {
        let admissions = admissions();
        let burst: Vec<_> = (0..8).filter_map(|_| admissions.admit_at(address(1), at(5))).collect();
        assert_eq!(burst.len(), 8);
        assert!(admissions.admit_at(address(2), at(5)).is_none(), "all are young");
        assert!(admissions.admit_at(address(2), at(7)).is_some());
    }

    #[tokio::test]
    async fn a_connection_is_closed_without_login_and_after_a_long_silence() {
        let admissions = admissions();
        let mut tasks = Vec::new();
        for established in [false, true] {
            let admission = admissions.admit_at(address(1), at(0)).unwrap();
            if established {
                admission.establish();
            }
            let number = admission.number();
            let task = tokio::spawn(async move {
                let _held = admission;
                std::future::pending::<()>().await;
            });
            admissions.set_task(number, task.abort_handle());
            tasks.push(task);
        }
        let established = tasks.pop().unwrap();
        let silent = tasks.pop().unwrap();
        admissions.close_late_at(at(29));
        assert!(!silent.is_finished());
        admissions.close_late_at(at(31));
        assert!(silent.await.unwrap_err().is_cancelled());
        assert!(!established.is_finished());
        admissions.close_late_at(at(901));
        assert!(established.await.unwrap_err().is_cancelled());
        assert!(admissions.lock().connections.is_empty());
    }
}
