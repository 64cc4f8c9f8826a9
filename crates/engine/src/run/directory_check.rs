//! Whether a run could make its directory on a target: the part of `sharebench probe` that no protocol knows.

use std::time::Duration;

use sharebench_model::OpError;
use sharebench_plan::Verify;
use sharebench_target::{ConnectError, Session, SessionSpec, Target, is_same_directory};

use crate::data::context::PassContext;
use crate::data::directory::{MakeError, make_or_explain};
use crate::data::listed_pages::ListedPages;
use crate::data::tree_removal::remove_tree;
use crate::time::clock::Clock;
use crate::time::deadline::Deadline;
use crate::time::stop::StopSignal;

/// Maximum number of entries at the top of the target among which the directory is looked for.
const MAX_ENTRIES: usize = 100_000;

/// How a target treats names that begin with a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DotNames {
    /// As any other name.
    Accepted,
    /// They can be used, but lists leave them out.
    Unlisted,
    /// They cannot be made, other names can.
    Rejected,
}

/// What the directory of a run showed that was made on a target and removed again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryCheck {
    /// How the target treats names that begin with a dot; none where this is not known: the directory could not be made
    /// for another reason, or begins without a dot.
    pub dot_names: Option<DotNames>,
    /// Why the directory could not be made.
    pub refusal: Option<OpError>,
    /// Why the directory could not be removed; it is still there.
    pub leftover: Option<OpError>,
}

/// Makes an empty directory as that of a run, looks for it in the list of the target, and removes it. `directory` is the
/// name of one that a run would make; each request may take `timeout`.
///
/// # Errors
/// There is no session. Nothing was made.
pub async fn check_directory(
    target: &dyn Target,
    directory: &str,
    clock: &Clock,
    timeout: Duration,
) -> Result<DirectoryCheck, ConnectError> {
    let stop = StopSignal::default();
    let mut context = PassContext::new(clock, &stop, Verify::Off, Deadline::new(clock, timeout));
    let spec = SessionSpec { slots: 1, slot_bytes: 4096, connect_timeout: timeout, allow_split: true };
    let mut session = target.connect(&spec).await?;
    let check = check(session.as_mut(), directory, &mut context).await;
    session.close().await;
    Ok(check)
}

async fn check(session: &mut dyn Session, directory: &str, context: &mut PassContext<'_>) -> DirectoryCheck {
    if let Err(MakeError { error, rejects_dot }) = make_or_explain(session, directory, context).await {
        let dot_names = rejects_dot.then_some(DotNames::Rejected);
        return DirectoryCheck { dot_names, refusal: Some(error), leftover: None };
    }
    let listed = is_listed(session, directory, context).await.unwrap_or_default();
    let dot_names = listed.filter(|_| directory.starts_with('.')).map(|listed| match listed {
        true => DotNames::Accepted,
        false => DotNames::Unlisted,
    });
    let leftover = remove_tree(session, directory, context).await.err();
    DirectoryCheck { dot_names, refusal: None, leftover }
}

