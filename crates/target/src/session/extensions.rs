//! What only some sessions can do: the traits, and the answer of the others.

use std::task::{Context, Poll};
use std::time::SystemTime;

use sharebench_model::{CpuTime, MetaOp, OpError, PolicyCount, Reply, Slot, TcpReading, WireCount};
use tokio::net::TcpStream;

use super::{CallReply, LocalBoxFuture, Session};

/// What only some sessions can do. The default implementations are those of a session that cannot.
pub trait Extensions {
    /// What a session does while its user thinks.
    fn idle(&mut self) -> Option<&mut dyn Idle> {
        None
    }

    /// Several operations on names in flight; without it the session performs them one at a time.
    fn calls(&mut self) -> Option<&mut dyn OverlappingCalls> {
        None
    }

    /// Whole files by one request; without it the session opens, reads and closes by separate requests.
    fn whole_files(&mut self) -> Option<&mut dyn WholeFiles> {
        None
    }

    /// Requests about the server itself.
    fn probe(&mut self) -> Option<&mut dyn Probe> {
        None
    }
}

/// A session whose user thinks: nothing is in flight.
pub trait Idle {
    /// Returns the buffers to the pool, so that a thinking user holds no memory for I/O. The content of the slots is lost.
    fn release_buffers(&mut self);

    /// Answers keep-alive requests of the server. Wakes `cx` when another request may have arrived.
    fn poll_keepalive(&mut self, cx: &mut Context<'_>);
}

/// Several operations on names in flight, up to [`Target::call_depth`] of them.
pub trait OverlappingCalls {
    /// Begins an operation on names or whole files, while others and data operations are in flight. A slot has one operation in
    /// flight, of either kind. The operation is identified by the slot, and it uses no buffer. Its first request leaves at the
    /// latest when [`Self::poll_calls`] is next called, so that a burst can share one write. Every operation that begins ends
    /// in exactly one [`CallReply`], also when the connection is lost.
    ///
    /// # Errors
    /// The slot is in use, or the operation is for [`Session::perform_call`] only ([`MetaOp::can_overlap`]).
    fn submit_call(&mut self, slot: Slot, op: MetaOp) -> Result<(), OpError>;

    /// Sends what waits, receives, and appends the replies of operations that have ended. Ready as soon as there is at least
    /// one; pending for ever when no such operation is in flight. With data operations in flight as well, both this and
    /// [`Session::poll_replies`] have to be polled by one task, until neither is ready.
    fn poll_calls(&mut self, cx: &mut Context<'_>, replies: &mut Vec<CallReply>) -> Poll<()>;
}

/// Files that one request opens, reads and closes.
pub trait WholeFiles {
    /// Opens a file, reads up to `len` bytes from its beginning into the buffer of slot 0 and closes it, all by one request.
    /// No data operation may be in flight.
    fn read_file<'a>(&'a mut self, path: &'a str, len: u32) -> LocalBoxFuture<'a, Reply>;

    /// Begins [`Self::read_file`] in a slot, into the buffer of that slot, as one of several operations in flight: the reply
    /// arrives from [`OverlappingCalls::poll_calls`] as [`MetaYield::Bytes`](sharebench_model::MetaYield::Bytes).
    ///
    /// # Errors
    /// The slot is in use.
    fn submit_read_file(&mut self, slot: Slot, path: String, len: u32) -> Result<(), OpError>;
}

/// Counts and sockets of a session. The default implementations have none.
pub trait Readings {
    /// Requests that carried a policy since the session was opened; zeros where the open file itself
    /// holds the policy and the requests do not.
    fn policy_count(&self) -> PolicyCount {
        PolicyCount::default()
    }

    /// CPU time that threads of the session itself have used since its start. It is no part of that of the thread that drives
    /// the session. Zero where the session has no threads. Read it while nothing is in flight.
    fn threads_cpu(&self) -> CpuTime {
        CpuTime::default()
    }

    /// The operating system's wire counts of the mount that this session uses, since the mount
    /// was made and for all its users; none where sessions count themselves, or the system does not count. The payload
    /// is file data; `sent` and `received` hold headers only where the system counts them. Reads files of
    /// the system, so call it before and after the measured time, never within.
    fn mount_wire(&self) -> Option<WireCount> {
        None
    }

    /// The kernel's figures of the session's TCP connection; none without one, and over a simulated distance, where
    /// the connection leads to the relay. Costs a system call, so call it before and after the measured time.
    fn tcp(&self) -> Option<TcpReading> {
        None
    }

    /// The socket of the session's TCP connection, for options and addresses; none without one.
    fn socket(&self) -> Option<&TcpStream> {
        None
    }

    /// When the last received data arrived at this machine, nanoseconds since 1970; none without [`Probe::time_arrivals`].
    fn last_arrival_ns(&self) -> Option<u64> {
        None
    }
}

/// Requests about the server itself, outside measured steps. The default implementations are those of a protocol without
/// such a request.
pub trait Probe {
    /// Sends the request of the protocol that has no effect and touches no file, and waits for its reply: SMB
    /// ECHO, NFS NULL. Its round trip contains the network and the server's least work for a request. None where the
    /// protocol has no such request. No data operation may be in flight.
    fn empty_request(&mut self) -> LocalBoxFuture<'_, Option<Result<(), OpError>>> {
        Box::pin(std::future::ready(None))
    }

    /// Requests from the kernel when received data arrived, from now on; false if there are no such times. Each receipt
    /// costs more with them, so that no measured step requests them.
    fn time_arrivals(&mut self) -> bool {
        false
    }

