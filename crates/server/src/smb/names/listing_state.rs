//! How far a client has read a directory.

use crate::front_ends::state_budget::StateCharge;

/// How far a client has read a directory.
#[derive(Debug, Default)]
pub(crate) struct ListingState {
    pub(crate) pattern: Option<String>,
    pub(crate) position: ListingPosition,
    /// That of the pattern, where the open does not contain it.
    pub(crate) charge: Option<StateCharge>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ListingPosition {
    /// Before `.`.
    #[default]
    Start,
    /// After `.`.
    Dot,
    /// After the entry with this cookie of the volume; 0 after `..`.
    After(u64),
    /// After the last entry.
    End,
}

impl ListingState {
    /// A listing of the entries that match a pattern, before its first entry.
    pub(crate) fn new(pattern: &str) -> Self {
        Self { pattern: Some(pattern.to_owned()), position: ListingPosition::Start, charge: None }
    }

    /// The same position in a listing of the entries that match another pattern.
    pub(crate) fn with_pattern(self, pattern: &str) -> Self {
        Self { pattern: Some(pattern.to_owned()), ..self }
    }

    /// True after the last entry.
    pub(crate) fn is_at_end(&self) -> bool {
        self.position == ListingPosition::End
    }
}
