//! Requests whose bodies are encoded before they are sent: of operations on names, of handshakes, and of a renewed login.

/// The metadata request that is being sent, and the reply to the last one.
#[derive(Debug, Default)]
pub(crate) struct MetadataExchange {
    pub(crate) body: Vec<u8>,
    /// Sign the request whenever there is a key.
    pub(crate) always_sign: bool,
    /// Keep complete requests, because the handshake hashes them.
    pub(crate) keep_requests: bool,
    /// The complete request, if requests are kept.
    pub(crate) request: Vec<u8>,
    /// The complete reply.
    pub(crate) reply: Vec<u8>,
}

impl MetadataExchange {
    /// Returns the memory; nothing may be in flight.
    pub(crate) fn release_buffers(&mut self) {
        self.body = Vec::new();
        self.request = Vec::new();
        self.reply = Vec::new();
    }

    /// Takes over the request of another channel, which was lost.
    pub(crate) fn continue_with(&mut self, lost: &mut Self) {
        self.body = std::mem::take(&mut lost.body);
        self.always_sign = lost.always_sign;
    }

    /// Keeps a message that is about to be sent, if requests are kept.
    pub(crate) fn keep_request(&mut self, message: &[u8]) {
        if self.keep_requests {
            self.request.clear();
            self.request.extend_from_slice(message);
        }
    }
}

/// What a renewal exchanges with the channel that carries it.
#[derive(Debug, Default)]
pub(crate) struct RenewalExchange {
    /// The session can renew its login, so that the status of an expired session ends no request.
    pub(crate) possible: bool,
    /// The session is expired.
    pub(crate) needed: bool,
    /// Body of the next request of the login.
    pub(crate) body: Vec<u8>,
    /// The complete reply to the last request of the login.
    pub(crate) reply: Option<Vec<u8>>,
}
