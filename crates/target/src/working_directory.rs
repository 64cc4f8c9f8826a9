//! The names by which sharebench recognises its own directories on a target.

/// Start of the name of every directory that sharebench makes at the top of a target.
pub const DIRECTORY_PREFIX: &str = ".sharebench-";

/// Name of the empty file in each of these directories. `sharebench clean` removes no directory without it, because
/// anybody can give a directory a name with [`DIRECTORY_PREFIX`].
pub const MARKER: &str = ".made-by-sharebench";
