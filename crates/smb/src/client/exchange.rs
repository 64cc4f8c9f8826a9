//! One request after another, whoever sends it: a channel while it logs in, a session, or one of several operations in flight.

use sharebench_model::{ErrorClass, OpError, OpStep};

use crate::status::NtStatus;
use crate::wire::header::{Header, command};

/// Performs requests, each until its reply has arrived.
pub(crate) trait Exchange {
    /// The complete reply to the last request.
    fn last_reply(&self) -> &[u8];

    /// Sends one request with the body that `body` encodes, and waits for its reply, which holds up to `reply_bytes`.
    async fn perform_request(
        &mut self,
        command: u16,
        reply_bytes: u32,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), OpError>;

    /// Performs one request, whatever its status; the complete reply is [`Self::last_reply`].
    async fn exchange(&mut self, command: u16, body: impl FnOnce(&mut Vec<u8>)) -> Result<Header, OpError> {
        self.exchange_sized(command, 0, body).await
    }

    /// As [`Self::exchange`], for a reply that holds up to `reply_bytes`, which determines its credit charge.
    async fn exchange_sized(
        &mut self,
        command: u16,
        reply_bytes: u32,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Header, OpError> {
        let step = OpStep::Request(command::name(command));
        self.perform_request(command, reply_bytes, body).await.map_err(|error| OpError { step, ..error })?;
        Header::decode(self.last_reply())
            .map_err(|error| OpError::new(ErrorClass::Protocol, step, error.to_string()))
    }

    /// Performs one request that must succeed, and returns the reply's message.
    async fn request(&mut self, command: u16, body: impl FnOnce(&mut Vec<u8>)) -> Result<&[u8], OpError> {
        match NtStatus(self.exchange(command, body).await?.status) {
            NtStatus::SUCCESS => Ok(self.last_reply()),
            status => Err(status.failure(command::name(command))),
        }
    }
}
