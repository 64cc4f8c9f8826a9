//! Compares the directories of a cell with what they should hold: nothing missing, nothing foreign, attributes right.

use std::time::{Duration, SystemTime};

use sharebench_model::{Entry, ErrorClass, MetaOp, MetaYield, OpError, OpStep, Stat, StepError};
use sharebench_plan::{EntryState, MetadataWork, Verify};

use crate::data::listed_pages::ListedPages;
use crate::metadata::connected::Connected;
use crate::metadata::directory_set::{BatchState, EntryDirectory};
use crate::metadata::entries::{Batch, BatchEntry};
use crate::metadata::entry_names::{EntryKind, entry_name, parse_name};
use crate::metadata::server_side;
use crate::metadata::wrong_reply::wrong;
use crate::record::tally::Tally;

/// Entries of a batch whose content and time are examined where not everything is (`--verify stamps`).
const SAMPLED: u32 = 32;

/// The entries that a directory should hold, and which of them a listing has shown.
struct Expected {
    name_length: u32,
    residents: Seen,
    batch: Seen,
    kind: EntryKind,
    directories: bool,
    size: u64,
    foreign: u64,
    first_foreign: Option<String>,
    wrong: u64,
    first_wrong: Option<String>,
}

/// Which numbers of a range from 0 were seen.
struct Seen {
    bits: Vec<u64>,
    count: u32,
}

impl Seen {
    fn from_count(count: u32) -> Self {
        Self { bits: vec![0; count.div_ceil(64) as usize], count }
    }

    /// Marks a number; false if it is beyond the range, or was marked before.
    fn mark(&mut self, number: u32) -> bool {
        if number >= self.count {
            return false;
        }
        let bit = 1 << (number % 64);
        let Some(word) = self.bits.get_mut((number / 64) as usize) else { return false };
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn missing(&self) -> u32 {
        self.count - self.bits.iter().map(|word| word.count_ones()).sum::<u32>()
    }

    fn first_missing(&self) -> Option<u32> {
        (0..self.count).find(|number| {
            self.bits.get((number / 64) as usize).is_none_or(|word| word & 1 << (number % 64) == 0)
        })
    }
}

impl Expected {
    fn see(&mut self, entry: &Entry) {
        let parsed = parse_name(&entry.name, self.name_length);
        let marked = match parsed {
            Some((EntryKind::Resident, number)) => self.residents.mark(number),
            Some((kind, number)) if kind == self.kind => self.batch.mark(number),
            _ => false,
        };
        if !marked {
            self.foreign += 1;
            self.first_foreign.get_or_insert_with(|| entry.name.clone());
            return;
        }
        let resident = matches!(parsed, Some((EntryKind::Resident, _)));
        let directory = self.directories && !resident;
        let size = if resident { 0 } else { self.size };
        if entry.directory != directory || !directory && entry.size.is_some_and(|found| found != size) {
            self.wrong += 1;
            self.first_wrong.get_or_insert_with(|| entry.name.clone());
        }
    }

