//! The request of a channel that waits for a change in a directory.

/// The `CHANGE_NOTIFY` of a channel: unlike the metadata request it stays in flight while others are performed.
#[derive(Debug, Default)]
pub(crate) struct WatchExchange {
    pub(crate) body: Vec<u8>,
    /// Message id and asynchronous id of the request, once an interim response has said that it is pending.
    pub(crate) accepted: Option<(u64, u64)>,
    /// The complete final reply.
    pub(crate) reply: Option<Vec<u8>>,
}

impl WatchExchange {
    /// Takes over the request of another channel, which was lost. It is pending when the server says so again.
    pub(crate) fn continue_with(&mut self, lost: &mut Self) {
        *self = Self { body: std::mem::take(&mut lost.body), ..Self::default() };
    }

    /// The server has sent its final reply.
    pub(crate) fn finish(&mut self, reply: &[u8]) {
        self.accepted = None;
        self.reply = Some(reply.to_vec());
    }
}
