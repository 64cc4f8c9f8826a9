//! A target that replies according to a script, for tests of the layers above the session.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use sharebench_model::{
    DataOp, ErrorClass, Fact, FileRef, ListedPage, MetaOp, MetaReply, MetaYield, OpError, OpStep, Reply,
    SessionOp, Slot, TargetFacts, WireCount,
};

use crate::altered::Alteration;
use crate::null::NullTarget;
use crate::session::{
    Capabilities, Connecting, LocalBoxFuture, Session, SessionSpec, Target, whole_transfer,
};

/// One line of a script: how the next data operation is answered, and how long after its submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedReply {
    delay: Duration,
    act: Act,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Act {
    All,
    Bytes(Vec<u8>),
    Short(u32),
    Fail(OpError),
    Never,
}

impl ScriptedReply {
    /// Every requested byte; a read leaves the buffer as it is.
    pub fn all() -> Self {
        Act::All.into()
    }

    /// A read delivers these bytes (cut to the requested length).
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Act::Bytes(bytes.into()).into()
    }

    /// An answer that transfers fewer bytes than requested.
    pub fn short(bytes: u32) -> Self {
        Act::Short(bytes).into()
    }

    /// A failure.
    pub fn fail(class: ErrorClass, detail: impl Into<String>) -> Self {
        Act::Fail(OpError::new(class, OpStep::Injected, detail)).into()
    }

    /// No reply, ever.
    pub fn never() -> Self {
        Act::Never.into()
    }

    /// The same, with this delay after the submission (tokio's clock, which tests may pause).
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

impl From<Act> for ScriptedReply {
    fn from(act: Act) -> Self {
        Self { delay: Duration::ZERO, act }
    }
}

/// Every session starts the script anew; when it is used up, the last line repeats (or [`ScriptedReply::all`]).
///
/// Operations on names succeed: `Open` returns a new empty file, everything else [`MetaYield::Done`] or an empty list.
#[derive(Debug, Clone, Default)]
pub struct ScriptedTarget {
    data: Arc<Vec<ScriptedReply>>,
}

impl ScriptedTarget {
    /// Answers data operations by these lines, in the order of submission.
    pub fn new(data: impl Into<Vec<ScriptedReply>>) -> Self {
        Self { data: Arc::new(data.into()) }
    }
}

impl Target for ScriptedTarget {
    fn url(&self) -> String {
        "scripted://".into()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            protocol: "scripted",
            max_queue_depth: 1024,
            max_record: 64 << 20,
            wire_counted: false,
            drop_cache: true,
            mapping: false,
            blocking: false,
        }
    }

    fn descriptors(&self) -> u32 {
        0
    }

    fn connect<'a>(&'a self, spec: &'a SessionSpec) -> Connecting<'a> {
        Box::pin(async move {
            let session = ScriptedSession {
                script: self.clone(),
                lines: 0,
                flying: Vec::new(),
                opened: 0,
                requests: 0,
            };
            Ok(session.session(NullTarget.connect(spec).await?))
        })
    }
}

struct ScriptedSession {
    script: ScriptedTarget,
    lines: usize,
    /// A timer only where the line has a delay, so that undelayed scripts need no runtime.
    flying: Vec<(Option<Pin<Box<tokio::time::Sleep>>>, Reply)>,
    opened: u32,
    requests: u64,
}

impl Alteration for ScriptedSession {
    fn facts(&self, _: TargetFacts) -> TargetFacts {
        TargetFacts::from([(Fact::Kind, "scripted".into())])
    }

    fn submit(&mut self, inner: &mut dyn Session, slot: Slot, op: DataOp) {
        self.requests += 1;
        let line = self.script.data.get(self.lines).or(self.script.data.last()).cloned();
        self.lines += 1;
        let ScriptedReply { delay, act } = line.unwrap_or_else(ScriptedReply::all);
        let asked = whole_transfer(op);
        let result = match act {
            Act::Never => return,
            Act::All => Ok(asked),
            Act::Short(bytes) => Ok(bytes.min(asked)),
            Act::Fail(error) => Err(error),
            Act::Bytes(bytes) => {
                let len = bytes.len().min(asked as usize);
                inner.buffer(slot)[..len].copy_from_slice(&bytes[..len]);
                Ok(len as u32)
            }
        };
        let timer = (!delay.is_zero()).then(|| Box::pin(tokio::time::sleep(delay)));
        self.flying.push((timer, Reply { slot, result, requests: 1 }));
    }

    fn poll(&mut self, _: &mut dyn Session, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        let before = replies.len();
        self.flying.retain_mut(|(timer, reply)| {
            let due = timer.as_mut().is_none_or(|timer| timer.as_mut().poll(cx).is_ready());
            if due {
                replies.push(reply.clone());
            }
            !due
        });
        if replies.len() > before { Poll::Ready(()) } else { Poll::Pending }
    }

    fn call<'s>(&'s mut self, _: &'s mut dyn Session, op: SessionOp) -> LocalBoxFuture<'s, MetaReply> {
        self.requests += 1;
        let found = match op {
            SessionOp::Basic(MetaOp::Open { .. }) => {
                self.opened += 1;
                MetaYield::Opened { file: FileRef(self.opened), size: 0 }
            }
            SessionOp::Basic(MetaOp::List { .. }) => MetaYield::Entries(Vec::new()),
            SessionOp::Basic(MetaOp::ListPage { .. }) => {
                MetaYield::Page(ListedPage { end: true, ..ListedPage::default() })
            }
            _ => MetaYield::Done,
        };
        Box::pin(async move { MetaReply { result: Ok(found), requests: 1 } })
    }

    fn wire(&self, _: WireCount) -> WireCount {
        WireCount { requests: self.requests, ..WireCount::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::reply_for;

    const READ: DataOp = DataOp::Read { file: FileRef(1), offset: 0, len: 4 };

    #[tokio::test(start_paused = true)]
    async fn lines_come_in_order_with_their_delays_and_the_last_repeats() {
        let script = [
            ScriptedReply::bytes(*b"abcdef").after(Duration::from_secs(3)),
            ScriptedReply::fail(ErrorClass::Busy, "later"),
            ScriptedReply::short(2),
        ];
        let target = ScriptedTarget::new(script);
        let mut session = target.connect(&SessionSpec::default()).await.unwrap();
        let started = tokio::time::Instant::now();
        assert_eq!(reply_for(&mut *session, Slot(0), READ).await.result, Ok(4));
        assert_eq!(
            (&session.buffer(Slot(0))[..4], started.elapsed()),
            (&b"abcd"[..], Duration::from_secs(3))
        );
        let failed = reply_for(&mut *session, Slot(0), READ).await.result.unwrap_err();
        assert_eq!((failed.class, failed.detail.as_str()), (ErrorClass::Busy, "later"));
        assert_eq!(reply_for(&mut *session, Slot(0), READ).await.result, Ok(2));
        assert_eq!(reply_for(&mut *session, Slot(0), READ).await.result, Ok(2));
        assert_eq!(session.wire().requests, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_later_line_may_be_answered_first() {
        let target =
            ScriptedTarget::new([ScriptedReply::all().after(Duration::from_secs(9)), ScriptedReply::all()]);
        let spec = SessionSpec { slots: 2, ..SessionSpec::default() };
        let mut session = target.connect(&spec).await.unwrap();
        session.submit(Slot(0), READ);
        session.submit(Slot(1), READ);
        let mut replies = Vec::new();
        std::future::poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
        std::future::poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
        assert_eq!(replies.iter().map(|reply| reply.slot.0).collect::<Vec<_>>(), [1, 0]);
    }
}
