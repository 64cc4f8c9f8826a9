//! The two traits every adapter implements.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use sharebench_model::{
    DataOp, ErrorClass, Facts, IoPolicy, MetaOp, MetaReply, MetaYield, OpError, PolicyCount, Reply, Slot,
    WireCount,
};

use crate::policy::{PolicyRefusal, PolicyTerms};

/// A future that stays on its job's thread.
pub type LocalBoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// What a target can do. Constant for the life of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts that are asked one by one and exclude nothing")]
pub struct Capabilities {
    /// Protocol name as shown: `local`, `smb`, `nfs`.
    pub protocol: &'static str,
    /// Most data operations one session can have in flight.
    pub max_queue_depth: u32,
    /// Largest record one operation can carry as *one* request, before negotiation (the session's
    /// facts say what was negotiated); larger records are refused, never split.
    pub max_record: u32,
    /// True when [`Session::wire`] counts real wire bytes.
    pub wire_counted: bool,
    /// True when [`MetaOp::DropCache`] works.
    pub drop_cache: bool,
    /// True when [`MetaOp::Map`] works.
    pub mapping: bool,
    /// True when operations block the calling thread, so that each job needs a thread of its own.
    pub blocking: bool,
}

/// What a job asks of a new session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSpec {
    /// Number of slots: most data operations in flight.
    pub slots: u32,
    /// Bytes per slot: largest record.
    pub slot_bytes: u32,
    /// Deadline for connecting, logging in and mounting together.
    pub connect_timeout: Duration,
    /// The caller makes several operations of what one request does not carry ([`Session::max_transfer`]), so that
    /// slots may be larger than what the server takes at once. Otherwise such a session is refused.
    pub allow_split: bool,
}

impl Default for SessionSpec {
    fn default() -> Self {
        Self { slots: 1, slot_bytes: 64 << 10, connect_timeout: Duration::from_secs(10), allow_split: false }
    }
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
    /// What to look at.
    pub part: UrlPart,
    /// Kind of failure.
    pub class: ErrorClass,
    /// The peer's or system's words.
    pub detail: String,
}

/// A system under test, reached over one protocol. Cheap to share between threads.
pub trait Target: Send + Sync {
    /// The URL without password, as reports show it.
    fn url(&self) -> String;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// What keeping a policy takes, or why this target cannot keep it. Asked before anything is made on
    /// the target; may look at it (a local path), never changes it. Without an answer of its own a
    /// target keeps the usual policy only.
    fn policy(&self, wanted: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        PolicyTerms::usual_only(wanted)
    }

    /// True when the sessions keep file data themselves, so that an application's bytes need not cross the wire.
    fn caches(&self) -> bool {
        false
    }

    /// File descriptors that a session has: its connections, or its open files. While it is opened it may have one more.
    fn descriptors(&self) -> u32 {
        2
    }

    /// Another road to the same directory that knows no client cache, where one is known.
    fn bypass(&self) -> Option<&dyn Target> {
        None
    }

    /// What the sessions that have ended counted beside the wire, such as requests sent again: facts of a run at its end.
    fn final_facts(&self) -> Facts {
        Facts::new()
    }

    /// Opens a session on the calling thread's runtime: connects, logs in, mounts, and makes sure that
    /// the URL's directory exists. Must run inside a current-thread tokio runtime (local paths need none).
    fn connect<'a>(
        &'a self,
        spec: &'a SessionSpec,
    ) -> LocalBoxFuture<'a, Result<Box<dyn Session>, ConnectError>>;
}

/// One job's connection to a target. Lives and dies on one thread.
pub trait Session {
    /// What was negotiated: dialect, signing, limits, mount options. Never a secret.
    fn facts(&self) -> Facts;

    /// A slot's buffer, `slot_bytes` long. Write it before submitting a write, read it after the reply
    /// of a read. While the slot is in flight its content is unspecified.
    ///
    /// # Panics
    /// May panic when `slot` is not below [`SessionSpec::slots`].
    fn buffer(&mut self, slot: Slot) -> &mut [u8];

    /// Bytes at the front of `op` that leave as one request, by what was negotiated; the rest is the caller's to
    /// ask for by further operations. The whole of it where nothing limits requests.
    fn max_transfer(&self, op: DataOp) -> u32 {
        match op {
            DataOp::Read { len, .. } | DataOp::Write { len, .. } => len,
            DataOp::Flush { .. } => 0,
        }
    }

    /// Gives memory back that only operations need, with nothing in flight: a session whose user thinks has none.
    /// What slots held is void afterwards.
    fn release_buffers(&mut self) {}

    /// Answers what a server asks of a client that is silent: whether it is still there. Polled with nothing in flight,
    /// while a user thinks; wakes `cx` when there may be more to answer.
    fn poll_keepalive(&mut self, _cx: &mut Context<'_>) {}

    /// Hands one data operation to the session. The request leaves at the latest when
    /// [`Self::poll_replies`] is next called, so that a burst of submissions can share one write.
    /// Every submission ends in exactly one [`Reply`], also when the connection is lost.
    fn submit(&mut self, slot: Slot, op: DataOp);

    /// Appends the replies that have arrived. Ready as soon as there is at least one; pending for ever
    /// when nothing is in flight.
    fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()>;

    /// Performs one operation on names or whole files, with no data operation in flight.
    /// Dropping the future early may leave the session unusable; later calls then fail as disconnected.
    fn call(&mut self, op: MetaOp) -> LocalBoxFuture<'_, MetaReply>;

    /// What this session counted on the wire since it was opened; `requests` counts system calls and
    /// the byte fields stay 0 for local paths.
    fn wire(&self) -> WireCount;

    /// Requests that carried a policy since the session was opened; zeros where the open file itself
    /// holds the policy and no request says it.
    fn policy_count(&self) -> PolicyCount {
        PolicyCount::default()
    }

    /// What the operating system has counted on the wire for the mount this session works on, since the mount
    /// was made and for all who use it; none where sessions count by themselves, or nobody does. The payload
    /// is file data; `sent` and `received` hold headers only where the system counts them. Reads files of
    /// the system, so it belongs before and after what is measured, never inside.
    fn mount_wire(&self) -> Option<WireCount> {
        None
    }

    /// Closes open files, logs off, disconnects. Errors are of no interest any more.
    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()>;
}

/// Performs a [`MetaOp`] and keeps only its result.
pub async fn call(session: &mut dyn Session, op: MetaOp) -> Result<MetaYield, OpError> {
    session.call(op).await.result
}

/// Submits one data operation on a quiet session and waits for its reply.
pub async fn reply_for(session: &mut dyn Session, slot: Slot, op: DataOp) -> Reply {
    let mut replies = Vec::with_capacity(1);
    session.submit(slot, op);
    poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
    replies.swap_remove(0)
}
