//! Replies of SMB 1, and the operations of a command.

use super::names::Strings;
use crate::operation::{Action, Outcome};

/// The reply to one command, and where its request was sent.
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
    pub(super) tid: u16,
}

impl<'a> Reply<'a> {
    pub(super) const fn strings(&self) -> Strings<'a> {
        Strings { message: self.message, at: self.bytes.0, end: self.bytes.1, unicode: self.unicode }
    }
}

/// Operations of one command. Some commands are two: write and close, lock and read.
pub(super) type Actions = [Option<Action>; 2];

/// One operation.
pub(super) const fn one(action: Action) -> Actions {
    [Some(action), None]
}
