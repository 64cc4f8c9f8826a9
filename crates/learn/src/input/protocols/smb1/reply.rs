//! Replies of SMB 1.

use super::names::Strings;
use crate::operation::Outcome;

/// The reply to one command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reply<'a> {
    pub(super) outcome: Outcome,
    pub(super) message: &'a [u8],
    pub(super) words: &'a [u8],
    /// Where the data bytes begin and end in the message.
    pub(super) bytes: (usize, usize),
    /// Of a transaction.
    pub(super) parameters: &'a [u8],
    pub(super) data: &'a [u8],
    pub(super) unicode: bool,
}

impl<'a> Reply<'a> {
    pub(super) const fn strings(&self) -> Strings<'a> {
        Strings { message: self.message, at: self.bytes.0, end: self.bytes.1, unicode: self.unicode }
    }
}
