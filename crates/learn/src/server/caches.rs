//! What caches saved, as far as the wire shows it.

use std::collections::BTreeMap;

use crate::analysis::{Role, roles};
use crate::operation::{Access, Action, Observed, Outcome};

/// Most ranges of a file and user that are remembered; beyond it the oldest are given up, and repeated reads are at least what
/// is reported.
const MAX_RANGES: usize = 4096;

/// What is visible of caches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheUse {
    /// Opens of existing files for reading.
    pub opens_to_read: u64,
    /// Those after which the same user read nothing before the close: the client had the data, or did not need any.
    pub opens_without_read: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Of these, bytes that the same user had read before, and that nobody had written since: no cache of the client kept them.
    pub bytes_read_again: u64,
    /// Requests for attributes, and look-ups.
    pub attribute_requests: u64,
    /// Those on a file whose attributes the same user had received less than a second before.
    pub attributes_again: u64,
}

/// Attributes that are as old as this could come from a cache of the client, ns.
const FRESH: u64 = 1_000_000_000;

/// Counts what is visible of caches.
pub fn cache_use(observed: &Observed) -> CacheUse {
    let mut found = CacheUse::default();
    let mut open: BTreeMap<(u32, u32), bool> = BTreeMap::new();
    let mut read: BTreeMap<(u32, u32), Ranges> = BTreeMap::new();
    let mut fresh: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    let mut versions: BTreeMap<u32, u32> = BTreeMap::new();
    // An open that only carries a request by name is no open to read.
    let roles = roles(observed);
    let operations = observed.operations.iter().zip(roles).filter(|(_, role)| *role == Role::Own);
    for operation in operations.map(|(operation, _)| operation).filter(|o| o.outcome == Outcome::Done) {
        let user = operation.user;
        match operation.action {
            Action::Open { file: Some(file), created: false, access: Access::Read }
                if !observed.is_directory(file) =>
            {
                open.insert((user, file), false);
            }
            Action::Close { file } => {
                if let Some(has_read) = open.remove(&(user, file)) {
                    found.opens_to_read += 1;
                    found.opens_without_read += u64::from(!has_read);
                }
            }
            Action::Read { file, offset, bytes, .. } => {
                if let Some(has_read) = open.get_mut(&(user, file)) {
                    *has_read = true;
                }
                let version = versions.get(&file).copied().unwrap_or(0);
                found.bytes_read += u64::from(bytes);
                let ranges = read.entry((user, file)).or_default();
                found.bytes_read_again +=
                    ranges.add(version, offset, offset.saturating_add(u64::from(bytes)));
            }
            Action::Write { file, .. } | Action::SetSize { file, .. } => {
                *versions.entry(file).or_default() += 1;
            }
            Action::Stat { file: Some(file) } | Action::Lookup { file: Some(file) } => {
                found.attribute_requests += 1;
                let before = fresh.insert((user, file), operation.start);
                let is_again = before.is_some_and(|before| operation.start.saturating_sub(before) < FRESH);
                found.attributes_again += u64::from(is_again);
            }
            _ => {}
        }
    }
    found
}

/// The ranges of a file that a user has read since it was last written.
#[derive(Default)]
struct Ranges {
    version: u32,
    /// Start and end, which do not overlap.
    held: BTreeMap<u64, u64>,
}

impl Ranges {
    /// Adds a range; how many bytes of it were there.
    fn add(&mut self, version: u32, from: u64, to: u64) -> u64 {
        if self.version != version {
            self.version = version;
            self.held.clear();
        }
        if from >= to {
            return 0;
        }
        let mut known = 0;
        let mut first = from;
        let mut last = to;
        let before = self.held.range(..=from).next_back().map(|(start, end)| (*start, *end));
        let touching: Vec<(u64, u64)> = before
            .into_iter()
            .chain(self.held.range(from.saturating_add(1)..=to).map(|(start, end)| (*start, *end)))
            .filter(|(_, end)| *end >= from)
            .collect();
        for (start, end) in touching {
            known += end.min(to).saturating_sub(start.max(from));
            (first, last) = (first.min(start), last.max(end));
            self.held.remove(&start);
        }
        self.held.insert(first, last);
        if self.held.len() > MAX_RANGES {
            self.held.pop_first();
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_were_read_before_are_counted_once_each() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.add(0, 0, 100), 0);
        assert_eq!(ranges.add(0, 50, 150), 50);
        assert_eq!(ranges.add(0, 200, 300), 0);
        assert_eq!(ranges.add(0, 0, 400), 250);
        assert_eq!(ranges.add(0, 10, 20), 10);
        assert_eq!(ranges.add(1, 10, 20), 0, "it was written since");
    }
}
