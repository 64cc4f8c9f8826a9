//! The tests that list directories. Their operations are entries, and their times those of a page of a listing.

use sharebench_model::{Entry, ListedPage, MetaOp, OpError};

use crate::data::listed_pages::{ListedPages, child_path};
use crate::metadata::connected::Connected;
use crate::metadata::wrong_reply::wrong;
use crate::record::tally::Tally;

/// What a test lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListingTest {
    /// The names of each directory.
    Names,
    /// The names of each directory with the attributes of every entry.
    Attributes,
    /// All directories from the top one, with the attributes of every entry.
    Walk,
}

/// Lists a directory to its end and counts its entries. With `attributes`, those of entries that the listing leaves out
/// are requested one by one, as `ls -l` does.
///
/// # Errors
/// What ends the step. Anything else is counted.
pub(crate) async fn list(
    path: &str,
    attributes: bool,
    at: &mut Connected<'_, '_>,
    tally: &mut Tally,
) -> Result<(u64, Vec<String>), OpError> {
    let mut pages = ListedPages::from_path(path);
    let mut entries = 0;
    let mut directories = Vec::new();
    loop {
        let started = at.context.clock.now();
        let page = page(&mut pages, path, attributes, at).await;
        let ended = at.context.clock.now();
        let page = match page {
            Ok(None) => return Ok((entries, directories)),
            Ok(Some(page)) => page,
            Err(error) => {
                tally.operation(started, ended);
                // The rest of a listing that failed is not known.
                tally.outcome(Err(error))?;
                return Ok((entries, directories));
            }
        };
        let count = page.entries.len() as u64 + page.unnamed;
        tally.operations_of_request(count, started, ended);
        entries += count;
        let below = page.entries.into_iter().filter(|entry| entry.directory).map(|entry| entry.name);
        directories.extend(below);
    }
}

async fn page(
    pages: &mut ListedPages,
    path: &str,
    attributes: bool,
    at: &mut Connected<'_, '_>,
) -> Result<Option<ListedPage>, OpError> {
    let Some(page) = pages.next(at.session, at.context).await? else { return Ok(None) };
    if attributes {
        for Entry { name, .. } in page.entries.iter().filter(|entry| entry.size.is_none()) {
            let path = child_path(path, name)?;
            at.call(MetaOp::Stat { path }).await?;
        }
    }
    Ok(Some(page))
}

/// Walks all directories below `root` with the attributes of every entry, as `find` by size or time does.
pub(crate) async fn walk(
    root: String,
    at: &mut Connected<'_, '_>,
    tally: &mut Tally,
) -> Result<u64, OpError> {
    let mut pending = vec![root];
    let mut entries = 0;
    while let Some(path) = pending.pop() {
        let (count, below) = list(&path, true, at, tally).await?;
        entries += count;
        for name in below {
            pending.push(child_path(&path, &name)?);
        }
    }
    Ok(entries)
}

/// The error of a listing with another number of entries than the directory has.
pub(crate) fn check_count(path: &str, listed: u64, expected: u64) -> Result<(), OpError> {
    if listed == expected {
        return Ok(());
    }
    Err(wrong(format!("the listing of '{path}' has {listed} entries instead of {expected}")))
}
