//! The share reservations of a file as counts, so that an open is not compared with all others (RFC 7530, 9.7).

/// How many opens of a file have each access, and deny it: reading, writing.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(in crate::nfs::v4) struct ShareCounts {
    opens: u32,
    access: [u32; 2],
    deny: [u32; 2],
}

/// Reading and writing in the order of their bits in `OPEN4_SHARE_ACCESS_*` and `OPEN4_SHARE_DENY_*`.
fn kinds(bits: u32) -> [u32; 2] {
    [bits & 1, bits >> 1 & 1]
}

impl ShareCounts {
    /// Counts an open.
    pub(super) fn add(&mut self, access: u32, deny: u32) {
        self.opens += 1;
        for (kind, (access, deny)) in kinds(access).into_iter().zip(kinds(deny)).enumerate() {
            self.access[kind] += access;
            self.deny[kind] += deny;
        }
    }

    /// Undoes [`Self::add`].
    pub(super) fn remove(&mut self, access: u32, deny: u32) {
        self.opens -= 1;
        for (kind, (access, deny)) in kinds(access).into_iter().zip(kinds(deny)).enumerate() {
            self.access[kind] -= access;
            self.deny[kind] -= deny;
        }
    }

    /// True if an open denies this access, or has access that `deny` denies. Opens of the same owner count as well.
    pub(super) fn conflict(&self, access: u32, deny: u32) -> bool {
        let mut wanted = kinds(access).into_iter().zip(kinds(deny)).enumerate();
        wanted.any(|(kind, (access, deny))| {
            access > 0 && self.deny[kind] > 0 || deny > 0 && self.access[kind] > 0
        })
    }

    /// True if an open writes, or denies anything.
    pub(super) fn excludes_delegation(&self) -> bool {
        self.access[1] > 0 || self.deny != [0, 0]
    }

    /// True if there is no open.
    pub(super) fn is_empty(&self) -> bool {
        self.opens == 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The counts decide as a comparison with every open does.
        #[test]
        fn counts_equal_a_comparison_with_every_open(
            opens in prop::collection::vec((0u32..4, 0u32..4), 0..6),
            closed in any::<prop::sample::Index>(),
            (access, deny) in (0u32..4, 0u32..4),
        ) {
            let mut counts = ShareCounts::default();
            let mut left = opens.clone();
            for (access, deny) in &opens {
                counts.add(*access, *deny);
            }
            if !left.is_empty() {
                let (access, deny) = left.swap_remove(closed.index(left.len()));
                counts.remove(access, deny);
            }
            let expected = left.iter().any(|open| open.1 & access != 0 || open.0 & deny != 0);
            prop_assert_eq!(counts.conflict(access, deny), expected);
            prop_assert_eq!(counts.excludes_delegation(), left.iter().any(|open| open.0 & 2 != 0 || open.1 != 0));
            prop_assert_eq!(counts.is_empty(), left.is_empty());
        }
    }
}
