//! The opens of a file, with counts of their share modes, so that an open is not compared with all others (MS-FSA 2.1.5.1.2).

use std::collections::BTreeMap;

use sharebench_smb::wire::create::access;

/// Access that share modes concern: reading, writing, deleting, in the order of the bits of a share mode.
const SHARED: [u32; 3] =
    [access::READ_DATA | access::EXECUTE, access::WRITE_DATA | access::APPEND_DATA, access::DELETE];
/// Index of deleting in [`SHARED`].
const DELETE: usize = 2;
/// Access that needs no more than attributes, which breaks no oplock.
const STAT: u32 = access::SYNCHRONIZE | access::READ_ATTRIBUTES | access::WRITE_ATTRIBUTES;

/// Access and share mode of an open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenEntry {
    pub(crate) id: u64,
    pub(crate) access: u32,
    pub(crate) share: u32,
}

impl OpenEntry {
    /// True if the open needs no more than attributes.
    pub(crate) fn is_stat(&self) -> bool {
        self.access & !STAT == 0
    }

    /// Which kinds of access it has, and which it denies. An open that has none of them denies nothing.
    fn kinds(&self) -> ([bool; 3], [bool; 3]) {
        let uses = SHARED.map(|rights| self.access & rights != 0);
        let any = uses.contains(&true);
        (uses, [0, 1, 2].map(|bit| any && self.share & 1 << bit == 0))
    }
}

/// What a file has of each of its opens, in the order of the opens, whose identifiers grow.
///
/// Only [`Self::values`] examines several opens, and tests count them: an open or close must not depend on how many others there are.
#[derive(Debug)]
pub(crate) struct ByOpen<T>(BTreeMap<u64, T>);

impl<T> Default for ByOpen<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> ByOpen<T> {
    /// The value of the first open.
    pub(crate) fn new(open: u64, value: T) -> Self {
        Self(BTreeMap::from([(open, value)]))
    }

    /// The value of an open.
    pub(crate) fn get(&self, open: u64) -> Option<&T> {
        self.0.get(&open)
    }

    /// The value of an open, to change it.
    pub(crate) fn get_mut(&mut self, open: u64) -> Option<&mut T> {
        self.0.get_mut(&open)
    }

    /// The values of all opens.
    pub(crate) fn values(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.0.values().inspect(|_| {
            #[cfg(test)]
            EXAMINED.set(EXAMINED.get() + 1);
        })
    }

    /// Adds the value of an open.
    pub(crate) fn insert(&mut self, open: u64, value: T) {
        self.0.insert(open, value);
    }

    /// Removes the value of an open, and returns it.
    pub(crate) fn remove(&mut self, open: u64) -> Option<T> {
        self.0.remove(&open)
    }

    /// True if no open has a value.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
thread_local! {
    /// Number of opens that operations on this thread have examined.
    pub(crate) static EXAMINED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The opens of a file by their identifiers.
#[derive(Debug, Default)]
pub(crate) struct OpenEntries {
    all: ByOpen<OpenEntry>,
    uses: [usize; 3],
    denies: [usize; 3],
    /// Opens that need more than attributes.
    beyond_stat: usize,
}

impl OpenEntries {
    /// True if there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &OpenEntry> {
        self.all.values()
    }

    /// True if the share modes do not allow another open.
    pub(crate) fn violated_by(&self, entry: &OpenEntry) -> bool {
        let (uses, denies) = entry.kinds();
        (0..3).any(|kind| uses[kind] && self.denies[kind] > 0 || denies[kind] && self.uses[kind] > 0)
    }

    /// True if the open has the right to remove the file, and one of these does not share that.
    pub(crate) fn exclude_removal(&self, entry: &OpenEntry) -> bool {
        entry.access & SHARED[DELETE] != 0 && self.denies[DELETE] > 0
    }

    /// Adds an open.
    pub(crate) fn insert(&mut self, entry: OpenEntry) {
        self.remove(entry.id);
        self.count(&entry, |count| *count += 1);
        self.all.insert(entry.id, entry);
    }

    /// Removes an open.
    pub(crate) fn remove(&mut self, id: u64) {
        if let Some(entry) = self.all.remove(id) {
            self.count(&entry, |count| *count -= 1);
        }
    }

    fn count(&mut self, entry: &OpenEntry, change: impl Fn(&mut usize)) {
        let (uses, denies) = entry.kinds();
        for kind in 0..3 {
            if uses[kind] {
                change(&mut self.uses[kind]);
            }
            if denies[kind] {
                change(&mut self.denies[kind]);
            }
        }
        if !entry.is_stat() {
            change(&mut self.beyond_stat);
        }
    }

    /// True if an open besides these needs more than attributes. They are different.
    pub(crate) fn others_use(&self, own: impl Iterator<Item = u64>) -> bool {
        let own = own.filter_map(|id| self.all.get(id)).filter(|entry| !entry.is_stat()).count();
        self.beyond_stat > own
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// MS-FSA 2.1.5.1.2 for two opens.
    fn is_shared_with(one: &OpenEntry, other: &OpenEntry) -> bool {
        let uses = |access: u32| SHARED.iter().any(|rights| access & rights != 0);
        let excludes = |share: u32, access: u32| {
            SHARED.iter().enumerate().any(|(bit, rights)| access & rights != 0 && share & 1 << bit == 0)
        };
        !uses(one.access)
            || !uses(other.access)
            || !excludes(one.share, other.access) && !excludes(other.share, one.access)
    }

    /// True if `one` has the right to remove the file, and `other` does not share that.
    fn removes_unshared(one: &OpenEntry, other: &OpenEntry) -> bool {
        !is_shared_with(&OpenEntry { access: one.access & access::DELETE, share: u32::MAX, ..*one }, other)
    }

    fn entry() -> impl Strategy<Value = (u32, u32)> {
        let rights = [SHARED[0], SHARED[1], SHARED[2], access::READ_ATTRIBUTES, access::READ_CONTROL];
        (prop::sample::subsequence(rights.to_vec(), 0..=5), 0u32..8)
            .prop_map(|(rights, share)| (rights.into_iter().fold(0, |all, right| all | right), share))
    }

    proptest! {
        /// The counts decide as a comparison with every open does.
        #[test]
        fn counts_equal_a_comparison_with_every_open(
            opens in prop::collection::vec(entry(), 0..8),
            closed in 0u64..8,
            own in 0u64..8,
            (access, share) in entry(),
        ) {
            let mut entries = OpenEntries::default();
            for (id, (access, share)) in opens.iter().enumerate() {
                entries.insert(OpenEntry { id: id as u64, access: *access, share: *share });
            }
            entries.remove(closed);
            let wanted = OpenEntry { id: 99, access, share };
            let violated = entries.iter().any(|other| !is_shared_with(other, &wanted));
            prop_assert_eq!(entries.violated_by(&wanted), violated);
            let removal = entries.iter().any(|other| removes_unshared(&wanted, other));
            prop_assert_eq!(entries.exclude_removal(&wanted), removal);
            let used = entries.iter().any(|other| other.id != own && !other.is_stat());
            prop_assert_eq!(entries.others_use([own].into_iter()), used);
            prop_assert_eq!(entries.is_empty(), entries.iter().next().is_none());
        }
    }
}