/// Whether the list of the target contains the directory; none where the list is too long.
async fn is_listed(
    session: &mut dyn Session,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<Option<bool>, OpError> {
    let mut pages = ListedPages::of("");
    let mut seen = 0;
    let mut found = false;
    while let Some(page) = pages.next(session, context).await? {
        found |= page.entries.iter().any(|entry| is_same_directory(&entry.name, directory));
        seen += page.entries.len();
        if found || seen > MAX_ENTRIES {
            break;
        }
    }
    Ok((found || seen <= MAX_ENTRIES).then_some(found))
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll};

    use sharebench_model::{
        DataOp, Entry, ErrorClass, MetaOp, MetaReply, MetaYield, OpStep, Reply, Slot, TargetFacts, WireCount,
    };
    use sharebench_target::{Capabilities, LocalBoxFuture, MemoryTarget};

    use super::*;

    /// What a target does with names that begin with a dot.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Habit {
        Accepts,
        LeavesOut,
        /// Directories of such names cannot be made.
        Rejects(ErrorClass),
        /// Directories of such names can be made, files in them cannot.
        LosesFiles,
        /// No directory can be made.
        RejectsAll(ErrorClass),
    }

    #[derive(Debug)]
    struct Dotty(MemoryTarget, Habit);

    impl Target for Dotty {
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
            Box::pin(async { Ok(Box::new(DottySession(self.0.connect(spec).await?, self.1)) as _) })
        }
    }

    struct DottySession(Box<dyn Session>, Habit);

    impl DottySession {
        fn rejection(&self, op: &MetaOp) -> Option<ErrorClass> {
            match (self.1, op) {
                (Habit::Rejects(class), MetaOp::MakeDir { path }) if path.starts_with('.') => Some(class),
                (Habit::LosesFiles, MetaOp::Open { path, .. }) if path.starts_with('.') => {
                    Some(ErrorClass::NotFound)
                }
                (Habit::RejectsAll(class), MetaOp::MakeDir { .. }) => Some(class),
                _ => None,
            }
        }
    }

    impl Session for DottySession {
        fn facts(&self) -> TargetFacts {
            self.0.facts()
        }

        fn buffer(&mut self, slot: Slot) -> &mut [u8] {
            self.0.buffer(slot)
        }

        fn submit(&mut self, slot: Slot, op: DataOp) {
            self.0.submit(slot, op);
        }

        fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
            self.0.poll_replies(cx, replies)
        }

        fn call(&mut self, op: MetaOp) -> LocalBoxFuture<'_, MetaReply> {
            let rejection = self.rejection(&op);
            Box::pin(async move {
                if let Some(class) = rejection {
                    let error = OpError::new(class, OpStep::Request("make directory"), "rejected");
                    return MetaReply { result: Err(error), requests: 1 };
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

        fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
            self.0.close()
        }
    }

    #[test]
    fn the_dot_is_blamed_only_where_another_name_works() {
        use DotNames::{Accepted, Rejected, Unlisted};
        use ErrorClass::{NoSpace, NotFound, ReadOnly, Refused};
        const DOTTED: &str = ".sharebench-1f2e3d4c-0";
        const PLAIN: &str = "bench.sharebench-1f2e3d4c-0";
        // What the target does, the directory, what is known of its names, the class of the refusal.
        let cases = [
            (Habit::Accepts, DOTTED, Some(Accepted), None),
            (Habit::Accepts, PLAIN, None, None),
            (Habit::LeavesOut, DOTTED, Some(Unlisted), None),
            (Habit::LeavesOut, PLAIN, None, None),
            (Habit::Rejects(NotFound), DOTTED, Some(Rejected), Some(NotFound)),
            (Habit::Rejects(Refused), DOTTED, Some(Rejected), Some(Refused)),
            (Habit::Rejects(Refused), PLAIN, None, None),
            (Habit::LosesFiles, DOTTED, Some(Rejected), Some(NotFound)),
            (Habit::RejectsAll(Refused), DOTTED, None, Some(Refused)),
            (Habit::RejectsAll(Refused), PLAIN, None, Some(Refused)),
            (Habit::RejectsAll(NotFound), DOTTED, None, Some(NotFound)),
            (Habit::RejectsAll(ReadOnly), DOTTED, None, Some(ReadOnly)),
            (Habit::RejectsAll(NoSpace), DOTTED, None, Some(NoSpace)),
        ];
        for (habit, directory, dot_names, refusal) in cases {
            let clock = Clock::start();
            let target = Dotty(MemoryTarget::new(), habit);
            let checked = check_directory(&target, directory, &clock, Duration::from_secs(60));
            let check = clock.block_on(checked).unwrap().unwrap();
            assert_eq!(check.dot_names, dot_names, "{habit:?} {directory}");
            assert_eq!(check.refusal.as_ref().map(|error| error.class), refusal, "{habit:?} {directory}");
            let names_the_option = check.refusal.is_some_and(|error| error.detail.contains("--work-dir"));
            assert_eq!(names_the_option, dot_names == Some(Rejected), "{habit:?} {directory}");
            assert_eq!(check.leftover, None, "{habit:?} {directory}");
            assert_eq!(target.0.names(), Vec::<String>::new(), "{habit:?} {directory}");
        }
    }
}
