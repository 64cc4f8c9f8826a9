//! The two traits every adapter implements.

mod extensions;
mod operations;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use sharebench_model::{
    DataOp, ErrorClass, IoPolicy, MetaReply, MetaYield, OpError, OpStep, Reply, SessionOp, Slot, TargetFacts,
    WireCount,
};

use crate::policy::{PolicyRefusal, PolicyTerms};
use crate::secret::Secret;

pub use extensions::{Extensions, Idle, OverlappingCalls, Probe, Readings, WholeFiles};
pub use operations::{
    Adapter, CacheRights, CallResult, ClientCache, Locks, Operations, Semaphores, ServerSide, Watch,
    no_client_cache, no_request, perform, perform_counted,
};

/// A future that stays on its job's thread.
pub type LocalBoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// The capabilities of a target, which do not change during its life. A run compares its plan with them before it
/// creates anything.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each queried on its own")]
pub struct Capabilities {
    /// Protocol name as shown: `local`, `smb`, `nfs`.
    pub protocol: &'static str,
    /// Maximum number of data operations that one session can have in flight.
    pub max_queue_depth: u32,
    /// Largest record one operation can carry as *one* request, before negotiation (the session's
    /// facts say what was negotiated); larger records are refused, never split.
    pub max_record: u32,
    /// True when [`Session::wire`] counts real wire bytes.
    pub wire_counted: bool,
    /// True when [`SessionOp::DropCache`](sharebench_model::SessionOp::DropCache) works.
    pub drop_cache: bool,
    /// True when [`SessionOp::Map`](sharebench_model::SessionOp::Map) works.
    pub mapping: bool,
    /// True when operations block the calling thread, so that each job needs a thread of its own.
    pub blocking: bool,
}

/// The parameters of a new session: its slots and their size, which the adapter compares with the limits of target
/// and server before anything is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSpec {
    /// Number of slots: maximum number of data operations in flight.
    pub slots: u32,
    /// Bytes per slot: largest record.
    pub slot_bytes: u32,
    /// Deadline for connecting, logging in and mounting together.
    pub connect_timeout: Duration,
    /// The caller splits transfers that one request cannot carry ([`Session::max_transfer`]), so that
    /// slots may be larger than the server's limit. Otherwise such a session is rejected.
    pub allow_split: bool,
}

impl Default for SessionSpec {
    fn default() -> Self {
        Self { slots: 1, slot_bytes: 64 << 10, connect_timeout: Duration::from_secs(10), allow_split: false }
    }
}

/// Operations on names that one session can have in flight ([`OverlappingCalls`](crate::OverlappingCalls)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallDepth {
    /// Maximum number in flight.
    pub max: u32,
    /// Why there are no more, in words that follow "because".
    pub reason: &'static str,
}

impl CallDepth {
    /// One operation at a time, for `reason`.
    pub const fn one(reason: &'static str) -> Self {
        Self { max: 1, reason }
    }
}

/// The end of an operation that [`OverlappingCalls::submit_call`](crate::OverlappingCalls::submit_call) began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallReply {
    /// The slot that was submitted.
    pub slot: Slot,
    /// Its result, and the requests that it took.
    pub reply: MetaReply,
}

/// The part of the target's URL (or the credential) that a failed connection points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlPart {
    /// Host name or address.
    Host,
    /// Port.
    Port,
    /// User name or password.
    Credentials,
    /// Share or export.
    Share,
    /// Directory below the share.
    Path,
    /// A query option, named.
    Option(&'static str),
}

impl std::fmt::Display for UrlPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::Port => f.write_str("port"),
            Self::Credentials => f.write_str("user or password"),
            Self::Share => f.write_str("share or export"),
            Self::Path => f.write_str("directory"),
            Self::Option(name) => write!(f, "option {name}="),
        }
    }
}

/// A session that could not be opened: which part of the URL is at fault, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{url}: {part}: {class}: {detail}")]
pub struct ConnectError {
    /// The target's URL without password.
    pub url: String,
    /// Which part to check.
    pub part: UrlPart,
    /// Kind of failure.
    pub class: ErrorClass,
    /// The message of the peer or the system.
    pub detail: String,
}

/// Maximum number of names that an error lists.
const MAX_NAMES: usize = 10;
/// Maximum number of characters of each of them. Windows limits names of shares to 80.
const MAX_NAME_CHARS: usize = 80;

impl ConnectError {
    /// True if the server has no share, export or volume of that name for this user.
    pub fn is_of_share(&self) -> bool {
        self.part == UrlPart::Share && matches!(self.class, ErrorClass::NotFound | ErrorClass::Refused)
    }