    /// Opens an existing file with a request for the right to cache it (SMB lease or oplock) and closes it again; true if the
    /// server granted it. None where the protocol has no such right.
    fn request_caching<'a>(
        &'a mut self,
        _path: &'a str,
    ) -> LocalBoxFuture<'a, Option<Result<bool, OpError>>> {
        Box::pin(std::future::ready(None))
    }

    /// When a file was last changed, by the clock of the server; none where it is not known.
    fn modified<'a>(&'a mut self, _path: &'a str) -> LocalBoxFuture<'a, Option<SystemTime>> {
        Box::pin(std::future::ready(None))
    }

    /// Number of snapshots of the target's directory that the server lists; none where the protocol has no such list.
    fn snapshots(&mut self) -> LocalBoxFuture<'_, Option<u32>> {
        Box::pin(std::future::ready(None))
    }
}

/// What only some sessions can do, for any session. Here, and nowhere else, is the answer of those that cannot.
impl dyn Session + '_ {
    fn calls(&mut self) -> Option<&mut dyn OverlappingCalls> {
        self.extensions()?.calls()
    }

    fn whole_files(&mut self) -> Option<&mut dyn WholeFiles> {
        self.extensions()?.whole_files()
    }

    fn probe(&mut self) -> Option<&mut dyn Probe> {
        self.extensions()?.probe()
    }

    /// [`Idle::release_buffers`].
    pub fn release_buffers(&mut self) {
        if let Some(idle) = self.extensions().and_then(Extensions::idle) {
            idle.release_buffers();
        }
    }

    /// [`Idle::poll_keepalive`].
    pub fn poll_keepalive(&mut self, cx: &mut Context<'_>) {
        if let Some(idle) = self.extensions().and_then(Extensions::idle) {
            idle.poll_keepalive(cx);
        }
    }

    /// [`OverlappingCalls::submit_call`].
    ///
    /// # Errors
    /// As that, and unsupported if operations on names are performed one at a time.
    pub fn submit_call(&mut self, slot: Slot, op: MetaOp) -> Result<(), OpError> {
        let none = "this session performs operations on names one at a time";
        self.calls().ok_or_else(|| OpError::unsupported(none))?.submit_call(slot, op)
    }

    /// [`OverlappingCalls::poll_calls`].
    pub fn poll_calls(&mut self, cx: &mut Context<'_>, replies: &mut Vec<CallReply>) -> Poll<()> {
        self.calls().map_or(Poll::Pending, |calls| calls.poll_calls(cx, replies))
    }

    /// True if [`Self::read_file`] sends one request for a whole file.
    pub fn reads_whole_files(&mut self) -> bool {
        self.whole_files().is_some()
    }

    /// [`WholeFiles::read_file`]. It fails as unsupported where that takes separate requests.
    pub fn read_file<'a>(&'a mut self, path: &'a str, len: u32) -> LocalBoxFuture<'a, Reply> {
        if let Some(files) = self.whole_files() {
            return files.read_file(path, len);
        }
        let result = Err(OpError::unsupported(SEPARATE_REQUESTS));
        Box::pin(std::future::ready(Reply { slot: Slot(0), result, requests: 0 }))
    }

    /// [`WholeFiles::submit_read_file`].
    ///
    /// # Errors
    /// As that, and unsupported where it takes separate requests.
    pub fn submit_read_file(&mut self, slot: Slot, path: String, len: u32) -> Result<(), OpError> {
        let files = self.whole_files().ok_or_else(|| OpError::unsupported(SEPARATE_REQUESTS))?;
        files.submit_read_file(slot, path, len)
    }

    /// [`Readings::policy_count`]; zeros without readings.
    pub fn policy_count(&self) -> PolicyCount {
        self.readings().map(Readings::policy_count).unwrap_or_default()
    }

    /// [`Readings::threads_cpu`]; zero without readings.
    pub fn threads_cpu(&self) -> CpuTime {
        self.readings().map(Readings::threads_cpu).unwrap_or_default()
    }

    /// [`Readings::mount_wire`].
    pub fn mount_wire(&self) -> Option<WireCount> {
        self.readings()?.mount_wire()
    }

    /// [`Readings::tcp`].
    pub fn tcp(&self) -> Option<TcpReading> {
        self.readings()?.tcp()
    }

    /// [`Readings::socket`].
    pub fn socket(&self) -> Option<&TcpStream> {
        self.readings()?.socket()
    }

    /// [`Readings::last_arrival_ns`].
    pub fn last_arrival_ns(&self) -> Option<u64> {
        self.readings()?.last_arrival_ns()
    }

    /// [`Probe::empty_request`].
    pub async fn empty_request(&mut self) -> Option<Result<(), OpError>> {
        self.probe()?.empty_request().await
    }

    /// [`Probe::time_arrivals`].
    pub fn time_arrivals(&mut self) -> bool {
        self.probe().is_some_and(Probe::time_arrivals)
    }

    /// [`Probe::request_caching`].
    pub async fn request_caching(&mut self, path: &str) -> Option<Result<bool, OpError>> {
        self.probe()?.request_caching(path).await
    }

    /// [`Probe::modified`].
    pub async fn modified(&mut self, path: &str) -> Option<SystemTime> {
        self.probe()?.modified(path).await
    }

    /// [`Probe::snapshots`].
    pub async fn snapshots(&mut self) -> Option<u32> {
        self.probe()?.snapshots().await
    }
}

const SEPARATE_REQUESTS: &str = "this session opens, reads and closes by separate requests";
