//! Directories page by page, so that the memory of a walk does not grow with their size.

use sharebench_model::{ErrorClass, ListedPage, MetaOp, MetaYield, OpError, OpStep};
use sharebench_target::Session;

use crate::data::context::PassContext;

/// Longest path of a walk in bytes, which is `PATH_MAX` of Linux. A server whose directories contain themselves has no
/// longest path.
pub(crate) const MAX_PATH_BYTES: usize = 4096;
/// Characters of a path that is too long that its error shows.
const SHOWN_CHARACTERS: usize = 60;

/// The pages of one directory. A session has one listing in progress, so the pages of two directories cannot be taken
/// in turns: the first one would begin again.
pub(crate) struct ListedPages {
    path: String,
    begun: bool,
    ended: bool,
}

impl ListedPages {
    /// Begins at the start of a directory.
    pub fn from_path(path: &str) -> Self {
        Self { path: path.to_owned(), begun: false, ended: false }
    }

    /// The next page, each within the time limit of the context; none after the last one.
    pub async fn next(
        &mut self,
        session: &mut dyn Session,
        context: &mut PassContext<'_>,
    ) -> Result<Option<ListedPage>, OpError> {
        if self.ended {
            return Ok(None);
        }
        let op = MetaOp::ListPage { path: self.path.clone(), restart: !self.begun };
        self.begun = true;
        match context.deadline.call(session, op).await? {
            MetaYield::Page(page) => {
                self.ended = page.end;
                Ok(Some(page))
            }
            _ => Err(OpError::new(ErrorClass::Protocol, OpStep::Reply, "no entries in the reply")),
        }
    }
}

/// The path of an entry.
pub(crate) fn child_path(parent: &str, name: &str) -> Result<String, OpError> {
    let path = if parent.is_empty() { name.to_owned() } else { format!("{parent}/{name}") };
    if path.len() <= MAX_PATH_BYTES {
        return Ok(path);
    }
    let shown: String = path.chars().take(SHOWN_CHARACTERS).collect();
    let detail = format!(
        "the path '{shown}...' has {} bytes; the limit is {MAX_PATH_BYTES}, because such a tree may have no end",
        path.len()
    );
    Err(OpError::new(ErrorClass::Unsupported, OpStep::Path, detail))
}
