//! Open files of a session, with one handle per connection.

use crate::client::File;

/// An open file: one handle per connection of the session, because handles belong to a connection.
#[derive(Debug, Clone)]
pub(crate) struct OpenFile {
    /// Handles by connection.
    pub(crate) handles: Vec<File>,
    /// True when it was opened for write-through.
    pub(crate) through: bool,
    /// True when it may be written.
    pub(crate) writable: bool,
}
