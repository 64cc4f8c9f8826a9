//! A target in memory with the peculiarities of some servers, for tests.

use std::task::{Context, Poll};

use sharebench_model::{
    DataOp, Entry, ErrorClass, ListedPage, MetaOp, MetaReply, MetaYield, OpError, OpStep, Reply, SessionOp,
    Slot, TargetFacts, WireCount,
};
use sharebench_target::{
    Capabilities, ConnectError, Extensions, LocalBoxFuture, MemoryTarget, Probe, Readings, Session,
    SessionSpec, Target,
};

/// What a target does otherwise than others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Habit {
    Accepts,
    LeavesOut,
    /// Directories of such names cannot be made.
    Rejects(ErrorClass),
    /// Directories of such names can be made, files in them cannot.
    LosesFiles,
    /// No directory can be made.
    RejectsAll(ErrorClass),
    /// Deleted files move to this directory with their path, which is made if it is missing.
    RecyclesTree(&'static str),
    /// Deleted files move to this directory without their path.
    RecyclesFiles(&'static str),
    /// Every directory contains one, which can be renamed.
    Endless,
    /// The server lists this number of snapshots.
    HasSnapshots(u32),
}

impl Habit {
    /// Where a deleted file goes; none if it is deleted, as one in the bin.
    fn recycled(self, path: &str) -> Option<String> {
        match self {
            Self::RecyclesTree(bin) if !path.starts_with(bin) => Some(format!("{bin}/{path}")),
            Self::RecyclesFiles(bin) if !path.starts_with(bin) => {
                Some(format!("{bin}/{}", path.rsplit('/').next().unwrap_or_default()))
            }
            _ => None,
        }
    }
}

/// A target in memory with a habit.
#[derive(Debug)]
pub(crate) struct PeculiarTarget(pub MemoryTarget, pub Habit);

impl Target for PeculiarTarget {
    fn url(&self) -> String {
        self.0.url()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn descriptors(&self) -> u32 {
        self.0.descriptors()
    }

    fn connect<'a>(
        &'a self,
        spec: &'a SessionSpec,
    ) -> LocalBoxFuture<'a, Result<Box<dyn Session>, ConnectError>> {
        Box::pin(async { Ok(Box::new(PeculiarSession(self.0.connect(spec).await?, self.1)) as _) })
    }
}

struct PeculiarSession(Box<dyn Session>, Habit);

impl PeculiarSession {
    fn rejection(&self, op: &SessionOp) -> Option<ErrorClass> {
        match (self.1, op) {
            (Habit::Rejects(class), SessionOp::Basic(MetaOp::MakeDir { path })) if path.starts_with('.') => {
                Some(class)
            }
            (Habit::LosesFiles, SessionOp::Basic(MetaOp::Open { path, .. })) if path.starts_with('.') => {
                Some(ErrorClass::NotFound)
            }
            (Habit::RejectsAll(class), SessionOp::Basic(MetaOp::MakeDir { .. })) => Some(class),
            _ => None,
        }
    }
}

impl Session for PeculiarSession {
    fn facts(&self) -> TargetFacts {
        self.0.facts()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.0.buffer(slot)
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        self.0.max_transfer(op)
    }

    fn submit(&mut self, slot: Slot, op: DataOp) {
        self.0.submit(slot, op);
    }

    fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        self.0.poll_replies(cx, replies)
    }

    fn perform_call(&mut self, op: SessionOp) -> LocalBoxFuture<'_, MetaReply> {
        let rejection = self.rejection(&op);
        Box::pin(async move {
            if let Some(class) = rejection {
                let error = OpError::new(class, OpStep::Request("make directory"), "rejected");
                return MetaReply { result: Err(error), requests: 1 };
            }
            if let SessionOp::Basic(MetaOp::Remove { path }) = &op
                && let Some(moved) = self.1.recycled(path)
            {
                for (at, _) in moved.match_indices('/') {
                    self.0.call(MetaOp::MakeDir { path: moved[..at].to_owned() }).await.result.ok();
                }
                return self.0.call(MetaOp::Rename { from: path.clone(), to: moved }).await;
            }
            if self.1 == Habit::Endless {
                let entry = Entry { name: "d".to_owned(), directory: true, size: None };
                let page = ListedPage { entries: vec![entry], unnamed: 0, end: true };
                let listed = matches!(op, SessionOp::Basic(MetaOp::ListPage { .. }));
                let result = if listed { MetaYield::Page(page) } else { MetaYield::Done };
                return MetaReply { result: Ok(result), requests: 1 };
            }
            let mut reply = self.0.call(op).await;
            if let (Habit::LeavesOut, Ok(MetaYield::Page(page))) = (self.1, &mut reply.result) {
                page.entries.retain(|Entry { name, .. }| !name.starts_with('.'));
            }
            reply
        })
    }

    fn wire(&self) -> WireCount {
        self.0.wire()
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        Some(self)
    }

    fn readings(&self) -> Option<&dyn Readings> {
        self.0.readings()
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        self.0.close()
    }
}

impl Extensions for PeculiarSession {
    fn probe(&mut self) -> Option<&mut dyn Probe> {
        Some(self)
    }
}

impl Probe for PeculiarSession {
    fn snapshots(&mut self) -> LocalBoxFuture<'_, Option<u32>> {
        let number = if let Habit::HasSnapshots(number) = self.1 { Some(number) } else { None };
        Box::pin(std::future::ready(number))
    }
}