    /// Adds the names that the server has instead; `what` is their kind, such as `shares`. A malicious
    /// server sends any number of any length, so that both are bounded, and control characters are replaced.
    #[must_use]
    pub fn with_names(mut self, what: &str, names: &[String]) -> Self {
        if names.is_empty() {
            return self;
        }
        let shown: Vec<String> = names.iter().take(MAX_NAMES).map(|name| shown_name(name)).collect();
        let more = match names.len().saturating_sub(MAX_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        self.detail = format!("{}; the server has the {what} {}{more}", self.detail, shown.join(", "));
        self
    }

    /// Adds where the password is from, if the account or its password was rejected.
    #[must_use]
    pub fn with_source_of(mut self, password: &Secret) -> Self {
        if self.part == UrlPart::Credentials
            && let Some(source) = password.source()
        {
            self.detail.push_str("; the password is from ");
            self.detail.push_str(source);
        }
        self
    }
}

/// A name of a server as an error shows it.
fn shown_name(name: &str) -> String {
    let mut chars = name.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c });
    let mut shown: String = chars.by_ref().take(MAX_NAME_CHARS).collect();
    if chars.next().is_some() {
        shown.push_str("...");
    }
    shown
}

impl From<ConnectError> for OpError {
    /// The error of an operation that needed the session.
    fn from(error: ConnectError) -> Self {
        Self::new(error.class, OpStep::Connect, error.to_string())
    }
}

/// A part of opening a session that is complete. A protocol without such a part never reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoginPhase {
    /// The name of the host is resolved.
    NameResolved,
    /// The port mapper has named the ports.
    PortsFound,
    /// The transport is connected.
    Connected,
    /// Version and limits are negotiated.
    Negotiated,
    /// The account is logged in.
    LoggedIn,
    /// The share, export or volume is attached.
    Attached,
    /// The directory of the URL is found, so that the session can be used.
    Opened,
}

/// A system under test, reached over one protocol.
///
/// A target holds the address, the options and the credentials, and it opens sessions; it has no connection of its own
/// and is cheap to share between threads. Adapters implement it once per protocol. The engine opens one session per job or
/// virtual user (or per group of users), on the thread that uses the session.
pub trait Target: Send + Sync {
    /// The URL without password, as reports show it.
    fn url(&self) -> String;

    /// The capabilities of the target.
    fn capabilities(&self) -> Capabilities;

    /// The requirements of a policy, or why this target cannot satisfy it. Called before anything is created on
    /// the target; may examine it (a local path), never changes it. The default implementation
    /// accepts the default policy only.
    fn policy(&self, wanted: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        PolicyTerms::usual_only(wanted)
    }

    /// True if the sessions cache file data, so that the application's bytes need not cross the wire.
    fn caches(&self) -> bool {
        false
    }

    /// Number of requests that the users of one session can have in flight together. The others wait. Less than
    /// [`Capabilities::max_queue_depth`] where a session reaches that depth only with further connections.
    fn shared_queue_depth(&self) -> u32 {
        self.capabilities().max_queue_depth
    }

    /// Number of operations on names that one session can have in flight, not more than its slots.
    fn call_depth(&self) -> CallDepth {
        CallDepth::one("its client performs operations on names one at a time")
    }

    /// File descriptors of a session: its connections, or its open files. While it opens it may use one more.
    fn descriptors(&self) -> u32 {
        2
    }

    /// A path to the same directory without a client cache, where one is configured.
    fn bypass(&self) -> Option<&dyn Target> {
        None
    }

    /// Counts of the closed sessions in addition to the wire counts, such as retransmissions: facts at the end of a run.
    fn final_facts(&self) -> TargetFacts {
        TargetFacts::new()
    }

    /// Opens a session on the calling thread's runtime: connects, logs in, mounts, and makes sure that
    /// the URL's directory exists. Must run inside a current-thread tokio runtime (local paths need none).
    fn connect<'a>(
        &'a self,
        spec: &'a SessionSpec,
    ) -> LocalBoxFuture<'a, Result<Box<dyn Session>, ConnectError>>;

    /// Opens a session like [`Self::connect`], and calls `reached` at the end of each phase, so that the caller, who has the
    /// clock, knows what the time was spent on. The default implementation reports no phase.
    fn connect_observed<'a>(
        &'a self,
        spec: &'a SessionSpec,
        _reached: &'a dyn Fn(LoginPhase),
    ) -> LocalBoxFuture<'a, Result<Box<dyn Session>, ConnectError>> {
        self.connect(spec)
    }

    /// Explains why [`Self::connect`] failed: queries the server for at most `limit`, and returns the error with the
    /// incompatibility in words if there is one. A command calls it once, for the error with which it ends. It is not
    /// part of connecting, because a run that reconnects after an outage must not send further requests to a server in
    /// trouble. The default implementation returns the error unchanged.
    fn explain(&self, error: ConnectError, _limit: Duration) -> LocalBoxFuture<'_, ConnectError> {
        Box::pin(std::future::ready(error))
    }
}

/// The connection of one job or virtual user to a target.
///
/// A session owns its I/O buffers (slots) and its connections, and stays on one thread. It turns each operation into one
/// request, without time stamps, read-ahead or caching of its own, so that the engine's clock sees what the target does.
/// After a lost connection every operation in flight and every later one fails as disconnected.
///
/// These are the methods that every session has. What only some can do is a trait of its own ([`Extensions`], [`Readings`]),
/// which the session returns if it can. No method has a default implementation: a session that wraps another one states
/// whether it passes that on.
pub trait Session {
    /// Negotiated parameters: dialect, signing, limits, mount options. Never a secret.
    fn facts(&self) -> TargetFacts;