    /// What is wrong with the directory; none if nothing is.
    fn finding(&self, path: &str) -> Option<OpError> {
        let missing = self.residents.missing() + self.batch.missing();
        let first_missing = match (self.residents.first_missing(), self.batch.first_missing()) {
            (Some(number), _) => Some((EntryKind::Resident, number)),
            (None, Some(number)) => Some((self.kind, number)),
            (None, None) => None,
        };
        let first_missing = first_missing.map(|(kind, number)| entry_name(kind, number, self.name_length));
        let parts = [
            (u64::from(missing), "missing", first_missing),
            (self.foreign, "foreign", self.first_foreign.clone()),
            (self.wrong, "of another kind or size", self.first_wrong.clone()),
        ];
        let said: Vec<String> = parts
            .into_iter()
            .filter_map(|(count, what, first)| Some(format!("{count} {what} (first: '{}')", first?)))
            .collect();
        let detail = format!("names of the directory '{path}': {}", said.join(", "));
        (!said.is_empty()).then(|| OpError::new(ErrorClass::DataMismatch, OpStep::Reply, detail))
    }
}

/// Lists a directory and the one into which entries are moved from there, and compares all names with those expected in
/// `state`. Findings are counted as failures of the cell.
pub(crate) async fn verify_names(
    work: &MetadataWork,
    directory: &EntryDirectory,
    state: &BatchState,
    at: &mut Connected<'_, '_>,
    tally: &mut Tally,
) -> Result<(), StepError> {
    let batch = work.batch_per_directory() * work.jobs_per_directory();
    let batch = if state.entries == EntryState::Absent { 0 } else { batch };
    for (path, residents, batch) in [
        (&directory.path, work.residents(), if state.moved { 0 } else { batch }),
        (&directory.across, 0, if state.moved { batch } else { 0 }),
    ] {
        let mut expected = Expected {
            name_length: work.name_length,
            residents: Seen::from_count(residents),
            batch: Seen::from_count(batch),
            kind: state.kind(),
            directories: state.entries == EntryState::Directories,
            size: state.size,
            foreign: 0,
            first_foreign: None,
            wrong: 0,
            first_wrong: None,
        };
        let mut pages = ListedPages::from_path(path);
        while let Some(page) = pages.next(at.session, at.context).await? {
            page.entries.iter().for_each(|entry| expected.see(entry));
            expected.foreign += page.unnamed;
            if page.unnamed > 0 {
                expected.first_foreign.get_or_insert_with(|| "a name that is not UTF-8".to_owned());
            }
        }
        if let Some(finding) = expected.finding(path) {
            tally.failure(finding);
        }
    }
    Ok(())
}

/// Compares the attributes of a batch with those expected in `state`, and the content and times of some of its entries
/// (with `--verify full` of all).
pub(crate) async fn verify_attributes(
    batch: &Batch<'_>,
    state: &BatchState,
    at: &mut Connected<'_, '_>,
    tally: &mut Tally,
) -> Result<(), StepError> {
    if state.entries == EntryState::Absent {
        return Ok(());
    }
    let count = batch.numbers.len() as u32;
    let every = if at.context.verify == Verify::Full { 1 } else { count.div_ceil(SAMPLED).max(1) };
    let directory = state.entries == EntryState::Directories;
    let wanted = Stat { size: state.size, directory };
    for number in batch.numbers.clone() {
        at.context.check_stop()?;
        let path = batch.path(number, state);
        let found = at.call(MetaOp::Stat { path: path.clone() }).await;
        match found {
            Ok(MetaYield::Stat(found)) if found == wanted => {}
            Ok(found) => tally.failure(wrong(format!("'{path}' is {found:?} instead of {wanted:?}"))),
            Err(error) if error.class.ends_connection() => return Err(error.into()),
            Err(error) => tally.failure(error),
        }
        if (number - batch.numbers.start).is_multiple_of(every) {
            let entry = BatchEntry { batch, number, state };
            verify_closely(&entry, &path, at, tally).await?;
        }
    }
    Ok(())
}

async fn verify_closely(
    entry: &BatchEntry<'_>,
    path: &str,
    at: &mut Connected<'_, '_>,
    tally: &mut Tally,
) -> Result<(), StepError> {
    let BatchEntry { batch, number, state } = entry;
    if let Some(seconds) = state.modified {
        let wanted = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.into());
        // Some clients do not know the time.
        if let Some(found) = at.session.modified(path).await
            && found != wanted
        {
            tally.failure(wrong(format!("'{path}' has the time {found:?} instead of {wanted:?}")));
        }
    }
    if state.entries != EntryState::Empty && state.entries != EntryState::Directories {
        let expected = batch.expected(*number, state, at.context.verify);
        let (_, read) = server_side::read(path, &expected, at).await;
        match read {
            Err(error) if error.class == ErrorClass::DataMismatch => tally.failure(error),
            read => read?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected() -> Expected {
        Expected {
            name_length: 8,
            residents: Seen::from_count(70),
            batch: Seen::from_count(2),
            kind: EntryKind::Batch,
            directories: false,
            size: 0,
            foreign: 0,
            first_foreign: None,
            wrong: 0,
            first_wrong: None,
        }
    }

    fn entry(name: &str) -> Entry {
        Entry { name: name.into(), directory: false, size: Some(0) }
    }

    fn complete() -> Expected {
        let mut expected = expected();
        for number in 0..70 {
            expected.see(&entry(&entry_name(EntryKind::Resident, number, 8)));
        }
        expected.see(&entry("b0000000"));
        expected.see(&entry("b0000001"));
        expected
    }

    #[test]
    fn a_complete_directory_has_no_finding() {
        assert_eq!(complete().finding("d"), None);
    }

    #[test]
    fn missing_foreign_doubled_and_wrong_names_are_found() {
        let text = |expected: &Expected| expected.finding("d").unwrap().to_string();
        assert!(text(&expected()).contains("72 missing (first: 'r0000000')"), "{}", text(&expected()));
        for foreign in ["b0000000", "b0000002", "n0000000", "core"] {
            let mut expected = complete();
            expected.see(&entry(foreign));
            assert!(
                text(&expected).contains(&format!("1 foreign (first: '{foreign}')")),
                "{}",
                text(&expected)
            );
        }
        let mut sized = expected();
        sized.see(&Entry { size: Some(7), ..entry("b0000000") });
        assert!(text(&sized).contains("1 of another kind or size (first: 'b0000000')"), "{}", text(&sized));
    }
}
