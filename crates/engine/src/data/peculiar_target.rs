//! Alterations of a target with the peculiarities of some servers, for tests.

use sharebench_model::{
    Entry, ErrorClass, ListedPage, MetaOp, MetaReply, MetaYield, OpError, OpStep, SessionOp,
};
use sharebench_target::{Alteration, Extensions, LocalBoxFuture, Probe, Session};

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

    fn rejection(self, op: &SessionOp) -> Option<ErrorClass> {
        match (self, op) {
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

impl Alteration for Habit {
    fn call<'s>(&'s mut self, inner: &'s mut dyn Session, op: SessionOp) -> LocalBoxFuture<'s, MetaReply> {
        let rejection = self.rejection(&op);
        Box::pin(async move {
            if let Some(class) = rejection {
                let error = OpError::new(class, OpStep::Request("make directory"), "rejected");
                return MetaReply { result: Err(error), requests: 1 };
            }
            if let SessionOp::Basic(MetaOp::Remove { path }) = &op
                && let Some(moved) = self.recycled(path)
            {
                for (at, _) in moved.match_indices('/') {
                    inner.call(MetaOp::MakeDir { path: moved[..at].to_owned() }).await.result.ok();
                }
                return inner.call(MetaOp::Rename { from: path.clone(), to: moved }).await;
            }
            if *self == Habit::Endless {
                let entry = Entry { name: "d".to_owned(), directory: true, size: None };
                let page = ListedPage { entries: vec![entry], unnamed: 0, end: true };
                let listed = matches!(op, SessionOp::Basic(MetaOp::ListPage { .. }));
                let result = if listed { MetaYield::Page(page) } else { MetaYield::Done };
                return MetaReply { result: Ok(result), requests: 1 };
            }
            let mut reply = inner.call(op).await;
            if let (Habit::LeavesOut, Ok(MetaYield::Page(page))) = (*self, &mut reply.result) {
                page.entries.retain(|Entry { name, .. }| !name.starts_with('.'));
            }
            reply
        })
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        Some(self)
    }
}

impl Extensions for Habit {
    fn probe(&mut self) -> Option<&mut dyn Probe> {
        Some(self)
    }
}

impl Probe for Habit {
    fn snapshots(&mut self) -> LocalBoxFuture<'_, Option<u32>> {
        let number = if let Habit::HasSnapshots(number) = *self { Some(number) } else { None };
        Box::pin(std::future::ready(number))
    }
}
