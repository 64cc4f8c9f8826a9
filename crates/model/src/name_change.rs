//! Changes of names, as a server reports them to those who watch a directory.

/// What happened to a name in a watched directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new, also by a renaming.
    Added,
    /// It is gone, also by a renaming.
    Removed,
    /// Anything else.
    Other,
}

/// A change of a name in a watched directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameChange {
    /// The name within the directory.
    pub name: String,
    /// What happened to it.
    pub kind: ChangeKind,
}