    /// A slot's buffer, `slot_bytes` long. Write it before submitting a write, read it after the reply
    /// of a read. While the slot is in flight its content is unspecified.
    ///
    /// # Panics
    /// May panic when `slot` is not below [`SessionSpec::slots`].
    fn buffer(&mut self, slot: Slot) -> &mut [u8];

    /// Maximum bytes of `op` that one request carries, as negotiated. The caller submits the rest in
    /// further operations. The whole length ([`whole_transfer`]) where no limit applies.
    fn max_transfer(&self, op: DataOp) -> u32;

    /// Passes one data operation to the session. The request leaves at the latest when
    /// [`Self::poll_replies`] is next called, so that a burst of submissions can share one write.
    /// Every submission ends in exactly one [`Reply`], also when the connection is lost.
    fn submit(&mut self, slot: Slot, op: DataOp);

    /// Appends the replies that have arrived. Ready as soon as there is at least one; pending for ever
    /// when nothing is in flight.
    fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()>;

    /// Performs one operation on names or whole files, with no data operation in flight.
    /// Dropping the future early may leave the session unusable; later calls then fail as disconnected.
    /// Callers use the shorter `call` of `dyn Session`; adapters implement it by [`perform`].
    fn perform_call(&mut self, op: SessionOp) -> LocalBoxFuture<'_, MetaReply>;

    /// Wire counts of this session since it was opened; `requests` counts system calls and
    /// the byte fields stay 0 for local paths.
    fn wire(&self) -> WireCount;

    /// Counts apart from [`Self::wire`], and the sockets; none where there are none.
    fn readings(&self) -> Option<&dyn Readings>;

    /// What only some sessions can do; none if this one cannot do any of it.
    fn extensions(&mut self) -> Option<&mut dyn Extensions>;

    /// Closes open files, logs off, disconnects. Errors are ignored.
    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()>;
}

/// [`Session::max_transfer`] without a limit.
pub const fn whole_transfer(op: DataOp) -> u32 {
    match op {
        DataOp::Read { len, .. } | DataOp::Write { len, .. } => len,
        DataOp::Flush { .. } => 0,
    }
}

impl dyn Session + '_ {
    /// [`Session::perform_call`], for an operation of any group.
    pub fn call(&mut self, op: impl Into<SessionOp>) -> LocalBoxFuture<'_, MetaReply> {
        self.perform_call(op.into())
    }
}

/// Performs an operation and keeps only its result.
pub async fn call(session: &mut dyn Session, op: impl Into<SessionOp>) -> Result<MetaYield, OpError> {
    session.call(op).await.result
}

/// Submits one data operation on an idle session and waits for its reply.
pub async fn reply_for(session: &mut dyn Session, slot: Slot, op: DataOp) -> Reply {
    let mut replies = Vec::with_capacity(1);
    session.submit(slot, op);
    poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
    replies.swap_remove(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detail_with(names: &[String]) -> String {
        let error = ConnectError {
            url: "smb://nas/wrong".to_owned(),
            part: UrlPart::Share,
            class: ErrorClass::NotFound,
            detail: "no such share".to_owned(),
        };
        error.with_names("shares", names).detail
    }

    #[test]
    fn error_lists_ten_names_and_counts_the_others() {
        let names = |count: usize| (0..count).map(|number| format!("s{number}")).collect::<Vec<_>>();
        let ten = "no such share; the server has the shares s0, s1, s2, s3, s4, s5, s6, s7, s8, s9";
        assert_eq!(detail_with(&names(10)), ten);
        assert_eq!(detail_with(&names(11)), format!("{ten} and 1 more"));
        assert_eq!(detail_with(&names(100_000)), format!("{ten} and 99990 more"));
    }

    #[test]
    fn long_name_is_cut_between_characters() {
        let detail = detail_with(&["ä".repeat(1 << 20), "short".to_owned()]);
        let cut = format!("{}...", "ä".repeat(MAX_NAME_CHARS));
        assert_eq!(detail, format!("no such share; the server has the shares {cut}, short"));
        let whole = "ä".repeat(MAX_NAME_CHARS);
        assert!(detail_with(std::slice::from_ref(&whole)).ends_with(&format!("shares {whole}")));
    }

    #[test]
    fn error_without_names_is_unchanged() {
        assert_eq!(detail_with(&[]), "no such share");
    }

    #[test]
    fn control_characters_of_names_are_replaced() {
        let detail = detail_with(&["a\u{1b}[2Jb\r\n".to_owned(), "\u{9b}31m".to_owned()]);
        let shown = "a\u{fffd}[2Jb\u{fffd}\u{fffd}, \u{fffd}31m";
        assert_eq!(detail, format!("no such share; the server has the shares {shown}"));
    }
}
