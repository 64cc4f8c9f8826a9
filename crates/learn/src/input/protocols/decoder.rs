//! What decodes the messages of one connection.

use crate::input::message::Message;
use crate::input::recorder::Recording;

/// Decodes the messages of one connection. Every byte is hostile: a message that cannot be decoded is counted in
/// `Unseen::not_understood`, one whose head ends too early in `Unseen::cut`.
pub(crate) trait Decoder {
    /// Decodes the next message.
    fn message(&mut self, message: &Message<'_>, recorder: &mut Recording<'_>);

    /// Number of requests that wait for a reply.
    fn waiting(&self) -> usize;

    /// The connection has ended: requests that still wait have no reply.
    fn end(&mut self, recorder: &mut Recording<'_>);
}
