//! Names of entries: a letter for what the entry is for, and its number, as long as the cell wants names.

/// What an entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EntryKind {
    /// Fills the directory.
    Resident,
    /// Belongs to the batch of a job.
    Batch,
    /// Belongs to the batch of a job, under the name that a rename gave it.
    Renamed,
    /// Is created and removed again within one operation.
    Passing,
    /// Is created and removed again until a server reports changes.
    Priming,
    /// Never exists.
    Missing,
}

impl EntryKind {
    const LETTERS: [(Self, char); 6] = [
        (Self::Resident, 'r'),
        (Self::Batch, 'b'),
        (Self::Renamed, 'n'),
        (Self::Passing, 'p'),
        (Self::Priming, 'w'),
        (Self::Missing, 'm'),
    ];

    fn letter(self) -> char {
        Self::LETTERS.iter().find(|(kind, _)| *kind == self).map_or('b', |(_, letter)| *letter)
    }
}

/// The name of an entry: `length` characters, at least 8. The digits at the end differ, as in names that programs number.
pub(crate) fn entry_name(kind: EntryKind, number: u32, length: u32) -> String {
    let digits = length.saturating_sub(1) as usize;
    format!("{}{number:0digits$}", kind.letter())
}

/// What a name means; none for a name that no entry of ours has.
pub(crate) fn parse_name(name: &str, length: u32) -> Option<(EntryKind, u32)> {
    let letter = name.chars().next()?;
    let (kind, _) = EntryKind::LETTERS.iter().find(|(_, known)| known.eq_ignore_ascii_case(&letter))?;
    let number = name.get(1..)?.parse().ok()?;
    // Only the exact spelling, apart from the case, which DOS names do not keep.
    entry_name(*kind, number, length).eq_ignore_ascii_case(name).then_some((*kind, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_length_and_are_found_again() {
        for (kind, _) in EntryKind::LETTERS {
            for (number, length) in [(0, 8), (9_999_999, 8), (7, 16), (1_000_000, 255)] {
                let name = entry_name(kind, number, length);
                assert_eq!(name.len(), length as usize);
                assert_eq!(parse_name(&name, length), Some((kind, number)));
                assert_eq!(parse_name(&name.to_uppercase(), length), Some((kind, number)));
            }
        }
        for foreign in ["", "b", "x0000007", "b000007", "b+000007", "bä", ".nfs0001"] {
            assert_eq!(parse_name(foreign, 8), None, "{foreign}");
        }
    }
}
